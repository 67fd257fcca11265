//! The table behind the handles: slots, queue, results.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use visus_engine::Cancel;

use super::{Context, Counts, Job, JobHandle, Owner, Progress, State, Status, Work};
use crate::ToolError;
use crate::config::Limits;

/// What all handles share.
#[derive(Debug)]
pub(super) struct Shared {
    pub limits: Limits,
    pub frames: AtomicU64,
    table: Mutex<Table>,
}

impl Shared {
    pub fn new(limits: Limits) -> Self {
        Self { limits, frames: AtomicU64::new(0), table: Mutex::default() }
    }

    /// Nothing in here can be left half done, so a thread that panicked with the lock does no harm.
    pub fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(super) struct Table {
    jobs: HashMap<String, Job>,
    /// Ids by order of submission.
    order: BTreeMap<u64, String>,
    next: u64,
    queue: VecDeque<Waiting>,
    running: usize,
    /// Somebody looks after the jobs' time limits.
    watched: bool,
    pub closed: bool,
    /// How long jobs took lately, for the advice when to come back.
    pace: Option<Duration>,
}

/// A job in the queue.
struct Waiting {
    id: String,
    work: Work,
    /// Ties what the work logs to the request that asked for it.
    span: tracing::Span,
}

/// A job that has a slot.
struct Begun {
    waiting: Waiting,
    context: Context,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} jobs, {} running, {} queued)", self.jobs.len(), self.running, self.queue.len())
    }
}

/// The time that is advised while nothing is known of how long jobs take.
const FIRST_ADVICE: Duration = Duration::from_secs(5);
const LONGEST_ADVICE: Duration = Duration::from_secs(300);
/// The longest pause between two looks at the jobs' time limits.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Table {
    pub fn find(&self, owner: &Owner, id: &str) -> Option<&Job> {
        self.jobs.get(id).filter(|job| job.owner == *owner)
    }

    pub fn of(&self, owner: &Owner) -> impl Iterator<Item = (&String, &Job)> {
        let in_order = self.order.values().filter_map(|id| Some((id, self.jobs.get(id)?)));
        in_order.filter(move |(_, job)| job.owner == *owner)
    }

    pub fn unfinished(&self) -> Vec<String> {
        let unfinished = |(id, job): (&String, &Job)| job.ended.is_none().then(|| id.clone());
        self.jobs.iter().filter_map(unfinished).collect()
    }

    pub fn counts(&self) -> Counts {
        Counts {
            queued: self.queue.len(),
            running: self.running,
            kept: self.jobs.values().filter(|job| job.ended.is_some()).count(),
            kept_bytes: self.jobs.values().map(Job::kept_bytes).sum(),
            frames_scored: 0,
        }
    }

    /// Drops results that are too old, and the oldest ones beyond the limit of memory. The number of finished jobs is
    /// bounded as well.
    pub fn forget_old(&mut self, limits: &Limits) {
        const MOST_KEPT: usize = 4096;
        let mut bytes = 0;
        let mut kept = 0;
        let mut gone = Vec::new();
        for (number, id) in self.order.iter().rev() {
            let Some(job) = self.jobs.get(id) else { continue };
            let Some(ended) = job.ended else { continue };
            bytes += job.kept_bytes();
            kept += 1;
            if ended.elapsed() >= limits.keep || bytes > limits.result_bytes || kept > MOST_KEPT {
                bytes -= job.kept_bytes();
                gone.push((*number, id.clone()));
            }
        }
        for (number, id) in gone {
            self.order.remove(&number);
            self.jobs.remove(&id);
        }
    }

    fn busy(&self, limits: &Limits) -> ToolError {
        let pace = self.pace.unwrap_or(FIRST_ADVICE);
        // The queue empties at the pace of all slots together; one place is enough.
        let retry_after = (pace / limits.slots.max(1) as u32).clamp(Duration::from_secs(1), LONGEST_ADVICE);
        ToolError::Busy { running: self.running, queued: self.queue.len(), retry_after }
    }

    fn insert(&mut self, owner: &Owner, tool: &'static str) -> (String, watch::Receiver<State>) {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let state = State { status: Status::Queued, progress: Progress::default(), live: Arc::default() };
        let (state, watcher) = watch::channel(state);
        let job = Job {
            owner: owner.clone(),
            tool,
            state,
            cancel: Cancel::new(),
            submitted: Instant::now(),
            started: None,
            ended: None,
            overdue: false,
        };
        self.jobs.insert(id.clone(), job);
        self.order.insert(self.next, id.clone());
        self.next += 1;
        (id, watcher)
    }

    /// Takes back what [`Table::insert`] put in.
    fn remove(&mut self, id: &str) {
        self.jobs.remove(id);
        self.order.retain(|_, known| known != id);
    }

    /// The next job whose owner still wants it, marked as running.
    fn start_next(&mut self, shared: &Arc<Shared>) -> Option<Begun> {
        while let Some(waiting) = self.queue.pop_front() {
            let Some(job) = self.jobs.get_mut(&waiting.id).filter(|job| job.ended.is_none()) else {
                continue;
            };
            job.started = Some(Instant::now());
            job.state.send_modify(|state| state.status = Status::Running);
            let context = Context::new(job.cancel.clone(), job.state.clone(), Arc::clone(shared));
            return Some(Begun { waiting, context });
        }
        None
    }

    /// Ends the jobs that have run for too long, and says when to look again; `None` if nothing runs.
    pub fn end_overdue(&mut self, limits: &Limits) -> Option<Duration> {
        if self.running == 0 {
            self.watched = false;
            return None;
        }
        let mut next = LOOK_EVERY;
        for job in self.jobs.values_mut().filter(|job| job.ended.is_none() && !job.overdue) {
            let Some(started) = job.started else { continue };
            match limits.job.checked_sub(started.elapsed()) {
                Some(left) if !left.is_zero() => next = next.min(left),
                _ => {
                    job.overdue = true;
                    job.cancel.fire();
                }
            }
        }
        Some(next)
    }

    fn finish(&mut self, id: &str, result: Result<crate::report::Output, ToolError>, limits: &Limits) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.ended = Some(Instant::now());
            let ran = job.started.map(|started| started.elapsed());
            self.pace = match (self.pace, ran) {
                (Some(pace), Some(ran)) => Some((pace * 7 + ran) / 8),
                (pace, ran) => ran.or(pace),
            };
            let status = match result {
                Ok(output) => Status::Done(Arc::new(output)),
                Err(ToolError::Cancelled) if job.overdue => {
                    Status::Failed(ToolError::JobTimedOut { limit: limits.job })
                }
                Err(ToolError::Cancelled) => Status::Cancelled,
                Err(error) => Status::Failed(error.bounded()),
            };
            job.state.send_modify(|state| {
                state.status = status;
                state.live = Arc::default();
            });
        }
        self.forget_old(limits);
    }
}

