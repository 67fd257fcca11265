//! The tuning tools: encoders compared, ladders, plans per shot.
//!
//! Arguments are checked here and files opened under the allowed roots; the work itself is crate `tune`'s.

mod answers;
mod schemas;
mod tally;

use std::path::PathBuf;

use serde_json::{Value, json};
use visus_tune::cache::Cache;
use visus_tune::encoders::{self, Choices};
use visus_tune::hull::Spacing;
use visus_tune::samples::SamplePlan;
use visus_tune::shots::{DetectSettings, PredictSettings};
use visus_tune::{Judge, Lab, Pooling, RawShape, Source, Tools, TuneError, looks_raw};

use super::field::{Field, Kind, MANY, Values};
use super::{BACKGROUND, Hints, READS, Tool};
use crate::jobs::Context;
use crate::report::Output;
use crate::{Server, ToolError};

/// The names of these tools.
pub const NAMES: [&str; 4] = ["run_compare", "run_ladder", "run_tune_per_shot", "vmaf_per_shot"];

const WRITES: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
const SIDE: Kind = Kind::Whole { min: 1, max: MANY };
const SCORE: Kind = Kind::Number { min: 0.0, max: 110.0 };

const SRC: Field =
    Field::new("src", Kind::Text, "The video to encode: mp4, mkv, Y4M, or raw YUV.").required();
const WIDTH: Field = Field::new("width", SIDE, "Width of raw video.");
const HEIGHT: Field = Field::new("height", SIDE, "Height of raw video.");
const PIX_FMT: Field =
    Field::new("pix_fmt", Kind::Text, "Sample format by ffmpeg's name: of raw video, and of the encode.");
const FRAMERATE: Field =
    Field::new("framerate", Kind::Number { min: 0.001, max: 1000.0 }, "Frames per second of raw video.");
const MODEL: Field =
    Field::new("model", Kind::Text, "The model that judges; see list_models. 'auto' picks by size.")
        .default("\"version=vmaf_v0.6.1\"");
const ENCODER: Field =
    Field::new("encoder", Kind::Text, "An encoder by ffmpeg's name.").default("\"libx264\"");

const COMPARE: &[Field] = &[
    SRC,
    Field::new("target_vmaf", SCORE, "The score that every encoder is to reach.").default("92"),
    Field::new("target_vmafs", Kind::Text, "Several scores, as '94,96', in place of target_vmaf."),
    Field::new("encoders", Kind::Text, "Encoders by ffmpeg's names; the first is the anchor of BD-rates.")
        .default("\"libx264,libx265,libsvtav1\""),
    WIDTH,
    HEIGHT,
    PIX_FMT,
    FRAMERATE,
    MODEL,
    Field::new("no_parallel", Kind::Flag, "One encoder after another, for honest encode times.")
        .default("false"),
    BACKGROUND,
];

const LADDER: &[Field] = &[
    SRC,
    Field::new("resolutions", Kind::Text, "Sizes of renditions, as '1920x1080,1280x720'.").required(),
    Field::new("target_vmafs", Kind::Text, "Scores to reach at the source's size, as '95,90'.").required(),
    ENCODER,
    Field::new("quality_tiers", Kind::Whole { min: 1, max: 32 }, "How many renditions at most.").default("5"),
    Field::new("format", Kind::Word(&["json", "hls", "dash"]), "What the manifest is written as.")
        .default("\"json\""),
    Field::new("spacing", Kind::Word(&Spacing::NAMES), "What is the same from tier to tier.")
        .default("\"log_bitrate\""),
    WIDTH,
    HEIGHT,
    PIX_FMT,
    FRAMERATE,
    MODEL,
    BACKGROUND,
];

