//! The list of built-in models.

use schemars::JsonSchema;
use serde::Serialize;

/// A built-in model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ModelListEntry {
    /// What it is asked for by.
    pub version: String,
    /// What it is for.
    pub about: String,
    /// Lowest and highest score; null where there is no limit.
    #[schemars(with = "(Option<f64>, Option<f64>)")]
    pub score_range: (f64, f64),
    /// SHA-256 of its text.
    pub sha256: String,
    /// Siblings that give a confidence interval.
    pub bootstrap_models: usize,
    /// The features it reads.
    pub features: Vec<String>,
}
