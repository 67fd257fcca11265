//! Results as front ends return them: the whole report, a summary that fits an agent, pages of frames.
//!
//! A finished score is kept as columns of numbers, 8 bytes each, and turned into text when somebody asks.

mod full;
mod page;
mod summary;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use visus_engine::{Column, Outcome, Side};
use visus_report::full::InputFacts;
use visus_report::{Precision, libvmaf};

use crate::ToolError;
use crate::config::EngineKind;
use crate::tools::Answer;

pub use page::MAX_PAGE;

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
                value_bytes(&report.answer) + report.pictures.iter().map(Vec::len).sum::<usize>()
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

/// Who made the numbers.
#[derive(Clone, Debug)]
pub struct EngineFacts {
    pub kind: EngineKind,
    pub version: String,
    /// The CPU level, where it is known.
    pub cpu_level: Option<String>,
    /// The executable of an external engine.
    pub binary: Option<String>,
}

/// A model that took part.
#[derive(Clone, Debug)]
pub struct ModelFacts {
    /// The name of its scores.
    pub name: String,
    /// Version or path.
    pub label: String,
    pub sha256: Option<String>,
    /// The highest score it can give, where that is known.
    pub highest: Option<f64>,
}

/// A finished score.
#[derive(Debug)]
pub struct ScoreReport {
    pub engine: EngineFacts,
    pub backend_requested: String,
    pub backend_used: String,
    pub models: Vec<ModelFacts>,
    /// Columns that were asked for by themselves and that no model reads.
    pub extra_columns: Vec<String>,
    pub reference: InputFacts,
    pub distorted: InputFacts,
    /// Scores, formats and times. Of an external engine, what its report tells.
    pub outcome: Outcome,
    /// The pooled figures of an external engine, in its own words.
    pub foreign_pooled: Option<Value>,
    /// A report in another format than JSON, with the format's name.
    pub text: Option<(&'static str, String)>,
    pub precision: Precision,
    pub detail: Detail,
    pub mismatched_model: Option<String>,
    /// Why `auto` picked this model, and what else a person should know.
    pub notes: Vec<String>,
    /// What else is known of the pair, by name: of encoded videos, whether and how they were brought together.
    pub sections: Vec<(String, Value)>,
    /// The pairs with which shots begin, where pairing has seen them.
    pub paired_shots: Option<Vec<u64>>,
}

impl ScoreReport {
    /// Takes over what pairing tells: sections of the report, and where shots begin.
    pub fn note_pairing(&mut self, (sections, shots): (Vec<(String, Value)>, Vec<u64>)) {
        (self.sections, self.paired_shots) = (sections, Some(shots));
    }

    /// The pairs with which shots begin: as pairing has seen them, or else as far as the motion tells.
    pub fn shots(&self) -> Vec<u64> {
        let paired = self.paired_shots.clone();
        paired.unwrap_or_else(|| visus_report::shots::starts(&self.outcome))
    }

    pub fn bytes(&self) -> usize {
        let columns = self.outcome.scores.columns().len();
        let text = self.text.as_ref().map_or(0, |(_, text)| text.len());
        let foreign = self.foreign_pooled.as_ref().map_or(0, value_bytes)
            + self.sections.iter().map(|(_, value)| value_bytes(value)).sum::<usize>();
        size_of::<Self>() + columns * self.outcome.frames as usize * size_of::<f64>() + text + foreign + 4096
    }

    /// The report at a level of detail. `id` is the job's, for links to the rest.
    pub fn answer(&self, id: &str, detail: Detail) -> Answer {
        match detail {
            _ if self.text.is_some() => self.in_other_format(id),
            Detail::Full => self.full(id),
            Detail::Frames => self.with_frame_scores(id),
            Detail::Auto | Detail::Summary => self.summary(id),
        }
    }