const PER_SHOT: &[Field] = &[
    SRC,
    Field::new("target_vmaf", SCORE, "The score that every shot is to reach.").default("92"),
    ENCODER,
    PIX_FMT,
    FRAMERATE,
    Field::new(
        "scene_threshold",
        Kind::Number { min: 0.1, max: 255.0 },
        "Mean luma difference, on the 8-bit scale, from which a change can be a cut.",
    )
    .default("12"),
    WIDTH,
    HEIGHT,
    Field::new(
        "output",
        Kind::Text,
        "With it the shots are encoded, joined into this MP4 file, and measured.",
    ),
    Field::new("format", Kind::Word(&["json", "shell", "csv"]), "Other than json: also as text in 'text'.")
        .default("\"json\""),
    MODEL,
    BACKGROUND,
];

const PREDICT: &[Field] = &[
    Field::new("reference", Kind::Text, "Raw YUV or Y4M.").required(),
    WIDTH.required(),
    HEIGHT.required(),
    Field::new("pixel_format", Kind::Word(&["420", "422", "444"]), "Chroma of raw video.").default("\"420\""),
    Field::new("bitdepth", Kind::Choice(&[8, 10, 12, 16]), "Bits of a sample.").default("8"),
    Field::new("target_vmaf", SCORE, "The score that settings are guessed for.").default("90"),
    Field::new("crf_min", Kind::Whole { min: 0, max: 63 }, "The finest setting to guess.").default("18"),
    Field::new("crf_max", Kind::Whole { min: 0, max: 63 }, "The coarsest setting to guess.").default("35"),
    Field::new(
        "diff_threshold",
        Kind::Number { min: 0.1, max: 255.0 },
        "Mean luma difference, on the 8-bit scale, from which a change can be a cut.",
    )
    .default("12"),
    Field::new("format", Kind::Word(&["json", "csv"]), "Other than json: also as text in 'text'.")
        .default("\"json\""),
    BACKGROUND,
];

pub const RUN_COMPARE: Tool = Tool {
    name: "run_compare",
    title: "Compare encoders",
    description: "Finds, for each encoder, the coarsest setting that still reaches a VMAF target, and compares their bit rates \
                  (with BD-rates). Encodes the source up to 8 times per encoder, or samples of it if it is long. Use it to \
                  choose an encoder or a CRF; for a whole streaming ladder use run_ladder. Takes minutes: set background.",
    hints: READS,
    fields: || COMPARE,
    output: schemas::compare,
};

pub const RUN_LADDER: Tool = Tool {
    name: "run_ladder",
    title: "Make a ladder",
    description: "Finds renditions for adaptive streaming: every size is encoded and judged at the source's size, and tiers are \
                  taken from the convex hull of rate and quality. Gives a JSON, HLS or DASH manifest; no segments are written. \
                  Takes minutes: set background.",
    hints: READS,
    fields: || LADDER,
    output: schemas::ladder,
};

pub const RUN_TUNE_PER_SHOT: Tool = Tool {
    name: "run_tune_per_shot",
    title: "Tune every shot",
    description: "Finds shots and, for each, the coarsest setting that still reaches a VMAF target, with commands to encode and \
                  join them. With 'output' it does so, and measures the result. For a guess without encoding use \
                  vmaf_per_shot. Takes minutes: set background.",
    hints: WRITES,
    fields: || PER_SHOT,
    output: schemas::per_shot,
};

pub const VMAF_PER_SHOT: Tool = Tool {
    name: "vmaf_per_shot",
    title: "Guess settings per shot",
    description: "Finds shots in raw video and guesses a CRF for each from its texture and motion, without encoding. Fast, and \
                  only a guess: run_tune_per_shot measures.",
    hints: READS,
    fields: || PREDICT,
    output: schemas::predict,
};

/// A checked request: its files are opened or resolved under the roots.
#[derive(Debug)]
pub struct Request {
    tool: &'static str,
    values: Values,
    path: PathBuf,
    raw: Option<RawShape>,
    output: Option<PathBuf>,
    targets: Vec<f64>,
}

