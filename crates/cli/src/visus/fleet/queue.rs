//! Tasks from a work queue of NATS JetStream, in builds with the cargo feature `nats`.
//!
//! A job of the queue names tasks by their keys: one, or several that are cheap. A worker scores those without a result and
//! confirms the job; results are in the plan's store as ever. So a job that is delivered twice costs a look, and the queue may be
//! lost without a result being lost: `visus plan --queue` fills it again with what is missing.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use visus_remote::{Delivery, Job, Queue, QueueSettings};

use super::folder::PlanFolder;
use super::plan::{Plan, Task};
use super::work::{Ending, Worker, exit_code, read_plan};

/// A job has tasks of about this many seconds of one core, so that asking for it costs little beside them.
const WORTH: f64 = 2.0;
/// The most tasks of a job.
const MOST: usize = 1000;
/// Jobs that all workers together may have at once.
const MOST_LEASED: u32 = 20_000;
/// How long a worker waits for a job before it asks how many are left.
const PATIENCE: Duration = Duration::from_millis(500);
/// A job that failed so often on machines is given up.
const ATTEMPTS: u64 = 20;
/// A job whose workers died so often without a word is given up.
const DEATHS: u64 = 200;
/// Pause before a job that failed is given to anybody, for each attempt; at most a minute.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a job says.
#[derive(Debug, Deserialize, Serialize)]
struct Body {
    /// Keys of tasks.
    tasks: Vec<String>,
}

/// Puts all tasks without a result into the queue; how many jobs are new.
pub fn fill(address: &str, lease: u32, folder: &PlanFolder, plan: &Plan) -> Result<usize> {
    let settings = QueueSettings { lease: Duration::from_secs(lease.into()), most_leased: MOST_LEASED };
    let queue = Queue::create(address, settings)?;
    let done = folder.done()?;
    let mut tasks: Vec<&Task> = plan.tasks.iter().filter(|task| !done.contains_key(&task.key)).collect();
    // The dearest first: nobody should begin with a long one when the others are about to end.
    tasks.sort_by(|one, other| other.cost.total_cmp(&one.cost));
    Ok(queue.publish(jobs(&tasks)?)?)
}

/// Tasks in jobs of some worth. The identity of a job is that of its tasks.
fn jobs(tasks: &[&Task]) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let mut group: Vec<&Task> = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        group.push(task);
        let worth: f64 = group.iter().map(|task| task.cost).sum();
        if worth >= WORTH || group.len() == MOST || place + 1 == tasks.len() {
            jobs.push(job(&std::mem::take(&mut group))?);
        }
    }
    Ok(jobs)
}

fn job(tasks: &[&Task]) -> Result<Job> {
    let keys: Vec<String> = tasks.iter().map(|task| task.key.clone()).collect();
    let id = match &keys[..] {
        [key] => key.clone(),
        keys => Sha256::digest(keys.join("\n")).iter().take(16).map(|byte| format!("{byte:02x}")).collect(),
    };
    Ok(Job { id, body: serde_json::to_vec(&Body { tasks: keys })? })
}

/// A plan and where its tasks are in it.
struct Indexed {
    plan: Plan,
    places: HashMap<String, usize>,
}

impl Indexed {
    fn new(plan: Plan) -> Arc<Self> {
        let places = plan.tasks.iter().enumerate().map(|(place, task)| (task.key.clone(), place)).collect();
        Arc::new(Self { plan, places })
    }
}

/// What the threads of a worker share.
struct Shared<'a> {
    worker: &'a Worker<'a>,
    queue: Queue,
    plan: Mutex<Arc<Indexed>>,
    bad: AtomicUsize,
    /// Jobs of an older plan.
    stale: AtomicUsize,
    is_over: AtomicBool,
    /// What stopped this worker.
    error: Mutex<Option<anyhow::Error>>,
}

/// Works until the queue is empty, or for ever.
pub fn run(worker: &Worker<'_>, plan: Plan, address: &str) -> Result<ExitCode> {
    let shared = Shared {
        worker,
        queue: Queue::open(address)?,
        plan: Mutex::new(Indexed::new(plan)),
        bad: AtomicUsize::new(0),
        stale: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    worker.watch.event(json!({ "event": "queue_opened" }));
    let (jobs, threads) = worker.jobs(usize::MAX);
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(|| shared.take_until_over(threads)))));
    worker.watch.write_metrics();
    if let Some(error) = shared.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let counters = &worker.watch.counters;
    let (scored, failed, bad) = (count(&counters.scored), count(&counters.failed), count(&shared.bad));
    worker
        .watch
        .event(json!({ "event": "queue_empty", "scored": scored, "bad_video": bad, "failed": failed }));
    if !worker.args.quiet {
        eprintln!(
            "visus: the queue is empty: {scored} tasks scored here, {bad} of bad video, {failed} failed attempts, {} jobs of an older plan",
            count(&shared.stale)
        );
    }
    // What failed here was done by somebody, or is among the dead letters.
    Ok(exit_code(0, bad))
}

