//! How a model is asked for: `version=…`, `path=…`, `name=…`, switches and feature overloads, joined by colons.

use std::path::PathBuf;
use std::str::FromStr;

use visus_metrics::printf;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// Built in.
    Version(String),
    /// A file of libvmaf's JSON format.
    Path(PathBuf),
}

/// Switches that change what a model file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelFlags {
    pub disable_clip: bool,
    pub enable_transform: bool,
}

/// An option for the metric behind some of the model's features: `metric.option=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    pub metric: String,
    pub option: String,
    pub value: String,
}

/// A model, asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    pub source: ModelSource,
    /// The name of its scores.
    pub name: String,
    pub flags: ModelFlags,
    pub overloads: Vec<Overload>,
}

/// Why a text asks for no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// libvmaf's words, which clients look for.
    #[error("Problem parsing model, bad option string \"{0}\".")]
    BadOption(String),
    #[error("model \"{0}\" names neither version= nor path=")]
    NoSource(String),
    #[error("A maximum of {MAX_OVERLOADS} feature overloads per model are supported")]
    TooManyOverloads,
}

/// As many as libvmaf takes.
const MAX_OVERLOADS: usize = 32;

/// The name of a model's scores if none is given.
const DEFAULT_NAME: &str = "vmaf";

impl ModelSpec {
    /// A built-in model whose scores are called `vmaf`.
    pub fn version(version: &str) -> Self {
        Self {
            source: ModelSource::Version(version.to_owned()),
            name: DEFAULT_NAME.to_owned(),
            flags: ModelFlags::default(),
            overloads: Vec::new(),
        }
    }

    /// The same model under another name.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The version or path, as it was given.
    pub fn label(&self) -> String {
        match &self.source {
            ModelSource::Version(version) => version.clone(),
            ModelSource::Path(path) => path.display().to_string(),
        }
    }
}

impl FromStr for ModelSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (mut version, mut path) = (None, None);
        let mut spec = Self::version("");
        for part in text.split(':') {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, value),
                None if matches!(part, "disable_clip" | "enable_transform") => (part, "true"),
                None => return Err(SpecError::BadOption(part.to_owned())),
            };
            match key {
                "version" => version = Some(value.to_owned()),
                "path" => path = Some(PathBuf::from(value)),
                "name" => value.clone_into(&mut spec.name),
                "disable_clip" => spec.flags.disable_clip |= value == "true",
                "enable_transform" => spec.flags.enable_transform |= value == "true",
                _ => spec.overloads.push(overload(part, key, value)?),
            }
        }
        if spec.overloads.len() > MAX_OVERLOADS {
            return Err(SpecError::TooManyOverloads);
        }
        spec.source = match (version, path) {
            (Some(version), _) => ModelSource::Version(version),
            (None, Some(path)) => ModelSource::Path(path),
            (None, None) => return Err(SpecError::NoSource(text.to_owned())),
        };
        Ok(spec)
    }
}

fn overload(part: &str, key: &str, value: &str) -> Result<Overload, SpecError> {
    let (metric, option) = key.split_once('.').ok_or_else(|| SpecError::BadOption(part.to_owned()))?;
    Ok(Overload { metric: metric.to_owned(), option: option.to_owned(), value: normalised_number(value) })
}

/// A number as libvmaf keeps it in its option tables: single precision, six digits. Other text stays as it is.
pub fn normalised_number(text: &str) -> String {
    match text.trim().parse::<f32>() {
        Ok(value) => printf::general(f64::from(value), 6),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_grammar() {
        let spec: ModelSpec =
            "version=vmaf_v0.6.1:name=a:disable_clip:enable_transform=true:vif.vif_enhn_gain_limit=1.0"
                .parse()
                .unwrap();
        assert_eq!(spec.source, ModelSource::Version("vmaf_v0.6.1".to_owned()));
        assert_eq!(spec.name, "a");
        assert!(spec.flags.disable_clip && spec.flags.enable_transform);
        let overload = &spec.overloads[0];
        assert_eq!(
            (&*overload.metric, &*overload.option, &*overload.value),
            ("vif", "vif_enhn_gain_limit", "1")
        );
        let spec: ModelSpec = "path=a=b.json".parse().unwrap();
        assert_eq!(spec.source, ModelSource::Path(PathBuf::from("a=b.json")));
        assert_eq!(spec.name, "vmaf");
    }

    #[test]
    fn what_is_no_model_is_refused() {
        assert_eq!("bogus".parse::<ModelSpec>(), Err(SpecError::BadOption("bogus".to_owned())));
        assert_eq!("name=x".parse::<ModelSpec>(), Err(SpecError::NoSource("name=x".to_owned())));
        assert_eq!("version=a:x=1".parse::<ModelSpec>(), Err(SpecError::BadOption("x=1".to_owned())));
        let many = format!("version=a{}", ":vif.x=1".repeat(33));
        assert_eq!(many.parse::<ModelSpec>(), Err(SpecError::TooManyOverloads));
    }

    #[test]
    fn numbers_lose_what_libvmaf_loses() {
        assert_eq!(normalised_number("1.0"), "1");
        assert_eq!(normalised_number("1.23456789"), "1.23457");
        assert_eq!(normalised_number("bicubic"), "bicubic");
    }
}
