//! `visus work`: scores the tasks of one shard that nobody has scored.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::json;
use visus_engine::Settings;

use super::bundle::{Bundle, Task};
use super::file::PlanFile;
use super::folder::{PlanFolder, TaskResult};
use super::place::StageArgs;
use super::score::Scorer;
use super::trace::{Span, Traces};
use super::watch::{self, Watch};

/// Something went wrong that another attempt may mend.
const RETRY: u8 = 1;
/// Some videos cannot be scored; another attempt would find the same.
const BAD_VIDEO: u8 = 3;

/// The results of a shard of fewer tasks are looked for one by one.
const FEW: usize = 64;

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
    /// The folder of the plan, or a prefix of an object store
    #[arg(value_hint = ValueHint::DirPath)]
    pub plan: PathBuf,

    /// Take tasks from this queue of NATS JetStream, nats://HOST[:PORT][/QUEUE], until it is empty
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "shard")]
    pub queue: Option<String>,

    /// Wait for more when the queue is empty
    #[cfg(feature = "nats")]
    #[arg(long, requires = "queue")]
    pub stay: bool,

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

    /// Serve /metrics on this port of the loopback interface, or on this address and port
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = watch::address)]
    pub metrics_listen: Option<SocketAddr>,

    #[command(flatten)]
    pub stage: StageArgs,

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

pub struct Worker<'a> {
    pub args: &'a WorkArgs,
    pub folder: PlanFolder,
    pub watch: Watch,
    span: Span,
}

/// What became of a bundle that a worker was at.
#[derive(Debug, Default)]
pub struct Ending {
    /// Somebody was quicker.
    pub was_done: bool,
    /// Tasks whose videos are at fault: their places, and why.
    pub bad: Vec<(usize, String)>,
    /// What this machine failed at last.
    pub failed: Option<String>,
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
    let folder = PlanFolder::open(&args.plan)?;
    let mut plan = open_plan(&folder)?;
    let parent = plan.head.traceparent.clone();
    #[cfg(feature = "nats")]
    if let Some(address) = &args.queue {
        let (_traces, span) = Traces::of_worker("queue", parent.as_deref())?;
        let worker = Worker { args, folder, watch: watch(args, "queue")?, span };
        return super::queue::run(&worker, plan.head, address);
    }
    let shard = shard(args, &|name| std::env::var(name).ok())?;
    let bundles = plan.shard(shard)?;
    let (_traces, span) = Traces::of_worker("shard", parent.as_deref())?;
    span.set("visus.shard", || shard as i64);
    let scorer = Scorer::new(&plan.head)?;
    Worker { args, folder, watch: watch(args, &shard.to_string())?, span }.run(&scorer, &bundles, shard)
}

/// The plan, if this engine may work on it.
pub fn open_plan(folder: &PlanFolder) -> Result<PlanFile> {
    let plan = folder.open_plan()?;
    if plan.head.engine != crate::VERSION {
        bail!(
            "the plan is of {}, this is {}; use the same everywhere, or plan again",
            plan.head.engine,
            crate::VERSION
        );
    }
    Ok(plan)
}

fn watch(args: &WorkArgs, worker: &str) -> Result<Watch> {
    let watch = Watch::new(worker.to_owned(), args.events.as_deref(), args.metrics.clone())?;
    if let Some(address) = args.metrics_listen {
        let bound = watch.listen(address)?;
        if !args.quiet {
            eprintln!("visus: counters at http://{bound}/metrics");
        }
    }
    Ok(watch)
}

/// What a scheduler learns of tasks that failed and of those that are of bad video.
pub fn exit_code(failed: usize, bad: usize) -> ExitCode {
    match (failed, bad) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(BAD_VIDEO),
        _ => ExitCode::from(RETRY),
    }
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