impl Shared<'_> {
    fn take_until_over(&self, threads: usize) {
        while !self.is_over.load(Ordering::Relaxed) {
            match self.take(threads) {
                Ok(true) => {}
                Ok(false) => self.is_over.store(true, Ordering::Relaxed),
                Err(error) => {
                    *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.is_over.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// One job, if there is one. Whether there may be more.
    fn take(&self, threads: usize) -> Result<bool> {
        let Some(delivery) = self.queue.take(PATIENCE)? else {
            return Ok(self.worker.args.stay || self.queue.left()? > 0);
        };
        self.job(delivery, threads)?;
        self.worker.watch.write_metrics();
        Ok(true)
    }

    fn job(&self, delivery: Delivery, threads: usize) -> Result<()> {
        let Ok(body) = serde_json::from_slice::<Body>(&delivery.body) else {
            self.bury("no job of visus", &delivery, "it cannot be read")?;
            return Ok(delivery.done()?);
        };
        if delivery.attempt > DEATHS {
            self.bury(&body.tasks.join(" "), &delivery, "its workers died again and again")?;
            return Ok(delivery.done()?);
        }
        let mut failed = None;
        for key in &body.tasks {
            match self.task(key, threads)? {
                Ending::Scored => {}
                Ending::Bad(error) => {
                    self.bad.fetch_add(1, Ordering::Relaxed);
                    self.bury(key, &delivery, &error)?;
                }
                Ending::Failed(error) => failed = Some((key.clone(), error)),
            }
        }
        match failed {
            None => Ok(delivery.done()?),
            Some((key, error)) if delivery.attempt >= ATTEMPTS => {
                self.bury(&key, &delivery, &error)?;
                Ok(delivery.done()?)
            }
            Some(_) => {
                let pause = (PAUSE * delivery.attempt.min(60) as u32).min(LONGEST_PAUSE);
                Ok(delivery.again(pause)?)
            }
        }
    }

    /// Scores a task. One that the plan does not know is looked for in what the plan has become, and is else of no use.
    fn task(&self, key: &str, threads: usize) -> Result<Ending> {
        let mut indexed = Arc::clone(&self.plan.lock().unwrap_or_else(PoisonError::into_inner));
        if !indexed.places.contains_key(key) {
            indexed = Indexed::new(read_plan(&self.worker.folder).context("the plan has changed")?);
            *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&indexed);
        }
        let Some(place) = indexed.places.get(key) else {
            self.stale.fetch_add(1, Ordering::Relaxed);
            self.worker.watch.event(json!({ "event": "task_stale", "task": key }));
            return Ok(Ending::Scored);
        };
        Ok(self.worker.task(&indexed.plan, &indexed.plan.tasks[*place], threads))
    }

    /// Puts what cannot be done among the dead letters, where people look for it.
    fn bury(&self, task: &str, delivery: &Delivery, error: &str) -> Result<()> {
        let letter = json!({ "task": task, "error": error, "attempt": delivery.attempt });
        Ok(self.queue.bury(Job { id: task.to_owned(), body: letter.to_string().into_bytes() })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_tasks_share_a_job() {
        let task = |place: usize, cost: f64| Task {
            key: format!("k{place}"),
            pair: place,
            range: None,
            cost,
            shard: 0,
        };
        let tasks: Vec<Task> =
            (0..10).map(|place| task(place, if place == 0 { 60.0 } else { 0.5 })).collect();
        let jobs = jobs(&tasks.iter().collect::<Vec<_>>()).unwrap();
        let keys = |job: &Job| serde_json::from_slice::<Body>(&job.body).unwrap().tasks;
        assert_eq!(jobs[0].id, "k0", "one task gives the job its identity");
        assert_eq!(jobs.iter().map(|job| keys(job).len()).collect::<Vec<_>>(), [1, 4, 4, 1]);
        assert_eq!(jobs.iter().flat_map(keys).count(), 10);
        assert_ne!(jobs[1].id, jobs[2].id);
    }
}