pub(super) fn submit(
    shared: &Arc<Shared>,
    owner: &Owner,
    tool: &'static str,
    work: Work,
) -> Result<JobHandle, ToolError> {
    let mut table = shared.lock();
    table.forget_old(&shared.limits);
    if table.closed {
        return Err(ToolError::Closing);
    }
    let free = table.running < shared.limits.slots;
    if !free && table.queue.len() >= shared.limits.queue {
        return Err(table.busy(&shared.limits));
    }
    let (id, watcher) = table.insert(owner, tool);
    let span = tracing::info_span!("job", job_id = id.as_str(), tool);
    table.queue.push_back(Waiting { id: id.clone(), work, span });
    if free {
        table.running += 1;
        if let Err(error) = start_thread(shared) {
            table.running -= 1;
            table.queue.retain(|waiting| waiting.id != id);
            table.remove(&id);
            return Err(ToolError::Failed(format!("no thread for the work: {error}")));
        }
        watch_over(shared, &mut table);
    }
    drop(table);
    Ok(JobHandle::new(id, Arc::clone(shared), watcher))
}

/// A thread that holds one slot for as long as there is work.
fn start_thread(shared: &Arc<Shared>) -> std::io::Result<()> {
    let shared = Arc::clone(shared);
    let body = move || {
        loop {
            let mut table = shared.lock();
            let Some(Begun { waiting: Waiting { id, work, span }, context }) = table.start_next(&shared)
            else {
                table.running -= 1;
                return;
            };
            drop(table);
            let result = span.in_scope(|| logged(work, &context));
            shared.lock().finish(&id, result, &shared.limits);
        }
    };
    std::thread::Builder::new().name("job".to_owned()).spawn(body).map(drop)
}

/// A thread that ends jobs at their time limit, for as long as any runs. Without one (the system gives no more threads)
/// children are still held by their own limits, and the next job tries again.
fn watch_over(shared: &Arc<Shared>, table: &mut Table) {
    if table.watched {
        return;
    }
    let shared = Arc::clone(shared);
    let body = move || {
        loop {
            let Some(pause) = shared.lock().end_overdue(&shared.limits) else { return };
            std::thread::sleep(pause);
        }
    };
    table.watched = std::thread::Builder::new().name("job limits".to_owned()).spawn(body).is_ok();
}

/// Does the work and says how it ended.
fn logged(work: Work, context: &Context) -> Result<crate::report::Output, ToolError> {
    let result = work_safely(work, context);
    let seconds = context.elapsed().as_secs_f64();
    match &result {
        Ok(_) => tracing::info!(seconds, "job done"),
        Err(ToolError::Cancelled) => tracing::info!(seconds, "job cancelled"),
        Err(error) => tracing::warn!(seconds, %error, "job failed"),
    }
    result
}

/// Work that panics fails; the slot lives on.
fn work_safely(work: Work, context: &Context) -> Result<crate::report::Output, ToolError> {
    let result = catch_unwind(AssertUnwindSafe(|| work(context)));
    result.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(ToolError::Failed(format!("internal error: {words}")))
    })
}

/// Fires the job's switch. One that still waits is over at once; a running one ends itself.
pub(super) fn cancel(shared: &Shared, id: &str) {
    let mut table = shared.lock();
    let Some(job) = table.jobs.get_mut(id).filter(|job| job.ended.is_none()) else { return };
    job.cancel.fire();
    if job.started.is_none() {
        job.ended = Some(Instant::now());
        job.state.send_modify(|state| state.status = Status::Cancelled);
        // Its work goes now: files that it holds open are closed.
        table.queue.retain(|waiting| waiting.id != id);
    }
}
