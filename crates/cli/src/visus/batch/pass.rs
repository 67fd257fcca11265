//! One reading of a reference, and the encodes that are scored against it at the same time.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use visus_engine::{Cancel, EngineError, FeatureSpec, Plan, Settings, run as engine_run};
use visus_report::full::{FullReport, InputFacts};
use visus_video::{Format, Source, share};

use super::BatchArgs;
use super::journal::Journal;
use super::list::Row;
use super::progress::{Progress, RowProgress};
use crate::visus::{inputs, level, metrics, model_choice};

/// What all encodes of a pass have in common.
struct Common<'a> {
    args: &'a BatchArgs,
    plan: Plan,
    journal: &'a Journal,
    progress: &'a Progress,
    /// Fired when a line cannot be written: then there is no use in going on.
    cancel: Cancel,
}

/// Scores these rows, which have one reference; says how many were scored and how many failed.
pub fn run(args: &BatchArgs, rows: &[Row], journal: &Journal, progress: &Progress) -> Result<(usize, usize)> {
    let Some(first) = rows.first() else { return Ok((0, 0)) };
    let raw = inputs::raw_format(args.size, args.pix_fmt)?;
    let (reference, plan) = match prepare(args, &first.reference, raw) {
        Ok(prepared) => prepared,
        Err(error) => {
            for row in rows {
                let _counted = progress.row();
                write_error(journal, progress, row, &format!("{error:#}"))?;
            }
            return Ok((0, rows.len()));
        }
    };
    let common = Common { args, plan, journal, progress, cancel: Cancel::new() };
    let opened = open_all(&common, rows, raw)?;
    let failed_to_open = rows.len() - opened.len();
    if opened.is_empty() {
        return Ok((0, failed_to_open));
    }
    let threads = args.threads.map_or_else(|| Settings::default().threads, usize::from);
    let threads = (threads / opened.len()).max(1);
    let shared = share(reference, opened.len())?;
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (reference, (row, distorted)) in shared.into_iter().zip(opened) {
            let (common, results) = (&common, &results);
            scope.spawn(move || {
                let result = score_row(common, row, reference, distorted, threads);
                if result.is_err() {
                    common.cancel.fire();
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            });
        }
    });
    let mut tally = (0, failed_to_open);
    for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if result? { tally.0 += 1 } else { tally.1 += 1 }
    }
    Ok(tally)
}

/// Opens the reference and plans what is computed; both are the same for all encodes of it.
fn prepare(args: &BatchArgs, reference: &Path, raw: Option<Format>) -> Result<(Box<dyn Source>, Plan)> {
    let source = inputs::open_one(reference, raw).context("the reference")?;
    let choice = model_choice::choose(&args.models, source.format(), source.frame_rate())?;
    let features: Result<Vec<FeatureSpec>> =
        args.features.iter().map(|text| metrics::parse(text, source.frame_rate())).collect();
    let plan = Plan::new(&choice.models, &features?, true)?;
    Ok((source, plan))
}

type Opened<'a> = (&'a Row, Box<dyn Source>);

/// The encodes that can be read; the others become lines that say why not.
fn open_all<'a>(common: &Common<'_>, rows: &'a [Row], raw: Option<Format>) -> Result<Vec<Opened<'a>>> {
    let mut opened = Vec::new();
    for row in rows {
        match inputs::open_one(&row.distorted, raw).context("the distorted video") {
            Ok(source) => opened.push((row, source)),
            Err(error) => {
                let _counted = common.progress.row();
                write_error(common.journal, common.progress, row, &format!("{error:#}"))?;
            }
        }
    }
    Ok(opened)
}

/// Whether the encode was scored. An error is one of writing, and ends the batch.
fn score_row(
    common: &Common<'_>,
    row: &Row,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    threads: usize,
) -> Result<bool> {
    let mut progress = common.progress.row();
    match report(common, reference, distorted, threads, &mut progress) {
        Ok(report) => {
            common.journal.write(&line(row, "ok", report))?;
            Ok(true)
        }
        Err(EngineError::Cancelled) => Ok(false),
        Err(error) => {
            let words = format!("{:#}", anyhow::Error::new(error));
            write_error(common.journal, common.progress, row, &words)?;
            Ok(false)
        }
    }
}

fn report(
    common: &Common<'_>,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    threads: usize,
    progress: &mut RowProgress,
) -> Result<Value, EngineError> {
    let facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    let settings = Settings {
        threads,
        subsample: common.args.subsample,
        frames: common.args.frames,
        level: level::from_environment(),
        ..Settings::default()
    };
    let outcome = engine_run(&common.plan, reference, distorted, &settings, &common.cancel, progress)?;
    let [reference, distorted] = &facts;
    let report =
        FullReport { version: crate::VERSION, plan: &common.plan, outcome: &outcome, reference, distorted };
    let mut report = report.json();
    if let (Some(entries), false) = (report.as_object_mut(), common.args.per_frame) {
        entries.shift_remove("frames");
    }
    Ok(report)
}

fn write_error(journal: &Journal, progress: &Progress, row: &Row, error: &str) -> Result<()> {
    progress.say(&format!("visus: {}: {error}", row.distorted.display()));
    journal.write(&line(row, "error", json!({ "error": error })))
}

/// What every line begins with, and what came out.
fn line(row: &Row, status: &str, result: Value) -> Value {
    let mut line = json!({
        "row": row.number,
        "status": status,
        "reference": row.reference.to_string_lossy(),
        "distorted": row.distorted.to_string_lossy(),
    });
    if let (Some(line), Value::Object(result)) = (line.as_object_mut(), result) {
        line.extend(result);
        line.insert("task".to_owned(), row.task.clone());
    }
    line
}