impl Request {
    /// Checks arguments and paths. Blocks; not for async threads.
    pub fn prepare(tool: &'static str, values: Values, server: &Server) -> Result<Self, ToolError> {
        let name = if tool == "vmaf_per_shot" { "reference" } else { "src" };
        let path = server.roots().open(values.text(name).unwrap_or_default())?.path;
        let output = values.text("output").map(|output| server.roots().output(output)).transpose()?;
        check_model(&values, server)?;
        let targets = targets(&values)?;
        let raw = if tool == "vmaf_per_shot" { None } else { raw_shape(tool, &values, &path)? };
        if tool != "run_compare" && tool != "vmaf_per_shot" {
            let encoder = values.text("encoder").unwrap_or("libx264");
            encoders::by_name(encoder)
                .map_err(|error| ToolError::invalid("encoder", &json!(encoder), error.to_string()))?;
        }
        Ok(Self { tool, values, path, raw, output, targets })
    }

    /// Does the work. Blocks for as long as it takes.
    pub fn run(&self, server: &Server, context: &Context) -> Result<Output, ToolError> {
        let answer = match self.tool {
            "vmaf_per_shot" => answers::predict(self, context)?,
            _ => {
                let opened = self.open(server, context)?;
                match self.tool {
                    "run_compare" => answers::compare(self, &opened, context)?,
                    "run_ladder" => answers::ladder(self, &opened, context)?,
                    _ => answers::per_shot(self, &opened, context)?,
                }
            }
        };
        Ok(Output::Value(with_notes(answer, &self.values)))
    }

    fn open(&self, server: &Server, context: &Context) -> Result<Opened, ToolError> {
        let config = server.config();
        let tools = Tools::find(config.launcher.clone(), config.limits.subprocess).map_err(told)?;
        let cache = match Cache::usual_folder() {
            Some(folder) => Cache::open(&folder, Cache::usual_limit().map_err(ToolError::Failed)?),
            None => Cache::temporary(),
        };
        // A server without a home still works, it only remembers nothing.
        let cache = cache.or_else(|_| Cache::temporary()).map_err(told)?;
        let beside = self.output.as_deref().and_then(std::path::Path::parent);
        let lab = Lab::new(tools, cache, context.cancel.clone(), beside).map_err(told)?;
        let source =
            Source::open(&self.path, self.raw.clone(), &lab.tools, &lab.cache, &lab.cancel).map_err(told)?;
        self.check_size(&source)?;
        let model = self.values.text("model").unwrap_or("version=vmaf_v0.6.1");
        let judge = Judge::new(model, &source.format, source.rate)
            .map_err(|error| ToolError::invalid("model", &json!(model), error.chain()))?;
        Ok(Opened { lab, source, judge })
    }

    /// A size that was given must be the source's.
    fn check_size(&self, source: &Source) -> Result<(), ToolError> {
        let (width, height) = source.size();
        for (name, actual) in [("width", width), ("height", height)] {
            if let Some(given) = self.values.count(name).filter(|given| *given != u64::from(actual)) {
                return Err(ToolError::invalid(
                    name,
                    &json!(given),
                    format!("the source is {width}x{height}"),
                ));
            }
        }
        Ok(())
    }

    fn choices(&self) -> Choices {
        let pix_fmt = self.values.text("pix_fmt").filter(|_| self.raw.is_none()).map(str::to_owned);
        Choices { pix_fmt, ..Choices::default() }
    }

