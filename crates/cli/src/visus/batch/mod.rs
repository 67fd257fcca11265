//! `visus batch`: many encodes, each reference decoded once for several of them, a line of JSON for each.

mod arrange;
mod journal;
pub mod list;
mod pass;
mod progress;

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use visus_engine::Settings;
use visus_scoring::{Selection, Video};
use visus_video::Format;

use super::args::{RawArgs, RunArgs, SelectionArgs};
use super::media::MediaArgs;
use journal::Journal;
use list::Row;
use progress::Progress;

const EXAMPLES: &str = "\
A list is a CSV file with a header and the columns `reference` and `distorted`; paths are relative to the list's folder.

Each line is flushed to disk as soon as its encode is scored. After a crash, --resume skips what is finished and \
unchanged (paths, sizes, modification times, settings) and retries errors; encodes that were in progress start again.

A finished file has its lines in the order of the list, standard output in the order in which encodes are finished.

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

    /// Encodes scored at the same time; those of one encoded reference share its decoding
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
    let (left, kept) = unfinished(&rows, &journal);
    let progress = Progress::new(args.run.quiet, left.len());
    let batch = Batch { args, selection: &selection, journal: &journal, progress: &progress };
    let (scored, failed) = batch.run(&left)?;
    journal.arrange(&rows)?;
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
        let raw = self.args.raw.format()?;
        let passes = passes(rows, jobs, |reference| is_shared(reference, raw));
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
fn unfinished(rows: &[Row], journal: &Journal) -> (Vec<Row>, usize) {
    let mut seen = HashSet::new();
    let is_left = |row: &&Row| !journal.has(&row.task) && seen.insert(row.task.to_string());
    let mut left: Vec<Row> = rows.iter().filter(is_left).cloned().collect();
    let mut first: HashMap<PathBuf, usize> = HashMap::new();
    for (place, row) in left.iter().enumerate() {
        first.entry(row.reference.clone()).or_insert(place);
    }
    left.sort_by_key(|row| first.get(&row.reference).copied());
    let kept = rows.len() - left.len();
    (left, kept)
}

/// What is scored together: encodes that share their reference, at most `jobs` of them, or a single one.
fn passes(rows: &[Row], jobs: usize, is_shared: impl Fn(&Path) -> bool) -> Vec<&[Row]> {
    let groups = rows.chunk_by(|a, b| a.reference == b.reference);
    groups.flat_map(|group| group.chunks(if is_shared(&group[0].reference) { jobs } else { 1 })).collect()
}

/// Whether encodes share one reading of their reference: it is decoded once for all, and a pipe can be read only once. Files of raw
/// frames stay in the system's cache; to read them again costs less than to hand every frame from thread to thread.
fn is_shared(reference: &Path, raw: Option<Format>) -> bool {
    let video = Video::Path(reference.to_path_buf());
    let is_decoded = raw.is_none() && !video.is_y4m();
    is_decoded || !video.is_rereadable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_are_scored_together_where_they_share_a_reference() {
        let row = |reference: &str| Row {
            number: 1,
            reference: reference.into(),
            distorted: "d".into(),
            task: serde_json::Value::Null,
        };
        let rows: Vec<Row> = ["a.mp4", "a.mp4", "a.mp4", "b.y4m", "b.y4m"].map(row).into();
        let passes = passes(&rows, 2, |reference| reference == Path::new("a.mp4"));
        assert_eq!(passes.iter().map(|pass| pass.len()).collect::<Vec<_>>(), [2, 1, 1, 1]);
    }

    #[test]
    fn raw_files_are_read_by_each_encode() {
        let folder = tempfile::tempdir().unwrap();
        let [plain, other] = ["a.y4m", "a.mp4"].map(|name| folder.path().join(name));
        std::fs::write(&plain, "YUV4MPEG2 W2 H2\n").unwrap();
        std::fs::write(&other, "no frames").unwrap();
        assert!(!is_shared(&plain, None) && is_shared(&other, None));
        let raw = Format::new(16, 16, visus_video::Chroma::C420, 8).unwrap();
        assert!(!is_shared(&other, Some(raw)));
        assert!(is_shared(&folder.path().join("pipe"), Some(raw)), "what is no file is read once");
    }
}
