//! `describe_worst_frames`: the frames with the lowest scores as pictures, and what is wrong with them.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use visus_media::worst::{Chosen, ShowOptions, WorstFrame, scores_of, select, show};
use visus_media::{MediaError, Shape};
use visus_scoring::names::RequestedModel;
use visus_scoring::{Prepared, ScoreRequest, Video, Videos};
use visus_video::{ColourRange, Source};

use super::field::{Field, Kind};
use super::score_args::{Names, ScoreArgs};
use crate::engines::{ScoreTask, tool_error};
use crate::jobs::Context;
use crate::report::{Output, ScoreReport, WorstReport};
use crate::{Server, ToolError};

pub const NAME: &str = "describe_worst_frames";

/// Frames that are shown if nobody says how many, and at most.
const USUAL: u64 = 5;
const MOST: u64 = 32;
/// The longest side of each of the three pictures: small enough for a model's context, large enough to see a block.
const SIDE: usize = 256;

/// The arguments: those of either way of scoring, and how many frames.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = vec![
            Field::new("n", Kind::Whole { min: 1, max: MOST as i64 }, "How many frames to show.")
                .default("5"),
        ];
        for names in [Names::Mcp, Names::Encoded] {
            for field in names.fields() {
                if !fields.iter().any(|known: &Field| known.name == field.name) {
                    fields.push(Field { required: false, ..*field });
                }
            }
        }
        fields
    });
    &FIELDS
}

/// A checked request.
#[derive(Debug)]
pub struct Request {
    pub args: ScoreArgs,
    count: usize,
}

impl Request {
    pub fn read(mut given: Map<String, Value>) -> Result<Self, ToolError> {
        let count = count(given.remove("n").unwrap_or(Value::Null))?;
        let has = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
        let names =
            if has("reference_encoded") || has("distorted_encoded") { Names::Encoded } else { Names::Mcp };
        Ok(Self { args: ScoreArgs::read(NAME, names, given)?, count })
    }
}

fn count(value: Value) -> Result<usize, ToolError> {
    let refuse = |got: &str| {
        Err(ToolError::Refused(format!("'n' must be between 1 and {MOST} (schema maximum); got {got}")))
    };
    match value {
        Value::Null => Ok(USUAL as usize),
        value => match value.as_u64() {
            Some(count @ 1..=MOST) => Ok(count as usize),
            _ => refuse(&crate::error::quoted(&value)),
        },
    }
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
        score_name: &str,
        context: &Context,
    ) -> Result<Vec<WorstFrame>, ToolError> {
        let limit = self.videos.pairing.decoders.limit;
        let opened = Prepared::new(self.videos, &self.models, &context.cancel).and_then(Prepared::open);
        let mut videos = opened.map_err(|error| tool_error(error, limit))?;
        videos.pass_over_skipped().map_err(|error| ToolError::failed(&error))?;
        let shown = pictures(&mut *videos.reference, &mut *videos.distorted, chosen, score_name, context);
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
    score_name: &str,
    context: &Context,
) -> Result<Vec<WorstFrame>, ToolError> {
    let range = reference.info().range.unwrap_or(ColourRange::Limited);
    let shape = Shape { format: *reference.format(), range };
    let options = ShowOptions { shape, side: SIDE, score_name: score_name.to_owned() };
    let told = |done: usize| {
        context.progress(done as u64, Some(chosen.len() as u64), "looking at the worst frames");
        !context.cancel.is_fired()
    };
    show(reference, distorted, chosen, &options, told).map_err(|error| match error {
        MediaError::Cancelled => ToolError::Cancelled,
        other => ToolError::Failed(other.to_string()),
    })
}

/// Scores, chooses, looks again. Blocks.
pub fn run(server: &Server, task: ScoreTask, count: usize, context: &Context) -> Result<Output, ToolError> {
    let again = Again::of(&task)?;
    let report = server.score(task, context)?;
    let column = report.view("").main_column().map(|column| column.name().to_owned());
    let column = column
        .ok_or_else(|| ToolError::Refused("there is no score to judge frames by; give a model".to_owned()))?;
    let chosen = select(&scores_of(&report.outcome, &column), &report.shots(), count);
    let frames = again.show(&chosen, if column.starts_with("vmaf") { "VMAF" } else { &column }, context)?;
    written(server, &report, &column, frames).map(|report| Output::Worst(Box::new(report)))
}

impl Request {
    pub fn count(&self) -> usize {
        self.count
    }
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
        let path = folder.path().join(format!("frame_{:06}.png", frame.index));
        std::fs::write(&path, &frame.png).map_err(fail)?;
        listed.push(entry(frame, column, path));
    }
    let mut answer = json!({ "model_id": null, "frames": listed, "score": column });
    if let Some(model) = report.facts.provenance.models.first() {
        answer["model"] = json!(model.label);
    }
    if let Value::Object(sections) = visus_report::score::json(&report.facts.sections) {
        for (name, value) in sections {
            answer[name] = value;
        }
    }
    if !report.facts.notes.is_empty() {
        answer["notes"] = json!(report.facts.notes);
    }
    Ok(WorstReport { answer, pictures: frames.into_iter().map(|frame| frame.png).collect(), folder })
}

/// `vmaf` is the score that frames are judged by, whatever it is called.
fn entry(frame: &WorstFrame, column: &str, path: PathBuf) -> Value {
    let region = frame.region;
    json!({
        "frame_index": frame.index,
        "vmaf": crate::report::number(frame.score, visus_report::Precision::Legacy),
        "metric": column,
        "shot": frame.shot,
        "png": crate::error::cleaned(&path.to_string_lossy()),
        "description": frame.description,
        "region": { "x": region.x, "y": region.y, "width": region.width, "height": region.height },
    })
}
