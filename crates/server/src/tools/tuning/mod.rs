//! The tuning tools: a setting for targets, encoders compared, ladders, plans per shot.
//!
//! Arguments are checked here and files opened under the allowed roots; the work itself is crate `tune`'s.

mod answers;
mod fields;
mod tally;

use serde_json::json;
use visus_scoring::{Columns, Selection};
use visus_tune::cache::Cache;
use visus_tune::encoders::{self, Choices};
use visus_tune::samples::SamplePlan;
use visus_tune::shots::{DetectSettings, PredictSettings};
use visus_tune::{
    Goal, Judge, Lab, OutputFile, Pooling, RawShape, Source, Tools, TuneError, goal_selection, is_pix_fmt,
    looks_raw,
};

use super::field::Values;
use super::offer::Toolset;
use super::score_args::requested_model;
use super::{CHANGES, READS, Run, Tool, schema};
use crate::jobs::{Context, Work};
use crate::report::Output;
use crate::roots::{self, Roots};
use crate::{Server, ToolError};

pub const RUN_COMPARE: Tool = Tool {
    name: "run_compare",
    title: "Compare encoders",
    description: "Finds for each encoder the coarsest setting that reaches a VMAF target, and compares bit rates. It takes \
                  minutes; set background.",
    set: Toolset::Tuning,
    hints: READS,
    fields: || fields::COMPARE,
    answer: schema::of::<answers::CompareAnswer>,
    shows: &["rows", "bd_rate"],
    run: Run::Work(|server, values| encode(&RUN_COMPARE, answers::compare, server, values)),
};

pub const RUN_SEARCH: Tool = Tool {
    name: "run_search",
    title: "Find a quality setting",
    description: "Finds the coarsest setting that meets all targets. It takes minutes; set background.",
    set: Toolset::Tuning,
    hints: READS,
    fields: || fields::SEARCH,
    answer: schema::of::<answers::SearchAnswer>,
    shows: &["ok", "quality", "command"],
    run: Run::Work(|server, values| encode(&RUN_SEARCH, answers::search, server, values)),
};

pub const RUN_LADDER: Tool = Tool {
    name: "run_ladder",
    title: "Build a ladder",
    description: "Finds renditions for adaptive streaming on the convex hull of rate and quality; returns a JSON, HLS or DASH manifest; set background.",
    set: Toolset::Tuning,
    hints: READS,
    fields: || fields::LADDER,
    answer: schema::of::<answers::LadderAnswer>,
    shows: &["manifest", "failures"],
    run: Run::Work(|server, values| encode(&RUN_LADDER, answers::ladder, server, values)),
};

pub const RUN_TUNE_PER_SHOT: Tool = Tool {
    name: "run_tune_per_shot",
    title: "Tune every shot",
    description: "Finds the coarsest setting for every shot that reaches a VMAF target, and the commands to encode and join them. \
                  With 'output' it runs and measures them; set background.",
    set: Toolset::Tuning,
    hints: CHANGES,
    fields: || fields::PER_SHOT,
    answer: schema::of::<answers::PerShotAnswer>,
    shows: &["shots", "segment_commands", "concat_command", "output"],
    run: Run::Work(|server, values| encode(&RUN_TUNE_PER_SHOT, answers::per_shot, server, values)),
};

pub const VMAF_PER_SHOT: Tool = Tool {
    name: "vmaf_per_shot",
    title: "Guess settings per shot",
    description: "Guesses a CRF for every shot of raw video or Y4M from texture and motion; run_tune_per_shot measures.",
    set: Toolset::Tuning,
    hints: READS,
    fields: || fields::PREDICT,
    answer: schema::of::<answers::PredictAnswer>,
    shows: &["plan"],
    run: Run::Work(|server, values| {
        let source = server.roots().open(values.text("reference").unwrap_or_default());
        let source = source.map_err(ToolError::video_path)?;
        let request = Request {
            values,
            source,
            model: None,
            raw: None,
            output: None,
            targets: Vec::new(),
            goals: Vec::new(),
        };
        Ok(Box::new(move |context| answers::predict(&request, context)))
    }),
};

/// What a tool that encodes does with a checked request.
type Handler = fn(&Request, &Opened, &Context) -> Result<Output, ToolError>;

/// The work of a tool that encodes.
fn encode(tool: &Tool, handler: Handler, server: &Server, values: Values) -> Result<Work, ToolError> {
    let request = Request::prepare(tool.name, values, server)?;
    let server = server.clone();
    Ok(Box::new(move |context| handler(&request, &request.open(&server, context)?, context)))
}

/// A checked request: its files are opened or resolved under the roots.
#[derive(Debug)]
struct Request {
    values: Values,
    /// Opened when the request was checked; what its name leads to later does not matter.
    source: roots::Opened,
    /// The model that judges, with its file opened.
    model: Option<Selection>,
    raw: Option<RawShape>,
    output: Option<OutputFile>,
    targets: Vec<f64>,
    /// What a search must reach.
    goals: Vec<Goal>,
}

