//! What people call models and metrics.
//!
//! Every front end takes the same words. A model is
//!
//! - a built-in version, `vmaf_v0.6.1` or shorter `v0.6.1`;
//! - a file that ends in `.json`;
//! - libvmaf's grammar, `version=…` or `path=…` with `name=…`, switches and feature overloads joined by colons, where a
//!   version may be shortened as well, and where `v0.6.1:disable_clip` stands for `version=vmaf_v0.6.1:disable_clip`;
//! - `auto` for the one that fits the picture, `all` for every built-in one that fits, `none` for metrics alone.
//!
//! A metric is `name` or `name=option=value:option=value`, where `ssim` stands for libvmaf's `float_ssim`.

use std::path::PathBuf;

use visus_engine::model::{BUILTIN, SpecError, builtin};
use visus_engine::{FeatureSpec, ModelSource, ModelSpec};
use visus_metrics::registry;
use visus_video::Chroma;

use crate::RequestError;
use crate::handle::ModelFile;

/// What one word for a model asks for.
#[derive(Debug)]
pub enum RequestedModel {
    /// The one that fits size and frame rate.
    Auto,
    /// Every built-in one that fits.
    All,
    /// No model: metrics alone.
    None,
    One(Box<OneModel>),
}

impl RequestedModel {
    /// The same words, for a second reading of the videos: which display they stand for needs no model file.
    pub fn without_file(&self) -> Self {
        match self {
            Self::Auto => Self::Auto,
            Self::All => Self::All,
            Self::None => Self::None,
            Self::One(model) => {
                let (spec, named) = (model.spec.clone(), model.named);
                Self::One(Box::new(OneModel { spec, named, file: None }))
            }
        }
    }
}

/// A single model.
#[derive(Debug)]
pub struct OneModel {
    pub spec: ModelSpec,
    /// Whether the request names the scores by itself (`name=…`).
    pub named: bool,
    /// The opened file, where a front end opens files itself; otherwise the path is opened when the model is loaded.
    pub file: Option<ModelFile>,
}

/// Reads the word for a model.
pub fn model(word: &str) -> Result<RequestedModel, RequestError> {
    match word {
        "auto" => Ok(RequestedModel::Auto),
        "all" => Ok(RequestedModel::All),
        "none" => Ok(RequestedModel::None),
        other => one_model(other).map(|model| RequestedModel::One(Box::new(model))),
    }
}

/// Reads the word for a single model, where `auto`, `all` and `none` have no meaning.
pub fn one_model(word: &str) -> Result<OneModel, RequestError> {
    let mut spec: ModelSpec = full_form(word).parse().map_err(|error| match error {
        SpecError::BadOption(part) if part == word => unknown_model(word),
        other => RequestError::Model { name: word.to_owned(), reason: other.to_string() },
    })?;
    if let ModelSource::Version(version) = &mut spec.source {
        *version = full_version(version).ok_or_else(|| unknown_model(version))?.to_owned();
    }
    let named = word.split(':').any(|part| part.starts_with("name="));
    Ok(OneModel { spec, named, file: None })
}

/// libvmaf's grammar for whatever people write.
fn full_form(word: &str) -> String {
    let is_source = |part: &str| part.starts_with("version=") || part.starts_with("path=");
    if word.split(':').any(is_source) {
        return word.to_owned();
    }
    let head = word.split(':').next().unwrap_or_default();
    if full_version(head).is_some() {
        format!("version={word}")
    } else if word.ends_with(".json") {
        format!("path={word}")
    } else {
        word.to_owned()
    }
}

/// The version of a built-in model, with or without `vmaf_` in front.
fn full_version(word: &str) -> Option<&'static str> {
    let found = builtin(word).or_else(|| builtin(&format!("vmaf_{word}")));
    found.map(|model| model.version)
}

