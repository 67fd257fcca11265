//! libvmaf's JSON model format: a plain model, or a collection whose members are keyed "0", "1", ….

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Clip, Linear, Model, ModelFeature, Svm, Transform, spec::ModelFlags, transform::check_knots};

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("no such built-in model: \"{version}\" (built in: {known})")]
    NoSuchVersion { version: String, known: String },
    #[error("could not read model from path: \"{}\"", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("model {label} is not usable: {reason}")]
    Json { label: String, reason: String },
    #[error("model {label} has no feature of metric '{metric}' whose options could be changed")]
    Overload { label: String, metric: String },
}

impl LoadError {
    /// The version or path of the model that could not be loaded.
    pub fn label(&self) -> String {
        match self {
            Self::NoSuchVersion { version, .. } => version.clone(),
            Self::Read { path, .. } => path.display().to_string(),
            Self::Json { label, .. } | Self::Overload { label, .. } => label.clone(),
        }
    }
}

/// A model with the siblings of a bootstrap collection, if it is one.
#[derive(Debug)]
pub struct Loaded {
    pub main: Model,
    pub siblings: Vec<Model>,
}

/// More features than any model has; a bound against hostile files.
const MAX_FEATURES: usize = 256;

/// Reads a model's text. The error says what is wrong in words.
pub fn parse(text: &str, flags: ModelFlags) -> Result<Loaded, String> {
    let root: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let root = root.as_object().ok_or("its top level is not an object")?;
    if root.contains_key("model_dict") {
        return Ok(Loaded { main: model(root, flags)?, siblings: Vec::new() });
    }
    let mut members = Vec::new();
    while let Some(member) = root.get(&members.len().to_string()) {
        let at = |reason: String| format!("member \"{}\": {reason}", members.len());
        let member = member.as_object().ok_or_else(|| at("it is not an object".to_owned()))?;
        members.push(model(member, flags).map_err(at)?);
    }
    if members.len() < 2 {
        return Err("it has no 'model_dict', nor the members \"0\", \"1\", … of a collection".to_owned());
    }
    let siblings = members.split_off(1);
    let main = members.remove(0);
    check_same_features(&main, &siblings)?;
    Ok(Loaded { main, siblings })
}

/// One row of features serves all members.
fn check_same_features(main: &Model, siblings: &[Model]) -> Result<(), String> {
    let inputs = |model: &Model| -> Vec<_> {
        model.features.iter().map(|feature| (feature.name.clone(), feature.options.clone())).collect()
    };
    let expected = inputs(main);
    match siblings.iter().position(|model| inputs(model) != expected) {
        Some(index) => Err(format!("member \"{}\" has other features than member \"0\"", index + 1)),
        None => Ok(()),
    }
}

fn model(object: &Map<String, Value>, flags: ModelFlags) -> Result<Model, String> {
    let dict = object.get("model_dict").and_then(Value::as_object).ok_or("'model_dict' is not an object")?;
    check_kind(dict)?;
    let normalised = match text(dict, "norm_type")? {
        "linear_rescale" => true,
        "none" => false,
        other => return Err(format!("norm_type '{other}' is not known (linear_rescale, none)")),
    };
    let names = strings(dict, "feature_names")?;
    if !(1..=MAX_FEATURES).contains(&names.len()) {
        return Err(format!("it has {} features, it must have 1 to {MAX_FEATURES}", names.len()));
    }
    let mut scales = scales(dict, normalised, names.len())?.into_iter();
    let denormalise = scales.next().flatten();
    let features = names
        .into_iter()
        .zip(options(dict)?.into_iter().chain(std::iter::repeat(Vec::new())))
        .zip(scales)
        .map(|((name, options), normalise)| ModelFeature { name, options, normalise })
        .collect();
    Ok(Model {
        features,
        svm: Svm::parse(text(dict, "model")?)?,
        denormalise,
        transform: transform(dict, flags)?,
        clip: clip(dict, flags)?,
        chroma_correction: chroma_correction(dict)?,
    })
}

fn check_kind(dict: &Map<String, Value>) -> Result<(), String> {
    match text(dict, "model_type")? {
        "LIBSVMNUSVR" | "BOOTSTRAP_LIBSVMNUSVR" | "RESIDUEBOOTSTRAP_LIBSVMNUSVR" => Ok(()),
        other => Err(format!(
            "model_type '{other}' is not known (LIBSVMNUSVR, BOOTSTRAP_LIBSVMNUSVR, RESIDUEBOOTSTRAP_LIBSVMNUSVR)"
        )),
    }
}

