//! The answers of the tuning tools, made by crate `tune`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use visus_tune::encoders::Choices;
use visus_tune::shots::{self, PredictSettings, PredictedShot, ShotPlan, ShotSettings};
use visus_tune::{
    CompareSettings, Comparison, Estimate, Failure, FindAnswer, FindSettings, Ladder, LadderSettings,
    TuneError, encoders, manifest,
};
use visus_video::{Chroma, ChromaRounding, Format, raw_seekable, y4m_seekable};

use super::tally::Tally;
use super::{Opened, POOLING, Request, samples, to_tool_error};
use crate::ToolError;
use crate::jobs::Context;
use crate::report::Output;

/// How far a whole encode may be from its target before the setting is corrected, in points of VMAF.
const TOLERANCE: f64 = 0.5;

/// A comparison of encoders.
#[derive(Serialize, JsonSchema)]
pub struct CompareAnswer {
    #[serde(flatten)]
    comparison: Comparison,
    #[serde(flatten)]
    common: Common,
}

/// One encoder's setting for several targets.
#[derive(Serialize, JsonSchema)]
pub struct SearchAnswer {
    #[serde(flatten)]
    found: FindAnswer,
    #[serde(flatten)]
    common: Common,
}

/// A ladder.
#[derive(Serialize, JsonSchema)]
pub struct LadderAnswer {
    /// Text for hls and dash.
    manifest: Manifest,
    /// json, hls or dash.
    format: String,
    /// Sizes that failed.
    failures: Vec<Failure>,
    /// Whether all was known before.
    from_cache: bool,
    #[serde(flatten)]
    common: Common,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Manifest {
    Ladder(Box<Ladder>),
    Text(String),
}

/// A plan per shot.
#[derive(Serialize, JsonSchema)]
pub struct PerShotAnswer {
    #[serde(flatten)]
    plan: ShotPlan,
    /// Script or table, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(flatten)]
    common: Common,
}

/// Guesses per shot.
#[derive(Serialize, JsonSchema)]
pub struct PredictAnswer {
    /// Target, range and shots.
    plan: PredictedPlan,
    /// First frames of flashes.
    flashes: Vec<u64>,
    /// Table, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Arguments that were ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct PredictedPlan {
    target_vmaf: f64,
    crf_min: i32,
    crf_max: i32,
    shots: Vec<PredictedShot>,
}

/// What every tool that encodes answers besides its own.
#[derive(Serialize, JsonSchema)]
struct Common {
    /// What it was expected to take.
    estimate: Option<Estimate>,
    /// Arguments that were ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Common {
    fn new(request: &Request, tally: &Tally<'_>) -> Self {
        Self { estimate: tally.estimate(), notes: request.values.unknown.clone() }
    }
}

pub fn compare(request: &Request, opened: &Opened, context: &Context) -> Result<Output, ToolError> {
    let settings = CompareSettings {
        encoders: request.list("encoders", "libx264,libx265,libsvtav1"),
        targets: request.targets.clone(),
        choices: request.choices(),
        pooling: POOLING,
        samples: samples(),
        parallel: !request.values.flag("no_parallel"),
    };
    if settings.encoders.is_empty() || settings.encoders.len() > 32 {
        let given = json!(request.values.text("encoders").unwrap_or_default());
        return Err(ToolError::invalid("encoders", &given, "must be 1 to 32 names, as 'libx264,libx265'"));
    }
    let tally = Tally::new(context);
    let Opened { lab, source, judge } = opened;
    let comparison = visus_tune::compare(lab, source, judge, &settings, &|event| tally.event(event))
        .map_err(to_tool_error)?;
    Output::of(&CompareAnswer { comparison, common: Common::new(request, &tally) })
}

pub fn search(request: &Request, opened: &Opened, context: &Context) -> Result<Output, ToolError> {
    let values = &request.values;
    let step = values.number("step").unwrap_or(0.25);
    let settings = FindSettings {
        adapter: encoders::by_name(values.text("encoder").unwrap_or("libx264")).map_err(to_tool_error)?,
        choices: Choices { preset: values.text("preset").map(str::to_owned), ..request.choices() },
        goals: request.goals.clone(),
        steps: (1.0 / step).round() as u32,
        tolerance: TOLERANCE,
        samples: samples(),
        min_savings: None,
        max_size: None,
        output: None,
    };
    let tally = Tally::new(context);
    let Opened { lab, source, judge } = opened;
    let found = visus_tune::find(lab, source, judge, &settings, &|event| tally.event(event))
        .map_err(to_tool_error)?;
    Output::of(&SearchAnswer { found, common: Common::new(request, &tally) })
}

pub fn ladder(request: &Request, opened: &Opened, context: &Context) -> Result<Output, ToolError> {
    let values = &request.values;
    let settings = LadderSettings {
        adapter: encoders::by_name(values.text("encoder").unwrap_or("libx264")).map_err(to_tool_error)?,
        choices: request.choices(),
        resolutions: resolutions(request)?,
        targets: request.targets.clone(),
        tiers: values.count("quality_tiers").unwrap_or(5) as usize,
        spacing: values.text("spacing").and_then(|text| text.parse().ok()).unwrap_or_default(),
        pooling: POOLING,
        samples: samples(),
    };
    let tally = Tally::new(context);
    let Opened { lab, source, judge } = opened;
    let ladder = visus_tune::ladder(lab, source, judge, &settings, &|event| tally.event(event))
        .map_err(to_tool_error)?;
    let format = values.text("format").unwrap_or("json");
    let (failures, from_cache) = (ladder.failures.clone(), ladder.from_cache);
    let manifest = match format {
        "hls" => Manifest::Text(manifest::hls_master(&ladder)),
        "dash" => Manifest::Text(manifest::dash(&ladder)),
        _ => Manifest::Ladder(Box::new(ladder)),
    };
    let (format, common) = (format.to_owned(), Common::new(request, &tally));
    Output::of(&LadderAnswer { manifest, format, failures, from_cache, common })
}

fn resolutions(request: &Request) -> Result<Vec<(u32, u32)>, ToolError> {
    let text = request.values.text("resolutions").unwrap_or_default();
    let refuse = || ToolError::invalid("resolutions", &json!(text), "must be sizes, as '1920x1080,1280x720'");
    let size = |word: &String| {
        let (width, height) = word.split_once(['x', 'X'])?;
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    };
    let sizes: Option<Vec<(u32, u32)>> = request.list("resolutions", "").iter().map(size).collect();
    sizes.filter(|sizes| !sizes.is_empty() && sizes.len() <= 16).ok_or_else(refuse)
}

pub fn per_shot(request: &Request, opened: &Opened, context: &Context) -> Result<Output, ToolError> {
    let values = &request.values;
    let settings = ShotSettings {
        adapter: encoders::by_name(values.text("encoder").unwrap_or("libx264")).map_err(to_tool_error)?,
        choices: request.choices(),
        target: values.number("target_vmaf").unwrap_or(92.0),
        pooling: POOLING,
        output: request.output.clone(),
    };
    let tally = Tally::new(context);
    let sink = |event| tally.event(event);
    let Opened { lab, source, judge } = opened;
    let found = shots::find(source, &request.detect("scene_threshold"), &lab.tools, &lab.cancel, &sink)
        .map_err(to_tool_error)?;
    let plan = shots::tune(lab, source, judge, &found, &settings, &sink).map_err(to_tool_error)?;
    let text = match values.text("format") {
        Some("shell") => Some(shots::shell(&plan)),
        Some("csv") => Some(shots::csv(&plan)),
        _ => None,
    };
    Output::of(&PerShotAnswer { plan, text, common: Common::new(request, &tally) })
}

pub fn predict(request: &Request, context: &Context) -> Result<Output, ToolError> {
    let values = &request.values;
    let settings = request.predict_settings()?;
    let mut frames = open_frames(request)?;
    let total = frames.total_frames();
    let detect = request.detect("diff_threshold");
    let found = shots::find_in(&mut *frames, &detect, &context.cancel, |done| {
        context.progress(done, total, "looking for shots");
    });
    let found = found.map_err(|error| match error {
        TuneError::Score { what, reason } => ToolError::Failed(format!("{what}: {reason}")),
        other => to_tool_error(other),
    })?;
    let shots = shots::predict(&found, &settings);
    let text = (values.text("format") == Some("csv")).then(|| shots::predicted_csv(&shots));
    let PredictSettings { target: target_vmaf, crf_min, crf_max } = settings;
    let plan = PredictedPlan { target_vmaf, crf_min, crf_max, shots };
    Output::of(&PredictAnswer { plan, flashes: found.flashes, text, notes: values.unknown.clone() })
}

fn open_frames(request: &Request) -> Result<Box<dyn visus_video::Source>, ToolError> {
    use std::io::{Read, Seek};
    let values = &request.values;
    let failed = |error: &dyn std::error::Error| ToolError::Failed(crate::error::chain(error));
    let name = crate::roots::shown(&request.source.path);
    let mut file = request.source.file.try_clone().map_err(|error| failed(&error))?;
    file.rewind().map_err(|error| failed(&error))?;
    let mut start = [0; 8];
    let is_y4m = file.read(&mut start).is_ok_and(|count| count == 8) && &start == b"YUV4MPEG";
    file.rewind().map_err(|error| failed(&error))?;
    if is_y4m {
        return Ok(Box::new(y4m_seekable(&name, file).map_err(|error| failed(&error))?));
    }
    let side = |name: &str| usize::try_from(values.count(name).unwrap_or(0)).unwrap_or(usize::MAX);
    let chroma = match values.text("pixel_format") {
        Some("422") => Chroma::C422,
        Some("444") => Chroma::C444,
        _ => Chroma::C420,
    };
    let depth = u8::try_from(values.count("bitdepth").unwrap_or(8)).unwrap_or(8);
    let format = Format::new(side("width"), side("height"), chroma, depth)
        .map_err(|error| ToolError::invalid("width", &json!(side("width")), error.to_string()))?;
    Ok(Box::new(raw_seekable(&name, file, format, ChromaRounding::Auto).map_err(|error| failed(&error))?))
}
