//! One bar over all encodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use visus_engine::{Event, Flow, Sink};

/// An encode counts so many steps, whatever its length.
const STEPS: u64 = 1000;

#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    total: usize,
    finished: Arc<AtomicUsize>,
    frames: Arc<AtomicU64>,
}

impl Progress {
    pub fn new(quiet: bool, total: usize) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(total as u64 * STEPS), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let progress = Self { bar, total, finished: Arc::default(), frames: Arc::default() };
        progress.tell();
        progress
    }

    /// A sink for one encode.
    pub fn row(&self) -> RowProgress {
        RowProgress { all: self.clone(), total: None, steps: 0, frames: 0 }
    }

    /// A word that stays above the bar.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self) {
        let (finished, frames) = (self.finished.load(Ordering::Relaxed), self.frames.load(Ordering::Relaxed));
        let speed = frames as f64 / self.bar.elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!("{finished}/{} encodes  {speed:.1} fps", self.total));
    }
}

/// What one encode adds. Dropped, it has added all its steps.
pub struct RowProgress {
    all: Progress,
    total: Option<u64>,
    steps: u64,
    frames: u64,
}

impl Sink for RowProgress {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match event {
            Event::Started { total, .. } => self.total = total,
            Event::Progress { done } => {
                self.all.frames.fetch_add(done - self.frames, Ordering::Relaxed);
                self.frames = done;
                let steps = self.total.map_or(0, |total| (done * STEPS / total.max(1)).min(STEPS));
                self.all.bar.inc(steps.saturating_sub(self.steps));
                self.steps = self.steps.max(steps);
                self.all.tell();
            }
            _ => {}
        }
        Flow::Continue
    }
}

impl Drop for RowProgress {
    fn drop(&mut self) {
        self.all.bar.inc(STEPS - self.steps);
        self.all.finished.fetch_add(1, Ordering::Relaxed);
        self.all.tell();
    }
}