    fn list(&self, name: &str, usual: &str) -> Vec<String> {
        let text = self.values.text(name).unwrap_or(usual);
        text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn detect(&self, name: &str) -> DetectSettings {
        let usual = DetectSettings::default();
        DetectSettings { threshold: self.values.number(name).unwrap_or(usual.threshold), ..usual }
    }

    fn predict_settings(&self) -> Result<PredictSettings, ToolError> {
        let bound = |name: &str, usual: i64| self.values.whole(name).unwrap_or(usual) as i32;
        let (crf_min, crf_max) = (bound("crf_min", 18), bound("crf_max", 35));
        if crf_min > crf_max {
            let reason = format!("must not be more than crf_max, which is {crf_max}");
            return Err(ToolError::invalid("crf_min", &json!(crf_min), reason));
        }
        let target = self.values.number("target_vmaf").unwrap_or(90.0);
        Ok(PredictSettings { target, crf_min, crf_max })
    }
}

/// What the encoding tools share.
struct Opened {
    lab: Lab,
    source: Source,
    judge: Judge,
}

const POOLING: Pooling = Pooling::Mean;

fn samples() -> SamplePlan {
    SamplePlan::default()
}

/// The one place that maps errors of tuning.
fn told(error: TuneError) -> ToolError {
    match error {
        TuneError::Cancelled => ToolError::Cancelled,
        TuneError::TimedOut { limit } => ToolError::TimedOut { limit },
        TuneError::Invalid { name, value, reason } => ToolError::invalid(name, &json!(value), reason),
        other => ToolError::Failed(crate::error::cleaned(&other.chain())),
    }
}

/// Models by path must lie under a root, like every file.
fn check_model(values: &Values, server: &Server) -> Result<(), ToolError> {
    let text = values.text("model").unwrap_or_default();
    for part in text.split(':') {
        let path = part.strip_prefix("path=").or_else(|| part.ends_with(".json").then_some(part));
        if let Some(path) = path {
            server.roots().open(path)?;
        } else if part.split_once('=').is_some_and(|(_, value)| value.contains(['/', '\\', '\0'])) {
            return Err(ToolError::invalid("model", &json!(text), "an option names a path"));
        }
    }
    Ok(())
}

fn targets(values: &Values) -> Result<Vec<f64>, ToolError> {
    let Some(text) = values.text("target_vmafs") else {
        return Ok(vec![values.number("target_vmaf").unwrap_or(92.0)]);
    };
    let refuse =
        || ToolError::invalid("target_vmafs", &json!(text), "must be numbers from 0 to 110, as '94,96'");
    let parsed: Result<Vec<f64>, _> = text.split(',').map(|word| word.trim().parse::<f64>()).collect();
    let targets = parsed.map_err(|_| refuse())?;
    let fits = targets.len() <= 16 && targets.iter().all(|target| (0.0..=110.0).contains(target));
    if fits { Ok(targets) } else { Err(refuse()) }
}

fn raw_shape(
    tool: &'static str,
    values: &Values,
    path: &std::path::Path,
) -> Result<Option<RawShape>, ToolError> {
    if !looks_raw(path) {
        return Ok(None);
    }
    let needed = ["width", "height", "pix_fmt", "framerate"];
    let keys: Vec<String> = needed.into_iter().filter(|name| !values.has(name)).map(str::to_owned).collect();
    if !keys.is_empty() {
        return Err(ToolError::Missing { tool, keys });
    }
    let side = |name: &str| usize::try_from(values.count(name).unwrap_or(0)).unwrap_or(usize::MAX);
    let (pix_fmt, rate) =
        (values.text("pix_fmt").unwrap_or_default().to_owned(), values.number("framerate").unwrap_or(25.0));
    Ok(Some(RawShape { width: side("width"), height: side("height"), pix_fmt, rate: ratio(rate) }))
}

/// A rate as a ratio; rates of NTSC are meant exactly.
fn ratio(rate: f64) -> (u32, u32) {
    let ntsc = (rate * 1.001).round();
    match rate {
        _ if rate.fract() == 0.0 => (rate as u32, 1),
        _ if (ntsc / 1.001 - rate).abs() < 0.005 => (ntsc as u32 * 1000, 1001),
        _ => ((rate * 1000.0).round() as u32, 1000),
    }
}

/// Arguments that nobody knows are told in the answer.
fn with_notes(mut answer: Value, values: &Values) -> Value {
    if !values.unknown.is_empty() {
        answer["notes"] = json!(values.unknown);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_ratios() {
        assert_eq!(
            [25.0, 29.97, 23.976, 12.5].map(ratio),
            [(25, 1), (30000, 1001), (24000, 1001), (12500, 1000)]
        );
    }
}
