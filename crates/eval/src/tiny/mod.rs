//! Small ONNX models beside VMAF's own: on a frame's features, or on the distorted picture alone.
//!
//! What a model needs follows from its inputs and from a description beside it, a file of the same name that ends in `.json`:
//! features and their scaling, the words for encoders, the names of outputs. See [`sidecar`].

pub mod codec;
mod picture;
mod score;
mod sidecar;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};

use visus_engine::FeatureSpec;
use visus_metrics::registry;

use crate::FEATURES;
use crate::onnx::{Input, Limits, ModelFile, OnnxError};

pub use picture::Resize;
pub use score::Scored;
pub use sidecar::Sidecar;

/// Why a small model cannot score.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TinyError {
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    #[error("the description {name} is not usable: {reason}")]
    Sidecar { name: String, reason: String },
    #[error(
        "model {name} takes an input of shape {shape}; it must be [N, features] or [N, 1, height, width] with fixed height \
         and width"
    )]
    Input { name: String, shape: String },
    #[error("model {name} takes pictures of {shape}, more than the {MOST_PIXELS} pixels that are allowed")]
    TooManyPixels { name: String, shape: String },
    #[error("model {name} takes {expected} features, its description names {given}: {names}")]
    FeatureCount { name: String, expected: usize, given: usize, names: String },
    #[error("model {name} wants the feature '{feature}', which no metric provides")]
    UnknownFeature { name: String, feature: String },
    #[error("no_reference needs a model on pictures, [N, 1, height, width]; model {name} takes features")]
    NeedsPictures { name: String },
    #[error(
        "tiny_device '{device}' is not available for ONNX models (available: ['auto', 'cpu']); refusing to fall back silently"
    )]
    Device { device: String },
    #[error(
        "{given} needs a codec-aware model: one with a second input and an 'encoder_vocab' in its description"
    )]
    NotCodecAware { given: &'static str },
    #[error(
        "model {name} is codec-aware: it needs tiny_codec and tiny_crf (tiny_codec is one of {vocabulary})"
    )]
    CodecMissing { name: String, vocabulary: String },
    #[error("tiny_codec '{codec}' not found in model encoder_vocab; use one of {vocabulary}")]
    UnknownCodec { codec: String, vocabulary: String },
    #[error(
        "the picture is {actual}, model {name} takes {expected}; set tiny_resize to bilinear, nearest or bicubic"
    )]
    Size { name: String, actual: String, expected: String },
    #[error("frame {frame} has no '{feature}', which model {name} needs")]
    MissingFeature { name: String, feature: String, frame: u64 },
    #[error("model {name}: output '{output}' has shape {shape}; it must be one number for each frame")]
    OutputShape { name: String, output: String, shape: String },
    #[error("reading the distorted video failed")]
    Read(#[from] visus_video::ReadError),
    #[error("there is no frame to score")]
    NoFrames,
    #[error("cancelled")]
    Cancelled,
}

/// The most pixels of a picture that a model takes; a file of a hundred bytes can claim any number.
pub(crate) const MOST_PIXELS: usize = 16 << 20;

/// How a small model is used.
#[derive(Clone, Debug, Default)]
pub struct TinyOptions {
    /// `auto` and `cpu` are there.
    pub device: Option<String>,
    pub fp16: bool,
    pub codec: Option<String>,
    pub preset: Option<String>,
    pub crf: Option<u8>,
    pub resize: Resize,
    pub no_reference: bool,
}

/// What goes into a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Features of a frame, by name.
    Features(Vec<String>),
    /// The distorted picture's luma.
    Picture { width: usize, height: usize },
}

