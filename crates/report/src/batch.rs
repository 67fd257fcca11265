//! A line of a batch: the report of one encode, or why there is none.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::score::FullScore;

/// What every line begins with.
#[derive(Clone, Debug)]
pub struct BatchRow<'a> {
    /// The row's number in the list, from 1.
    pub number: u64,
    pub reference: String,
    pub distorted: String,
    /// All that the result depends on; a resumed batch compares it.
    pub task: &'a Value,
}

/// A line of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BatchLine<'a> {
    Scored(Box<ScoredLine<'a>>),
    Failed(FailedLine<'a>),
}

/// A line of an encode that was scored: a score report with the row around it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScoredLine<'a> {
    /// The row's number in the list, from 1.
    row: u64,
    /// ok.
    status: &'static str,
    /// The reference.
    reference: String,
    /// The distorted video.
    distorted: String,
    #[serde(flatten)]
    score: FullScore<'a>,
    /// All that the result depends on; a resumed batch compares it.
    #[schemars(with = "BatchTask")]
    task: &'a Value,
}

/// A line of an encode that could not be scored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedLine<'a> {
    /// The row's number in the list, from 1.
    row: u64,
    /// error.
    status: &'static str,
    /// The reference.
    reference: String,
    /// The distorted video.
    distorted: String,
    /// What went wrong.
    error: &'a str,
    /// The kind of error, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_class: Option<&'a str>,
    /// All that the result depends on; a resumed batch compares it.
    #[schemars(with = "BatchTask")]
    task: &'a Value,
}

/// All that a result depends on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchTask {
    /// Version of the engine.
    engine: String,
    /// The reference.
    reference: BatchFile,
    /// The distorted video.
    distorted: BatchFile,
    /// Models as they were given.
    models: Vec<String>,
    /// Metrics as they were given.
    features: Vec<String>,
    /// Size of raw video.
    size: Option<String>,
    /// Format of raw video.
    pix_fmt: Option<String>,
    /// Every n-th frame is scored.
    subsample: u64,
    /// At most so many frames are scored.
    frames: Option<u64>,
    /// Whether frames are listed.
    per_frame: bool,
    /// How encoded video is opened.
    media: String,
}

/// A file by its name, its length and the time of its last change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchFile {
    /// The file.
    path: String,
    /// Its length.
    bytes: Option<u64>,
    /// Nanoseconds from 1970 to its last change.
    changed_ns: Option<u64>,
}

impl<'a> BatchLine<'a> {
    pub fn scored(row: BatchRow<'a>, score: FullScore<'a>) -> Self {
        Self::Scored(Box::new(ScoredLine {
            row: row.number,
            status: "ok",
            reference: row.reference,
            distorted: row.distorted,
            score,
            task: row.task,
        }))
    }

    pub fn failed(row: BatchRow<'a>, error: &'a str, error_class: Option<&'a str>) -> Self {
        Self::Failed(FailedLine {
            row: row.number,
            status: "error",
            reference: row.reference,
            distorted: row.distorted,
            error,
            error_class,
            task: row.task,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::json;

    #[test]
    fn a_failure_keeps_its_task() {
        let task = serde_json::json!({ "engine": "1" });
        let row = BatchRow { number: 3, reference: "a".into(), distorted: "b".into(), task: &task };
        let line = json(&BatchLine::failed(row, "it broke", Some("media")));
        let text = r#"{"row":3,"status":"error","reference":"a","distorted":"b","error":"it broke","error_class":"media","task":{"engine":"1"}}"#;
        assert_eq!(line.to_string(), text);
    }
}
