//! `visus work`: scores the tasks of one shard that nobody has scored.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::{Value, json};
use visus_engine::{Cancel, EngineError, Settings, Silent};
use visus_report::score::{self, ScoreReport};
use visus_scoring::{ErrorClass, RunOptions, ScoreError, ScoreRequest, ScoreResult};

use super::folder::{PlanFolder, TaskResult};
use super::plan::{Plan, Task, score_args, task_of};
use crate::visus::draw;
use crate::visus::score::with_advice;

/// Something went wrong that another attempt may mend.
const RETRY: u8 = 1;
/// Some videos cannot be scored; another attempt would find the same.
const BAD_VIDEO: u8 = 3;

const EXAMPLES: &str = "\
Without --shard, the index comes from the scheduler: JOB_COMPLETION_INDEX (Kubernetes), AWS_BATCH_JOB_ARRAY_INDEX, \
SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX, SGE_TASK_ID or LSB_JOBINDEX (the last two count from 1).

Work that is killed is resumed by starting it again: tasks with a result are skipped. Two workers on one shard do no harm.

Exit codes: 0 all tasks have a score, 1 the machine failed (try again), 2 invalid request, 3 some videos cannot be scored \
(trying again is of no use; `visus gather` lists them).

Examples:
  visus work plan/ --shard 7
  sbatch --array=0-39 --wrap 'visus work /shared/plan'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorkArgs {
    /// The folder of the plan
    #[arg(value_hint = ValueHint::DirPath)]
    pub plan: PathBuf,

    /// Which shard, from 0 [default: the index that the scheduler gives]
    #[arg(short, long, value_name = "I", env = "VISUS_SHARD")]
    pub shard: Option<usize>,

    /// Worker threads [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Tasks scored at the same time; they share the threads
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,

    /// Write an event per line as JSON to this file [default FILE: standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub events: Option<PathBuf>,

    /// Keep counters in this file, in the Prometheus text format (for node_exporter)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub metrics: Option<PathBuf>,

    /// No messages but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Variables that schedulers set, and the index of their first task.
const SCHEDULERS: [(&str, usize); 7] = [
    ("JOB_COMPLETION_INDEX", 0),
    ("AWS_BATCH_JOB_ARRAY_INDEX", 0),
    ("SLURM_ARRAY_TASK_ID", 0),
    ("PBS_ARRAY_INDEX", 0),
    ("PBS_ARRAYID", 0),
    ("SGE_TASK_ID", 1),
    ("LSB_JOBINDEX", 1),
];

/// What a worker has counted.
#[derive(Debug, Default)]
struct Counters {
    scored: AtomicUsize,
    bad: AtomicUsize,
    failed: AtomicUsize,
    kept: AtomicUsize,
    frames: AtomicUsize,
    milliseconds: AtomicUsize,
}

struct Worker<'a> {
    args: &'a WorkArgs,
    plan: &'a Plan,
    shard: usize,
    folder: PlanFolder,
    options: RunOptions,
    counters: Counters,
    events: Option<Mutex<Box<dyn Write + Send>>>,
}

pub fn run(args: &WorkArgs) -> ExitCode {
    match work(args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("visus: {error:#}");
            ExitCode::from(crate::visus::code(&error))
        }
    }
}

fn work(args: &WorkArgs) -> Result<ExitCode> {
    let folder = PlanFolder::new(&args.plan);
    let plan = folder.read_plan()?;
    if plan.engine != crate::VERSION {
        bail!(
            "the plan is of {}, this is {}; use the same everywhere, or plan again",
            plan.engine,
            crate::VERSION
        );
    }
    let shard = shard(args, &|name| std::env::var(name).ok())?;
    if shard >= plan.shards {
        bail!("there is no shard {shard}: the plan has {}, from 0 to {}", plan.shards, plan.shards - 1);
    }
    let events = args.events.as_deref().map(open_events).transpose()?.map(Mutex::new);
    let options = RunOptions::from_environment()?;
    let counters = Counters::default();
    let worker = Worker { args, plan: &plan, shard, folder, options, counters, events };
    worker.run()
}

/// The index of the shard: the argument's, or the scheduler's.
fn shard(args: &WorkArgs, environment: &dyn Fn(&str) -> Option<String>) -> Result<usize> {
    if let Some(shard) = args.shard {
        return Ok(shard);
    }
    for (name, first) in SCHEDULERS {
        if let Some(text) = environment(name).filter(|text| !text.is_empty() && text != "undefined") {
            let index: usize = text.parse().with_context(|| format!("{name}={text} is no index"))?;
            return index
                .checked_sub(first)
                .with_context(|| format!("{name}={text}: the first index is {first}"));
        }
    }
    bail!("which shard? Give --shard, or let a scheduler start an array of jobs");
}

