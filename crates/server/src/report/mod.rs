//! What jobs leave behind: scores, worst frames and other answers, kept until somebody asks.
//!
//! A finished score is kept as columns of numbers, 8 bytes each, and written by `visus_report` when it is asked for.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use visus_engine::Outcome;
use visus_report::score::{self, ScoreFacts, ScoreReport as View};
use visus_report::{Precision, libvmaf};

use crate::ToolError;
use crate::tools::Answer;

pub use visus_report::score::MAX_PAGE;

/// What a report takes beside its numbers and pictures. Measured: its texts are some ten kilobytes, but many of them lie alone
/// on a page of memory.
const TEXTS: usize = 48 << 10;

/// What a job leaves behind.
#[derive(Debug)]
pub enum Output {
    Score(Box<ScoreReport>),
    Worst(Box<WorstReport>),
    Value(Answer),
}

impl Output {
    /// An answer of a typed value.
    pub fn of(value: &impl serde::Serialize) -> Result<Self, ToolError> {
        crate::tools::answer(value).map(Self::Value)
    }

    /// The level of detail that was asked for when the work was submitted.
    pub fn detail(&self) -> Detail {
        self.score().map_or(Detail::Auto, |report| report.detail)
    }

    /// Whether it holds a document in a format that was asked for, which must not be cut.
    pub fn is_document(&self) -> bool {
        match self {
            Self::Score(report) => report.text.is_some(),
            Self::Worst(_) => false,
            Self::Value(answer) => {
                answer.get("manifest").is_some_and(Value::is_string) || answer.contains_key("text")
            }
        }
    }

    /// Roughly the memory it takes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Score(report) => report.bytes(),
            Self::Worst(report) => {
                let pictures: usize = report.pictures.iter().map(Vec::capacity).sum();
                value_bytes(&report.answer) + pictures + TEXTS
            }
            Self::Value(answer) => map_bytes(answer),
        }
    }

    /// The answer at a level of detail. `id` is the job's.
    pub fn answer(&self, id: &str, detail: Detail) -> Answer {
        let mut answer = match self {
            Self::Score(report) => report.answer(id, detail),
            Self::Worst(report) => report.answer.as_object().cloned().unwrap_or_default(),
            Self::Value(answer) => answer.clone(),
        };
        answer.insert("job_id".to_owned(), json!(id));
        answer
    }

    pub fn score(&self) -> Option<&ScoreReport> {
        match self {
            Self::Score(report) => Some(report),
            Self::Worst(_) | Self::Value(_) => None,
        }
    }

    /// Pictures for whoever can look at them, as PNG.
    pub fn pictures(&self) -> &[Vec<u8>] {
        match self {
            Self::Worst(report) => &report.pictures,
            Self::Score(_) | Self::Value(_) => &[],
        }
    }
}

/// The worst frames, as data and as pictures.
#[derive(Debug)]
pub struct WorstReport {
    pub answer: Value,
    pub pictures: Vec<Vec<u8>>,
    /// Holds the files of the pictures for as long as the report is kept.
    pub folder: crate::tools::pictures::Folder,
}

fn value_bytes(value: &Value) -> usize {
    const NODE: usize = size_of::<Value>();
    match value {
        Value::String(text) => NODE + text.len(),
        Value::Array(list) => NODE + list.iter().map(value_bytes).sum::<usize>(),
        Value::Object(map) => NODE + map_bytes(map),
        _ => NODE,
    }
}

fn map_bytes(map: &Answer) -> usize {
    map.iter().map(|(key, value)| size_of::<Value>() + key.len() + value_bytes(value)).sum()
}

/// How much of a report is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What the front end gives by default: a summary over MCP, everything over HTTP.
    #[default]
    Auto,
    /// Statistics, worst frames and a curve, in a few kilobytes however long the video.
    Summary,
    /// The summary and every frame's scores, without the features that they are made from.
    Frames,
    /// libvmaf's report with every frame and feature.
    Full,
}

