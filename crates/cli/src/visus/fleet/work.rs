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
use super::plan::{Plan, Task};
use super::score;
use super::trace::{Span, Traces};
use super::watch::{self, Watch};

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

    /// Serve /metrics on this port of the loopback interface, or on this address and port
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = watch::address)]
    pub metrics_listen: Option<SocketAddr>,

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

struct Worker<'a> {
    args: &'a WorkArgs,
    plan: &'a Plan,
    shard: usize,
    folder: PlanFolder,
    watch: Watch,
    span: Span,
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
    let watch = Watch::new(shard.to_string(), args.events.as_deref(), args.metrics.clone())?;
    if let Some(address) = args.metrics_listen {
        let bound = watch.listen(address)?;
        if !args.quiet {
            eprintln!("visus: counters at http://{bound}/metrics");
        }
    }
    let (_traces, span) = Traces::of_worker("shard", plan.traceparent.as_deref())?;
    span.set("visus.shard", shard as i64);
    Worker { args, plan: &plan, shard, folder, watch, span }.run()
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
    fn run(&self) -> Result<ExitCode> {
        let tasks: Vec<&Task> = self.plan.tasks.iter().filter(|task| task.shard == self.shard).collect();
        let mut left = Vec::with_capacity(tasks.len());
        for task in &tasks {
            if !self.folder.is_done(&task.key)? {
                left.push(*task);
            }
        }
        self.watch.counters.kept.store(tasks.len() - left.len(), Ordering::Relaxed);
        self.watch.event(json!({ "event": "shard_started", "tasks": tasks.len(), "left": left.len() }));
        let threads = self.args.threads.map_or_else(|| Settings::default().threads, usize::from);
        let jobs = usize::from(self.args.jobs).min(threads).min(left.len()).max(1);
        let (next, share) = (AtomicUsize::new(0), (threads / jobs).max(1));
        let take = || {
            while let Some(task) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.task(task, share);
                self.watch.write_metrics();
            }
        };
        std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(take))));
        self.watch.write_metrics();
        self.verdict(&tasks)
    }

    /// Also counts what earlier attempts and other workers have found.
    fn verdict(&self, tasks: &[&Task]) -> Result<ExitCode> {
        let mut bad = 0;
        for task in tasks {
            bad += usize::from(matches!(self.folder.result(&task.key)?, Some(TaskResult::Error { .. })));
        }
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let counters = &self.watch.counters;
        let (scored, failed, kept) =
            (count(&counters.scored), count(&counters.failed), count(&counters.kept));
        self.watch.event(json!({
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
        let counters = &self.watch.counters;
        // Another worker on the same shard may have been quicker.
        if self.folder.is_done(&task.key).unwrap_or(false) {
            counters.kept.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (started, span) = (Instant::now(), self.span.child("task"));
        self.watch.event(json!({ "event": "task_started", "task": task.key, "range": task.range }));
        counters.running.fetch_add(1, Ordering::Relaxed);
        let outcome = score::task(self.plan, task, threads).and_then(|result| {
            self.folder.put_result(&task.key, &result)?;
            Ok(result)
        });
        counters.running.fetch_sub(1, Ordering::Relaxed);
        let elapsed = started.elapsed();
        counters.milliseconds.fetch_add(elapsed.as_millis() as usize, Ordering::Relaxed);
        self.count(task, &outcome, elapsed, &span);
    }

    fn count(&self, task: &Task, outcome: &Result<TaskResult>, elapsed: Duration, span: &Span) {
        let distorted = self.plan.pairs[task.pair].distorted.to_string_lossy();
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