fn open_events(path: &Path) -> Result<Box<dyn Write + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout()));
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    Ok(Box::new(file.with_context(|| format!("cannot open {}", path.display()))?))
}

impl Worker<'_> {
    fn run(&self) -> Result<ExitCode> {
        let tasks: Vec<&Task> = self.plan.tasks.iter().filter(|task| task.shard == self.shard).collect();
        let left: Vec<&Task> = tasks.iter().copied().filter(|task| !self.folder.is_done(&task.key)).collect();
        self.counters.kept.store(tasks.len() - left.len(), Ordering::Relaxed);
        self.event(json!({ "event": "shard_started", "tasks": tasks.len(), "left": left.len() }));
        let threads = self.args.threads.map_or_else(|| Settings::default().threads, usize::from);
        let jobs = usize::from(self.args.jobs).min(threads).min(left.len()).max(1);
        let (next, share) = (AtomicUsize::new(0), (threads / jobs).max(1));
        let take = || {
            while let Some(task) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.task(task, share);
                self.write_metrics();
            }
        };
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(take))));
        self.write_metrics();
        self.verdict(&tasks)
    }

    /// Also counts what earlier attempts and other workers have found.
    fn verdict(&self, tasks: &[&Task]) -> Result<ExitCode> {
        let mut bad = 0;
        for task in tasks {
            bad += usize::from(matches!(self.folder.result(&task.key)?, Some(TaskResult::Error { .. })));
        }
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let (scored, failed, kept) =
            (count(&self.counters.scored), count(&self.counters.failed), count(&self.counters.kept));
        self.event(json!({
            "event": "shard_finished", "scored": scored, "bad_video": bad, "failed": failed, "kept": kept,
        }));
        if !self.args.quiet {
            eprintln!(
                "visus: shard {}: {scored} tasks scored, {kept} were done before, {bad} are of bad video, {failed} failed",
                self.shard
            );
        }
        Ok(match (failed, bad) {
            (0, 0) => ExitCode::SUCCESS,
            (0, _) => ExitCode::from(BAD_VIDEO),
            _ => ExitCode::from(RETRY),
        })
    }

    fn task(&self, task: &Task, threads: usize) {
        let started = Instant::now();
        self.event(json!({ "event": "task_started", "task": task.key, "range": task.range }));
        let outcome = self.score(task, threads).and_then(|result| {
            self.folder.put_result(&task.key, &result)?;
            Ok(result)
        });
        let elapsed = started.elapsed();
        self.counters.milliseconds.fetch_add(elapsed.as_millis() as usize, Ordering::Relaxed);
        self.count(task, &outcome, elapsed);
    }

    fn count(&self, task: &Task, outcome: &Result<TaskResult>, elapsed: Duration) {
        let pair = &self.plan.pairs[task.pair];
        let (counter, status, error) = match outcome {
            Ok(TaskResult::Ok { report }) => {
                let frames = report["frame_count"].as_u64().unwrap_or(0) as usize;
                self.counters.frames.fetch_add(frames, Ordering::Relaxed);
                (&self.counters.scored, "ok", None)
            }
            Ok(TaskResult::Error { error, .. }) => (&self.counters.bad, "bad_video", Some(error.clone())),
            Err(error) => (&self.counters.failed, "failed", Some(format!("{error:#}"))),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(error) = &error {
            eprintln!("visus: {}: {error}", pair.distorted.display());
        }
        self.event(json!({
            "event": "task_finished",
            "task": task.key,
            "distorted": pair.distorted.to_string_lossy(),
            "status": status,
            "seconds": elapsed.as_secs_f64(),
            "error": error,
        }));
    }

    /// The result of a task; an error is one of this machine.
    fn score(&self, task: &Task, threads: usize) -> Result<TaskResult> {
        let pair = self.plan.pairs.get(task.pair).context("the plan is damaged: a task has no pair")?;
        let args = score_args(&self.plan.score, &pair.reference, &pair.distorted)?;
        let now = task_of(&args);
        if now != pair.task {
            bail!(
                "{} or its reference has changed since it was planned; plan again",
                pair.distorted.display()
            );
        }
        let ScoreRequest { videos, selection, options } = args.request()?;
        let (from, to) = task.range.map_or((None, None), |(from, to)| (Some(from), to));
        let moment = |frame: Option<u64>| frame.map(visus_scoring::range::Moment::Frame);
        let options = RunOptions {
            threads: Some(threads),
            from: moment(from),
            to: moment(to),
            level: self.options.level,
            ..options
        };
        let request = ScoreRequest { videos, selection, options };
        let scored = visus_scoring::score(request, &Cancel::new(), &mut Silent)
            .and_then(|result| result.check().map_err(ScoreError::from).map(|()| result));
        match scored {
            Ok(result) => Ok(TaskResult::Ok { report: report(&result) }),
            Err(error) if is_of_video(&error) => {
                let error_class = draw::class_name(error.class()).to_owned();
                Ok(TaskResult::Error { error: format!("{:#}", with_advice(error)), error_class })
            }
            Err(error) => Err(with_advice(error)),
        }
    }

    fn event(&self, mut event: Value) {
        let Some(events) = &self.events else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event["time"] = json!(now.as_secs_f64());
        event["shard"] = json!(self.shard);
        let mut out = events.lock().unwrap_or_else(PoisonError::into_inner);
        // Events are for watching; a reader that is gone does not stop the work.
        let _ = writeln!(out, "{event}").and_then(|()| out.flush());
    }

    fn write_metrics(&self) {
        let Some(path) = &self.args.metrics else { return };
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let mut text = String::new();
        let figures = [
            ("tasks_scored_total", "Tasks scored by this worker.", count(&counters.scored) as f64),
            ("tasks_bad_video_total", "Tasks whose videos cannot be scored.", count(&counters.bad) as f64),
            ("tasks_failed_total", "Tasks that failed on this machine.", count(&counters.failed) as f64),
            ("tasks_skipped_total", "Tasks that were done before.", count(&counters.kept) as f64),
            ("frames_scored_total", "Frame pairs scored.", count(&counters.frames) as f64),
            ("task_seconds_total", "Time spent on tasks.", count(&counters.milliseconds) as f64 / 1e3),
        ];
        for (name, about, value) in figures {
            text.push_str(&format!(
                "# HELP visus_{name} {about}\n# TYPE visus_{name} counter\nvisus_{name}{{shard=\"{}\"}} {value}\n",
                self.shard
            ));
        }
        // node_exporter reads whole files only.
        let new = path.with_extension("prom.new");
        if let Err(error) = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)) {
            eprintln!("visus: cannot write {}: {error}", path.display());
        }
    }
}

