//! `migrate_thresholds`: what the thresholds of one model are in another.
//!
//! Every pair is checked and opened as `vmaf_score` would, with all of its input options, and scored by both models in one pass.

use serde_json::{Map, Value, json};
use visus_engine::{Event, Flow};
use visus_report::migrate::MigrationReport;
use visus_scoring::{Columns, Migration, Selection};

use super::field::{Field, Kind, Values};
use super::offer::Toolset;
use super::score_args::{ScoreArgs, requested_model};
use super::score_fields::Names;
use super::{BACKGROUND, READS, Run, Tool, schema};
use crate::config::EngineKind;
use crate::engines::{ScoreTask, native, tool_error};
use crate::error::cleaned;
use crate::jobs::{Context, Work};
use crate::report::Output;
use crate::{Server, ToolError};

pub const MIGRATE_THRESHOLDS: Tool = Tool {
    name: "migrate_thresholds",
    title: "Translate thresholds",
    description: "Translates thresholds of one model into another, by encodes that both score. Set background.",
    set: Toolset::Models,
    hints: READS,
    fields: || FIELDS,
    answer: schema::of::<MigrationReport>,
    shows: &["thresholds"],
    run: Run::Work(prepare),
};

/// The most encodes of one call: all files are open at once.
const MOST: usize = 64;

const FIELDS: &[Field] = &[
    Field::new("distorted", Kind::Texts { most: MOST }, "At least 4 encodes.")
        .required()
        .example("[\"a.mp4\", \"b.mp4\", \"c.mp4\", \"d.mp4\"]"),
    Field::new("reference", Kind::Texts { most: MOST }, "One, or one for each.")
        .required()
        .example("[\"reference.mp4\"]"),
    Field::new("from", Kind::Text, "The old model.").default("\"vmaf_v0.6.1\""),
    Field::new("to", Kind::Text, "The new model.").default("\"auto\""),
    Field::new("thresholds", Kind::Text, "Old scores, as '93,95'."),
    Field::new("input", Kind::Texts { most: 16 }, "As for vmaf_score.").unlisted(),
    Field::new("sync", Kind::Text, "As for vmaf_score.").unlisted(),
    Field::new("scale", Kind::Text, "As for vmaf_score.").unlisted(),
    Field::new("scaler", Kind::Text, "As for vmaf_score.").unlisted(),
    Field::new("force", Kind::Flag, "As for vmaf_score.").unlisted(),
    BACKGROUND,
];

/// What is handed on to the scores of every pair.
const PASSED_ON: [&str; 5] = ["input", "sync", "scale", "scaler", "force"];

/// The pairs, opened, in their order; and what was asked of them.
struct MigrationTask {
    tasks: Vec<ScoreTask>,
    migration: Migration,
    thresholds: Vec<f64>,
}

fn prepare(server: &Server, values: Values) -> Result<Work, ToolError> {
    if server.config().engine == EngineKind::External {
        let text = "migrate_thresholds needs the embedded engine; this server runs a vmaf executable";
        return Err(ToolError::Refused(text.to_owned()));
    }
    let tasks: Result<Vec<_>, _> = pairs(&values)?.iter().map(|pair| open(server, &values, pair)).collect();
    let [from, to] = [("from", "vmaf_v0.6.1"), ("to", "auto")]
        .map(|(name, usual)| values.text(name).unwrap_or(usual).to_owned());
    for name in [&from, &to] {
        requested_model(name, server.roots())?;
    }
    let work = MigrationTask {
        tasks: tasks?,
        migration: Migration::new(&from, &to),
        thresholds: thresholds(&values)?,
    };
    let server = server.clone();
    Ok(Box::new(move |context| run(&server, work, context)))
}

/// The names of every pair: one reference stands for all, or each encode has its own.
fn pairs(values: &Values) -> Result<Vec<[String; 2]>, ToolError> {
    let (references, distorted) = (values.texts("reference"), values.texts("distorted"));
    let fits = references.len() == 1 || references.len() == distorted.len();
    if !fits || distorted.is_empty() {
        let reason = format!("there must be one, or one for each of the {} encodes", distorted.len());
        return Err(ToolError::invalid("reference", &json!(references.len()), reason));
    }
    let pair = |(place, distorted): (usize, String)| {
        let reference = if references.len() == 1 { &references[0] } else { &references[place] };
        [reference.clone(), distorted]
    };
    Ok(distorted.into_iter().enumerate().map(pair).collect())
}

fn thresholds(values: &Values) -> Result<Vec<f64>, ToolError> {
    let Some(text) = values.text("thresholds") else { return Ok(Vec::new()) };
    let number = |word: &str| word.trim().parse::<f64>().ok().filter(|score| (0.0..=110.0).contains(score));
    let all: Option<Vec<f64>> = text.split(',').map(number).collect();
    let refuse = || ToolError::invalid("thresholds", &json!(text), "must be 1 to 16 scores, as '93,95'");
    all.filter(|all| all.len() <= 16).ok_or_else(refuse)
}

fn open(
    server: &Server,
    values: &Values,
    [reference, distorted]: &[String; 2],
) -> Result<ScoreTask, ToolError> {
    let mut given: Map<String, Value> =
        PASSED_ON.into_iter().filter_map(|name| Some((name.to_owned(), values.raw(name)?.clone()))).collect();
    given.insert("ref".to_owned(), json!(reference));
    given.insert("dis".to_owned(), json!(distorted));
    let name = MIGRATE_THRESHOLDS.name;
    let values = Values::read(name, Names::Mcp.fields(), given)?;
    ScoreArgs::new(name, Names::Mcp, values)?.prepare(server.roots(), server.config())
}

fn run(server: &Server, work: MigrationTask, context: &Context) -> Result<Output, ToolError> {
    let MigrationTask { tasks, mut migration, thresholds } = work;
    let total = tasks.len();
    for (number, task) in tasks.into_iter().enumerate() {
        let names = [&task.request.videos.reference, &task.request.videos.distorted];
        let [reference, distorted] = names.map(|video| cleaned(&video.name()));
        context.progress(number as u64, Some(total as u64), format!("scoring {distorted}"));
        match measure(server, task, &mut migration, [&reference, &distorted], context) {
            Ok(()) => {}
            Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
            Err(error) => migration.fail(distorted, error.to_string()),
        }
    }
    Output::of(&migration.report(&thresholds, crate::VERSION).map_err(ToolError::Failed)?)
}

/// Scores a pair with both models.
fn measure(
    server: &Server,
    task: ScoreTask,
    migration: &mut Migration,
    [reference, distorted]: [&str; 2],
    context: &Context,
) -> Result<(), ToolError> {
    let mut request = task.request;
    let limit = request.videos.pairing.decoders.limit;
    let [from, to] = migration.models();
    let models = vec![requested_model(from, server.roots())?, requested_model(to, server.roots())?];
    request.selection = Selection { models, metrics: Vec::new(), columns: Columns::ByModel, predict: true };
    request.options.backend = native::backend(&task.backend)?;
    let mut counted = 0;
    let mut sink = |event: Event<'_>| {
        if let Event::Progress { done } = event {
            context.count_frames(done.saturating_sub(counted));
            counted = done;
        }
        Flow::Continue
    };
    let result = visus_scoring::score(request, &context.cancel, &mut sink);
    let checked = result.and_then(|result| result.check().map(|()| result).map_err(Into::into));
    let result = checked.map_err(|error| tool_error(error, limit))?;
    let added = migration.add(reference.to_owned(), distorted.to_owned(), &result);
    added.map_err(crate::engines::wrong_request)
}
