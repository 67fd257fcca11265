//! JSON Schemas of the JSON outputs, generated from the types that are written.
//!
//! `docs/report-format.md` explains every key in words; a test holds the two together. Crates that write other outputs have
//! a list of the same kind (`visus_tune::schema`, `visus_eval::schema`), and `visus schema` shows them all.

mod check;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::batch::BatchLine;
use crate::bench::BenchReport;
use crate::diff::DiffReport;
use crate::migrate::MigrationReport;
use crate::models::ModelListEntry;
use crate::sampling::SampledReport;
use crate::score::{FramesPage, FullScore, SummaryScore};
use crate::worst::WorstList;

pub use check::SchemaFault;

/// One kind of JSON output.
#[derive(Clone, Copy, Debug)]
pub struct OutputSchema {
    /// What it is asked for by.
    pub name: &'static str,
    /// Which commands write it.
    pub about: &'static str,
    make: fn() -> Schema,
}

impl OutputSchema {
    /// The output that is written as `T`.
    pub const fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Self {
        Self { name, about, make: generated::<T> }
    }

    /// The schema as JSON.
    pub fn json(&self) -> Value {
        let mut schema = (self.make)();
        schema.insert("title".to_owned(), format!("visus {}", self.name).into());
        schema.to_value()
    }

    /// Whether a value is such an output and has no key that the schema does not describe.
    pub fn check(&self, value: &Value) -> Result<(), SchemaFault> {
        check::check(&self.json(), value)
    }
}

/// As it is written, not as it could be read: what may be absent is not required.
fn generated<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The outputs of this crate.
pub const OUTPUTS: &[OutputSchema] = &[
    OutputSchema::of::<FullScore<'static>>(
        "score",
        "The report of `visus score --json`, `gate --json` and `merge`, of POST /v1/score and of vmaf_score in full detail.",
    ),
    OutputSchema::of::<SummaryScore<'static>>(
        "summary",
        "The answer of vmaf_score with detail summary or frames.",
    ),
    OutputSchema::of::<FramesPage<'static>>("frames", "A page of frames of a job: visus://jobs/ID/frames."),
    OutputSchema::of::<BatchLine<'static>>("batch", "A line of `visus batch`."),
    OutputSchema::of::<WorstList>("worst", "The file worst.json of `visus worst`."),
    OutputSchema::of::<DiffReport>("diff", "The answer of `visus diff --json`."),
    OutputSchema::of::<Vec<ModelListEntry>>("models", "The answer of `visus models --json`."),
    OutputSchema::of::<BenchReport>("bench", "The file of `visus bench --json FILE`."),
    OutputSchema::of::<SampledReport>(
        "sampled",
        "The report of `visus score --within` and `--budget`: estimates from a sample of the frames.",
    ),
    OutputSchema::of::<MigrationReport>("migrate", "The result of `visus migrate --json`."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_output_is_described() {
        fn check(name: &str, schema: &Value) {
            let properties = schema["properties"].as_object().into_iter().flatten();
            for (key, property) in properties {
                let referenced = property.get("$ref").is_some();
                assert!(
                    referenced || property["description"].is_string(),
                    "{name}: {key} has no description"
                );
            }
            match schema {
                Value::Object(map) => map.values().for_each(|value| check(name, value)),
                Value::Array(list) => list.iter().for_each(|value| check(name, value)),
                _ => {}
            }
        }
        for output in OUTPUTS {
            check(output.name, &output.json());
        }
    }

    #[test]
    fn schemas_say_what_may_be_absent() {
        let schema = OUTPUTS[0].json();
        assert_eq!(schema["title"], "visus score");
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for key in ["version", "provenance", "pooled_metrics", "backend_used", "shorter_input"] {
            assert!(required.contains(&key), "{key} is not required");
        }
        for key in ["job_id", "pairing", "part", "mismatched_model_warning"] {
            assert!(!required.contains(&key), "{key} is required");
            assert!(schema["properties"][key].is_object(), "{key} is not there");
        }
    }
}
