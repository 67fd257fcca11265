//! What a written report says, read back: ours and libvmaf's JSON, from this program or from elsewhere.
//!
//! Pages, plots, comparisons and gates are made from a [`Record`], so all of them work with a report of last year as well
//! as with a run that has just ended.

use serde_json::{Map, Value};

use crate::score::ScoreReport;
use crate::shots::{self, Shot};
use crate::stats::{self, Figures};

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("this is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("this JSON is no report of visus or vmaf: {0}")]
    Shape(&'static str),
}

/// A column over the listed frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    /// An entry per listed frame.
    pub values: Vec<Option<f64>>,
}

impl Curve {
    /// The figures of the column; `None` if a frame has no score.
    pub fn figures(&self) -> Option<Figures> {
        stats::figures(&self.complete()?)
    }

    /// The scores, if every frame has one.
    pub fn complete(&self) -> Option<Vec<f64>> {
        self.values.iter().copied().collect()
    }
}

/// A model that took part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFact {
    /// The name of its scores.
    pub name: String,
    /// Version or path.
    pub model: String,
    pub sha256: Option<String>,
}

/// An input as the report describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFact {
    pub file: String,
    /// Size, chroma and depth in words.
    pub format: String,
    pub frame_rate: Option<(u32, u32)>,
    pub bytes: Option<u64>,
    /// Of the file; where it was not computed, why not.
    pub sha256: Option<String>,
    pub warnings: Vec<String>,
}

/// Whether the two inputs can be compared, according to the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparable {
    /// `yes`, `warn` or `no`.
    pub verdict: String,
    pub reasons: Vec<String>,
}

/// A report, read back.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub version: String,
    pub cpu_level: Option<String>,
    /// The listed frames, by their number in the clip.
    pub frames: Vec<u64>,
    pub curves: Vec<Curve>,
    pub aggregates: Vec<(String, f64)>,
    pub models: Vec<ModelFact>,
    pub reference: InputFact,
    pub distorted: InputFact,
    pub identical: bool,
    pub shorter: Option<String>,
    pub comparable: Option<Comparable>,
    /// What pairing found, as text.
    pub pairing: Vec<(String, String)>,
    pub shots: Vec<Shot>,
    pub notes: Vec<String>,
    /// Faults that detectors found, in words.
    pub warnings: Vec<String>,
}

impl Record {
    /// Of a run that has just ended.
    pub fn of(report: ScoreReport<'_>) -> Result<Self, RecordError> {
        Self::from_json(&report.json())
    }

    /// From the text of a report.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        Self::from_json(&serde_json::from_str(text)?)
    }

    /// From a report's JSON.
    pub fn from_json(report: &Value) -> Result<Self, RecordError> {
        let rows = report["frames"].as_array().ok_or(RecordError::Shape("it has no list of frames"))?;
        let (frames, curves) = columns(rows)?;
        let provenance = if report["provenance"].is_object() { &report["provenance"] } else { report };
        let mut record = Self {
            version: text(&report["version"]).unwrap_or_default(),
            cpu_level: text(&provenance["cpu_level"]),
            aggregates: aggregates(&report["aggregate_metrics"]),
            reference: input(&provenance["reference"]),
            distorted: input(&provenance["distorted"]),
            identical: report["identical"].as_bool().unwrap_or(false),
            shorter: text(&report["shorter_input"]),
            comparable: comparable(report),
            pairing: pairing(&report["pairing"]),
            warnings: faults(&report["warnings"]),
            notes: texts(&report["notes"]).into_iter().chain(text(&report["note"])).collect(),
            shots: shots::given(&report["shots"]),
            models: models(&provenance["models"]),
            frames,
            curves,
        };
        if record.models.is_empty() {
            record.models = record.guessed_models();
        }
        if record.shots.is_empty() {
            record.shots = shots::from_motion(&record);
        }
        if record.shots.is_empty() {
            record.shots = shots::from_starts(&report["pairing"]["shots"], &record.frames);
        }
        Ok(record)
    }

    pub fn curve(&self, name: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.name == name)
    }

    /// The scores of the models, in the models' order.
    pub fn model_curves(&self) -> impl Iterator<Item = &Curve> {
        self.models.iter().filter_map(|model| self.curve(&model.name))
    }

    /// The columns a person wants to see: of the models, or all where there is no model.
    pub fn shown(&self) -> Vec<&Curve> {
        let models: Vec<&Curve> = self.model_curves().collect();
        if models.is_empty() { self.curves.iter().collect() } else { models }
    }

    /// Seconds from the start of the clip to a frame, where the frame rate is known.
    pub fn seconds(&self, frame: u64) -> Option<f64> {
        self.frames_per_second().map(|rate| frame as f64 / rate)
    }

    pub fn frames_per_second(&self) -> Option<f64> {
        let (num, den) = self.reference.frame_rate.or(self.distorted.frame_rate)?;
        Some(f64::from(num) / f64::from(den))
    }

    /// libvmaf does not say which columns are models; their names begin with `vmaf`.
    fn guessed_models(&self) -> Vec<ModelFact> {
        let is_model = |name: &str| {
            let spread = ["_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"];
            name.starts_with("vmaf") && !spread.iter().any(|end| name.ends_with(end))
        };
        let names = self.curves.iter().map(|curve| curve.name.clone()).filter(|name| is_model(name));
        names.map(|name| ModelFact { name, ..ModelFact::default() }).collect()
    }
}

