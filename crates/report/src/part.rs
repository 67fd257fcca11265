//! The report of a part of a clip, and joining such reports to that of the whole.
//!
//! A part's report is an ordinary report with one entry more, `part`: the raw numbers of every frame and how the plan was
//! asked for. The joined report has everything a single run writes, and nothing else; only `fps` is a matter of time.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use visus_engine::model::{ModelFlags, Overload};
use visus_engine::{
    FeatureSpec, JoinError, ModelSource, ModelSpec, Outcome, Part, Plan, PlanError, Row, Scores, Side, join,
};
use visus_metrics::Level;
use visus_video::{Chroma, Format};

use crate::score::{self, FaultWarning, IDENTICAL, InputFacts, ScoreFacts, ScoreReport};

/// What a plan was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub models: Vec<ModelSpec>,
    pub features: Vec<FeatureSpec>,
}

/// Why parts do not merge.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(
        "{name} is no report of a part: {what}; parts are made with `visus score --from … --to … --json=FILE`"
    )]
    NoPart { name: String, what: &'static str },
    #[error("{first} and {other} differ in {what}, so they are no parts of one clip")]
    Different { first: String, other: String, what: String },
    #[error(
        "model {model} is not the one that the parts were scored with: its SHA-256 is {now}, theirs {then}"
    )]
    OtherModel { model: String, now: String, then: String },
    #[error("the parts are not of one pair of videos: {0}")]
    Pairing(String),
    #[error("what detectors know of the parts' frames cannot be read: {0}")]
    Diagnosis(String),
    #[error("the last part ends before frame {0}, and the clip goes on; more parts are missing")]
    OpenEnd(u64),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// What joining needs of a part of a clip.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PartEntry {
    /// The first frame of the part.
    from: u64,
    /// The frame after its last.
    to: u64,
    /// Whether the clip ends with this part.
    ended: bool,
    /// How long scoring took.
    seconds: f64,
    /// The models that were asked for.
    models: Vec<PartModel>,
    /// The metrics that were asked for.
    features: Vec<PartFeature>,
    /// For every frame and metric, the raw numbers before anything that depends on other frames.
    #[schemars(with = "Vec<Vec<Vec<RawNumber>>>")]
    rows: Vec<Value>,
    /// What the part knows of the pairing of its frames, where videos were decoded or paired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairing: Option<Value>,
    /// What detectors of faults know of each frame, where they looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<Value>,
}

/// A model as it was asked for: by `version` or by `path`.
#[derive(Debug, Serialize, JsonSchema)]
struct PartModel {
    /// A built-in version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// A file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The name of its scores.
    name: String,
    /// Scores are not clipped to the model's range.
    disable_clip: bool,
    /// Scores go through the model's transform.
    enable_transform: bool,
    /// Metric, option and value of every option that was given for the model's features.
    overloads: Vec<[String; 3]>,
}

/// A metric as it was asked for.
#[derive(Debug, Serialize, JsonSchema)]
struct PartFeature {
    /// Its name.
    metric: String,
    /// Names and values of its options.
    options: Vec<(String, String)>,
}

/// A number; what JSON cannot hold stands there as its bits in hexadecimal.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum RawNumber {
    Finite(f64),
    Bits(String),
}

/// What a part carries beside its rows: what it knows of the pairing, and what detectors know of its frames.
#[derive(Debug, Default)]
pub struct PartKnowledge {
    pub pairing: Option<Value>,
    pub diagnosis: Option<Value>,
}

/// The entry of a part's report. `ended`: the clip ends with this part.
pub fn entry(outcome: &Outcome, ended: bool, rows: &[Row], asked: &Asked, known: PartKnowledge) -> Value {
    let PartKnowledge { pairing, diagnosis } = known;
    score::json(&PartEntry {
        from: outcome.first_frame,
        to: outcome.first_frame + outcome.frames,
        ended,
        seconds: outcome.elapsed.as_secs_f64(),
        models: asked.models.iter().map(PartModel::of).collect(),
        features: asked.features.iter().map(PartFeature::of).collect(),
        rows: rows.iter().map(row_json).collect(),
        pairing,
        diagnosis,
    })
}

impl PartModel {
    fn of(spec: &ModelSpec) -> Self {
        let (version, path) = match &spec.source {
            ModelSource::Version(version) => (Some(version.clone()), None),
            ModelSource::Path(path) => (None, Some(path.to_string_lossy().into_owned())),
        };
        let overload = |one: &Overload| [one.metric.clone(), one.option.clone(), one.value.clone()];
        Self {
            version,
            path,
            name: spec.name.clone(),
            disable_clip: spec.flags.disable_clip,
            enable_transform: spec.flags.enable_transform,
            overloads: spec.overloads.iter().map(overload).collect(),
        }
    }
}

