//! Models: from features to one number.
//!
//! A model is a support vector regression over normalised features, followed by an optional transform and a clip.
//! A bootstrap collection is a model with siblings trained on resampled data, whose spread gives a confidence interval.

mod bootstrap;
mod builtin;
mod choice;
mod json;
mod lenient;
mod spec;
mod svm;
#[cfg(test)]
mod tests;
mod transform;

use std::borrow::Cow;
use std::path::PathBuf;
use visus_video::budget::{Budget, Reservation};

pub use bootstrap::{BootstrapScores, SUFFIXES as BOOTSTRAP_SUFFIXES};
pub use builtin::{BUILTIN, Builtin, builtin};
pub use choice::automatic;
pub use json::LoadError;
pub use lenient::known_options;
pub use spec::{ModelFlags, ModelSource, ModelSpec, Overload, SpecError, normalised_number};
use svm::Svm;
pub use transform::{Clip, Transform};
use visus_metrics::registry;

/// What a model multiplies and adds before and after the regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    pub slope: f64,
    pub intercept: f64,
}

impl Linear {
    fn apply(self, value: f64) -> f64 {
        self.slope * value + self.intercept
    }

    fn invert(self, value: f64) -> f64 {
        (value - self.intercept) / self.slope
    }
}

/// One input of a model.
#[derive(Clone, Debug)]
pub struct ModelFeature {
    /// The feature's full name.
    pub name: String,
    /// The metric's options the model was trained with, by name.
    pub options: Vec<(String, String)>,
    normalise: Option<Linear>,
}

/// A trained model, ready to predict.
#[derive(Clone, Debug)]
pub struct Model {
    pub features: Vec<ModelFeature>,
    svm: Svm,
    denormalise: Option<Linear>,
    pub transform: Transform,
    pub clip: Option<Clip>,
    /// If set, a SpEED chroma score of exactly 0 (nothing to measure) is replaced by this factor times what ADM lacks.
    pub chroma_correction: Option<f64>,
}

/// Which of a model's last steps are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// As the model says.
    Full,
    /// Neither transform nor clip: what bootstrap statistics are made from.
    Raw,
}

impl Model {
    /// The score for these feature values, given in the order of [`Model::features`].
    pub fn predict(&self, values: &[f64], finish: Finish) -> f64 {
        debug_assert_eq!(values.len(), self.features.len());
        let mut inputs: Vec<f64> = self
            .features
            .iter()
            .zip(values)
            .map(|(feature, value)| feature.normalise.map_or(*value, |linear| linear.apply(*value)))
            .collect();
        if let Some(factor) = self.chroma_correction {
            self.correct_chroma(&mut inputs, factor);
        }
        let raw = self.svm.predict(&inputs);
        let score = self.denormalise.map_or(raw, |linear| linear.invert(raw));
        match finish {
            Finish::Full => self.finished(score),
            Finish::Raw => score,
        }
    }

    /// Transform and clip.
    pub fn finished(&self, score: f64) -> f64 {
        let score = self.transform.apply(score);
        self.clip.map_or(score, |clip| clip.apply(score))
    }

    /// The correction works on values that went through normalisation and back, so that a zero is recognised exactly
    /// when libvmaf recognises it.
    fn correct_chroma(&self, inputs: &mut [f64], factor: f64) {
        let find = |part: &str| self.features.iter().position(|feature| feature.name.contains(part));
        let (Some(luma), Some(chroma)) = (find("adm3"), find("speed_chroma")) else { return };
        let plain = |index: usize, inputs: &[f64]| {
            self.features[index].normalise.map_or(inputs[index], |linear| linear.invert(inputs[index]))
        };
        if plain(chroma, inputs) != 0.0 {
            return;
        }
        let corrected = (-factor * plain(luma, inputs)) + factor;
        inputs[chroma] = self.features[chroma].normalise.map_or(corrected, |linear| linear.apply(corrected));
    }

    /// Merges options into every feature that the named metric provides. Says whether there was one.
    fn overload(&mut self, overload: &Overload) -> bool {
        let mut found = false;
        for feature in &mut self.features {
            if registry::by_feature(&feature.name).is_some_and(|info| info.name == overload.metric) {
                feature.options.retain(|(name, _)| *name != overload.option);
                feature.options.push((overload.option.clone(), overload.value.clone()));
                found = true;
            }
        }
        found
    }
}

/// A model under the name that its scores get.
#[derive(Clone, Debug)]
pub struct NamedModel {
    /// The name of its scores.
    pub name: String,
    /// The built-in version or the path, for people.
    pub label: String,
    /// SHA-256 of the model's JSON text.
    pub sha256: String,
    pub model: Model,
    /// The resampled siblings of a bootstrap collection; empty for a plain model.
    pub siblings: Vec<Model>,
}