impl Request {
    /// Checks arguments and paths. Blocks; not for async threads.
    fn prepare(tool: &'static str, values: Values, server: &Server) -> Result<Self, ToolError> {
        let source = server.roots().open(values.text("src").unwrap_or_default());
        let source = source.map_err(ToolError::video_path)?;
        let output = output(&values, server.roots(), &source)?;
        let goals = goals(&values)?;
        let model = model(&values, server.roots())?;
        let model = Some(goal_selection(model, &goals).map_err(to_tool_error)?);
        let targets = targets(&values)?;
        let raw = raw_shape(tool, &values, &source.path)?;
        if let Some(name) = values.text("pix_fmt").filter(|name| !is_pix_fmt(name)) {
            let reason = "must be yuv420p, yuv422p or yuv444p, with 10le, 12le or 16le for more bits";
            return Err(ToolError::invalid("pix_fmt", &json!(name), reason));
        }
        if let Some(encoder) = values.text("encoder") {
            encoders::by_name(encoder)
                .map_err(|error| ToolError::invalid("encoder", &json!(encoder), error.to_string()))?;
        }
        Ok(Self { values, source, model, raw, output, targets, goals })
    }

    fn open(&self, server: &Server, context: &Context) -> Result<Opened, ToolError> {
        let config = server.config();
        let tools = Tools::find(config.launcher.clone(), config.limits.subprocess).map_err(to_tool_error)?;
        let cache = match Cache::usual_folder() {
            Some(folder) => Cache::open(&folder, Cache::usual_limit().map_err(ToolError::Failed)?),
            None => Cache::temporary(),
        };
        // A server without a home works all the same; it only remembers nothing.
        let cache = cache.or_else(|_| Cache::temporary()).map_err(to_tool_error)?;
        // Encodes are made in the cache, never in a client's folder.
        let lab = Lab::new(tools, cache, context.cancel.clone(), None).map_err(to_tool_error)?;
        let roots::Opened { path, file } = &self.source;
        let source = Source::from_file(path, file, self.raw.clone(), &lab.tools, &lab.cache, &lab.cancel)
            .map_err(to_tool_error)?;
        self.check_size(&source)?;
        let named = self.values.text("model").unwrap_or(DEFAULT_MODEL);
        let refuse = |error: TuneError| ToolError::invalid("model", &json!(named), error.chain());
        let judge = match &self.model {
            Some(model) => Judge::of_goals(model, &self.goals, &source.format, source.rate),
            None => Judge::new(named, &source.format, source.rate),
        };
        let judge = judge.map_err(refuse)?;
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
fn to_tool_error(error: TuneError) -> ToolError {
    match error {
        TuneError::Cancelled => ToolError::Cancelled,
        TuneError::TimedOut { limit } => ToolError::TimedOut { limit },
        TuneError::Invalid { name, value, reason } => ToolError::invalid(name, &json!(value), reason),
        other => ToolError::Failed(other.chain()),
    }
}

/// The model unless the request names another.
const DEFAULT_MODEL: &str = "version=vmaf_v0.6.1";

/// The model that judges. A file must lie under a root, like every file, and is opened now.
fn model(values: &Values, roots: &Roots) -> Result<Selection, ToolError> {
    let model = requested_model(values.text("model").unwrap_or(DEFAULT_MODEL), roots)?;
    Ok(Selection { models: vec![model], metrics: Vec::new(), columns: Columns::Libvmaf, predict: true })
}

/// The file that is to be written, in a folder where that is allowed.
fn output(values: &Values, roots: &Roots, source: &roots::Opened) -> Result<Option<OutputFile>, ToolError> {
    let Some(name) = values.text("output") else { return Ok(None) };
    let output = roots.create(name, values.flag("overwrite"), &source.file)?;
    let file = OutputFile::in_folder(output.folder, &output.path, output.overwrite);
    file.map(Some).map_err(to_tool_error)
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

/// What a search must reach; a score of the model lies between 0 and 110.
fn goals(values: &Values) -> Result<Vec<Goal>, ToolError> {
    if values.has("targets") && values.texts("targets").is_empty() {
        return Err(ToolError::invalid("targets", &json!([]), "must name at least one, as 'mean=95'"));
    }
    let goal = |text: String| {
        let goal = Goal::parse(&text, POOLING);
        let fits = |goal: &Goal| goal.metric.is_some() || (0.0..=110.0).contains(&goal.value);
        match goal {
            Ok(goal) if fits(&goal) => Ok(goal),
            Ok(_) => Err(ToolError::invalid("targets", &json!(text), "a score lies between 0 and 110")),
            Err(reason) => Err(ToolError::invalid("targets", &json!(text), reason)),
        }
    };
    values.texts("targets").into_iter().map(goal).collect()
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
