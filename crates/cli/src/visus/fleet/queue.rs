//! Tasks from a work queue of NATS JetStream, in builds with the cargo feature `nats`.
//!
//! A job of the queue carries bundles of tasks: one, or several that are cheap. A worker scores those without a result and
//! confirms the job; results are in the plan's store as ever. So a job that is delivered twice costs a look, and the queue may be
//! lost without a result being lost: `visus plan --queue` fills it again with what is missing. Since the job says all that is to be
//! known of its tasks, a worker reads no more of the plan than its head, however long the list is.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use visus_remote::{Delivery, Job, Queue, QueueSettings};

use super::bundle::{self, Bundle, Head, Plan};
use super::folder::PlanFolder;
use super::score::Scorer;
use super::work::{Worker, exit_code, open_plan};

/// A job has bundles of at most about this many seconds of one core, so that asking for it costs little beside them.
const WORTH: f64 = 2.0;
/// Jobs are so much smaller than the plan that many workers end at about the same time.
const SHARE: f64 = 1.0 / 500.0;
/// The longest job, in bytes; a server of NATS takes messages of a megabyte unless it is told otherwise.
const LONGEST: usize = 500_000;
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
    /// Of the plan that it was made for.
    plan: String,
    bundles: Vec<Bundle>,
}

/// Makes the queue, or opens it. While it has jobs, those of a plan that is made again keep their identities, and none is there
/// twice. The server remembers identities for a while, so once all jobs are gone, new ones need new identities: somebody may have
/// removed results.
pub fn make(address: &str, lease: u32, head: &mut Head, new: &str) -> Result<Queue> {
    let settings = QueueSettings { lease: Duration::from_secs(lease.into()), most_leased: MOST_LEASED };
    let queue = Queue::create(address, settings)?;
    if head.queue.is_none() || queue.left()? == 0 {
        head.queue = Some(new.to_owned());
    }
    Ok(queue)
}

/// Puts all bundles without a result into the queue; how many jobs are new.
pub fn fill(queue: &Queue, folder: &PlanFolder, plan: &Plan) -> Result<usize> {
    let done = folder.done()?;
    let mut bundles: Vec<&Bundle> =
        plan.bundles.iter().filter(|bundle| !done.contains_key(&bundle.key)).collect();
    // The dearest first: nobody should begin with a long one when the others are about to end.
    bundles.sort_by(|one, other| other.cost().total_cmp(&one.cost()));
    Ok(queue.publish(jobs(&plan.head, &bundles)?)?)
}

/// Bundles in jobs of some worth.
fn jobs(head: &Head, bundles: &[&Bundle]) -> Result<Vec<Job>> {
    let total: f64 = bundles.iter().map(|bundle| bundle.cost()).sum();
    let worth = WORTH.min(total * SHARE);
    let mut jobs = Vec::new();
    let (mut group, mut cost, mut bytes) = (Vec::new(), 0.0, 0);
    for bundle in bundles {
        let more = serde_json::to_vec(bundle)?.len();
        if !group.is_empty() && (cost >= worth || bytes + more > LONGEST) {
            jobs.push(job(head, std::mem::take(&mut group))?);
            (cost, bytes) = (0.0, 0);
        }
        (cost, bytes) = (cost + bundle.cost(), bytes + more);
        group.push((*bundle).clone());
    }
    if !group.is_empty() {
        jobs.push(job(head, group)?);
    }
    Ok(jobs)
}

/// The identity of a job is that of its bundles.
fn job(head: &Head, bundles: Vec<Bundle>) -> Result<Job> {
    let keys: Vec<&str> = bundles.iter().map(|bundle| &*bundle.key).collect();
    let begin = head.queue.as_deref().unwrap_or_default();
    let id = bundle::name(&format!("{begin}\n{}", keys.join("\n")));
    Ok(Job { id, body: serde_json::to_vec(&Body { plan: head.id.clone(), bundles })? })
}

/// The plan as far as it matters to jobs.
struct Current {
    id: String,
    scorer: Scorer,
    /// Keys of all bundles; read when a job of another plan comes.
    keys: Option<HashSet<String>>,
}

impl Current {
    fn new(head: &Head) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { id: head.id.clone(), scorer: Scorer::new(head)?, keys: None }))
    }

    /// The plan as it is now, with all keys.
    fn read(folder: &PlanFolder) -> Result<Arc<Self>> {
        let plan = open_plan(folder)?.all()?;
        let keys = plan.bundles.into_iter().map(|bundle| bundle.key).collect();
        Ok(Arc::new(Self { id: plan.head.id.clone(), scorer: Scorer::new(&plan.head)?, keys: Some(keys) }))
    }
}

