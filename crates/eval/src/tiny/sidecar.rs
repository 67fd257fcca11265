//! The description beside a model, as the training tools write it.

use std::fs::File;
use std::io::Read;

use serde_json::Value;

use super::TinyError;

/// What a description says; everything may be absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidecar {
    /// The name of the scores.
    pub name: Option<String>,
    pub input_name: Option<String>,
    /// Names of several outputs.
    pub outputs: Vec<String>,
    /// `feature_order` or `features`.
    pub features: Option<Vec<String>>,
    /// Mean and deviation of each feature, unless the model scales by itself (`onnx_has_scaler`).
    pub scaling: Option<Vec<(f64, f64)>>,
    /// Mean and deviation of pictures from 0 to 1.
    pub picture_scaling: Option<(f64, f64)>,
    /// `encoder_vocab`.
    pub encoders: Vec<String>,
}

/// The largest description that is read.
const MAX_BYTES: u64 = 1 << 20;
/// More entries of a list than any model has.
const MAX_ENTRIES: usize = 1024;

impl Sidecar {
    pub fn read(name: &str, file: File) -> Result<Self, TinyError> {
        let fail = |reason: String| TinyError::Sidecar { name: name.to_owned(), reason };
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| fail(error.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(fail(format!("it has more than {MAX_BYTES} bytes")));
        }
        Self::parse(&text).map_err(fail)
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let root: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let root = root.as_object().ok_or("its top level is not an object")?;
        let text = |key: &str| root.get(key).and_then(Value::as_str).map(str::to_owned);
        let get = |keys: &[&str]| keys.iter().find_map(|key| root.get(*key));
        let features = get(&["feature_order", "features"]).map(texts).transpose()?;
        let baked_in = root.get("onnx_has_scaler").and_then(Value::as_bool).unwrap_or(false);
        let means = get(&["feature_mean", "input_mean"]).map(numbers).transpose()?;
        let deviations = get(&["feature_std", "input_std"]).map(numbers).transpose()?;
        let scaling = match (means, deviations) {
            (Some(means), Some(deviations)) if !baked_in => Some(paired(means, deviations)?),
            _ => None,
        };
        if let (Some(scaling), Some(features)) = (&scaling, &features)
            && scaling.len() != features.len()
        {
            return Err(format!("it scales {} features and names {}", scaling.len(), features.len()));
        }
        let first = |key: &str| root.get(key).and_then(|value| numbers(value).ok()?.first().copied());
        let picture = match (first("norm_mean"), first("norm_std")) {
            (Some(mean), Some(deviation)) => Some(paired(vec![mean], vec![deviation])?[0]),
            _ => None,
        };
        Ok(Self {
            name: text("name"),
            input_name: text("input_name"),
            outputs: root.get("output_names").map(texts).transpose()?.unwrap_or_default(),
            features,
            scaling,
            picture_scaling: picture,
            encoders: root.get("encoder_vocab").map(texts).transpose()?.unwrap_or_default(),
        })
    }
}

fn paired(means: Vec<f64>, deviations: Vec<f64>) -> Result<Vec<(f64, f64)>, String> {
    if means.len() != deviations.len() {
        return Err(format!("it has {} means and {} deviations", means.len(), deviations.len()));
    }
    if deviations.contains(&0.0) {
        return Err("a deviation is 0".to_owned());
    }
    Ok(means.into_iter().zip(deviations).collect())
}

fn list(value: &Value) -> Result<&[Value], String> {
    match value.as_array() {
        Some(list) if list.len() <= MAX_ENTRIES => Ok(list),
        Some(list) => Err(format!("a list has {} entries, more than {MAX_ENTRIES}", list.len())),
        None => Ok(std::slice::from_ref(value)),
    }
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(format!("{value} is not a text"));
    list(value)?.iter().map(text).collect()
}

/// A number alone counts as a list of one.
fn numbers(value: &Value) -> Result<Vec<f64>, String> {
    let number = |value: &Value| value.as_f64().ok_or(format!("{value} is not a number"));
    list(value)?.iter().map(number).collect()
}
