//! The arguments of scoring and the task they become.

use serde_json::json;
use visus_engine::{FeatureSpec, ModelSource, ModelSpec, preset};
use visus_media::Scale;
use visus_report::{Precision, libvmaf};
use visus_video::{Chroma, Format, Source, y4m_seekable};

use super::field::Values;
pub use super::score_fields::Names;
use super::score_fields::{FORMATS, RAW_NAMES};
use crate::ToolError;
use crate::engines::encoded::Encoded;
use crate::engines::{ModelWish, ScoreTask, Tuning, WantedModel};
use crate::error::chain;
use crate::report::Detail;
use crate::roots::{Opened, Roots, shown};

/// The model that is used if none is asked for.
pub const DEFAULT_MODEL: &str = "version=vmaf_v0.6.1";

/// Checked arguments of a scoring tool.
#[derive(Clone, Debug)]
pub struct ScoreArgs {
    tool: &'static str,
    names: Names,
    values: Values,
}

impl ScoreArgs {
    /// Checks what can be checked without a look at any file.
    pub fn new(tool: &'static str, names: Names, values: Values) -> Result<Self, ToolError> {
        let keys = [names.reference(), names.distorted()].into_iter().filter(|name| !values.has(name));
        let keys: Vec<String> = keys.map(str::to_owned).collect();
        if !keys.is_empty() {
            return Err(ToolError::Missing { tool, keys });
        }
        let args = Self { tool, names, values };
        args.check_tiny()?;
        args.precision()?;
        args.scale()?;
        args.missing_for_raw_names()?;
        Ok(args)
    }

    fn check_tiny(&self) -> Result<(), ToolError> {
        if self.values.flag("no_reference") && !self.values.has("tiny_model") {
            let text = "no_reference requires tiny_model; no classic NR scorer exists";
            return Err(ToolError::Refused(text.to_owned()));
        }
        Ok(())
    }

    fn precision(&self) -> Result<Precision, ToolError> {
        let text = self.values.text("precision").unwrap_or("legacy");
        text.parse().map_err(|_| {
            ToolError::invalid("precision", &json!(text), "must be one of legacy|max|full|1..17")
        })
    }

    fn scale(&self) -> Result<Scale, ToolError> {
        let text = self.values.text("scale").unwrap_or("auto");
        text.parse().map_err(|reason: String| ToolError::invalid("scale", &json!(text), reason))
    }

    /// How the videos are brought together, if they are encoded. A request that could mean raw or encoded files means
    /// encoded ones if it gives no format and the files are no Y4M.
    fn encoded(&self, reference: &Opened, distorted: &Opened) -> Result<Option<Encoded>, ToolError> {
        let raw_given = RAW_NAMES.iter().any(|name| self.values.has(name));
        let encoded = match self.names {
            Names::Encoded => true,
            Names::Mcp | Names::Rest if raw_given => false,
            Names::Mcp | Names::Rest => !is_y4m(reference)? || !is_y4m(distorted)?,
        };
        if !encoded {
            return Ok(None);
        }
        let sync = self.values.text("sync").and_then(|text| text.parse().ok()).unwrap_or_default();
        Ok(Some(Encoded { sync, scale: self.scale()?, force: self.values.flag("force") }))
    }

