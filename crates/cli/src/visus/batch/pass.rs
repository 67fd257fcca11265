//! One reading of a reference, and the encodes that are scored against it at the same time.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use visus_engine::{Cancel, EngineError, FeatureSpec, Plan, Settings, run as engine_run};
use visus_media::{Input, PairOptions, Probed};
use visus_report::full::{FullReport, InputFacts};
use visus_video::{Format, Source, share};

use super::BatchArgs;
use super::journal::Journal;
use super::list::Row;
use super::progress::{Progress, RowProgress};
use crate::visus::inputs::{self, About, Inputs};
use crate::visus::{level, media, metrics, model_choice};

/// What all encodes of a pass have in common.
struct Common<'a> {
    args: &'a BatchArgs,
    raw: Option<Format>,
    journal: &'a Journal,
    progress: &'a Progress,
    /// Fired when a line cannot be written: then there is no use in going on.
    cancel: Cancel,
}

/// An encode before its frames are read.
enum Looked {
    /// Scored as it is.
    Plain(Box<dyn Source>),
    /// Decoded, converted, paired.
    Media(Box<Probed>, Box<PairOptions>),
}

type Opened<'a> = (&'a Row, Looked, Option<Box<dyn Source>>);

/// Scores these rows, which have one reference; says how many were scored and how many failed.
pub fn run(args: &BatchArgs, rows: &[Row], journal: &Journal, progress: &Progress) -> Result<(usize, usize)> {
    let raw = inputs::raw_format(args.size, args.pix_fmt)?;
    let common = Common { args, raw, journal, progress, cancel: Cancel::new() };
    let opened = open_all(&common, rows)?;
    let mut tally = (0, rows.len() - opened.len());
    let threads = args.threads.map_or_else(|| Settings::default().threads, usize::from);
    let threads = (threads / opened.len().max(1)).max(1);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for opened in opened {
            let (common, results) = (&common, &results);
            scope.spawn(move || {
                let result = score_row(common, opened, threads);
                if result.is_err() {
                    common.cancel.fire();
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            });
        }
    });
    for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if result? { tally.0 += 1 } else { tally.1 += 1 }
    }
    Ok(tally)
}

/// The encodes that can be read, each with its share of the reference; the others become lines that say why not.
fn open_all<'a>(common: &Common<'_>, rows: &'a [Row]) -> Result<Vec<Opened<'a>>> {
    let mut opened: Vec<Opened<'a>> = Vec::new();
    let mut reference = None;
    let mut shares = Vec::new();
    for row in rows {
        match look(common, row).and_then(|mut looked| {
            // Which needs its own reference, opens it later.
            let common_one = reference_of(common, row, &mut looked, reference.is_some())?;
            Ok((looked, common_one))
        }) {
            Ok((looked, common_one)) => {
                let sharing = !matches!(common_one, Reference::Own);
                if let Reference::Opened(source) = common_one {
                    reference = Some(source);
                }
                shares.push(sharing);
                opened.push((row, looked, None));
            }
            Err(error) => {
                let _counted = common.progress.row();
                write_error(common, row, &format!("{error:#}"))?;
            }
        }
    }
    let readers = shares.iter().filter(|sharing| **sharing).count();
    if let Some(reference) = reference {
        let mut shared = share(reference, readers)?.into_iter();
        for (opened, _) in opened.iter_mut().zip(&shares).filter(|(_, sharing)| **sharing) {
            opened.2 = shared.next();
        }
    }
    Ok(opened)
}

fn look(common: &Common<'_>, row: &Row) -> Result<Looked> {
    let args = common.args;
    let pair = [&row.reference, &row.distorted].map(|path| Input::detect(path, common.raw));
    if !pair.iter().any(Input::is_encoded) && !args.media.asked() {
        let distorted = inputs::open_one(&row.distorted, common.raw).context("the distorted video")?;
        return Ok(Looked::Plain(distorted));
    }
    let mut options = args.media.options([0, 0], &pair);
    options.cancel = common.cancel.clone();
    let probed = Probed::new(pair, &options)?;
    options.display = media::display(&args.models, &probed.facts[0])?;
    Ok(Looked::Media(Box::new(probed), Box::new(options)))
}

