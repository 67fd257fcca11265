//! The arguments of scoring: their table, and the task they become.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use visus_engine::{FeatureSpec, preset};
use visus_media::Scale;
use visus_metrics::Level;
use visus_report::{Precision, libvmaf};
use visus_scoring::names::{self, OneModel, RequestedModel};
use visus_scoring::{
    Columns, ModelFile, Pairing, RequestError, RunOptions, ScoreRequest, Selection, Videos, cpu,
};
use visus_video::{Chroma, Format};

use super::field::{Field, Kind, MANY, Values};
use crate::ToolError;
use crate::config::Config;
use crate::engines::{BACKENDS, MAX_MODEL_BYTES, Presets, ScoreTask, decoders, video};
use crate::error::chain;
use crate::report::Detail;
use crate::roots::Roots;

/// What the two videos are called at a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `ref` and `dis`.
    Mcp,
    /// `reference` and `distorted`, raw, Y4M or encoded.
    Rest,
    /// `reference_encoded` and `distorted_encoded`.
    Encoded,
}

impl Names {
    pub const fn reference(self) -> &'static str {
        match self {
            Self::Mcp => "ref",
            Self::Rest => "reference",
            Self::Encoded => "reference_encoded",
        }
    }

    pub const fn distorted(self) -> &'static str {
        match self {
            Self::Mcp => "dis",
            Self::Rest => "distorted",
            Self::Encoded => "distorted_encoded",
        }
    }

    /// The table of arguments.
    pub fn fields(self) -> &'static [Field] {
        static MCP: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Mcp));
        static REST: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Rest));
        static ENCODED: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Encoded));
        match self {
            Self::Mcp => &MCP,
            Self::Rest => &REST,
            Self::Encoded => &ENCODED,
        }
    }
}

/// The model that is used if none is asked for.
pub const DEFAULT_MODEL: &str = "version=vmaf_v0.6.1";

const PIXEL_FORMATS: [&str; 3] = ["420", "422", "444"];
const AOM_VERSIONS: [&str; 7] = ["v1.0", "v2.0", "v3.0", "v4.0", "v5.0", "v6.0", "v7.0"];
const FORMATS: [&str; 4] = ["json", "xml", "csv", "sub"];
const RESIZES: [&str; 4] = ["bilinear", "nearest", "bicubic", "disabled"];
const AT_LEAST_0: Kind = Kind::Whole { min: 0, max: MANY };
const AT_LEAST_1: Kind = Kind::Whole { min: 1, max: MANY };

fn table(names: Names) -> Vec<Field> {
    let (reference, distorted) = match names {
        Names::Mcp => (REFERENCE, DISTORTED),
        Names::Rest => (ANY_REFERENCE, ANY_DISTORTED),
        Names::Encoded => (ENCODED_REFERENCE, ENCODED_DISTORTED),
    };
    let mut fields = vec![reference.named(names.reference()), distorted.named(names.distorted())];
    if names != Names::Encoded {
        fields.extend_from_slice(RAW);
    }
    fields.extend_from_slice(PAIRING);
    fields.extend_from_slice(SHARED);
    fields
}

/// The format of raw video.
const RAW: &[Field] = &[
    Field::new("width", AT_LEAST_1, "Width in pixels; only for raw video, Y4M brings its own."),
    Field::new("height", AT_LEAST_1, "Height in pixels; only for raw video."),
    Field::new("pixfmt", Kind::Word(&PIXEL_FORMATS), "Chroma format; only for raw video."),
    Field::new("bitdepth", Kind::Choice(&[8, 10, 12, 16]), "Bits per sample; only for raw video."),
];

/// How encoded videos are brought together.
const PAIRING: &[Field] = &[
    Field::new(
        "sync",
        Kind::Word(&["full", "offset", "off"]),
        "How frames of encoded videos are paired by content: 'full' also finds dropped and repeated frames, 'offset' only \
         the start, 'off' pairs by number.",
    )
    .default("\"full\""),
    Field::new(
        "scale",
        Kind::Text,
        "Where sizes of encoded videos differ: 'auto' scales both to the model's display, 'reference' to the reference's \
         size, or WIDTHxHEIGHT; 'off' refuses.",
    )
    .default("\"auto\""),
    Field::new("force", Kind::Flag, "Score encoded videos although they cannot be compared.").default("false"),
];