/// Slope and intercept of the score, then of each feature.
fn scales(
    dict: &Map<String, Value>,
    normalised: bool,
    features: usize,
) -> Result<Vec<Option<Linear>>, String> {
    if !normalised {
        return Ok(vec![None; features + 1]);
    }
    let (slopes, intercepts) = (numbers(dict, "slopes")?, numbers(dict, "intercepts")?);
    for (key, list) in [("slopes", &slopes), ("intercepts", &intercepts)] {
        if list.len() != features + 1 {
            return Err(format!("'{key}' has {} entries for {features} features and the score", list.len()));
        }
    }
    if slopes[0] == 0.0 {
        return Err("the score's slope is 0".to_owned());
    }
    let pairs = slopes.into_iter().zip(intercepts);
    Ok(pairs.map(|(slope, intercept)| Some(Linear { slope, intercept })).collect())
}

fn options(dict: &Map<String, Value>) -> Result<Vec<Vec<(String, String)>>, String> {
    let Some(list) = dict.get("feature_opts_dicts") else { return Ok(Vec::new()) };
    let list = list.as_array().ok_or("'feature_opts_dicts' is not a list")?;
    list.iter()
        .map(|entry| {
            let entry = entry.as_object().ok_or("an entry of 'feature_opts_dicts' is not an object")?;
            entry.iter().map(|(name, value)| Ok((name.clone(), option_text(name, value)?))).collect()
        })
        .collect()
}

fn option_text(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(value) => Ok(value.to_string()),
        Value::String(value) => Ok(value.clone()),
        Value::Number(value) => Ok(super::normalised_number(&value.to_string())),
        _ => Err(format!("feature option '{name}' is neither a number, a text nor true or false")),
    }
}

fn transform(dict: &Map<String, Value>, flags: ModelFlags) -> Result<Transform, String> {
    let Some(object) = dict.get("score_transform").filter(|value| !value.is_null()) else {
        return Ok(Transform::default());
    };
    let object = object.as_object().ok_or("'score_transform' is not an object")?;
    let coefficient = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(Some).ok_or_else(|| format!("'{key}' of 'score_transform' is not a number"))
        }
    };
    let yes = |key: &str| match object.get(key) {
        Some(Value::String(text)) => text == "true",
        other => other == Some(&Value::Bool(true)),
    };
    Ok(Transform {
        enabled: yes("enabled") || flags.enable_transform,
        polynomial: [coefficient("p0")?, coefficient("p1")?, coefficient("p2")?],
        knots: knots(object)?,
        out_lte_in: yes("out_lte_in"),
        out_gte_in: yes("out_gte_in"),
    })
}

fn knots(object: &Map<String, Value>) -> Result<Option<Vec<[f64; 2]>>, String> {
    let Some(list) = object.get("knots").filter(|value| !value.is_null()) else { return Ok(None) };
    let point = |value: &Value| -> Option<[f64; 2]> {
        let pair = value.as_array().filter(|pair| pair.len() == 2)?;
        Some([pair[0].as_f64()?, pair[1].as_f64()?])
    };
    let points: Option<Vec<_>> = list.as_array().and_then(|list| list.iter().map(point).collect());
    let points = points.ok_or("'knots' is not a list of [x, y] pairs")?;
    check_knots(&points)?;
    Ok(Some(points))
}

fn clip(dict: &Map<String, Value>, flags: ModelFlags) -> Result<Option<Clip>, String> {
    let Some(list) = dict.get("score_clip").filter(|value| !value.is_null()) else { return Ok(None) };
    let pair = list
        .as_array()
        .filter(|list| list.len() == 2)
        .and_then(|list| Some((list[0].as_f64()?, list[1].as_f64()?)));
    let (min, max) = pair.filter(|(min, max)| min <= max).ok_or("'score_clip' is not [lowest, highest]")?;
    Ok((!flags.disable_clip).then_some(Clip { min, max }))
}

fn chroma_correction(dict: &Map<String, Value>) -> Result<Option<f64>, String> {
    let Some(value) = dict.get("chroma_correction_parameter") else { return Ok(None) };
    let value = value.as_f64().filter(|value| *value != 0.0);
    Ok(Some(value.ok_or("'chroma_correction_parameter' is not a number other than 0")?))
}

fn text<'a>(dict: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    dict.get(key).and_then(Value::as_str).ok_or_else(|| format!("'{key}' is missing or not a text"))
}

fn numbers(dict: &Map<String, Value>, key: &str) -> Result<Vec<f64>, String> {
    let list =
        dict.get(key).and_then(Value::as_array).ok_or_else(|| format!("'{key}' is missing or not a list"))?;
    list.iter()
        .map(|value| value.as_f64().ok_or_else(|| format!("'{key}' holds something that is not a number")))
        .collect()
}

fn strings(dict: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let list =
        dict.get(key).and_then(Value::as_array).ok_or_else(|| format!("'{key}' is missing or not a list"))?;
    list.iter()
        .map(|value| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| format!("'{key}' holds something that is not a text"))
        })
        .collect()
}
