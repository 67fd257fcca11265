//! Bodies of the fuzz targets: they take any bytes and must not panic, hang or exhaust memory.
//!
//! The targets in `fuzz/` call them under a fuzzer, the smoke tests on mutated seeds.

#[cfg(test)]
mod smoke;

use crate::{FeatureSpec, ModelSpec, NamedModel, Plan};

/// A model file of any content: refused with words, or usable.
pub fn model_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let spec = ModelSpec::version("fuzzed");
    match NamedModel::from_json(&spec, "fuzzed".to_owned(), text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(model) => {
            let values = vec![0.5; model.model.features.len()];
            assert_eq!(model.predict(&values).len(), model.column_names().len());
        }
    }
}

/// The texts of `--model` and `--feature`.
pub fn specifications(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(feature) = text.parse::<FeatureSpec>() {
        let _ = Plan::new(&[], &[feature], false);
    }
    let _ = text.parse::<ModelSpec>();
}