impl PartFeature {
    fn of(spec: &FeatureSpec) -> Self {
        Self { metric: spec.metric.clone(), options: spec.options.clone() }
    }
}

fn model_spec(value: &Value) -> Option<ModelSpec> {
    let source = match (value["version"].as_str(), value["path"].as_str()) {
        (Some(version), _) => ModelSource::Version(version.to_owned()),
        (None, Some(path)) => ModelSource::Path(path.into()),
        (None, None) => return None,
    };
    let overload = |value: &Value| {
        let word = |place: usize| value[place].as_str().map(str::to_owned);
        Some(Overload { metric: word(0)?, option: word(1)?, value: word(2)? })
    };
    let flags = ModelFlags {
        disable_clip: value["disable_clip"].as_bool()?,
        enable_transform: value["enable_transform"].as_bool()?,
    };
    let overloads = value["overloads"].as_array()?.iter().map(overload).collect::<Option<Vec<_>>>()?;
    Some(ModelSpec { source, name: value["name"].as_str()?.to_owned(), flags, overloads })
}

fn feature_spec(value: &Value) -> Option<FeatureSpec> {
    let option = |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
    let options = value["options"].as_array()?.iter().map(option).collect::<Option<Vec<_>>>()?;
    Some(FeatureSpec { metric: value["metric"].as_str()?.to_owned(), options })
}

/// The raw numbers of a frame, to the last bit.
fn row_json(row: &Row) -> Value {
    let number = |value: &f64| match value.is_finite() {
        true => RawNumber::Finite(*value),
        false => RawNumber::Bits(format!("{:016x}", value.to_bits())),
    };
    row.iter().map(|raw| score::json(&raw.iter().map(number).collect::<Vec<_>>())).collect()
}

fn row(value: &Value) -> Option<Row> {
    let number = |value: &Value| match value {
        Value::String(bits) => u64::from_str_radix(bits, 16).ok().map(f64::from_bits),
        other => other.as_f64(),
    };
    let raw = |value: &Value| value.as_array()?.iter().map(number).collect();
    value.as_array()?.iter().map(raw).collect()
}

/// Merges the reports of parts, in any order, each with the name it is called by in errors. A clip whose end no part has
/// seen is refused unless `open_end`: then the result is that of a run over as many frames.
/// `join_pairing` makes the sections about pairing from what the parts know of it, in their order.
pub fn merge(
    mut reports: Vec<(String, Value)>,
    open_end: bool,
    join_pairing: &JoinPairing<'_>,
    join_diagnosis: &JoinDiagnosis<'_>,
) -> Result<Value, MergeError> {
    reports.sort_by_key(|(_, report)| report["part"]["from"].as_u64());
    let parts: Result<Vec<(Part, Asked)>, _> =
        reports.iter().map(|(name, report)| read(name, report)).collect();
    let parts = parts?;
    let Some((first, asked)) = parts.first() else { return Err(JoinError::Nothing.into()) };
    for (other, (_, others)) in reports.iter().zip(&parts) {
        check_alike(&reports[0], other, asked == others)?;
    }
    let plan = Plan::new(&asked.models, &asked.features, true)?.lean();
    check_hashes(&plan, &reports[0].1)?;
    let format = first.outcome.format;
    let parts: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    let outcome = join(&plan, &parts)?;
    if let Some(last) = parts.last().filter(|last| !last.ended && !open_end) {
        return Err(MergeError::OpenEnd(last.end()));
    }
    let warnings = joined_warnings(&reports, &format, join_diagnosis)?;
    let mut merged = written(&plan, &outcome, format, &reports, warnings);
    let shares: Vec<Value> =
        reports.iter().filter_map(|(_, report)| report["part"].get("pairing").cloned()).collect();
    if !shares.is_empty() {
        for (key, section) in join_pairing(&shares).map_err(MergeError::Pairing)? {
            merged[key] = section;
        }
    }
    Ok(merged)
}

/// Makes sections of a report from what parts know of their pairing.
pub type JoinPairing<'a> = dyn Fn(&[Value]) -> Result<Vec<(&'static str, Value)>, String> + 'a;

/// Makes warnings from what detectors know of the frames of all parts, in their order.
pub type JoinDiagnosis<'a> = dyn Fn(&Format, &[Value]) -> Result<Vec<FaultWarning>, String> + 'a;

