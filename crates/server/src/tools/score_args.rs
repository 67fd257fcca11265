//! The arguments of scoring and the task they become.

use serde_json::json;
use visus_engine::{FeatureSpec, preset};
use visus_media::Scale;
use visus_metrics::Level;
use visus_report::{Precision, libvmaf};
use visus_scoring::inputs::named_stream;
use visus_scoring::names::{self, OneModel, RequestedModel};
use visus_scoring::{
    Columns, InputOptions, ModelFile, OpenedFile, Pairing, RequestError, RunOptions, SampleBudget, Sampling,
    ScoreRequest, Selection, Video, Videos, Within, cpu,
};
use visus_video::{Chroma, Format};

use super::field::Values;
use super::score_fields::{FORMATS, Names, RAW_NAMES};
use crate::ToolError;
use crate::config::Config;
use crate::engines::{MAX_MODEL_BYTES, Presets, ScoreTask, decoders, video};
use crate::error::chain;
use crate::report::Detail;
use crate::roots::{PathError, Roots};

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
        args.inputs()?;
        args.sampling()?;
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
    pub fn prepare(&self, roots: &Roots, config: &Config) -> Result<ScoreTask, ToolError> {
        let values = &self.values;
        let open = |name: &str| open_video(values.text(name).unwrap_or_default(), roots, config);
        let (reference, distorted) = (open(self.names.reference())?, open(self.names.distorted())?);
        let mut pairing = self.pairing(config)?;
        pairing.inputs.stream = [reference.1, distorted.1];
        let videos = Videos {
            raw: self.raw_format()?,
            reference: reference.0,
            distorted: distorted.0,
            pairing,
            skip: ["frame_skip_ref", "frame_skip_dist"].map(|name| values.count(name).unwrap_or(0)),
        };
        self.check_against_headers(&videos)?;
        let mut presets = self.presets();
        let mut selection = self.selection(&presets, roots)?;
        presets.add_to(&mut selection);
        Ok(ScoreTask {
            request: ScoreRequest { videos, selection, options: self.options(config.level) },
            presets,
            backend: values.text("backend").unwrap_or("auto").to_owned(),
            precision: self.precision()?,
            precision_text: values.text("precision").map(str::to_owned),
            format: self.format(),
            detail: values.text("detail").and_then(Detail::parse).unwrap_or_default(),
            masks: ["cpumask", "gpumask"].map(|name| values.count(name)),
            notes: values.unknown.clone(),
            tiny: super::tiny_args::task(values, roots)?,
            sampling: self.sampling()?,
        })
    }

    /// When a sample of the frames is enough, if one is asked for. A sample has a report of its own.
    fn sampling(&self) -> Result<Option<Sampling>, ToolError> {
        let values = &self.values;
        let invalid =
            |name: &'static str, text: &str, reason: String| ToolError::invalid(name, &json!(text), reason);
        let words = values.text("within").into_iter().flat_map(|text| text.split(','));
        let within: Vec<Within> = words
            .map(|word| word.trim().parse().map_err(|reason| invalid("within", word, reason)))
            .collect::<Result<_, _>>()?;
        let budget = values.text("budget").map(|text| {
            text.trim().parse::<SampleBudget>().map_err(|reason| invalid("budget", text, reason))
        });
        let budget = budget.transpose()?;
        if within.is_empty() && budget.is_none() {
            return Ok(None);
        }
        let given = ["output_fmt", "tiny_model", "frame_cnt"]
            .into_iter()
            .find(|name| values.has(name) && values.text(name) != Some("json"));
        if let Some(name) = given {
            let text = format!("a sample of the frames (within, budget) cannot be combined with {name}");
            return Err(ToolError::Refused(text));
        }
        Ok(Some(Sampling::new(&within, budget)))
    }

    pub(super) fn pairing(&self, config: &Config) -> Result<Pairing, ToolError> {
        let values = &self.values;
        Ok(Pairing {
            sync: values.text("sync").and_then(|text| text.parse().ok()),
            scale: values.has("scale").then(|| self.scale()).transpose()?,
            scaler: values.text("scaler").and_then(|text| text.parse().ok()).unwrap_or_default(),
            force: values.flag("force"),
            hwaccel: None,
            decoders: decoders(config.launcher.clone(), config.limits.subprocess, config.limits.job),
            inputs: self.inputs()?,
            // Files of clients are decoded in a sandbox.
            in_process: false,
            ..Pairing::default()
        })
    }

    /// What is done to the videos before they are compared.
    fn inputs(&self) -> Result<InputOptions, ToolError> {
        let mut options = InputOptions::default();
        for text in self.values.texts("input") {
            let set = options.set_pair(&text);
            set.map_err(|error| ToolError::invalid("input", &json!(text), error.to_string()))?;
        }
        Ok(options)
    }

    fn format(&self) -> Option<(&'static str, libvmaf::Format)> {
        let format = self.values.text("output_fmt").filter(|format| *format != "json")?;
        let name = FORMATS.into_iter().find(|name| *name == format)?;
        Some((name, format.parse().ok()?))
    }

    /// More threads than cores only cost memory.
    fn options(&self, level: Level) -> RunOptions {
        let values = &self.values;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = values.count("threads").filter(|threads| *threads > 0);
        RunOptions {
            threads: threads.map(|threads| usize::try_from(threads).unwrap_or(cores).min(cores)),
            frames: values.count("frame_cnt"),
            subsample: values.count("subsample").unwrap_or(1),
            detectors: values.has("detectors").then(|| values.flag("detectors")),
            ..RunOptions::with_level(cpu::masked(level, values.count("cpumask").unwrap_or(0)))
        }
    }

    /// The format of raw files, where one is given. What belongs together must be given together.
    fn raw_format(&self) -> Result<Option<Format>, ToolError> {
        let complete = RAW_NAMES.iter().all(|name| self.values.has(name));
        complete.then(|| self.given_format()).transpose()
    }

    /// A size that was given for a Y4M file must be the one in its header, and any other file without its whole format is
    /// taken for encoded: what was given of a format then has no meaning.
    fn check_against_headers(&self, videos: &Videos) -> Result<(), ToolError> {
        if !RAW_NAMES.iter().any(|name| self.values.has(name)) {
            return Ok(());
        }
        for video in [&videos.reference, &videos.distorted] {
            if !video.is_y4m() {
                self.check_raw_complete()?;
                continue;
            }
            let format = video.y4m_format().map_err(|error| ToolError::Refused(chain(&error)))?;
            let sides =
                [("width", format.width()), ("height", format.height()), ("bitdepth", format.depth().into())];
            for (name, actual) in sides {
                if let Some(given) = self.values.count(name).filter(|given| *given != actual as u64) {
                    return Err(ToolError::invalid(
                        name,
                        &json!(given),
                        format!("the Y4M header says {format}"),
                    ));
                }
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

    fn presets(&self) -> Presets {
        let preset = |name: &'static str| Some((name, self.values.text(name)?.to_owned()));
        let options: Vec<_> = ["aom_ctc", "nflx_ctc"].into_iter().filter_map(preset).collect();
        Presets { options, ..Presets::default() }
    }

    /// Models and metrics by name. A preset brings models of its own; then the default is not added.
    fn selection(&self, presets: &Presets, roots: &Roots) -> Result<Selection, ToolError> {
        let given = self.values.text("model");
        let mut models = Vec::new();
        if given.is_some() || presets.options.is_empty() {
            models.push(requested_model(given.unwrap_or(DEFAULT_MODEL), roots)?);
        }
        let metrics: Result<Vec<FeatureSpec>, _> =
            self.values.texts("feature").iter().map(|text| requested_metric(text, roots)).collect();
        let predict = !self.values.flag("no_prediction");
        Ok(Selection { models, metrics: metrics?, columns: Columns::Libvmaf, predict })
    }
}

/// A video within the allowed roots, and which of its streams.
fn open_video(text: &str, roots: &Roots, config: &Config) -> Result<(Video, Option<u32>), ToolError> {
    if text == "-" {
        let text = "standard input belongs to the server's own protocol; give the path of a file".to_owned();
        return Err(ToolError::Refused(text));
    }
    let refused = match roots.open(text) {
        Ok(opened) => return Ok((video(opened), None)),
        Err(refused) => refused,
    };
    if let Some((file, stream)) = named_stream(text) {
        return Ok((video(roots.open(file).map_err(ToolError::video_path)?), Some(stream)));
    }
    match refused {
        PathError::NotRegular(_) | PathError::Absent(_) => {
            let Ok((name, folder)) = roots.open_pictures(text) else {
                return Err(ToolError::video_path(refused));
            };
            // Links in the folder could lead out of the roots; only the kernel can keep a decoder from following them.
            if config.launcher.is_none() || visus_child::Protections::detect().landlock == 0 {
                let text = "numbered pictures are refused here: this machine cannot confine a decoder to their folder \
                            (Landlock); make one file of them";
                return Err(ToolError::Refused(text.to_owned()));
            }
            let opened = OpenedFile::new(&folder, &name).map_err(|error| ToolError::failed(&error))?;
            let sequence = visus_media::Sequence::in_opened(opened.path(), &name);
            sequence
                .map_err(|error| ToolError::Video(format!("{refused}; as numbered pictures: {error}")))?;
            Ok((Video::Folder { name, folder }, None))
        }
        refused => Err(ToolError::video_path(refused)),
    }
}

/// An option that names a place in the file system must name an allowed one.
fn check_option(name: &str, value: &str, roots: &Roots) -> Result<(), ToolError> {
    if name.contains("path") || name.contains("file") || value.contains(['/', '\\', '\0']) {
        roots.output(value)?;
    }
    Ok(())
}

impl Presets {
    /// Adds the models and metrics of the common test conditions, behind those of the request.
    fn add_to(&mut self, selection: &mut Selection) {
        for (name, version) in &self.options {
            let preset = if *name == "aom_ctc" { preset::aom(version) } else { preset::nflx(version) };
            if let Some(preset) = preset {
                self.models += preset.models.len();
                self.metrics += preset.features.len();
                let model = |spec| RequestedModel::One(Box::new(OneModel { spec, named: true, file: None }));
                selection.models.extend(preset.models.into_iter().map(model));
                selection.metrics.extend(preset.features);
            }
        }
    }
}

fn requested_metric(text: &str, roots: &Roots) -> Result<FeatureSpec, ToolError> {
    let spec = names::metric(text)
        .map_err(|error| ToolError::invalid("feature", &json!(text), error.to_string()))?;
    for (name, value) in &spec.options {
        check_option(name, value, roots)?;
    }
    Ok(spec)
}

/// A model by any of its names; a file is opened within the allowed roots.
pub(super) fn requested_model(text: &str, roots: &Roots) -> Result<RequestedModel, ToolError> {
    let invalid = |reason: String| ToolError::invalid("model", &json!(text), reason);
    let requested = names::model(text).map_err(|error| match error {
        RequestError::UnknownModel { .. } => {
            invalid(format!("{error}; run list_models to see available models"))
        }
        RequestError::Model { reason, .. } => invalid(reason),
        other => invalid(other.to_string()),
    })?;
    let RequestedModel::One(mut model) = requested else { return Ok(requested) };
    let given = |name: &str| text.split(':').any(|part| part.trim_start().starts_with(name));
    if given("version=") && given("path=") {
        return Err(invalid("version and path exclude each other; give one of them".to_owned()));
    }
    for overload in &model.spec.overloads {
        check_option(&overload.option, &overload.value, roots)?;
    }
    if let Some(path) = model.path() {
        let opened = roots.open(&path.to_string_lossy())?;
        let label = crate::error::cleaned(&opened.path.to_string_lossy());
        model.file = Some(ModelFile { file: opened.file, label, max_bytes: MAX_MODEL_BYTES });
    }
    Ok(RequestedModel::One(model))
}