/// Frames by rising number, and the columns over them in the order of their first appearance.
fn columns(rows: &[Value]) -> Result<(Vec<u64>, Vec<Curve>), RecordError> {
    let mut frames = Vec::with_capacity(rows.len());
    let mut curves: Vec<Curve> = Vec::new();
    let mut places: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for (row, entry) in rows.iter().enumerate() {
        let number = entry["frameNum"].as_u64().ok_or(RecordError::Shape("a frame has no frameNum"))?;
        if frames.last().is_some_and(|last| *last >= number) {
            return Err(RecordError::Shape("its frames are not in order"));
        }
        frames.push(number);
        let metrics = entry["metrics"].as_object().ok_or(RecordError::Shape("a frame has no metrics"))?;
        for (name, value) in metrics {
            let place = *places.entry(name).or_insert_with(|| {
                curves.push(Curve { name: printable(name), values: Vec::new() });
                curves.len() - 1
            });
            curves[place].values.resize(row, None);
            curves[place].values.push(value.as_f64());
        }
    }
    curves.iter_mut().for_each(|curve| curve.values.resize(frames.len(), None));
    Ok((frames, curves))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(printable)
}

/// Text from a report that anybody may have written: what would steer a terminal becomes U+FFFD.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().map_or(Vec::new(), |list| list.iter().filter_map(text).collect())
}

/// The words of warnings.
fn faults(value: &Value) -> Vec<String> {
    value.as_array().map_or(Vec::new(), |list| list.iter().filter_map(|fault| text(&fault["text"])).collect())
}

fn aggregates(value: &Value) -> Vec<(String, f64)> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((printable(name), value.as_f64()?))).collect()
}

fn models(value: &Value) -> Vec<ModelFact> {
    let model = |value: &Value| {
        let name = text(&value["name"])?;
        let model = text(&value["model"]).or_else(|| text(&value["label"])).unwrap_or_else(|| name.clone());
        Some(ModelFact { name, model, sha256: text(&value["sha256"]) })
    };
    value.as_array().map_or(Vec::new(), |list| list.iter().filter_map(model).collect())
}

fn input(value: &Value) -> InputFact {
    if let Some(file) = value.as_str() {
        return InputFact { file: printable(file), ..InputFact::default() };
    }
    let format = match (value["width"].as_u64(), value["height"].as_u64()) {
        (Some(width), Some(height)) => {
            let chroma = value["chroma"].as_str().map_or(String::new(), |chroma| format!(" {chroma}"));
            let depth = value["bit_depth"].as_u64().map_or(String::new(), |depth| format!(" {depth}-bit"));
            format!("{width}x{height}{chroma}{depth}")
        }
        _ => String::new(),
    };
    InputFact {
        file: text(&value["file"]).unwrap_or_default(),
        format,
        frame_rate: value["frame_rate"].as_str().and_then(ratio),
        bytes: value["bytes"].as_u64(),
        sha256: text(&value["sha256"]),
        warnings: texts(&value["warnings"]),
    }
}

fn ratio(text: &str) -> Option<(u32, u32)> {
    let (num, den) = text.split_once('/')?;
    let ratio: (u32, u32) = (num.parse().ok()?, den.parse().ok()?);
    (ratio.0 > 0 && ratio.1 > 0).then_some(ratio)
}

/// `comparability` or `comparable` as an object with verdict and reasons, or as a word with `reasons` beside it.
fn comparable(report: &Value) -> Option<Comparable> {
    let value =
        if report["comparability"].is_object() { &report["comparability"] } else { &report["comparable"] };
    let verdict =
        value.as_str().or_else(|| value["verdict"].as_str()).or_else(|| value["comparable"].as_str());
    let reasons = [&value["reasons"], &report["comparable_reasons"], &report["reasons"]];
    let reasons = reasons.into_iter().find(|list| list.is_array()).map_or(Vec::new(), reason_texts);
    Some(Comparable { verdict: verdict?.to_owned(), reasons })
}