/// A small model with its description.
#[derive(Clone, Debug)]
pub struct TinyModel {
    pub file: ModelFile,
    pub sidecar: Sidecar,
    pub kind: Kind,
    pub options: TinyOptions,
    /// The second input of a codec-aware model.
    codec: Option<(String, Vec<f32>)>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// The description that belongs to a model's path.
pub fn sidecar_path(model: &Path) -> PathBuf {
    model.with_extension("json")
}

impl TinyModel {
    /// Reads a model and the description beside it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line names its model; a server hands over opened files"
    )]
    pub fn open(path: &Path, options: TinyOptions, limits: &Limits) -> Result<Self, TinyError> {
        let file = ModelFile::open(path, limits)?;
        let sidecar = match File::open(sidecar_path(path)) {
            Ok(file) => Sidecar::read(&sidecar_path(path).display().to_string(), file)?,
            Err(_) => Sidecar::default(),
        };
        Self::new(file, sidecar, options)
    }

    pub fn new(file: ModelFile, sidecar: Sidecar, options: TinyOptions) -> Result<Self, TinyError> {
        if let Some(device) = options.device.as_deref().filter(|device| !matches!(*device, "auto" | "cpu")) {
            return Err(TinyError::Device { device: device.to_owned() });
        }
        let kind = kind(&file, &sidecar)?;
        if options.no_reference && matches!(kind, Kind::Features(_)) {
            return Err(TinyError::NeedsPictures { name: file.name });
        }
        let codec = codec_input(&file, &sidecar, &options)?;
        let mut notes = Vec::new();
        if options.fp16 {
            notes.push("tiny_fp16: the CPU computes ONNX models in single precision".to_owned());
        }
        Ok(Self { file, sidecar, kind, options, codec, notes })
    }

    /// The name of its scores.
    pub fn score_name(&self) -> String {
        self.sidecar.name.clone().unwrap_or_else(|| "vmaf_tiny_model".to_owned())
    }

    /// The metrics that its features come from.
    pub fn metrics(&self) -> Result<Vec<FeatureSpec>, TinyError> {
        let Kind::Features(names) = &self.kind else { return Ok(Vec::new()) };
        let mut specs: Vec<FeatureSpec> = Vec::new();
        for name in names {
            let (metric, _) = provider(name).ok_or_else(|| TinyError::UnknownFeature {
                name: self.file.name.clone(),
                feature: name.clone(),
            })?;
            if !specs.iter().any(|spec| spec.metric == metric) {
                specs.push(FeatureSpec { metric: metric.to_owned(), options: Vec::new() });
            }
        }
        Ok(specs)
    }

    /// The input that features or pictures go into: the one the description names, else the first.
    fn main_input(file: &ModelFile, sidecar: &Sidecar) -> Option<Input> {
        let named = sidecar.input_name.as_ref().and_then(|name| file.inputs.iter().find(|i| i.name == *name));
        named.or(file.inputs.first()).cloned()
    }
}

fn kind(file: &ModelFile, sidecar: &Sidecar) -> Result<Kind, TinyError> {
    let input = TinyModel::main_input(file, sidecar);
    let shape = input.map(|input| input.shape).unwrap_or_default();
    match shape.as_slice() {
        [_, width] => {
            let names = sidecar.features.clone().unwrap_or_else(|| FEATURES.map(str::to_owned).to_vec());
            match width {
                Some(expected) if *expected != names.len() => Err(TinyError::FeatureCount {
                    name: file.name.clone(),
                    expected: *expected,
                    given: names.len(),
                    names: names.join(", "),
                }),
                _ => Ok(Kind::Features(names)),
            }
        }
        [_, Some(1), Some(height), Some(width)] => match height.checked_mul(*width) {
            Some(pixels) if pixels <= MOST_PIXELS => Ok(Kind::Picture { width: *width, height: *height }),
            _ => Err(TinyError::TooManyPixels {
                name: file.name.clone(),
                shape: format!("[N, 1, {height}, {width}]"),
            }),
        },
        other => {
            let size = |size: &Option<usize>| size.map_or("?".to_owned(), |size| size.to_string());
            let shape = format!("[{}]", other.iter().map(size).collect::<Vec<_>>().join(", "));
            Err(TinyError::Input { name: file.name.clone(), shape })
        }
    }
}

/// The second input: one of the known encoders, preset and quality.
fn codec_input(
    file: &ModelFile,
    sidecar: &Sidecar,
    options: &TinyOptions,
) -> Result<Option<(String, Vec<f32>)>, TinyError> {
    let main = TinyModel::main_input(file, sidecar).map(|input| input.name);
    let second = file.inputs.iter().find(|input| Some(&input.name) != main.as_ref());
    let vocabulary = sidecar.encoders.join(", ");
    let Some(second) = second.filter(|_| !sidecar.encoders.is_empty()) else {
        let given = [("tiny_codec", options.codec.is_some()), ("tiny_preset", options.preset.is_some())];
        let given = given.into_iter().chain([("tiny_crf", options.crf.is_some())]).find(|(_, given)| *given);
        return given.map_or(Ok(None), |(given, _)| Err(TinyError::NotCodecAware { given }));
    };
    let (Some(codec), Some(crf)) = (&options.codec, options.crf) else {
        return Err(TinyError::CodecMissing { name: file.name.clone(), vocabulary });
    };
    let block = codec::block(&sidecar.encoders, codec, options.preset.as_deref(), crf);
    let block = block.ok_or_else(|| TinyError::UnknownCodec { codec: codec.clone(), vocabulary })?;
    Ok(Some((second.name.clone(), block)))
}

/// The metric and the report's name of a feature. The integer version comes first, as in VMAF's own models.
fn provider(feature: &str) -> Option<(&'static str, String)> {
    let names = [format!("integer_{feature}"), feature.to_owned(), format!("float_{feature}")];
    names.into_iter().find_map(|name| {
        let gives = |info: &&&'static visus_metrics::Info| {
            registry::build(info, &[]).is_ok_and(|metric| metric.keys().iter().any(|key| key.name == name))
        };
        registry::METRICS.iter().find(gives).map(|info| (info.name, name.clone()))
    })
}
