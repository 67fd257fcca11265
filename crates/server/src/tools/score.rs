//! `vmaf_score` and `vmaf_score_encoded`: a distorted video against its reference.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use visus_report::sampling::SampledReport;
use visus_scoring::Sampling;

use super::field::Values;
use super::offer::Toolset;
use super::score_args::ScoreArgs;
use super::score_fields::Names;
use super::{READS, Run, Tool, schema};
use crate::config::EngineKind;
use crate::engines::{ScoreTask, native};
use crate::jobs::{Context, Work};
use crate::report::Output;
use crate::{Server, ToolError};

pub const VMAF_SCORE: Tool = Tool {
    name: "vmaf_score",
    title: "Score a video",
    description: "Scores a distorted video against its reference with VMAF and other metrics: encoded files, Y4M, or raw YUV with \
                  width, height, pixfmt and bitdepth. For long videos set background and poll get_job.",
    set: Toolset::Core,
    hints: READS,
    fields: || Names::Mcp.fields(),
    answer: schema::of::<ScoreAnswer>,
    shows: &[
        "verdict",
        "pooled_metrics",
        "sampled",
        "worst_frames",
        "worst_second",
        "curve",
        "comparability",
        "warnings",
        "notes",
        "report",
    ],
    run: Run::Work(|server, values| prepare(&VMAF_SCORE, Names::Mcp, server, values)),
};

pub const VMAF_SCORE_ENCODED: Tool = Tool {
    name: "vmaf_score_encoded",
    title: "Score an encoded video",
    description: "vmaf_score for encoded files, under an older name. It takes all its other arguments.",
    set: Toolset::Core,
    hints: READS,
    fields: || Names::Encoded.fields(),
    answer: schema::of::<ScoreAnswer>,
    shows: &["verdict", "pooled_metrics"],
    run: Run::Work(|server, values| prepare(&VMAF_SCORE_ENCODED, Names::Encoded, server, values)),
};

/// `POST /v1/score`: the same over HTTP, with the names of that interface. Not listed.
pub const REST_SCORE: Tool = Tool {
    fields: || Names::Rest.fields(),
    run: Run::Work(|server, values| prepare(&VMAF_SCORE, Names::Rest, server, values)),
    ..VMAF_SCORE
};

fn prepare(tool: &Tool, names: Names, server: &Server, values: Values) -> Result<Work, ToolError> {
    let task = ScoreArgs::new(tool.name, names, values)?.prepare(server.roots(), server.config())?;
    let server = server.clone();
    Ok(Box::new(move |context| match task.sampling {
        Some(sampling) => sampled(&server, task, &sampling, context),
        None => Ok(Output::Score(Box::new(server.score(task, context)?))),
    }))
}

/// A score from a sample of the frames.
fn sampled(
    server: &Server,
    task: ScoreTask,
    sampling: &Sampling,
    context: &Context,
) -> Result<Output, ToolError> {
    if server.config().engine == EngineKind::External {
        let text = "within and budget need the embedded engine; this server runs a vmaf executable";
        return Err(ToolError::Refused(text.to_owned()));
    }
    let notes = task.notes.clone();
    let report = native::sampled(task, sampling, context)?;
    let notes = [notes, report.notes.clone()].concat();
    Output::of(&SampledAnswer { verdict: report.sentence(), notes, sampled: report })
}

/// What is answered of a sample.
#[derive(Serialize)]
struct SampledAnswer {
    verdict: String,
    notes: Vec<String>,
    sampled: SampledReport,
}

/// What an answer of scoring can hold; which of it, the detail decides.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the report writes it; this is its description")]
struct ScoreAnswer {
    /// The result in a sentence.
    verdict: String,
    /// Level of detail.
    detail: String,
    /// Frames scored.
    frame_count: u64,
    /// Every metric over all frames.
    pooled_metrics: Map<String, Value>,
    /// Lowest scores first.
    worst_frames: Vec<Value>,
    /// The lowest second.
    worst_second: Value,
    /// Lowest scores over time.
    curve: Map<String, Value>,
    /// detail 'frames': every score by name.
    series: Map<String, Value>,
    /// detail 'full': every frame.
    frames: Vec<Value>,
    /// Can the score be trusted?
    comparability: Map<String, Value>,
    /// Faults that the score does not show.
    warnings: Vec<Value>,
    /// Advice.
    notes: Vec<Value>,
    /// Of a sample: estimates with 95 % intervals.
    sampled: Map<String, Value>,
    /// What made the score.
    provenance: Map<String, Value>,
    /// The whole report.
    report: String,
}
