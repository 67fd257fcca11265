//! One bounded table and queue of jobs for all front ends.
//!
//! A job is a piece of blocking work. At most `slots` of them run at a time, each on its own thread. A bounded queue waits
//! behind them; a request that finds it full is refused with the time to come back. A job belongs to its owner, and nobody
//! else sees it. Results and failures are kept for a while within a limit of memory, and the oldest go first.

mod handle;
mod live;
mod progress;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use visus_engine::Cancel;

pub use handle::JobHandle;
pub use live::{Live, News, Seen};
pub use progress::{Context, Progress};

use crate::ToolError;
use crate::config::Limits;
use crate::report::Output;
use table::Shared;

/// Whose request it is. Jobs of one owner are invisible to all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The one at the other end of standard input.
    pub fn local() -> Self {
        Self::new("local")
    }
}

/// Where a job stands.
#[derive(Clone, Debug)]
pub enum Status {
    Queued,
    Running,
    Done(Arc<Output>),
    Failed(ToolError),
    Cancelled,
}

impl Status {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub const fn is_over(&self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A job as a front end sees it.
#[derive(Clone, Debug)]
pub struct View {
    pub id: String,
    pub tool: &'static str,
    pub status: Status,
    pub progress: Progress,
    /// Since it was submitted.
    pub age: Duration,
    /// How long it ran, or has been running.
    pub ran: Option<Duration>,
    /// Until its result is forgotten.
    pub expires_in: Option<Duration>,
}

/// How much is going on, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub queued: usize,
    pub running: usize,
    /// Finished jobs whose results are still kept, and the memory they take.
    pub kept: usize,
    pub kept_bytes: usize,
    /// Pairs of frames scored since the start.
    pub frames_scored: u64,
}

/// The table; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Jobs {
    shared: Arc<Shared>,
}

/// The work of a job, given its [`Context`].
pub type Work = Box<dyn FnOnce(&Context) -> Result<Output, ToolError> + Send>;

impl Jobs {
    pub fn new(limits: Limits) -> Self {
        Self { shared: Arc::new(Shared::new(limits)) }
    }

    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Takes a job, or says when to come back. The work runs on a blocking thread as soon as a slot is free.
    pub fn submit(&self, owner: &Owner, tool: &'static str, work: Work) -> Result<JobHandle, ToolError> {
        table::submit(&self.shared, owner, tool, work)
    }

    pub fn get(&self, owner: &Owner, id: &str) -> Result<View, ToolError> {
        let mut table = self.shared.lock();
        table.forget_old(&self.shared.limits);
        let job = table.find(owner, id).ok_or_else(|| self.unknown(id))?;
        Ok(job.view(id, &self.shared.limits))
    }

    /// All jobs of an owner, oldest first.
    pub fn list(&self, owner: &Owner) -> Vec<View> {
        let mut table = self.shared.lock();
        table.forget_old(&self.shared.limits);
        table.of(owner).map(|(id, job)| job.view(id, &self.shared.limits)).collect()
    }

    /// Ends a job; one that is over stays as it is.
    pub fn cancel(&self, owner: &Owner, id: &str) -> Result<View, ToolError> {
        if self.shared.lock().find(owner, id).is_none() {
            return Err(self.unknown(id));
        }
        table::cancel(&self.shared, id);
        self.get(owner, id)
    }

    /// Waits on a job that was submitted before; dropping this handle does not end the job.
    pub fn watch(&self, owner: &Owner, id: &str) -> Result<JobHandle, ToolError> {
        let table = self.shared.lock();
        let job = table.find(owner, id).ok_or_else(|| self.unknown(id))?;
        let handle = JobHandle::new(id.to_owned(), Arc::clone(&self.shared), job.watcher());
        Ok(handle.detached())
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.shared.lock().counts();
        counts.frames_scored = self.shared.frames.load(std::sync::atomic::Ordering::Relaxed);
        counts
    }

    /// Takes no more jobs; those there are go on.
    pub fn close(&self) {
        self.shared.lock().closed = true;
    }

    /// Returns once no more jobs are taken.
    pub async fn closed(&self) {
        while !self.shared.lock().closed {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ends every job, waiting or running.
    pub fn cancel_all(&self) {
        let ids = self.shared.lock().unfinished();
        ids.iter().for_each(|id| table::cancel(&self.shared, id));
    }

    /// Returns when no job waits or runs, or when the time is over; says whether all is quiet.
    pub async fn idle(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let counts = self.counts();
            if counts.queued + counts.running == 0 {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn unknown(&self, id: &str) -> ToolError {
        ToolError::NoSuchJob { id: crate::error::cleaned(id), kept: self.shared.limits.keep }
    }
}

/// A job as the table holds it.
#[derive(Debug)]
struct Job {
    owner: Owner,
    tool: &'static str,
    state: watch::Sender<State>,
    cancel: Cancel,
    submitted: Instant,
    started: Option<Instant>,
    ended: Option<Instant>,
    /// It was ended because it took too long.
    overdue: bool,
}

/// What watchers of a job see.
#[derive(Clone, Debug)]
struct State {
    status: Status,
    progress: Progress,
    /// What it has found so far.
    live: Arc<Live>,
}

impl Job {
    fn view(&self, id: &str, limits: &Limits) -> View {
        let State { status, progress, .. } = self.state.borrow().clone();
        let end = self.ended.unwrap_or_else(Instant::now);
        View {
            id: id.to_owned(),
            tool: self.tool,
            status,
            progress,
            age: self.submitted.elapsed(),
            ran: self.started.map(|started| end.saturating_duration_since(started)),
            expires_in: self.ended.map(|ended| limits.keep.saturating_sub(ended.elapsed())),
        }
    }

    fn watcher(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn kept_bytes(&self) -> usize {
        match &self.state.borrow().status {
            Status::Done(output) => output.bytes(),
            Status::Failed(error) => size_of::<Self>() + error.to_string().len(),
            _ => 0,
        }
    }
}
