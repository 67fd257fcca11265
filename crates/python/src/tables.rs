//! What is built in.

use pyo3::prelude::*;
use serde_json::{Value, json};
use visus_engine::model::BUILTIN;
use visus_engine::{ModelSpec, NamedModel};
use visus_metrics::registry;
use visus_report::models::ModelListEntry;
use visus_scoring::ScoreError;

use crate::failure::Failure;

/// The built-in models, as JSON.
#[pyfunction]
pub fn models(py: Python<'_>) -> PyResult<String> {
    let entry = |model: &visus_engine::model::Builtin| {
        let loaded = NamedModel::load(&ModelSpec::version(model.version));
        let loaded = loaded.map_err(|error| ScoreError::Plan(visus_engine::PlanError::Load(error)))?;
        let clip = loaded.model.clip.map(|clip| (clip.min, clip.max));
        Ok::<_, Failure>(visus_report::score::json(&ModelListEntry {
            version: model.version.to_owned(),
            about: model.about.to_owned(),
            score_range: clip.unwrap_or((f64::NEG_INFINITY, f64::INFINITY)),
            sha256: loaded.sha256.clone(),
            bootstrap_models: loaded.siblings.len(),
            features: loaded.model.features.iter().map(|feature| feature.name.clone()).collect(),
        }))
    };
    let list: Result<Vec<Value>, Failure> = py.detach(|| BUILTIN.iter().map(entry).collect());
    Ok(Value::Array(list?).to_string())
}

/// The metrics, as JSON.
#[pyfunction]
pub fn metrics() -> String {
    let option = |option: &visus_metrics::OptionSpec| json!({"name": option.name, "about": option.help});
    let entry = |info: &&visus_metrics::Info| {
        let options: Vec<Value> = info.options.iter().map(option).collect();
        json!({"name": info.name, "about": info.help, "options": options})
    };
    Value::Array(registry::METRICS.iter().map(entry).collect()).to_string()
}