impl NamedModel {
    /// Loads what the specification asks for.
    pub fn load(spec: &ModelSpec) -> Result<Self, LoadError> {
        let (label, text) = label_and_text(&spec.source)?;
        Self::from_json(spec, label, &text)
    }

    /// Reads a model's JSON text. Of the specification, the source is not looked at.
    pub fn from_json(spec: &ModelSpec, label: String, text: &str) -> Result<Self, LoadError> {
        let bad = |reason: String| LoadError::Json { label: label.clone(), reason };
        let _room = room_to_parse(text).map_err(bad)?;
        let mut loaded = json::parse(text, spec.flags).map_err(bad)?;
        let mut models: Vec<&mut Model> =
            std::iter::once(&mut loaded.main).chain(&mut loaded.siblings).collect();
        for overload in &spec.overloads {
            // All of them, also after the first that has the feature.
            let found = models.iter_mut().filter_map(|model| model.overload(overload).then_some(())).count();
            if found == 0 {
                return Err(LoadError::Overload { label, metric: overload.metric.clone() });
            }
        }
        Ok(Self {
            name: spec.name.clone(),
            label,
            sha256: sha256_hex(text.as_bytes()),
            model: loaded.main,
            siblings: loaded.siblings,
        })
    }

    /// The names of the columns this model writes: its own, then those of a bootstrap collection.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = vec![self.name.clone()];
        if !self.siblings.is_empty() {
            names.extend((1..=self.siblings.len()).map(|number| format!("{}_{number:04}", self.name)));
            names.extend(BOOTSTRAP_SUFFIXES.iter().map(|suffix| format!("{}{suffix}", self.name)));
        }
        names
    }

    /// The scores of all its columns for one frame.
    pub fn predict(&self, values: &[f64]) -> Vec<f64> {
        let mut scores = vec![self.model.predict(values, Finish::Full)];
        if !self.siblings.is_empty() {
            let bootstrap = BootstrapScores::new(&self.siblings, values);
            scores.extend_from_slice(&bootstrap.members);
            scores.extend([bootstrap.bagging, bootstrap.stddev, bootstrap.low, bootstrap.high]);
        }
        scores
    }
}

/// What stands for a model in messages, and its JSON text.
fn label_and_text(source: &ModelSource) -> Result<(String, Cow<'static, str>), LoadError> {
    match source {
        ModelSource::Version(version) => {
            let missing = || LoadError::NoSuchVersion { version: version.clone(), known: known_versions() };
            Ok((version.clone(), builtin(version).ok_or_else(missing)?.text()))
        }
        ModelSource::Path(path) => Ok((path.display().to_string(), read_text(path)?.into())),
    }
}

fn known_versions() -> String {
    BUILTIN.iter().map(|model| model.version).collect::<Vec<_>>().join(", ")
}

/// The largest model file that is read; the largest known one has 0.4 MB.
pub const MAX_MODEL_BYTES: u64 = 4 << 20;

/// The values of a model file, at most; the largest known one has 1,800.
const MAX_MODEL_VALUES: usize = 1 << 16;

/// What a JSON value takes once it is parsed, at most: a map of its own.
const VALUE_BYTES: u64 = 400;

/// Room for the parsed text of a model, if it has a size that models have.
fn room_to_parse(text: &str) -> Result<Reservation, String> {
    let bytes = text.len() as u64;
    if bytes > MAX_MODEL_BYTES {
        return Err(format!("it has {bytes} bytes, more than the {MAX_MODEL_BYTES} that are read"));
    }
    let values = json_values(text.as_bytes());
    if values > MAX_MODEL_VALUES {
        return Err(format!("it has {values} values, more than the {MAX_MODEL_VALUES} that are read"));
    }
    let wait = std::time::Duration::from_secs(10);
    let estimate = 2 * bytes + VALUE_BYTES * values as u64;
    let room = Budget::process().wait(estimate, "reading the model", wait, &|| false);
    room.map_err(|error| error.to_string())
}

/// The number of values and keys that a JSON text holds at most: one more than what separates and begins them. A short text can
/// stand for much memory, so they are counted before anything is parsed. Where the text is no JSON, the number means nothing.
pub fn json_values(text: &[u8]) -> usize {
    let (mut in_text, mut escaped, mut count) = (false, false, 1);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

fn read_text(path: &PathBuf) -> Result<String, LoadError> {
    use std::io::Read;
    let fail = |source| LoadError::Read { path: path.clone(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(MAX_MODEL_BYTES + 1).read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
