//! Bodies of the fuzz targets: they take any bytes and must not panic, hang or exhaust memory. Each says what became of them.
//!
//! The targets in `fuzz/` call them under libFuzzer, the tests through `visus_fuzzing`.

#[cfg(test)]
mod smoke;

use crate::{FeatureSpec, ModelSpec, NamedModel, Plan};

/// A model file of any content: refused with words, or usable.
pub fn model_json(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "no text".to_owned() };
    let spec = ModelSpec::version("fuzzed");
    match NamedModel::from_json(&spec, "fuzzed".to_owned(), text) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.to_string()
        }
        Ok(model) => {
            let values = vec![0.5; model.model.features.len()];
            assert_eq!(model.predict(&values).len(), model.column_names().len());
            "read".to_owned()
        }
    }
}

/// The texts of `--model` and `--feature`.
pub fn specifications(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "no text".to_owned() };
    let feature = match text.parse::<FeatureSpec>() {
        Ok(feature) => {
            Plan::new(&[], &[feature], false).map_or_else(|error| error.to_string(), |_| "planned".to_owned())
        }
        Err(error) => error.to_string(),
    };
    let model = text.parse::<ModelSpec>().map_or_else(|error| error.to_string(), |_| "read".to_owned());
    format!("{feature}; {model}")
}
