//! `visus batch`: many encodes, each reference read once for several of them, a line of JSON for each.

mod journal;
pub mod list;
mod pass;
mod progress;

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use visus_engine::Settings;
use visus_scoring::Selection;

use super::args::{RawArgs, RunArgs, SelectionArgs};
use super::media::MediaArgs;
use journal::Journal;
use list::Row;
use progress::Progress;

const EXAMPLES: &str = "\
A list is a CSV file with a header and the columns `reference` and `distorted`; paths are relative to the list's folder.

Each line is flushed to disk as soon as its encode is scored. After a crash, --resume skips what is finished and \
unchanged (paths, sizes, modification times, settings) and retries errors; encodes that were in progress start again.

Encoded video is checked and paired as in `visus score`; a pair that is not comparable is an error of its line.

Exit codes: 0 all scored, 1 some failed, 2 invalid request.

Examples:
  visus batch pairs.csv -o scores.ndjson
  visus batch encodes/ --reference ref.y4m -m v0.6.1 -m v0.6.1neg -o scores.ndjson --resume
  visus batch pairs.csv | jq -r '[.distorted, .pooled_metrics[\"vmaf_v0.6.1\"].mean] | @csv'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BatchArgs {
    /// A CSV file with the columns reference and distorted, or a folder of encodes of one --reference
    #[arg(value_hint = ValueHint::AnyPath)]
    pub list: PathBuf,

    /// The reference of all encodes in a folder, or of list rows without one
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub reference: Option<PathBuf>,

    /// Write the lines to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Continue an existing output file
    #[arg(long, requires = "output")]
    pub resume: bool,

    /// Encodes scored at the same time; those of one reference share its reading
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,

    #[command(flatten)]
    pub raw: RawArgs,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub media: MediaArgs,

    /// Include the scores of every frame in the lines
    #[arg(long, help_heading = "Run")]
    pub per_frame: bool,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub scored: usize,
    pub failed: usize,
    /// Finished in an earlier run.
    pub kept: usize,
}

impl Tally {
    /// Errors of single rows do not stop the others, but the exit code tells them.
    pub fn verdict(self) -> Result<()> {
        match self.failed {
            0 => Ok(()),
            failed => bail!("{failed} of {} encodes could not be scored", self.scored + self.kept + failed),
        }
    }
}

pub fn run(args: &BatchArgs) -> Result<Tally> {
    let selection = args.selection.parse()?;
    let rows = list::read(args)?;
    let journal = Journal::open(args.output.as_deref(), args.resume)?;
    let (rows, kept) = unfinished(rows, &journal);
    let progress = Progress::new(args.run.quiet, rows.len());
    let batch = Batch { args, selection: &selection, journal: &journal, progress: &progress };
    let (scored, failed) = batch.run(&rows)?;
    let tally = Tally { scored, failed, kept };
    progress.clear();
    if !args.run.quiet {
        let kept = if kept > 0 { format!(", {kept} were finished before") } else { String::new() };
        eprintln!("visus: {} encodes scored{kept}, {} failed", tally.scored, tally.failed);
    }
    Ok(tally)
}

/// What all passes have in common.
struct Batch<'a> {
    args: &'a BatchArgs,
    selection: &'a Selection,
    journal: &'a Journal,
    progress: &'a Progress,
}

impl Batch<'_> {
    /// How many rows were scored, and how many failed. Passes are run side by side as far as `--jobs` and the threads allow, and share
    /// the threads.
    fn run(&self, rows: &[Row]) -> Result<(usize, usize)> {
        let jobs = usize::from(self.args.jobs);
        let passes: Vec<&[Row]> = passes(rows, jobs).collect();
        let threads = self.args.run.options()?.threads.unwrap_or_else(|| Settings::default().threads);
        let widest = passes.iter().map(|rows| rows.len()).max().unwrap_or(1);
        let lanes = (jobs / widest).min(threads).min(passes.len()).max(1);
        let next = AtomicUsize::new(0);
        let take = || -> Result<(usize, usize)> {
            let mut tally = (0, 0);
            while let Some(rows) = passes.get(next.fetch_add(1, Ordering::Relaxed)) {
                let done = pass::run(self, rows, threads / lanes).inspect_err(|_| {
                    // A line could not be written: there is no use in going on.
                    next.store(passes.len(), Ordering::Relaxed);
                })?;
                tally = (tally.0 + done.0, tally.1 + done.1);
            }
            Ok(tally)
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..lanes).map(|_| scope.spawn(take)).collect();
            let own = take();
            let joined =
                others.into_iter().map(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(own).chain(joined).try_fold((0, 0), |all, lane| {
                let lane = lane?;
                Ok((all.0 + lane.0, all.1 + lane.1))
            })
        })
    }
}

/// Rows that are still to be scored, each once, those of a reference together.
fn unfinished(rows: Vec<Row>, journal: &Journal) -> (Vec<Row>, usize) {
    let total = rows.len();
    let mut seen = HashSet::new();
    let mut left = rows;
    left.retain(|row| !journal.has(&row.task) && seen.insert(row.task.to_string()));
    let mut first: HashMap<PathBuf, usize> = HashMap::new();
    for (place, row) in left.iter().enumerate() {
        first.entry(row.reference.clone()).or_insert(place);
    }
    left.sort_by_key(|row| first.get(&row.reference).copied());
    let kept = total - left.len();
    (left, kept)
}

/// At most `jobs` neighbours with the same reference at a time.
fn passes(rows: &[Row], jobs: usize) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.reference == b.reference).flat_map(move |group| group.chunks(jobs))
}