/// The faults of the whole clip, if detectors looked at every part.
fn joined_warnings(
    reports: &[(String, Value)],
    format: &Format,
    join_diagnosis: &JoinDiagnosis<'_>,
) -> Result<Option<Vec<FaultWarning>>, MergeError> {
    let known: Option<Vec<Value>> =
        reports.iter().map(|(_, report)| report["part"].get("diagnosis").cloned()).collect();
    known.map(|known| join_diagnosis(format, &known).map_err(MergeError::Diagnosis)).transpose()
}

/// A part as its report describes it. Its scores are not read: they are computed again.
fn read(name: &str, report: &Value) -> Result<(Part, Asked), MergeError> {
    let fault = |what| MergeError::NoPart { name: name.to_owned(), what };
    let part = &report["part"];
    if !part.is_object() {
        return Err(fault("it has no entry `part`"));
    }
    let list = |key: &str| part[key].as_array().ok_or_else(|| fault("its entry `part` lacks a list"));
    let models: Option<Vec<_>> = list("models")?.iter().map(model_spec).collect();
    let features: Option<Vec<_>> = list("features")?.iter().map(feature_spec).collect();
    let rows: Option<Vec<Row>> = list("rows")?.iter().map(row).collect();
    let asked = Asked {
        models: models.ok_or_else(|| fault("a model in it cannot be read"))?,
        features: features.ok_or_else(|| fault("a feature in it cannot be read"))?,
    };
    let number = |value: &Value| value.as_u64().ok_or_else(|| fault("a number in it cannot be read"));
    let (from, to) = (number(&part["from"])?, number(&part["to"])?);
    let seconds = part["seconds"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let outcome = Outcome {
        format: format(&report["provenance"]["reference"])
            .ok_or_else(|| fault("its format cannot be read"))?,
        first_frame: from,
        frames: to.checked_sub(from).ok_or_else(|| fault("it ends before it begins"))?,
        subsample: number(&report["provenance"]["subsample"])?.max(1),
        shorter: side(&report["shorter_input"]),
        identical: report["identical"].as_bool().unwrap_or(false),
        scores: Scores::default(),
        elapsed: seconds.unwrap_or_default(),
        backend: Level::Scalar.into(),
    };
    let rows = rows.ok_or_else(|| fault("a row in it cannot be read"))?;
    Ok((Part { outcome, ended: part["ended"].as_bool().unwrap_or(false), rows }, asked))
}

fn side(value: &Value) -> Option<Side> {
    [Side::Reference, Side::Distorted].into_iter().find(|side| value.as_str() == Some(&side.to_string()))
}

fn format(input: &Value) -> Option<Format> {
    let chroma = [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444];
    let chroma = chroma.into_iter().find(|chroma| input["chroma"].as_str() == Some(&chroma.to_string()))?;
    let side = |name: &str| input[name].as_u64().and_then(|side| usize::try_from(side).ok());
    let depth = u8::try_from(input["bit_depth"].as_u64()?).ok()?;
    Format::new(side("width")?, side("height")?, chroma, depth).ok()
}

/// Entries of a report that belong to its frames alone. All others must be the same in all parts.
const OWN: [&str; 9] = [
    "fps",
    "identical",
    "frame_count",
    "shorter_input",
    "frames",
    "pooled_metrics",
    "aggregate_metrics",
    "warnings",
    "part",
];

/// Entries that are made anew from what the parts know of their pairing.
const JOINED: [&str; 2] = ["comparability", "pairing"];

/// Entries that may differ from machine to machine, since scores do not depend on them, and notes.
const FREE: [&str; 3] = ["notes", "backend_requested", "backend_used"];

fn check_alike(first: &(String, Value), other: &(String, Value), same_plan: bool) -> Result<(), MergeError> {
    let different = |what: &str| MergeError::Different {
        first: first.0.clone(),
        other: other.0.clone(),
        what: what.to_owned(),
    };
    if !same_plan {
        return Err(different("models or features"));
    }
    let strip = |report: &Value| -> Map<String, Value> {
        let mut entries = report.as_object().cloned().unwrap_or_default();
        let joined: &[&str] = if report["part"]["pairing"].is_object() { &JOINED } else { &[] };
        OWN.iter().chain(&FREE).chain(joined).for_each(|key| drop(entries.shift_remove(*key)));
        if let Some(provenance) = entries.get_mut("provenance").and_then(Value::as_object_mut) {
            provenance.shift_remove("cpu_level");
            provenance.shift_remove("device");
        }
        entries
    };
    let (first_entries, other_entries) = (strip(&first.1), strip(&other.1));
    let keys = first_entries.keys().chain(other_entries.keys());
    match keys.into_iter().find(|key| first_entries.get(*key) != other_entries.get(*key)) {
        Some(key) if key == "provenance" => {
            Err(different(differing(&first_entries["provenance"], &other_entries["provenance"])))
        }
        Some(key) => Err(different(key)),
        None => Ok(()),
    }
}

/// Which entry of two objects is not the same.
fn differing<'a>(first: &'a Value, other: &Value) -> &'a str {
    let entries = first.as_object().into_iter().flatten();
    entries
        .into_iter()
        .find(|(key, value)| other.get(*key) != Some(*value))
        .map_or("provenance", |(key, _)| key)
}