/// Where a row's reference comes from.
enum Reference {
    /// From the reading that all share, begun here.
    Opened(Box<dyn Source>),
    /// From that reading, which another row has begun.
    Shared,
    /// From a reading of its own.
    Own,
}

fn reference_of(common: &Common<'_>, row: &Row, looked: &mut Looked, begun: bool) -> Result<Reference> {
    match looked {
        Looked::Plain(_) if begun => Ok(Reference::Shared),
        Looked::Plain(_) => {
            Ok(Reference::Opened(inputs::open_one(&row.reference, common.raw).context("the reference")?))
        }
        Looked::Media(probed, options) => Ok(match (probed.shares_reference(), begun) {
            (false, _) => Reference::Own,
            (true, true) => Reference::Shared,
            (true, false) => Reference::Opened(probed.common_reference(options)?),
        }),
    }
}

/// Whether the encode was scored. An error is one of writing, and ends the batch.
fn score_row(common: &Common<'_>, (row, looked, reference): Opened<'_>, threads: usize) -> Result<bool> {
    let mut progress = common.progress.row();
    let force = common.args.media.force;
    let inputs = match (looked, reference) {
        (Looked::Plain(distorted), Some(reference)) => inputs::plain(reference, distorted),
        (Looked::Plain(_), None) => Err(anyhow::anyhow!("the reference cannot be read")),
        (Looked::Media(mut probed, options), reference) => {
            reference.into_iter().for_each(|reference| probed.give_reference(reference));
            inputs::paired(*probed, &options, force)
        }
    };
    match inputs.and_then(|inputs| report(common, inputs, threads, &mut progress)) {
        Ok(report) => {
            common.journal.write(&line(row, "ok", report))?;
            Ok(true)
        }
        Err(error) if matches!(error.downcast_ref(), Some(EngineError::Cancelled)) => Ok(false),
        Err(error) => {
            write_error(common, row, &format!("{error:#}"))?;
            Ok(false)
        }
    }
}

fn report(common: &Common<'_>, inputs: Inputs, threads: usize, progress: &mut RowProgress) -> Result<Value> {
    let args = common.args;
    let Inputs { reference, distorted, about } = inputs;
    let facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    let plan = plan(args, &*reference)?;
    let settings = Settings {
        threads,
        subsample: args.subsample,
        range: args.frames.into(),
        backend: level::from_environment().into(),
        ..Settings::default()
    };
    let outcome = engine_run(&plan, reference, distorted, &settings, &common.cancel, progress)?;
    if let About::Media(control) = &about {
        control.finish();
    }
    about.check(args.media.force)?;
    let [reference, distorted] = &facts;
    let report = FullReport { version: crate::VERSION, plan: &plan, outcome: &outcome, reference, distorted };
    let mut report = report.json();
    for (name, section) in about.sections() {
        report[name.as_str()] = section;
    }
    if let (Some(entries), false) = (report.as_object_mut(), args.per_frame) {
        entries.shift_remove("frames");
    }
    Ok(report)
}

/// What is computed for a pair.
fn plan(args: &BatchArgs, reference: &dyn Source) -> Result<Plan> {
    let choice = model_choice::choose(&args.models, reference.format(), reference.frame_rate())?;
    let features: Result<Vec<FeatureSpec>> =
        args.features.iter().map(|text| metrics::parse(text, reference.frame_rate())).collect();
    Ok(Plan::new(&choice.models, &features?, true)?.lean())
}

fn write_error(common: &Common<'_>, row: &Row, error: &str) -> Result<()> {
    common.progress.say(&format!("visus: {}: {error}", row.distorted.display()));
    common.journal.write(&line(row, "error", json!({ "error": error })))
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
