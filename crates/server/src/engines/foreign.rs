//! Reading the report that an executable wrote.

use std::fmt::Display;
use std::time::Duration;

use serde_json::{Map, Value};
use visus_engine::{Outcome, Scores};
use visus_metrics::Level;
use visus_report::score::InputFacts;

use crate::ToolError;

/// A report, as far as it is understood.
#[derive(Debug)]
pub struct Foreign {
    pub outcome: Outcome,
    pub pooled: Value,
    pub version: Option<String>,
    /// Where it was computed, if the report tells.
    pub backend: Option<String>,
}

/// What is said of a report that is not whole.
pub fn unreadable(reason: &dyn Display) -> ToolError {
    ToolError::Failed(format!("vmaf output unreadable (disk-full or OOM kill?): {reason}"))
}

/// An outcome without scores, for reports that stay text.
pub fn no_scores(reference: &InputFacts) -> Outcome {
    outcome(reference, 0, 1, Scores::default(), None)
}

/// Reads libvmaf's JSON.
pub fn parse(text: &str, reference: &InputFacts, subsample: u64) -> Result<Foreign, ToolError> {
    let value: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&without_bare_words(text)).map_err(|_| error))
        .map_err(|error| unreadable(&error))?;
    let Value::Object(mut report) = value else {
        return Err(ToolError::Failed("vmaf output is not a JSON object".to_owned()));
    };
    let frames = report.remove("frames");
    let frames = frames.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (columns, count) = columns(frames)?;
    let scores = Scores::from_columns(columns, aggregates(&report));
    let words = |name: &str| report.get(name).and_then(Value::as_str).map(crate::error::cleaned);
    Ok(Foreign {
        outcome: outcome(reference, count, subsample, scores, report.get("fps").and_then(Value::as_f64)),
        version: words("version"),
        backend: words("backend_used").or_else(|| words("backend")),
        pooled: report.remove("pooled_metrics").unwrap_or(Value::Object(Map::new())),
    })
}

fn outcome(reference: &InputFacts, frames: u64, subsample: u64, scores: Scores, fps: Option<f64>) -> Outcome {
    let seconds = fps.filter(|fps| *fps > 0.0).map_or(0.0, |fps| frames as f64 / fps);
    Outcome {
        first_frame: 0,
        format: reference.format,
        frames,
        subsample: subsample.max(1),
        shorter: None,
        identical: false,
        scores,
        elapsed: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        backend: Level::Scalar.into(),
    }
}

/// A frame number beyond this is a fault of the report: there would be no memory for it.
const MOST_FRAMES: u64 = 50_000_000;

type Columns = Vec<(String, Vec<Option<f64>>)>;

/// The scores by name, and how many frames there are.
fn columns(frames: &[Value]) -> Result<(Columns, u64), ToolError> {
    let mut columns: Columns = Vec::new();
    let mut count = 0;
    for frame in frames {
        let index = frame.get("frameNum").and_then(Value::as_u64).filter(|index| *index < MOST_FRAMES);
        let index = index.ok_or_else(|| unreadable(&"a frame has no number"))?;
        count = count.max(index + 1);
        let Some(metrics) = frame.get("metrics").and_then(Value::as_object) else { continue };
        for (position, (name, score)) in metrics.iter().enumerate() {
            let at = match columns.get(position) {
                // Frames mostly have the same names in the same order.
                Some((known, _)) if known == name => position,
                _ => columns.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                    columns.push((name.clone(), Vec::new()));
                    columns.len() - 1
                }),
            };
            let values = &mut columns[at].1;
            values.resize(index as usize + 1, None);
            values[index as usize] = score.as_f64();
        }
    }
    Ok((columns, count))
}

fn aggregates(report: &Map<String, Value>) -> Vec<(String, f64)> {
    let aggregates = report.get("aggregate_metrics").and_then(Value::as_object);
    let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
    aggregates.into_iter().flatten().filter_map(number).collect()
}

/// C prints what is not finite as bare words, which JSON does not know: they become null.
fn without_bare_words(text: &str) -> String {
    const WORDS: [&str; 7] = ["-nan", "nan", "-inf", "inf", "NaN", "-Infinity", "Infinity"];
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_text) = (text, false);
    while let Some(first) = rest.chars().next() {
        let word = WORDS.iter().find(|word| !in_text && rest.starts_with(*word));
        let step = match (first, word) {
            (_, Some(word)) => {
                out.push_str("null");
                word.len()
            }
            ('\\', None) if in_text => {
                let step = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..step]);
                step
            }
            _ => {
                in_text ^= first == '"';
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[step..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::{Chroma, Format};

    fn facts() -> InputFacts {
        let format = Format::new(64, 64, Chroma::C420, 8).unwrap();
        InputFacts::new("a", format, None)
    }

    #[test]
    fn a_report_becomes_columns() {
        let text = r#"{"version":"3.2.0","fps":10.0,"frames":[
            {"frameNum":0,"metrics":{"a":1.5,"vmaf":90.0}},
            {"frameNum":2,"metrics":{"a":2.5,"vmaf":nan}}],
            "pooled_metrics":{"vmaf":{"mean":90.0}},"aggregate_metrics":{"apsnr":inf}}"#;
        let foreign = parse(text, &facts(), 2).unwrap();
        assert_eq!((foreign.outcome.frames, foreign.version.as_deref()), (3, Some("3.2.0")));
        let vmaf = foreign.outcome.scores.column("vmaf").unwrap();
        assert_eq!((vmaf.get(0), vmaf.get(1), vmaf.get(2)), (Some(90.0), None, None));
        assert_eq!(foreign.outcome.scores.column("a").unwrap().get(2), Some(2.5));
    }

    #[test]
    fn what_is_no_report_is_told() {
        for text in ["", "{\"frames\":[", "garbage", "{\"frames\":[{\"metrics\":{}}]}"] {
            let error = parse(text, &facts(), 1).unwrap_err().to_string();
            assert!(error.starts_with("vmaf output unreadable (disk-full or OOM kill?)"), "{error}");
        }
        assert_eq!(parse("[]", &facts(), 1).unwrap_err().to_string(), "vmaf output is not a JSON object");
    }

    #[test]
    fn texts_keep_their_words() {
        assert_eq!(
            without_bare_words(r#"{"inf":"nan \" inf","x":-inf}"#),
            r#"{"inf":"nan \" inf","x":null}"#
        );
    }
}