const REFERENCE: Field =
    Field::new("ref", Kind::Text, "Path of the reference: encoded video, Y4M, or raw planar YUV.").required();
const DISTORTED: Field =
    Field::new("dis", Kind::Text, "Path of the distorted video: encoded, Y4M, or raw planar YUV.").required();

const ANY_REFERENCE: Field =
    Field::new("reference", Kind::Text, "Path of the reference video: Y4M, raw planar YUV, or encoded.")
        .required();
const ANY_DISTORTED: Field =
    Field::new("distorted", Kind::Text, "Path of the distorted video: Y4M, raw planar YUV, or encoded.")
        .required();
const ENCODED_REFERENCE: Field =
    Field::new("reference_encoded", Kind::Text, "Path of the reference video, such as mp4, mkv or webm.")
        .required();
const ENCODED_DISTORTED: Field =
    Field::new("distorted_encoded", Kind::Text, "Path of the distorted video, in any format ffmpeg decodes.")
        .required();

/// What all scoring tools take.
pub const SHARED: &[Field] = &[
    Field::new(
        "model",
        Kind::Text,
        "Model, as 'version=NAME' or 'path=FILE', with ':name=', ':disable_clip', ':enable_transform' and \
         feature overloads; 'auto' picks by picture size and says why. See list_models.",
    )
    .default("\"version=vmaf_v0.6.1\""),
    Field::new("backend", Kind::Word(&BACKENDS), "Where features are computed; see list_backends.")
        .default("\"auto\""),
    Field::new(
        "precision",
        Kind::Text,
        "Digits of scores: 'legacy' (six decimals), 'max' (exact), or '1' to '17' significant digits.",
    )
    .default("\"legacy\""),
    Field::new(
        "feature",
        Kind::Texts { most: 64 },
        "Further metrics, as 'psnr' or 'cambi=full_ref=true'; see list_extractors.",
    ),
    Field::new("aom_ctc", Kind::Word(&AOM_VERSIONS), "Features and models of the AOM common test conditions."),
    Field::new("nflx_ctc", Kind::Word(&["v1.0"]), "Features and models of the Netflix common test conditions."),
    Field::new("threads", AT_LEAST_0, "Worker threads; 0 or absent: all cores. Scores do not depend on it."),
    Field::new("frame_cnt", AT_LEAST_1, "Score at most this many frames."),
    Field::new("frame_skip_ref", AT_LEAST_0, "Skip this many frames of the reference."),
    Field::new("frame_skip_dist", AT_LEAST_0, "Skip this many frames of the distorted video."),
    Field::new("subsample", AT_LEAST_1, "Score every N-th frame only.").default("1"),
    Field::new("no_prediction", Kind::Flag, "Compute features only, no model score.").default("false"),
    Field::new("cpumask", AT_LEAST_0, "Bits of CPU instruction sets not to use, as the vmaf tool's --cpumask."),
    Field::new("gpumask", AT_LEAST_0, "Bits of GPU operations not to use, as the vmaf tool's --gpumask."),
    Field::new("output_fmt", Kind::Word(&FORMATS), "Other than 'json': the report as text in 'output'.")
        .default("\"json\""),
    Field::new("tiny_model", Kind::Text, "Path of an ONNX model."),
    Field::new("tiny_device", Kind::Text, "Device for the ONNX model."),
    Field::new("tiny_threads", AT_LEAST_0, "Threads for the ONNX model."),
    Field::new("tiny_fp16", Kind::Flag, "Run the ONNX model in half precision.").default("false"),
    Field::new("tiny_codec", Kind::Text, "Codec that the ONNX model is told."),
    Field::new("tiny_preset", Kind::Text, "Encoder preset that the ONNX model is told."),
    Field::new("tiny_crf", Kind::Whole { min: 0, max: 63 }, "CRF that the ONNX model is told."),
    Field::new("tiny_resize", Kind::Word(&RESIZES), "How pictures are scaled for the ONNX model."),
    Field::new("no_reference", Kind::Flag, "Score without a reference; needs tiny_model.").default("false"),
    Field::new(
        "detail",
        Kind::Word(&Detail::NAMES),
        "'full': every frame; 'summary': statistics, worst frames and a curve; 'auto': full up to 120 frames.",
    )
    .default("\"auto\""),
    Field::new(
        "background",
        Kind::Flag,
        "Return a job_id at once and work on; ask get_job later. For clips that take more than a minute.",
    )
    .default("false"),
];

