//! One reading of a reference, and the encodes that are scored against it at the same time.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use visus_engine::Cancel;
use visus_report::batch::{BatchLine, BatchRow};
use visus_report::score::{self, ScoreReport};
use visus_scoring::{
    ErrorClass, Prepared, RunOptions, ScoreError, ScoreResult, Selection, Video, Videos, score_opened,
};
use visus_video::{Format, Source, share};

use super::journal::Journal;
use super::list::Row;
use super::progress::{Progress, RowProgress};
use super::{Batch, BatchArgs};
use crate::visus::draw;
use crate::visus::score::with_advice;

/// What all encodes of a pass have in common.
struct Common<'a> {
    args: &'a BatchArgs,
    raw: Option<Format>,
    selection: &'a Selection,
    options: RunOptions,
    journal: &'a Journal,
    progress: &'a Progress,
    /// Fired when a line cannot be written: then there is no use in going on.
    cancel: Cancel,
}

/// An encode that was looked at, and its share of the reference.
struct Opened<'a> {
    row: &'a Row,
    prepared: Prepared,
    reference: Option<Box<dyn Source>>,
}

/// Scores these rows, which have one reference, with so many threads; says how many were scored and how many failed.
pub fn run(batch: &Batch<'_>, rows: &[Row], threads: usize) -> Result<(usize, usize)> {
    let Batch { args, selection, journal, progress } = *batch;
    let (raw, options) = (args.raw.format()?, args.run.options()?);
    let mut common = Common { args, raw, selection, options, journal, progress, cancel: Cancel::new() };
    let opened = open_all(&common, rows)?;
    let mut tally = (0, rows.len() - opened.len());
    common.options.threads = Some((threads / opened.len().max(1)).max(1));
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for opened in opened {
            let (common, results) = (&common, &results);
            scope.spawn(move || {
                let result = score_row(common, opened);
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
    for row in rows {
        match prepare(common, row, (rows.len() > 1).then_some(&mut reference)) {
            Ok(prepared) => opened.push(Opened { row, prepared, reference: None }),
            Err(error) => {
                let _counted = common.progress.row();
                write_error(common, row, error)?;
            }
        }
    }
    if let Some(reference) = reference {
        let sharing = || opened.iter().filter(|opened| opened.prepared.shares_reference()).count();
        let mut shares = share(reference, sharing())?.into_iter();
        for opened in opened.iter_mut().filter(|opened| opened.prepared.shares_reference()) {
            opened.reference = shares.next();
        }
    }
    Ok(opened)
}

/// Looks at a pair. The first one that can share its reference begins the reading that all share, if there are others.
fn prepare(
    common: &Common<'_>,
    row: &Row,
    shared: Option<&mut Option<Box<dyn Source>>>,
) -> Result<Prepared, ScoreError> {
    let videos = Videos {
        reference: Video::Path(row.reference.clone()),
        distorted: Video::Path(row.distorted.clone()),
        raw: common.raw,
        pairing: common.args.media.pairing()?,
        skip: [0, 0],
    };
    let mut prepared = Prepared::new(videos, &common.selection.models, &common.cancel)?;
    if let Some(reference @ None) = shared
        && prepared.shares_reference()
    {
        *reference = Some(prepared.open_reference()?);
    }
    Ok(prepared)
}

/// Whether the encode was scored. An error is one of writing, and ends the batch.
fn score_row(common: &Common<'_>, opened: Opened<'_>) -> Result<bool> {
    let Opened { row, mut prepared, reference } = opened;
    let mut progress = common.progress.row();
    reference.into_iter().for_each(|reference| prepared.give_reference(reference));
    match score_one(common, prepared, &mut progress) {
        Ok(result) => {
            let facts = result.facts(crate::VERSION);
            let report = ScoreReport::new(&facts, &result.outcome);
            let report = if common.args.per_frame { report.full() } else { report.without_frames() };
            write_line(common, &BatchLine::scored(begun(row), report.timeless()))?;
            Ok(true)
        }
        Err(error) if error.class() == ErrorClass::Cancelled => Ok(false),
        Err(error) => {
            write_error(common, row, error)?;
            Ok(false)
        }
    }
}

fn score_one(
    common: &Common<'_>,
    prepared: Prepared,
    progress: &mut RowProgress,
) -> Result<ScoreResult, ScoreError> {
    let videos = prepared.open()?;
    let result = score_opened(videos, common.selection, &common.options, &common.cancel, progress)?;
    result.check()?;
    Ok(result)
}

fn write_error(common: &Common<'_>, row: &Row, error: ScoreError) -> Result<()> {
    let class = draw::class_name(error.class());
    let text = format!("{:#}", with_advice(error));
    common.progress.say(&format!("visus: {}: {text}", row.distorted.display()));
    write_line(common, &BatchLine::failed(begun(row), &text, Some(class)))
}

fn write_line(common: &Common<'_>, line: &BatchLine<'_>) -> Result<()> {
    common.journal.write(&score::json(line))
}

/// What every line begins with.
fn begun(row: &Row) -> BatchRow<'_> {
    BatchRow {
        number: row.number as u64,
        reference: row.reference.to_string_lossy().into_owned(),
        distorted: row.distorted.to_string_lossy().into_owned(),
        task: &row.task,
    }
}