impl Worker<'_> {
    fn run(&self, scorer: &Scorer, bundles: &[Bundle], shard: usize) -> Result<ExitCode> {
        let (left, done) = self.left(bundles)?;
        let tasks = |bundles: &[&Bundle]| bundles.iter().map(|bundle| bundle.tasks.len()).sum::<usize>();
        self.watch.counters.kept.store(tasks(&done), Ordering::Relaxed);
        let counts = (tasks(&left) + tasks(&done), tasks(&left));
        self.watch.event(|| json!({ "event": "shard_started", "tasks": counts.0, "left": counts.1 }));
        let (jobs, share) = self.jobs(left.len());
        let (next, done) = (AtomicUsize::new(0), Mutex::new(done));
        let take = || {
            while let Some(bundle) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.bundle(scorer, bundle, share).was_done {
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(bundle);
                }
                self.watch.write_metrics();
            }
        };
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(take))));
        self.watch.write_metrics();
        self.verdict(&done.into_inner().unwrap_or_else(PoisonError::into_inner), shard)
    }

    /// Those without a result, and those with one.
    fn left<'t>(&self, bundles: &'t [Bundle]) -> Result<(Vec<&'t Bundle>, Vec<&'t Bundle>)> {
        let (mut left, mut finished) = (Vec::new(), Vec::new());
        // Where a question takes long, a list of all results is quicker than many of them.
        let listed = match bundles.len() >= FEW && self.folder.answers_slowly() {
            true => Some(self.folder.done()?),
            false => None,
        };
        for bundle in bundles {
            let is_done = match &listed {
                Some(done) => done.contains_key(&bundle.key),
                None => self.folder.is_done(&bundle.key)?,
            };
            if is_done { finished.push(bundle) } else { left.push(bundle) }
        }
        Ok((left, finished))
    }

    /// How many bundles are scored at once, and with how many threads each.
    pub fn jobs(&self, bundles: usize) -> (usize, usize) {
        let threads = self.args.threads.map_or_else(|| Settings::default().threads, usize::from);
        let jobs = usize::from(self.args.jobs).min(threads).min(bundles).max(1);
        (jobs, (threads / jobs).max(1))
    }

    /// Also counts what earlier attempts and other workers have found.
    fn verdict(&self, done: &[&Bundle], shard: usize) -> Result<ExitCode> {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let counters = &self.watch.counters;
        let mut bad = count(&counters.bad);
        for bundle in done {
            bad += self.folder.bad(&bundle.key)?;
        }
        let (scored, failed, kept) =
            (count(&counters.scored), count(&counters.failed), count(&counters.kept));
        self.watch.event(|| {
            json!({ "event": "shard_finished", "scored": scored, "bad_video": bad, "failed": failed, "kept": kept })
        });
        if !self.args.quiet {
            eprintln!(
                "visus: shard {shard}: {scored} tasks scored, {kept} were done before, {bad} are of bad video, {failed} failed"
            );
        }
        Ok(exit_code(failed, bad))
    }

    /// Scores the tasks of a bundle, unless that was done before, and writes what they came to.
    pub fn bundle(&self, scorer: &Scorer, bundle: &Bundle, threads: usize) -> Ending {
        let counters = &self.watch.counters;
        // Another worker on the same shard may have been quicker.
        if self.folder.is_done(&bundle.key).unwrap_or(false) {
            counters.kept.fetch_add(bundle.tasks.len(), Ordering::Relaxed);
            return Ending { was_done: true, ..Ending::default() };
        }
        let mut ending = Ending::default();
        let mut lines = self.folder.unfinished(bundle).unwrap_or_default();
        lines.resize_with(bundle.tasks.len(), || None);
        for (place, (task, line)) in bundle.tasks.iter().zip(&mut lines).enumerate() {
            if task.rows.is_empty() && line.is_none() {
                // Of a result that was there when the plan was made, and is no more.
                let (error, error_class) = ("no row of the plan needs it".to_owned(), "request".to_owned());
                *line = Some(TaskResult::Error { error, error_class });
                continue;
            }
            if line.is_none() {
                match self.task(scorer, bundle, task, threads) {
                    Ok(result) => *line = Some(result),
                    Err(error) => ending.failed = Some(format!("{error:#}")),
                }
            }
            if let Some(TaskResult::Error { error, .. }) = line {
                ending.bad.push((place, error.clone()));
            }
        }
        if let Err(error) = self.folder.put_results(bundle, &lines) {
            counters.failed.fetch_add(1, Ordering::Relaxed);
            eprintln!("visus: {error:#}");
            ending.failed = Some(format!("{error:#}"));
        }
        ending
    }

    fn task(&self, scorer: &Scorer, bundle: &Bundle, task: &Task, threads: usize) -> Result<TaskResult> {
        let counters = &self.watch.counters;
        let (started, span) = (Instant::now(), self.span.child("task"));
        let distorted = task.distorted().to_string_lossy();
        self.watch.event(|| {
            json!({ "event": "task_started", "task": bundle.key, "distorted": distorted, "range": task.range })
        });
        counters.running.fetch_add(1, Ordering::Relaxed);
        let found = if task.has_pairs { self.folder.pairs(&bundle.key) } else { Ok(None) };
        let outcome = found.and_then(|found| scorer.task(task, found, threads, &self.args.stage));
        counters.running.fetch_sub(1, Ordering::Relaxed);
        let elapsed = started.elapsed();
        counters.microseconds.fetch_add(elapsed.as_micros() as usize, Ordering::Relaxed);
        self.count(bundle, task, &outcome, elapsed, &span);
        outcome
    }

    fn count(
        &self,
        bundle: &Bundle,
        task: &Task,
        outcome: &Result<TaskResult>,
        elapsed: Duration,
        span: &Span,
    ) {
        let counters = &self.watch.counters;
        let distorted = task.distorted().to_string_lossy();
        let (counter, status, error) = match outcome {
            Ok(TaskResult::Ok { report }) => {
                let frames = report["frame_count"].as_u64().unwrap_or(0) as usize;
                counters.frames.fetch_add(frames, Ordering::Relaxed);
                (&counters.scored, "ok", None)
            }
            Ok(TaskResult::Error { error, .. }) => (&counters.bad, "bad_video", Some(error.clone())),
            Err(error) => (&counters.failed, "failed", Some(format!("{error:#}"))),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        span.set("visus.task", || bundle.key.clone());
        span.set("visus.distorted", || distorted.to_string());
        span.set("visus.status", || status);
        if let Some((from, _)) = task.range {
            span.set("visus.first_frame", || from as i64);
        }
        if let Some(error) = &error {
            span.fail(error);
            eprintln!("visus: {distorted}: {error}");
        }
        self.watch.event(|| {
            json!({
                "event": "task_finished",
                "task": bundle.key,
                "distorted": distorted,
                "status": status,
                "seconds": elapsed.as_secs_f64(),
                "error": error,
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(shard: Option<usize>) -> WorkArgs {
        WorkArgs {
            plan: PathBuf::new(),
            #[cfg(feature = "nats")]
            queue: None,
            #[cfg(feature = "nats")]
            stay: false,
            stage: StageArgs::default(),
            shard,
            threads: None,
            jobs: 1,
            events: None,
            metrics: None,
            metrics_listen: None,
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
