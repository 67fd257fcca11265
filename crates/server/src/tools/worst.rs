//! `describe_worst_frames`: the frames with the lowest scores as pictures, and what is wrong with them.

use std::path::Path;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use visus_diagnose::Finding;
use visus_media::still::within;
use visus_media::worst::{Chosen, ShowOptions, WorstFrame, scores_of, select, show};
use visus_media::{MediaError, Shape};
use visus_scoring::names::RequestedModel;
use visus_scoring::{Prepared, ScoreRequest, Video, Videos};
use visus_video::{ColourRange, Source};

use super::cause::{self, Cause};
use super::field::{Field, Kind, Values};
use super::offer::Toolset;
use super::score_args::ScoreArgs;
use super::score_fields::{Names, either};
use super::{Answer, READS, Run, Tool, answer, schema};
use crate::engines::{ScoreTask, tool_error};
use crate::jobs::{Context, Work};
use crate::report::{Output, ScoreReport, WorstReport};
use crate::{Server, ToolError, text};

pub const DESCRIBE_WORST_FRAMES: Tool = Tool {
    name: "describe_worst_frames",
    title: "Show the worst frames",
    description: "Shows the worst frames of a video: reference, distorted and difference side by side, with what is wrong. \
                  Use it after a low score; it takes all arguments of vmaf_score.",
    set: Toolset::Core,
    hints: READS,
    fields,
    answer: schema::of::<WorstAnswer>,
    shows: &["frames", "score", "warnings"],
    run: Run::Work(prepare),
};

/// Frames that are shown by default, and at most.
const USUAL: u64 = 5;
const MOST: i64 = 32;
/// The longest side of each of the three pictures: small enough for a model's context, large enough to see a block.
const SIDE: usize = 256;
/// Bytes of a picture, at most.
const MOST_PICTURE: usize = 150_000;

/// The arguments: those of either way of scoring, and how many frames.
fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let count = Field::new("n", Kind::Whole { min: 1, max: MOST }, "How many.");
        either(count.default("5").refusal("'n' must be between 1 and 32 (schema maximum); got "))
    });
    &FIELDS
}

/// The worst frames.
#[derive(Serialize, JsonSchema)]
struct WorstAnswer {
    /// Null: measurements describe the frames, not a model.
    model_id: Option<String>,
    /// Named faults first, then lowest scores.
    frames: Vec<WorstEntry>,
    /// Name of the score.
    score: String,
    /// Model that scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Faults that the score does not show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// What is known of a pair of encoded files.
    #[serde(flatten)]
    sections: Answer,
}

/// A bad frame.
#[derive(Serialize, JsonSchema)]
struct WorstEntry {
    frame_index: u64,
    /// Its score, whatever that is called.
    vmaf: Option<f64>,
    /// The name of the score.
    metric: String,
    /// The shot it is in.
    shot: u64,
    /// File with the pictures, kept as long as the job.
    png: String,
    /// Its time, where the frame rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_s: Option<f64>,
    /// Where in the picture it is worst, in words.
    place: &'static str,
    /// The kind of fault that stands out most: blur, blocking, banding, ringing, noise, brightness, colour, frozen,
    /// misaligned_in_time, misaligned_in_place, mixed or none.
    fault: &'static str,
    /// How sure that is: high, medium or low.
    confidence: &'static str,
    /// What to try.
    advice: &'static str,
    /// What is wrong.
    description: String,
    /// What the pictures show, in luma samples.
    region: WorstRegion,
}

#[derive(Serialize, JsonSchema)]
struct WorstRegion {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

fn prepare(server: &Server, values: Values) -> Result<Work, ToolError> {
    let encoded = values.has("reference_encoded") || values.has("distorted_encoded");
    let names = if encoded { Names::Encoded } else { Names::Mcp };
    let count = values.count("n").unwrap_or(USUAL) as usize;
    if let Some(name) = ["within", "budget"].into_iter().find(|name| values.has(name)) {
        let text = format!("the worst frames are those of all frames; leave out {name}");
        return Err(ToolError::Refused(text));
    }
    let task = ScoreArgs::new(DESCRIBE_WORST_FRAMES.name, names, values)?
        .prepare(server.roots(), server.config())?;
    let server = server.clone();
    Ok(Box::new(move |context| run(&server, task, count, context)))
}

/// The two videos, kept for a second reading.
struct Again {
    videos: Videos,
    models: Vec<RequestedModel>,
}

impl Again {
    fn of(task: &ScoreTask) -> Result<Self, ToolError> {
        let ScoreRequest { videos, selection, .. } = &task.request;
        let again = |video: &Video| video.try_clone().map_err(|error| ToolError::failed(&error));
        let videos = Videos {
            reference: again(&videos.reference)?,
            distorted: again(&videos.distorted)?,
            raw: videos.raw,
            pairing: videos.pairing.clone(),
            skip: videos.skip,
        };
        Ok(Self {
            videos,
            models: selection.models.iter().take(1).map(RequestedModel::without_file).collect(),
        })
    }