/// Checked arguments of a scoring tool.
#[derive(Clone, Debug)]
pub struct ScoreArgs {
    tool: &'static str,
    names: Names,
    values: Values,
}

impl ScoreArgs {
    pub fn read(tool: &'static str, names: Names, given: Map<String, Value>) -> Result<Self, ToolError> {
        let args = Self { tool, names, values: Values::read(tool, names.fields(), given)? };
        args.check_tiny()?;
        args.precision()?;
        args.scale()?;
        args.missing_for_raw_names()?;
        Ok(args)
    }

    pub fn tool(&self) -> &'static str {
        self.tool
    }

    pub fn background(&self) -> bool {
        self.values.flag("background")
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
        let missing =
            ["width", "height", "pixfmt", "bitdepth"].into_iter().filter(|name| !self.values.has(name));
        let keys: Vec<String> = missing.map(str::to_owned).collect();
        if keys.is_empty() { Ok(()) } else { Err(ToolError::Missing { tool: self.tool, keys }) }
    }

    /// Opens every file that is named and makes the task. Blocks; not for async threads.
    pub fn prepare(&self, roots: &Roots, config: &Config) -> Result<ScoreTask, ToolError> {
        let values = &self.values;
        let open = |name: &str| roots.open(values.text(name).unwrap_or_default());
        let (reference, distorted) = (open(self.names.reference())?, open(self.names.distorted())?);
        let videos = Videos {
            raw: self.raw_format()?,
            reference: video(reference),
            distorted: video(distorted),
            pairing: self.pairing(config)?,
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
        })
    }

    fn pairing(&self, config: &Config) -> Result<Pairing, ToolError> {
        let values = &self.values;
        Ok(Pairing {
            sync: values.text("sync").and_then(|text| text.parse().ok()),
            scale: values.has("scale").then(|| self.scale()).transpose()?,
            scaler: Default::default(),
            force: values.flag("force"),
            hwaccel: None,
            decoders: decoders(config.launcher.clone(), config.limits.subprocess),
        })
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
            ..RunOptions::with_level(cpu::masked(level, values.count("cpumask").unwrap_or(0)))
        }
    }

    /// The format of raw files, where one is given. What belongs together must be given together.
    fn raw_format(&self) -> Result<Option<Format>, ToolError> {
        let given =
            ["width", "height", "pixfmt", "bitdepth"].iter().filter(|name| self.values.has(name)).count();
        match given {
            4 => self.given_format().map(Some),
            _ => Ok(None),
        }
    }

    /// A size that was given for a Y4M file must be the one in its header, and any other file without its whole format is
    /// taken for encoded: what was given of a format then has no meaning.
    fn check_against_headers(&self, videos: &Videos) -> Result<(), ToolError> {
        if !["width", "height", "pixfmt", "bitdepth"].iter().any(|name| self.values.has(name)) {
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
fn requested_model(text: &str, roots: &Roots) -> Result<RequestedModel, ToolError> {
    let invalid = |reason: String| ToolError::invalid("model", &json!(text), reason);
    let requested = names::model(text).map_err(|error| match error {
        RequestError::UnknownModel { .. } => {
            invalid(format!("{error}; run list_models to see available models"))
        }
        RequestError::Model { reason, .. } => invalid(reason),
        other => invalid(other.to_string()),
    })?;
    let RequestedModel::One(mut model) = requested else { return Ok(requested) };
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
