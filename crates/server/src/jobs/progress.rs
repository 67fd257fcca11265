//! How running work reports its progress, and how it learns that it should stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use visus_engine::Cancel;

use super::table::Shared;
use super::{Live, State};

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Steps done: pairs of frames where frames are scored.
    pub done: u64,
    /// Steps in all, where that is known.
    pub total: Option<u64>,
    /// Steps per second since the work began.
    pub per_second: Option<f64>,
    /// Until the end, at this pace.
    pub left: Option<Duration>,
    /// What is being done, in words.
    pub message: String,
}

/// What work is given: its cancel switch, and the means to report progress.
#[derive(Debug)]
pub struct Context {
    pub cancel: Cancel,
    state: watch::Sender<State>,
    /// What the work has found so far.
    pub live: Arc<Live>,
    shared: Arc<Shared>,
    started: Instant,
}

impl Context {
    pub(super) fn new(cancel: Cancel, state: watch::Sender<State>, shared: Arc<Shared>) -> Self {
        let live = Arc::clone(&state.borrow().live);
        Self { cancel, state, live, shared, started: Instant::now() }
    }

    /// Reports progress. Cheap: watchers read it when they like.
    pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<String>) {
        let seconds = self.started.elapsed().as_secs_f64();
        let per_second = (done > 0 && seconds > 0.0).then(|| done as f64 / seconds);
        let left = per_second.zip(total).and_then(|(pace, total)| {
            Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / pace).ok()
        });
        let progress =
            Progress { done, total, per_second, left, message: crate::text::cleaned(&message.into()) };
        self.state.send_modify(|state| state.progress = progress);
    }

    /// Adds to the count of pairs scored since the start.
    pub fn count_frames(&self, frames: u64) {
        self.shared.frames.fetch_add(frames, Ordering::Relaxed);
    }

    /// Since the work began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