    /// Names that end like raw video need its format; that can be said without looking at any file.
    fn missing_for_raw_names(&self) -> Result<(), ToolError> {
        let raw = |name: &str| {
            let path = std::path::Path::new(self.values.text(name).unwrap_or_default());
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("yuv"))
        };
        if self.names != Names::Encoded && (raw(self.names.reference()) || raw(self.names.distorted())) {
            self.check_raw_complete()?;
        }
        Ok(())
    }

    fn check_raw_complete(&self) -> Result<(), ToolError> {
        let missing = RAW_NAMES.into_iter().filter(|name| !self.values.has(name));
        let keys: Vec<String> = missing.map(str::to_owned).collect();
        if keys.is_empty() { Ok(()) } else { Err(ToolError::Missing { tool: self.tool, keys }) }
    }

    /// Opens every file that is named and makes the task. Blocks; not for async threads.
    pub fn prepare(&self, roots: &Roots) -> Result<ScoreTask, ToolError> {
        let values = &self.values;
        let open = |name: &str| roots.open(values.text(name).unwrap_or_default());
        let (reference, distorted) = (open(self.names.reference())?, open(self.names.distorted())?);
        let encoded = self.encoded(&reference, &distorted)?;
        let raw = if encoded.is_some() { None } else { self.raw_format(&reference, &distorted)? };
        let tiny = super::tiny_args::task(values, roots)?;
        let (models, features) = (self.models(roots)?, self.features(roots)?);
        Ok(ScoreTask {
            reference: reference.into(),
            distorted: distorted.into(),
            raw,
            encoded,
            models,
            features,
            presets: self.presets(),
            backend: values.text("backend").unwrap_or("auto").to_owned(),
            precision: self.precision()?,
            precision_text: values.text("precision").map(str::to_owned),
            format: self.format(),
            detail: values.text("detail").and_then(Detail::parse).unwrap_or_default(),
            tuning: self.tuning(),
            notes: values.unknown.clone(),
            tiny,
        })
    }

    fn format(&self) -> Option<(&'static str, libvmaf::Format)> {
        let format = self.values.text("output_fmt").filter(|format| *format != "json")?;
        let name = FORMATS.into_iter().find(|name| *name == format)?;
        Some((name, format.parse().ok()?))
    }

    fn tuning(&self) -> Tuning {
        let values = &self.values;
        Tuning {
            threads: values.count("threads").filter(|threads| *threads > 0),
            frame_cnt: values.count("frame_cnt"),
            skip_ref: values.count("frame_skip_ref").unwrap_or(0),
            skip_dist: values.count("frame_skip_dist").unwrap_or(0),
            subsample: values.count("subsample").unwrap_or(1),
            no_prediction: values.flag("no_prediction"),
            cpumask: values.count("cpumask"),
            gpumask: values.count("gpumask"),
        }
    }

    /// The format that was given, if the files are raw. A Y4M file brings its own; what was given must agree with it.
    fn raw_format(&self, reference: &Opened, distorted: &Opened) -> Result<Option<Format>, ToolError> {
        let y4m = [is_y4m(reference)?, is_y4m(distorted)?];
        if y4m == [true, true] {
            self.check_against_header(reference)?;
            return Ok(None);
        }
        self.check_raw_complete()?;
        if y4m[0] != y4m[1] {
            let text = "one of the videos is Y4M and the other is not; convert one of them first";
            return Err(ToolError::Refused(text.to_owned()));
        }
        self.given_format().map(Some)
    }

    /// A size that was given for a Y4M file must be the one in its header.
    fn check_against_header(&self, opened: &Opened) -> Result<(), ToolError> {
        use std::io::Seek;
        if !["width", "height", "bitdepth"].iter().any(|name| self.values.has(name)) {
            return Ok(());
        }
        let fail = |error: &dyn std::error::Error| ToolError::Failed(chain(error));
        let file = opened.file.try_clone().map_err(|error| fail(&error))?;
        let header = y4m_seekable(&shown(&opened.path), file).map_err(|error| fail(&error))?;
        let format = *header.format();
        (&opened.file).rewind().map_err(|error| fail(&error))?;
        let sides =
            [("width", format.width()), ("height", format.height()), ("bitdepth", format.depth().into())];
        for (name, actual) in sides {
            if let Some(given) = self.values.count(name).filter(|given| *given != actual as u64) {
                return Err(ToolError::invalid(name, &json!(given), format!("the Y4M header says {format}")));
            }
        }
        Ok(())
    }

    fn given_format(&self) -> Result<Format, ToolError> {
        let side = |name: &str| usize::try_from(self.values.count(name).unwrap_or(0)).unwrap_or(usize::MAX);
        let chroma = match self.values.text("pixfmt") {
            Some("422") => Chroma::C422,
            Some("444") => Chroma::C444,
            _ => Chroma::C420,
        };
        let depth = u8::try_from(self.values.count("bitdepth").unwrap_or(8)).unwrap_or(8);
        let (width, height) = (side("width"), side("height"));
        Format::new(width, height, chroma, depth).map_err(|error| {
            ToolError::invalid(
                "width",
                &json!(width),
                format!("{width}x{height} cannot be read: {}", chain(&error)),
            )
        })
    }

    fn presets(&self) -> Vec<(&'static str, String)> {
        let preset = |name: &'static str| Some((name, self.values.text(name)?.to_owned()));
        ["aom_ctc", "nflx_ctc"].into_iter().filter_map(preset).collect()
    }

    /// A preset brings models of its own; then the default is not added.
    fn models(&self, roots: &Roots) -> Result<ModelWish, ToolError> {
        let given = self.values.text("model");
        if given == Some("auto") {
            return Ok(ModelWish::Auto);
        }
        let mut models = Vec::new();
        if given.is_some() || self.presets().is_empty() {
            models.push(wanted(given.unwrap_or(DEFAULT_MODEL), roots)?);
        }
        for (name, version) in self.presets() {
            let preset = if name == "aom_ctc" { preset::aom(&version) } else { preset::nflx(&version) };
            let preset = preset.into_iter().flat_map(|preset| preset.models);
            models.extend(preset.map(|spec| WantedModel { given: None, spec, file: None }));
        }
        Ok(ModelWish::These(models))
    }

    fn features(&self, roots: &Roots) -> Result<Vec<(Option<String>, FeatureSpec)>, ToolError> {
        let mut features = Vec::new();
        for text in self.values.texts("feature") {
            let spec: FeatureSpec =
                text.parse().map_err(|error| ToolError::invalid("feature", &json!(text), chain(&error)))?;
            for (name, value) in &spec.options {
                check_option(name, value, roots)?;
            }
            features.push((Some(text), spec));
        }
        for (name, version) in self.presets() {
            let preset = if name == "aom_ctc" { preset::aom(&version) } else { preset::nflx(&version) };
            features.extend(preset.into_iter().flat_map(|preset| preset.features).map(|spec| (None, spec)));
        }
        Ok(features)
    }
}