/// Reasons are words, or objects that hold words; what weighs most comes first.
fn reason_texts(list: &Value) -> Vec<String> {
    let weight = |value: &&Value| match value["weight"].as_str() {
        Some("no") => 0,
        Some("warn") => 1,
        _ => 2,
    };
    let mut list: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    list.sort_by_key(weight);
    let reason = |value: &Value| text(value).or_else(|| text(&value["text"])).unwrap_or_else(|| plain(value));
    list.into_iter().map(reason).collect()
}

/// The sentence that sums pairing up, and how its re-check went; without a sentence, all there is.
fn pairing(value: &Value) -> Vec<(String, String)> {
    let Some(summary) = text(&value["summary"]) else { return facts(value) };
    let share = |name: &str| Some(format!("{:.0} % {name}", 100.0 * value["recheck"][name].as_f64()?));
    let recheck: Vec<String> = ["sure", "unclear", "contradicted"].into_iter().filter_map(share).collect();
    let mut all = vec![("frames".to_owned(), summary)];
    if !recheck.is_empty() && !value["confidence"].is_null() {
        all.push(("checked again".to_owned(), recheck.join(", ")));
    }
    all
}

/// An object's entries in words, long lists cut.
fn facts(value: &Value) -> Vec<(String, String)> {
    let entries: Option<&Map<String, Value>> = value.as_object();
    let named = |(name, value): (&String, &Value)| (printable(name).replace('_', " "), plain(value));
    entries.into_iter().flatten().filter(|(_, value)| !value.is_null()).map(named).collect()
}

const LONGEST_LIST: usize = 20;

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => printable(text),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => {
            let mut text = list.iter().take(LONGEST_LIST).map(plain).collect::<Vec<_>>().join(", ");
            if list.len() > LONGEST_LIST {
                text.push_str(&format!(" and {} more", list.len() - LONGEST_LIST));
            }
            text
        }
        Value::Object(entries) => {
            let entry = |(name, value): (&String, &Value)| {
                format!("{} {}", printable(name).replace('_', " "), plain(value))
            };
            entries.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libvmafs_reports_are_read() {
        let record = Record::parse(
            r#"{"version":"3.2.0","fps":1.0,"frames":[
                {"frameNum":0,"metrics":{"integer_vif":0.5,"vmaf":90.0}},
                {"frameNum":2,"metrics":{"vmaf":null,"psnr_y":40.0}}],"pooled_metrics":{}}"#,
        )
        .unwrap();
        assert_eq!(record.frames, [0, 2]);
        assert_eq!(record.models[0].name, "vmaf");
        assert_eq!(record.curve("vmaf").unwrap().values, [Some(90.0), None]);
        assert_eq!(record.curve("psnr_y").unwrap().values, [None, Some(40.0)]);
        assert_eq!(record.curve("vmaf").unwrap().figures(), None);
    }

    #[test]
    fn no_text_of_a_report_steers_a_terminal() {
        let escape = "\\u001b[31m";
        let report = r#"{"version":"V","frames":[{"frameNum":0,"metrics":{"vmafV":1.0}}],"aggregate_metrics":{"V":1.0},
            "pairing":{"V":{"V":["V"]}},"notes":["V"],"warnings":[{"text":"V"}],"reference":"V",
            "distorted":{"file":"V"},"models":[{"name":"V"}],"shorter_input":"V"}"#;
        let record = Record::parse(&report.replace('V', escape)).unwrap();
        let shown = format!("{record:?}");
        assert!(!shown.contains("\\u{1b}"), "{shown}");
        assert!(shown.contains("\u{fffd}[31m"), "{shown}");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for (text, word) in [
            ("", "no JSON"),
            ("[]", "no list of frames"),
            (r#"{"frames":[{}]}"#, "no frameNum"),
            (r#"{"frames":[{"frameNum":1}]}"#, "no metrics"),
            (r#"{"frames":[{"frameNum":1,"metrics":{}},{"frameNum":1,"metrics":{}}]}"#, "not in order"),
        ] {
            let error = Record::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn verdicts_in_several_shapes() {
        let read = |text: &str| comparable(&serde_json::from_str(text).unwrap()).unwrap();
        let want = Comparable { verdict: "warn".into(), reasons: vec!["a".into()] };
        assert_eq!(read(r#"{"comparable":"warn","reasons":["a"]}"#), want);
        assert_eq!(read(r#"{"comparable":{"verdict":"warn","reasons":["a"]}}"#), want);
        let own = r#"{"comparability":{"comparable":"warn","reasons":[{"weight":"yes","code":"size","text":"b"},
            {"weight":"warn","code":"hdr","text":"a"}]}}"#;
        assert_eq!(read(own), Comparable { verdict: "warn".into(), reasons: vec!["a".into(), "b".into()] });
        assert_eq!(ratio("30000/1001"), Some((30000, 1001)));
        assert_eq!(ratio("1/0"), None);
    }
}