fn check_hashes(plan: &Plan, report: &Value) -> Result<(), MergeError> {
    let then = report["provenance"]["models"].as_array().into_iter().flatten();
    for (model, then) in plan.models().zip(then) {
        let then = then["sha256"].as_str().unwrap_or_default();
        if model.sha256 != then {
            let (model, now) = (model.label.clone(), model.sha256.clone());
            return Err(MergeError::OtherModel { model, now, then: then.to_owned() });
        }
    }
    Ok(())
}

/// The first part's report with everything that belongs to its frames replaced, in the same order.
fn written(
    plan: &Plan,
    outcome: &Outcome,
    format: Format,
    reports: &[(String, Value)],
    warnings: Option<Vec<FaultWarning>>,
) -> Value {
    let first = &reports[0].1;
    let input = || InputFacts::new("", format, None);
    let version = first["version"].as_str().unwrap_or_default();
    let mut facts = ScoreFacts::native(version, plan, outcome, [input(), input()]);
    facts.warnings = warnings;
    let fresh = ScoreReport::new(&facts, outcome).json();
    let mut merged = first.as_object().cloned().unwrap_or_default();
    for key in OWN {
        match fresh.get(key) {
            Some(value) => drop(merged.insert(key.to_owned(), value.clone())),
            None => drop(merged.shift_remove(key)),
        }
    }
    let mut merged = Value::Object(merged);
    for key in ["/provenance/cpu_level", "/provenance/device", "/backend_used"] {
        let names = distinct(reports.iter().filter_map(|(_, report)| report.pointer(key)));
        if let Some(value) = merged.pointer_mut(key).filter(|_| !names.is_empty()) {
            *value = json!(names.join("+"));
        }
    }
    if merged.get("notes").is_some() {
        let all = reports.iter().flat_map(|(_, report)| report["notes"].as_array().into_iter().flatten());
        let mut notes = distinct(all);
        notes.retain(|note| note != IDENTICAL);
        notes.extend(outcome.identical.then(|| IDENTICAL.to_owned()));
        merged["notes"] = json!(notes);
    }
    merged
}

/// The texts among these values, each once.
fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in values.filter_map(Value::as_str) {
        if !texts.iter().any(|known| known == text) {
            texts.push(text.to_owned());
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_every_bit() {
        let nan = f64::from_bits(0xfff8_0000_0000_1234);
        let values = vec![vec![0.1, -0.0, 1e-310, f64::INFINITY, nan], vec![], vec![5.0]];
        let text = row_json(&values).to_string();
        let back = row(&serde_json::from_str(&text).unwrap()).unwrap();
        let bits = |row: &Row| row.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&values));
        assert_eq!(back[1].len(), 0);
    }

    #[test]
    fn specifications_survive() {
        let spec: ModelSpec =
            "version=vmaf_v0.6.1:name=x:disable_clip:vif.vif_enhn_gain_limit=1.0".parse().unwrap();
        assert_eq!(model_spec(&score::json(&PartModel::of(&spec))), Some(spec));
        let feature: FeatureSpec = "psnr=enable_apsnr=true:min_sse=0.5".parse().unwrap();
        assert_eq!(feature_spec(&score::json(&PartFeature::of(&feature))), Some(feature));
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let merge = |text: &str| {
            let parts = vec![("x.json".into(), serde_json::from_str(text).unwrap())];
            merge(parts, false, &|_| Ok(Vec::new()), &|_, _| Ok(Vec::new()))
        };
        for text in ["7", "{}", r#"{"part":{}}"#, r#"{"part":{"models":[1],"features":[],"rows":[]}}"#] {
            let error = merge(text).unwrap_err().to_string();
            assert!(error.contains("x.json is no report of a part"), "{error}");
        }
    }
}