fn unknown_model(word: &str) -> RequestError {
    let versions = || BUILTIN.iter().map(|model| model.version);
    RequestError::UnknownModel {
        name: shortened(word),
        nearest: nearest(word, versions()).or_else(|| nearest(&format!("vmaf_{word}"), versions())),
        known: versions().collect::<Vec<_>>().join(", "),
    }
}

/// The name of a model's scores where the request does not give one: the version, or the file's name without its ending.
pub fn default_score_name(spec: &ModelSpec) -> String {
    match &spec.source {
        ModelSource::Version(version) => version.clone(),
        ModelSource::Path(path) => score_name_of_file(path),
    }
}

fn score_name_of_file(path: &std::path::Path) -> String {
    path.file_stem().map_or("vmaf".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

impl OneModel {
    /// Where the model's file is, if it is one.
    pub fn path(&self) -> Option<&PathBuf> {
        match &self.spec.source {
            ModelSource::Path(path) => Some(path),
            ModelSource::Version(_) => None,
        }
    }
}

/// Reads the words for a metric.
pub fn metric(text: &str) -> Result<FeatureSpec, RequestError> {
    let mut spec: FeatureSpec =
        text.parse().map_err(|error: visus_engine::PlanError| RequestError::Metric(error.to_string()))?;
    let info =
        registry::find(&shortened(&spec.metric)).map_err(|error| RequestError::Metric(error.to_string()))?;
    info.name.clone_into(&mut spec.metric);
    Ok(spec)
}

/// Reads ffmpeg's name of a planar format, such as `yuv420p10le`: its chroma and its bits per sample.
pub fn pixel_format(text: &str) -> Result<(Chroma, u8), RequestError> {
    let known = "known are yuv420p, yuv422p, yuv444p and gray, with 10le, 12le or 16le for more than 8 bits";
    let refuse = || RequestError::Format(format!("'{}' is not a known format; {known}", shortened(text)));
    let families = [
        ("yuv420p", Chroma::C420),
        ("yuvj420p", Chroma::C420),
        ("yuv422p", Chroma::C422),
        ("yuvj422p", Chroma::C422),
        ("yuv444p", Chroma::C444),
        ("yuvj444p", Chroma::C444),
        ("gray", Chroma::C400),
    ];
    let (rest, chroma) = families
        .iter()
        .find_map(|(name, chroma)| Some((text.strip_prefix(name)?, *chroma)))
        .ok_or_else(refuse)?;
    let depth = match rest.strip_suffix("le").unwrap_or(rest) {
        "" => 8,
        bits => bits.parse().ok().filter(|bits| (9..=16).contains(bits)).ok_or_else(refuse)?,
    };
    Ok((chroma, depth))
}

/// Reads a frame rate: `25`, `29.97` or `30000/1001`.
pub fn frame_rate(text: &str) -> Result<(u32, u32), RequestError> {
    let refuse = || {
        let text = shortened(text);
        RequestError::Format(format!("'{text}' is not a frame rate; write it as 25, 29.97 or 30000/1001"))
    };
    if let Some((frames, seconds)) = text.split_once('/') {
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| refuse());
        let (frames, seconds) = (number(frames)?, number(seconds)?);
        return if frames > 0 && seconds > 0 { Ok((frames, seconds)) } else { Err(refuse()) };
    }
    let number: f64 = text.trim().parse().map_err(|_| refuse())?;
    if !(0.001..=1000.0).contains(&number) {
        return Err(refuse());
    }
    if number.fract() == 0.0 {
        return Ok((number as u32, 1));
    }
    let film = ((number * 1001.0 / 1000.0).round() as u32 * 1000, 1001);
    let is_close = (f64::from(film.0) / f64::from(film.1) - number).abs() < 0.01;
    Ok(if is_close { film } else { ((number * 1000.0).round() as u32, 1000) })
}

/// A name from outside is repeated up to this length.
const SHOWN: usize = 100;

fn shortened(word: &str) -> String {
    match word.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// The known word that is most alike, if one is alike enough to be meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(SHOWN).collect();
    let most = (word.chars().count() / 3).max(1);
    known
        .map(|name| (strsim::damerau_levenshtein(&word, name), name))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_rates() {
        assert_eq!(pixel_format("yuv420p"), Ok((Chroma::C420, 8)));
        assert_eq!(pixel_format("yuv422p10le"), Ok((Chroma::C422, 10)));
        assert_eq!(pixel_format("gray12"), Ok((Chroma::C400, 12)));
        for text in ["nv12", "yuv420p7", "yuv420p10be", "rgb24", ""] {
            assert!(pixel_format(text).is_err(), "{text}");
        }
        assert_eq!(frame_rate("25"), Ok((25, 1)));
        assert_eq!(frame_rate("30000/1001"), Ok((30000, 1001)));
        assert_eq!(frame_rate("29.97"), Ok((30000, 1001)));
        assert_eq!(frame_rate("12.5"), Ok((12500, 1000)));
        for text in ["", "0", "1/0", "fast", "-25"] {
            assert!(frame_rate(text).is_err(), "{text}");
        }
    }

    fn label(word: &str) -> Result<String, RequestError> {
        one_model(word).map(|model| model.spec.label())
    }

    #[test]
    fn every_spelling_of_a_built_in_model() {
        for word in [
            "vmaf_v0.6.1neg",
            "v0.6.1neg",
            "version=vmaf_v0.6.1neg",
            "version=v0.6.1neg",
            "version=vmaf_v0.6.1neg:name=x",
            "name=x:version=vmaf_v0.6.1neg",
            "v0.6.1neg:disable_clip",
        ] {
            assert_eq!(label(word).unwrap(), "vmaf_v0.6.1neg", "{word}");
        }
        assert!(one_model("v0.6.1:disable_clip").unwrap().spec.flags.disable_clip);
        assert!(one_model("v0.6.1:name=x").unwrap().named);
    }

    #[test]
    fn files_are_models_too() {
        for (word, path) in [
            ("dir/my.json", "dir/my.json"),
            ("path=dir/my.json:name=a", "dir/my.json"),
            ("name=a:path=my.json", "my.json"),
            ("a=b.json", "a=b.json"),
        ] {
            let model = one_model(word).unwrap();
            assert_eq!(model.path(), Some(&PathBuf::from(path)), "{word}");
        }
        let spec = one_model("dir/my.json").unwrap().spec;
        assert_eq!(default_score_name(&spec), "my");
    }

    #[test]
    fn what_is_no_model_is_refused_with_the_nearest_one() {
        let error = label("v0.6.2").unwrap_err();
        assert!(
            matches!(&error, RequestError::UnknownModel { nearest: Some(near), .. } if near.contains("v0.6"))
        );
        assert!(error.to_string().starts_with("no such built-in model 'v0.6.2' (did you mean"), "{error}");
        assert!(label("version=nonsense").unwrap_err().to_string().contains("no such built-in model"));
        assert!(
            label("version=vmaf_v0.6.1:bogus").unwrap_err().to_string().contains("Problem parsing model")
        );
        let long = label(&"x".repeat(1 << 20)).unwrap_err().to_string();
        assert!(long.len() < 2000, "{}", long.len());
    }

    #[test]
    fn metrics_by_their_common_names() {
        assert_eq!(metric("ssim=scale=1").unwrap().metric, "float_ssim");
        assert_eq!(metric("psnr").unwrap().metric, "psnr");
        let error = metric("psrn").unwrap_err().to_string();
        assert!(error.contains("did you mean 'psnr'?"), "{error}");
        assert!(matches!(metric("psnr=x"), Err(RequestError::Metric(_))));
    }

    #[test]
    fn nothing_is_suggested_for_what_is_nothing_like_it() {
        assert_eq!(nearest("qqqqqqq", ["vif", "adm"].into_iter()), None);
        assert_eq!(nearest("VIF", ["vif", "adm"].into_iter()), Some("vif"));
    }
}