/// What is kept of a result: all of a part, since joining needs its frames; of a whole pair what a batch writes.
fn report(result: &ScoreResult) -> Value {
    let facts = result.facts(crate::VERSION);
    let report = ScoreReport::new(&facts, &result.outcome);
    if result.part.is_some() { report.json() } else { score::json(&report.without_frames()) }
}

/// Whether the videos are at fault, and not this machine: its disk, its memory, its programs.
fn is_of_video(error: &ScoreError) -> bool {
    let by_class =
        matches!(error.class(), ErrorClass::Request | ErrorClass::NotComparable | ErrorClass::Video);
    let on_the_way = matches!(error, ScoreError::Engine(EngineError::Read { .. }));
    (by_class || on_the_way) && !is_of_system(error)
}

/// Whether the operating system refused something. That a file ends too early is a fault of the file.
fn is_of_system(error: &ScoreError) -> bool {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return !matches!(io.kind(), InvalidData | UnexpectedEof);
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(shard: Option<usize>) -> WorkArgs {
        WorkArgs {
            plan: PathBuf::new(),
            shard,
            threads: None,
            jobs: 1,
            events: None,
            metrics: None,
            quiet: true,
        }
    }

    #[test]
    fn schedulers_say_which_shard() {
        let with = |name: &'static str, value: &'static str| {
            shard(&args(None), &move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(with("SLURM_ARRAY_TASK_ID", "12").unwrap(), 12);
        assert_eq!(with("JOB_COMPLETION_INDEX", "0").unwrap(), 0);
        assert_eq!(with("SGE_TASK_ID", "1").unwrap(), 0);
        assert!(with("SGE_TASK_ID", "undefined").is_err());
        assert!(with("LSB_JOBINDEX", "0").is_err());
        assert!(with("AWS_BATCH_JOB_ARRAY_INDEX", "x").is_err());
        assert!(with("HOME", "/").is_err());
        assert_eq!(shard(&args(Some(3)), &|_| Some("9".to_owned())).unwrap(), 3);
    }
}
