//! `list_extractors`: feature extractors, from the engine itself.

use schemars::JsonSchema;
use serde::Serialize;
use visus_metrics::{Info, OptionKind, OptionSpec, registry};

use super::field::{Field, Kind, Values};
use super::offer::Toolset;
use super::{Answer, LIST_DETAIL, READS, Run, Tool, answer, schema, wants_full};
use crate::text::quoted_text;
use crate::{Server, ToolError};

pub const LIST_EXTRACTORS: Tool = Tool {
    name: "list_extractors",
    title: "List metrics",
    description: "Lists the metrics that scoring tools take in 'feature'. With 'name' it gives one metric's options and scores.",
    set: Toolset::Core,
    hints: READS,
    fields: || FIELDS,
    answer: schema::of::<ExtractorList>,
    shows: &["extractors"],
    run: Run::Look(list),
};

const FIELDS: &[Field] =
    &[Field::new("name", Kind::Text, "One metric, with its options.").example("\"cambi\""), LIST_DETAIL];

#[derive(Serialize, JsonSchema)]
struct ExtractorList {
    /// Name, backend and purpose of each.
    extractors: Vec<Extractor>,
}

/// A feature extractor.
#[derive(Serialize, JsonSchema)]
struct Extractor {
    /// What to give in 'feature'.
    name: &'static str,
    /// Where it is computed.
    backend: &'static str,
    /// What it measures.
    help: &'static str,
    /// Its options; only for one extractor, or with detail 'full'.
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Vec<ExtractorOption>>,
    /// The names of its scores; as the options.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<String>>,
}

/// An option of an extractor.
#[derive(Serialize, JsonSchema)]
struct ExtractorOption {
    name: &'static str,
    /// bool, int, double or text.
    r#type: &'static str,
    default: String,
    /// Smallest and largest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// What it does.
    help: &'static str,
}

fn list(server: &Server, values: &Values) -> Result<Answer, ToolError> {
    let all = registry::METRICS.iter();
    let extractors = match values.text("name") {
        Some(name) => vec![whole(all.clone().find(|info| info.name == name).ok_or_else(|| unknown(name))?)],
        None if wants_full(server, values) => all.map(|info| whole(info)).collect(),
        None => all.map(|info| brief(info)).collect(),
    };
    answer(&ExtractorList { extractors })
}

fn unknown(name: &str) -> ToolError {
    let near = super::field::nearest(name, registry::METRICS.iter().map(|info| info.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    ToolError::Refused(format!("there is no metric {}{near}", quoted_text(name)))
}

fn brief(info: &'static Info) -> Extractor {
    Extractor { name: info.name, backend: "cpu", help: info.help, options: None, metrics: None }
}

fn whole(info: &'static Info) -> Extractor {
    let metrics = registry::build(info, &[])
        .map(|metric| metric.keys().iter().map(|key| key.name.clone()).collect())
        .unwrap_or_default();
    let options = info.options.iter().map(option).collect();
    Extractor { options: Some(options), metrics: Some(metrics), ..brief(info) }
}

fn option(spec: &'static OptionSpec) -> ExtractorOption {
    let (kind, default, range) = match spec.kind {
        OptionKind::Bool { default } => ("bool", default.to_string(), None),
        OptionKind::Int { default, min, max } => ("int", default.to_string(), Some(format!("{min}..{max}"))),
        OptionKind::Double { default, min, max } => {
            ("double", default.to_string(), Some(format!("{min}..{max}")))
        }
        OptionKind::Text { default } => ("text", default.to_owned(), None),
    };
    ExtractorOption { name: spec.name, r#type: kind, default, range, help: spec.help }
}