/// What the threads of a worker share.
struct Shared<'a> {
    worker: &'a Worker<'a>,
    queue: Queue,
    plan: Mutex<Arc<Current>>,
    bad: AtomicUsize,
    /// Jobs of an older plan.
    stale: AtomicUsize,
    is_over: AtomicBool,
    /// What stopped this worker.
    error: Mutex<Option<anyhow::Error>>,
}

/// Works until the queue is empty, or for ever.
pub fn run(worker: &Worker<'_>, head: Head, address: &str) -> Result<ExitCode> {
    let shared = Shared {
        worker,
        queue: Queue::open(address)?,
        plan: Mutex::new(Current::new(&head)?),
        bad: AtomicUsize::new(0),
        stale: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    worker.watch.event(|| json!({ "event": "queue_opened" }));
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
        .event(|| json!({ "event": "queue_empty", "scored": scored, "bad_video": bad, "failed": failed }));
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
        if let Some(delivery) = self.queue.take(PATIENCE)? {
            self.job(delivery, threads)?;
            self.worker.watch.write_metrics();
        }
        Ok(self.worker.args.stay || self.queue.left()? > 0)
    }

    fn job(&self, delivery: Delivery, threads: usize) -> Result<()> {
        let Ok(body) = serde_json::from_slice::<Body>(&delivery.body) else {
            self.bury("no job of visus", &delivery, "it cannot be read")?;
            return Ok(delivery.done()?);
        };
        let named = || body.bundles.iter().map(|bundle| &*bundle.key).collect::<Vec<_>>().join(" ");
        if delivery.attempt > DEATHS {
            self.bury(&named(), &delivery, "its workers died again and again")?;
            return Ok(delivery.done()?);
        }
        let mut failed = None;
        let plan = self.current(&body)?;
        for bundle in &body.bundles {
            if body.plan != plan.id && !plan.keys.as_ref().is_some_and(|keys| keys.contains(&bundle.key)) {
                self.stale.fetch_add(1, Ordering::Relaxed);
                self.worker.watch.event(|| json!({ "event": "task_stale", "task": bundle.key }));
                continue;
            }
            let ending = self.worker.bundle(&plan.scorer, bundle, threads);
            for (place, error) in ending.bad {
                self.bad.fetch_add(1, Ordering::Relaxed);
                self.bury(&format!("{} {place}", bundle.key), &delivery, &error)?;
            }
            failed = ending.failed.map(|error| (bundle.key.clone(), error)).or(failed);
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

    /// The plan that a job is of, if that is still the current one; else the current one with all its keys.
    fn current(&self, body: &Body) -> Result<Arc<Current>> {
        let mut held = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = body.plan == held.id
            || held
                .keys
                .as_ref()
                .is_some_and(|keys| body.bundles.iter().all(|bundle| keys.contains(&bundle.key)));
        if !is_known {
            *held = Current::read(&self.worker.folder).context("the plan has changed")?;
        }
        Ok(Arc::clone(&held))
    }

    /// Puts what cannot be done among the dead letters, where people look for it.
    fn bury(&self, task: &str, delivery: &Delivery, error: &str) -> Result<()> {
        let letter = json!({ "task": task, "error": error, "attempt": delivery.attempt });
        Ok(self.queue.bury(Job { id: task.to_owned(), body: letter.to_string().into_bytes() })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundle::bundles;
    use super::super::bundle::tests::task;
    use super::*;

    #[test]
    fn cheap_bundles_share_a_job() {
        let cost = |place: usize| if place == 0 { 2000.0 } else { 0.5 };
        let tasks = (0..10).map(|place| (format!("k{place}"), task(place, cost(place)))).collect();
        let bundles = bundles(tasks, Vec::new(), 0.25);
        let jobs = jobs(&Head::default(), &bundles.iter().collect::<Vec<_>>()).unwrap();
        let keys = |job: &Job| serde_json::from_slice::<Body>(&job.body).unwrap().bundles;
        assert_eq!(jobs.iter().map(|job| keys(job).len()).collect::<Vec<_>>(), [1, 4, 4, 1]);
        assert_eq!(jobs.iter().flat_map(keys).count(), 10);
        assert_ne!(jobs[1].id, jobs[2].id);
    }

    #[test]
    fn jobs_fit_into_messages() {
        let long = "x".repeat(2000);
        let tasks = (0..1000).map(|place| {
            let mut task = task(place, 0.0001);
            task.distorted["path"] = format!("/{long}/{place}").into();
            (format!("k{place}"), task)
        });
        let bundles = bundles(tasks.collect(), Vec::new(), 10.0);
        let jobs = jobs(&Head::default(), &bundles.iter().collect::<Vec<_>>()).unwrap();
        assert!(jobs.iter().all(|job| job.body.len() < 1_000_000));
    }
}