    /// Reads the videos once more and shows the chosen frames.
    fn show(
        self,
        chosen: &[Chosen],
        named: (&str, &[Finding]),
        context: &Context,
    ) -> Result<Vec<WorstFrame>, ToolError> {
        let limit = self.videos.pairing.decoders.limit;
        let opened = Prepared::new(self.videos, &self.models, &context.cancel).and_then(Prepared::open);
        let mut videos = opened.map_err(|error| tool_error(error, limit))?;
        videos.pass_over_skipped().map_err(|error| ToolError::failed(&error))?;
        let shown = pictures(&mut *videos.reference, &mut *videos.distorted, chosen, named, context);
        shown.map_err(|error| match error {
            ToolError::Failed(text) => ToolError::Failed(videos.pair.name(&text)),
            other => other,
        })
    }
}

fn pictures(
    reference: &mut dyn Source,
    distorted: &mut dyn Source,
    chosen: &[Chosen],
    (score_name, findings): (&str, &[Finding]),
    context: &Context,
) -> Result<Vec<WorstFrame>, ToolError> {
    let range = reference.info().range.unwrap_or(ColourRange::Limited);
    let shape = Shape { format: *reference.format(), range };
    let options =
        ShowOptions { shape, side: SIDE, score_name: score_name.to_owned(), findings: findings.to_vec() };
    let report = |done: usize| {
        context.progress(done as u64, Some(chosen.len() as u64), "looking at the worst frames");
        !context.cancel.is_fired()
    };
    show(reference, distorted, chosen, &options, report).map_err(|error| match error {
        MediaError::Cancelled => ToolError::Cancelled,
        other => ToolError::Failed(other.to_string()),
    })
}

/// Scores, chooses, looks again. Blocks.
fn run(server: &Server, task: ScoreTask, count: usize, context: &Context) -> Result<Output, ToolError> {
    let again = Again::of(&task)?;
    let report = server.score(task, context)?;
    let column = report.view("").main_column().map(|column| column.name().to_owned());
    let column = column
        .ok_or_else(|| ToolError::Refused("there is no score to judge frames by; give a model".to_owned()))?;
    let chosen = select(&scores_of(&report.outcome, &column), &report.shots(), &report.findings, count);
    let shown_name = if column.starts_with("vmaf") { "VMAF" } else { &column };
    let mut frames = again.show(&chosen, (shown_name, &report.findings), context)?;
    for frame in &mut frames {
        let png = within(std::mem::take(&mut frame.png), MOST_PICTURE);
        frame.png = png.map_err(|error| ToolError::Failed(error.to_string()))?;
    }
    written(server, &report, &column, frames).map(|report| Output::Worst(Box::new(report)))
}

/// Puts the pictures into a folder of their own, which lives as long as the report.
fn written(
    server: &Server,
    report: &ScoreReport,
    column: &str,
    frames: Vec<WorstFrame>,
) -> Result<WorstReport, ToolError> {
    let fail = |error: std::io::Error| ToolError::Failed(format!("the pictures cannot be written: {error}"));
    let folder = server.pictures().map_err(fail)?;
    let mut listed = Vec::new();
    for frame in &frames {
        let path = folder.write(&format!("frame_{:06}.png", frame.index), &frame.png).map_err(fail)?;
        listed.push(WorstEntry::new(frame, report, column, &path));
    }
    let worst = WorstAnswer {
        model_id: None,
        frames: listed,
        score: column.to_owned(),
        model: report.facts.provenance.models.first().map(|model| model.label.clone()),
        warnings: report.warning_texts(),
        notes: report.facts.notes.clone(),
        sections: answer(&report.facts.sections)?,
    };
    let pictures = frames.into_iter().map(|frame| frame.png).collect();
    Ok(WorstReport { answer: Value::Object(answer(&worst)?), pictures, folder })
}

impl WorstEntry {
    fn new(frame: &WorstFrame, report: &ScoreReport, column: &str, path: &Path) -> Self {
        let region = frame.region;
        let Cause { fault, confidence, advice } = Cause::of(&frame.measures);
        let format = report.outcome.format;
        let seconds = |rate: (u32, u32)| frame.index as f64 * f64::from(rate.1) / f64::from(rate.0.max(1));
        Self {
            time_s: report
                .facts
                .provenance
                .reference
                .frame_rate
                .map(|rate| (seconds(rate) * 100.0).round() / 100.0),
            place: cause::place(region, (format.width(), format.height())),
            fault,
            confidence,
            advice,
            frame_index: frame.index,
            vmaf: crate::report::number(frame.score, visus_report::Precision::Legacy).as_f64(),
            metric: column.to_owned(),
            shot: frame.shot as u64,
            png: text::message(&path.to_string_lossy()),
            description: frame.description.clone(),
            region: WorstRegion { x: region.x, y: region.y, width: region.width, height: region.height },
        }
    }
}