impl Detail {
    pub const NAMES: [&'static str; 4] = ["auto", "summary", "frames", "full"];

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "summary" => Some(Self::Summary),
            "frames" => Some(Self::Frames),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// This level, or the other where it is left to the front end.
    #[must_use]
    pub fn or(self, auto: Self) -> Self {
        if self == Self::Auto { auto } else { self }
    }
}

/// A finished score.
#[derive(Debug)]
pub struct ScoreReport {
    pub facts: ScoreFacts,
    /// Scores, formats and times. Of an external engine, what its report says.
    pub outcome: Outcome,
    /// A report in another format than JSON, with the format's name.
    pub text: Option<(&'static str, String)>,
    pub precision: Precision,
    pub detail: Detail,
    /// The pairs with which shots begin, where pairing has looked at every frame.
    pub shots: Option<Vec<u64>>,
    /// Which frames of the two files every pair holds.
    pub steps: visus_media::Steps,
    /// What detectors found in the distorted video.
    pub findings: Vec<visus_diagnose::Finding>,
}

impl ScoreReport {
    /// The report with its text in another format than JSON, if one is asked for.
    pub fn in_format(mut self, format: Option<(&'static str, libvmaf::Format)>) -> Result<Self, ToolError> {
        if let Some((name, format)) = format {
            let bytes = self.write(format).map_err(|error| ToolError::failed(&error))?;
            self.text = Some((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(self)
    }

    /// What `visus_report` writes.
    pub fn view<'a>(&'a self, id: &'a str) -> View<'a> {
        View::new(&self.facts, &self.outcome).with_precision(self.precision).of_job(id)
    }

    /// What detectors found, in words, the most certain first; few, so that an answer stays short.
    pub fn warning_texts(&self) -> Vec<String> {
        const MOST: usize = 4;
        let mut sorted: Vec<_> = self.findings.iter().collect();
        sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        sorted.into_iter().take(MOST).map(|finding| finding.text.clone()).collect()
    }

    /// The pairs with which shots begin: as pairing has seen them, or else as far as motion shows them.
    pub fn shots(&self) -> Vec<u64> {
        self.shots.clone().unwrap_or_else(|| visus_report::shots::starts(&self.outcome))
    }

    pub fn bytes(&self) -> usize {
        let columns = self.outcome.scores.columns().len();
        let text = self.text.as_ref().map_or(0, |(_, text)| text.len());
        let foreign = self.facts.external_pooled.as_ref().map_or(0, value_bytes)
            + value_bytes(&score::json(&self.facts.sections));
        size_of::<Self>()
            + columns * self.outcome.frames as usize * size_of::<f64>()
            + text
            + foreign
            + self.steps.bytes()
            + TEXTS
    }

    /// The report at a level of detail. `id` is the job's, for links to the rest.
    pub fn answer(&self, id: &str, detail: Detail) -> Answer {
        let value = match detail {
            _ if self.text.is_some() => return self.in_other_format(id),
            Detail::Full => self.view(id).json(),
            Detail::Frames => score::json(&self.view(id).summary_with_frames()),
            Detail::Auto | Detail::Summary => score::json(&self.view(id).summary()),
        };
        object(value)
    }

    /// Listed frames from index `from` on, at most `count`, and where the next page begins.
    pub fn page(&self, id: &str, from: u64, count: Option<usize>) -> Value {
        score::json(&self.view(id).page(from, count))
    }

    /// The report in one of libvmaf's formats.
    pub fn write(&self, format: libvmaf::Format) -> Result<Vec<u8>, std::io::Error> {
        let mut out = Vec::new();
        let report = libvmaf::Report {
            version: &self.facts.provenance.version,
            outcome: &self.outcome,
            precision: self.precision,
        };
        report.write(format, &mut out)?;
        Ok(out)
    }

    /// The report as a page for people.
    pub fn html(&self, id: &str) -> Option<String> {
        let record = visus_report::Record::from_json(&self.view(id).json()).ok()?;
        Some(visus_report::html::page(&record, &[]))
    }

    /// The text in the format that was asked for, and what every answer says.
    fn in_other_format(&self, id: &str) -> Map<String, Value> {
        let mut answer = Map::new();
        if let Some((format, text)) = &self.text {
            answer.insert("format".to_owned(), json!(format));
            answer.insert("output".to_owned(), json!(text));
        }
        const FRAMES: [&str; 5] = ["frames", "pooled_metrics", "aggregate_metrics", "detail", "fps"];
        let rest = object(score::json(&self.view(id).without_frames()));
        answer.extend(rest.into_iter().filter(|(name, _)| !FRAMES.contains(&name.as_str())));
        answer
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A number as libvmaf would print it, but as JSON.
pub(crate) fn number(value: f64, precision: Precision) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    json!(precision.rounded(value))
}