    /// The report in one of libvmaf's formats.
    pub fn write(&self, format: libvmaf::Format) -> Result<Vec<u8>, std::io::Error> {
        let mut out = Vec::new();
        let report = libvmaf::Report {
            version: &self.engine.version,
            outcome: &self.outcome,
            precision: self.precision,
        };
        report.write(format, &mut out)?;
        Ok(out)
    }

    /// The report as a page for people.
    pub fn html(&self, id: &str) -> Option<String> {
        let record = visus_report::Record::from_json(&Value::Object(self.full(id))).ok()?;
        Some(visus_report::html::page(&record, &[]))
    }

    fn in_other_format(&self, id: &str) -> Map<String, Value> {
        let mut answer = Map::new();
        if let Some((format, text)) = &self.text {
            answer.insert("format".to_owned(), json!(format));
            answer.insert("output".to_owned(), json!(text));
        }
        self.add_facts(&mut answer, id);
        answer
    }

    /// What every answer says, whatever its detail.
    fn add_facts(&self, answer: &mut Map<String, Value>, id: &str) {
        answer.insert("backend_requested".to_owned(), json!(self.backend_requested));
        answer.insert("backend_used".to_owned(), json!(self.backend_used));
        if let Some(text) = &self.mismatched_model {
            answer.insert("mismatched_model_warning".to_owned(), json!(text));
        }
        if !self.notes.is_empty() {
            answer.insert("notes".to_owned(), json!(self.notes));
        }
        if self.outcome.identical {
            answer.insert("identical".to_owned(), json!(true));
        }
        if let Some(side) = self.outcome.shorter {
            answer.insert("shorter_input".to_owned(), json!(side.to_string()));
        }
        answer.extend(self.sections.iter().cloned());
        answer.insert("provenance".to_owned(), self.provenance());
        answer.insert("job_id".to_owned(), json!(id));
    }

    fn provenance(&self) -> Value {
        let mut facts = Map::new();
        facts.insert("engine".to_owned(), json!(self.engine.kind.name()));
        facts.insert("version".to_owned(), json!(self.engine.version));
        if let Some(level) = &self.engine.cpu_level {
            facts.insert("cpu_level".to_owned(), json!(level));
        }
        if let Some(binary) = &self.engine.binary {
            facts.insert("binary".to_owned(), json!(binary));
        }
        let model =
            |model: &ModelFacts| json!({ "name": model.name, "model": model.label, "sha256": model.sha256 });
        facts.insert("models".to_owned(), self.models.iter().map(model).collect());
        facts.insert("reference".to_owned(), self.input(Side::Reference));
        facts.insert("distorted".to_owned(), self.input(Side::Distorted));
        Value::Object(facts)
    }

    fn input(&self, side: Side) -> Value {
        let facts = if side == Side::Reference { &self.reference } else { &self.distorted };
        json!({
            "file": crate::error::cleaned(&facts.file),
            "format": facts.format.to_string(),
            "frame_rate": facts.frame_rate.map(|(num, den)| format!("{num}/{den}")),
        })
    }

    /// The listed frames that have at least one score.
    fn listed(&self) -> impl Iterator<Item = u64> + '_ {
        let columns = self.outcome.scores.columns();
        let step = self.outcome.subsample.max(1) as usize;
        let listed = (0..self.outcome.frames).step_by(step);
        listed.filter(move |index| columns.iter().any(|column| column.get(*index).is_some()))
    }

    fn frame(&self, index: u64) -> Value {
        let score = |column: &Column| Some((column.name().to_owned(), self.number(column.get(index)?)));
        let metrics: Map<String, Value> = self.outcome.scores.columns().iter().filter_map(score).collect();
        json!({ "frameNum": index, "metrics": metrics })
    }

    /// A score with the digits that were asked for. What JSON cannot hold is null.
    fn number(&self, value: f64) -> Value {
        number(value, self.precision)
    }
}

/// A number as libvmaf would print it, but as JSON.
pub(crate) fn number(value: f64, precision: Precision) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    json!(precision.text(value).parse::<f64>().unwrap_or(value))
}