/// An option that names a place in the file system must name an allowed one.
fn check_option(name: &str, value: &str, roots: &Roots) -> Result<(), ToolError> {
    if name.contains("path") || name.contains("file") || value.contains(['/', '\\', '\0']) {
        roots.output(value)?;
    }
    Ok(())
}

/// A model by libvmaf's grammar; a built-in version or a file may also stand for itself.
fn wanted(text: &str, roots: &Roots) -> Result<WantedModel, ToolError> {
    let invalid = |reason: String| ToolError::invalid("model", &json!(text), reason);
    let full = match text {
        _ if visus_engine::model::builtin(text).is_some() => format!("version={text}"),
        _ if text.ends_with(".json") && !text.contains('=') => format!("path={text}"),
        _ => text.to_owned(),
    };
    let spec: ModelSpec = full.parse().map_err(|error| invalid(chain(&error)))?;
    for overload in &spec.overloads {
        check_option(&overload.option, &overload.value, roots)?;
    }
    let file = match &spec.source {
        ModelSource::Version(version) => {
            let known = visus_engine::model::BUILTIN.iter().map(|model| model.version);
            if !known.clone().any(|name| name == version) {
                let near = super::field::nearest(version, known);
                let near = near.map_or(String::new(), |near| format!(" (did you mean '{near}'?)"));
                return Err(invalid(format!(
                    "no such built-in model{near}; run list_models to see available models"
                )));
            }
            None
        }
        ModelSource::Path(path) => Some(roots.open(&path.to_string_lossy())?),
    };
    Ok(WantedModel { given: Some(full), spec, file })
}

/// Whether a file begins like Y4M. Leaves it at its beginning.
fn is_y4m(opened: &Opened) -> Result<bool, ToolError> {
    use std::io::{Read, Seek};
    const MAGIC: &[u8] = b"YUV4MPEG";
    let mut start = Vec::new();
    let mut file = &opened.file;
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut start).and_then(|_| file.rewind());
    read.map_err(|error| ToolError::Failed(format!("{} cannot be read: {error}", opened.path.display())))?;
    Ok(start == MAGIC)
}
