//! `visus work`: scores the tasks of one shard that nobody has scored.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::json;
use visus_engine::Settings;

use super::folder::{PlanFolder, TaskResult};
use super::place::StageArgs;
use super::plan::{Plan, Task};
use super::score;
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

/// What became of a task that a worker was at.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "nats"), expect(dead_code, reason = "only a queue asks for the reasons"))]
pub enum Ending {
    Scored,
    /// The videos are at fault.
    Bad(String),
    /// This machine is.
    Failed(String),
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
    let plan = read_plan(&folder)?;
    #[cfg(feature = "nats")]
    if let Some(address) = &args.queue {
        let (_traces, span) = Traces::of_worker("queue", plan.traceparent.as_deref())?;
        let worker = Worker { args, folder, watch: watch(args, "queue")?, span };
        return super::queue::run(&worker, plan, address);
    }
    let shard = shard(args, &|name| std::env::var(name).ok())?;
    if shard >= plan.shards {
        bail!("there is no shard {shard}: the plan has {}, from 0 to {}", plan.shards, plan.shards - 1);
    }
    let (_traces, span) = Traces::of_worker("shard", plan.traceparent.as_deref())?;
    span.set("visus.shard", shard as i64);
    Worker { args, folder, watch: watch(args, &shard.to_string())?, span }.run(&plan, shard)
}

/// The plan, if this engine may work on it.
pub fn read_plan(folder: &PlanFolder) -> Result<Plan> {
    let plan = folder.read_plan()?;
    if plan.engine != crate::VERSION {
        bail!(
            "the plan is of {}, this is {}; use the same everywhere, or plan again",
            plan.engine,
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
    fn run(&self, plan: &Plan, shard: usize) -> Result<ExitCode> {
        let tasks: Vec<&Task> = plan.tasks.iter().filter(|task| task.shard == shard).collect();
        let left = self.left(&tasks)?;
        self.watch.counters.kept.store(tasks.len() - left.len(), Ordering::Relaxed);
        self.watch.event(json!({ "event": "shard_started", "tasks": tasks.len(), "left": left.len() }));
        let (jobs, share) = self.jobs(left.len());
        let next = AtomicUsize::new(0);
        let take = || {
            while let Some(task) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.task(plan, task, share);
                self.watch.write_metrics();
            }
        };
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(take))));
        self.watch.write_metrics();
        self.verdict(&tasks, shard)
    }

    /// Those without a result.
    fn left<'t>(&self, tasks: &[&'t Task]) -> Result<Vec<&'t Task>> {
        // Where a question takes long, a list of all results is quicker than many of them.
        if tasks.len() >= FEW && self.folder.answers_slowly() {
            let done = self.folder.done()?;
            return Ok(tasks.iter().copied().filter(|task| !done.contains_key(&task.key)).collect());
        }
        let mut left = Vec::with_capacity(tasks.len());
        for task in tasks {
            if !self.folder.is_done(&task.key)? {
                left.push(*task);
            }
        }
        Ok(left)
    }

    /// How many tasks are scored at once, and with how many threads each.
    pub fn jobs(&self, tasks: usize) -> (usize, usize) {
        let threads = self.args.threads.map_or_else(|| Settings::default().threads, usize::from);
        let jobs = usize::from(self.args.jobs).min(threads).min(tasks).max(1);
        (jobs, (threads / jobs).max(1))
    }

    /// Also counts what earlier attempts and other workers have found.
    fn verdict(&self, tasks: &[&Task], shard: usize) -> Result<ExitCode> {
        let keys: Vec<&str> = tasks.iter().map(|task| &*task.key).collect();
        let results = self.folder.results(&keys)?;
        let bad = results.iter().filter(|result| matches!(result, Some(TaskResult::Error { .. }))).count();
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let counters = &self.watch.counters;
        let (scored, failed, kept) =
            (count(&counters.scored), count(&counters.failed), count(&counters.kept));
        self.watch.event(json!({
            "event": "shard_finished", "scored": scored, "bad_video": bad, "failed": failed, "kept": kept,
        }));
        if !self.args.quiet {
            eprintln!(
                "visus: shard {shard}: {scored} tasks scored, {kept} were done before, {bad} are of bad video, {failed} failed"
            );
        }
        Ok(exit_code(failed, bad))
    }

    /// Scores a task, unless that was done before.
    pub fn task(&self, plan: &Plan, task: &Task, threads: usize) -> Ending {
        let counters = &self.watch.counters;
        // Another worker on the same shard may have been quicker.
        if self.folder.is_done(&task.key).unwrap_or(false) {
            counters.kept.fetch_add(1, Ordering::Relaxed);
            return Ending::Scored;
        }
        let (started, span) = (Instant::now(), self.span.child("task"));
        self.watch.event(json!({ "event": "task_started", "task": task.key, "range": task.range }));
        counters.running.fetch_add(1, Ordering::Relaxed);
        let outcome = score::task(plan, task, threads, &self.args.stage).and_then(|result| {
            self.folder.put_result(&task.key, &result)?;
            Ok(result)
        });
        counters.running.fetch_sub(1, Ordering::Relaxed);
        let elapsed = started.elapsed();
        counters.milliseconds.fetch_add(elapsed.as_millis() as usize, Ordering::Relaxed);
        let distorted = plan.pairs.get(task.pair).map(|pair| pair.distorted.to_string_lossy());
        self.count(task, &distorted.unwrap_or_default(), &outcome, elapsed, &span);
        match outcome {
            Ok(TaskResult::Ok { .. }) => Ending::Scored,
            Ok(TaskResult::Error { error, .. }) => Ending::Bad(error),
            Err(error) => Ending::Failed(format!("{error:#}")),
        }
    }

    fn count(
        &self,
        task: &Task,
        distorted: &str,
        outcome: &Result<TaskResult>,
        elapsed: Duration,
        span: &Span,
    ) {
        let counters = &self.watch.counters;
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
        span.set("visus.task", task.key.clone());
        span.set("visus.distorted", distorted.to_string());
        span.set("visus.status", status);
        if let Some((from, _)) = task.range {
            span.set("visus.first_frame", from as i64);
        }
        if let Some(error) = &error {
            span.fail(error);
            eprintln!("visus: {distorted}: {error}");
        }
        self.watch.event(json!({
            "event": "task_finished",
            "task": task.key,
            "distorted": distorted,
            "status": status,
            "seconds": elapsed.as_secs_f64(),
            "error": error,
        }));
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
