//! Long work beside the interpreter: Ctrl-C and a token cancel it, a callback hears of its progress.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use pyo3::prelude::*;
use serde_json::Value;
use visus_engine::{Event, Flow, Sink};

use crate::failure::Failure;

/// How often the waiting thread looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A callback hears of frames no more often than this.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// Stops work from another thread.
#[pyclass(frozen, module = "visus")]
#[derive(Debug, Default)]
pub struct Cancel(pub visus_engine::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops everything that was started with this token; it stays cancelled.
    fn cancel(&self) {
        self.0.fire();
    }

    /// Whether `cancel()` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_fired()
    }

    fn __repr__(&self) -> String {
        format!("<visus.Cancel cancelled={}>", if self.0.is_fired() { "True" } else { "False" })
    }
}

/// What a callback hears.
#[derive(Debug)]
enum News {
    /// Frames done, and how many there are where that is known.
    Frames(u64, Option<u64>),
    /// Something that a search did.
    Event(Value),
}

/// Where work tells how far it is.
#[derive(Clone, Debug)]
pub struct Progress {
    sender: Sender<News>,
    /// Nobody listens: nothing is sent.
    silent: bool,
}

impl Progress {
    pub fn event(&self, event: Value) {
        if !self.silent {
            let _ = self.sender.send(News::Event(event));
        }
    }

    fn frames(&self, done: u64, total: Option<u64>) {
        if !self.silent {
            let _ = self.sender.send(News::Frames(done, total));
        }
    }

    /// A sink for the engine.
    pub fn sink(&self) -> FrameSink {
        FrameSink { progress: self.clone(), total: None, done: 0, told: None }
    }
}

/// Counts frames for a callback.
#[derive(Debug)]
pub struct FrameSink {
    progress: Progress,
    total: Option<u64>,
    done: u64,
    /// When, and how many there were.
    told: Option<(Instant, u64)>,
}

impl Sink for FrameSink {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match event {
            Event::Started { total, .. } => self.total = total,
            Event::Progress { done } => {
                self.done = done;
                if self.told.is_none_or(|(when, _)| when.elapsed() >= TELL_EVERY) {
                    self.tell();
                }
            }
            _ => {}
        }
        Flow::Continue
    }
}

impl FrameSink {
    fn tell(&mut self) {
        self.told = Some((Instant::now(), self.done));
        self.progress.frames(self.done, self.total);
    }
}

impl Drop for FrameSink {
    /// The last frames, so that a bar reaches its end.
    fn drop(&mut self) {
        if self.told.is_none_or(|(_, done)| done != self.done) {
            self.tell();
        }
    }
}

/// Runs `work` on a thread of its own and waits for it. An exception in the callback or from a signal cancels the work, which
/// has ended when this returns.
pub fn run<T: Send>(
    py: Python<'_>,
    cancel: &visus_engine::Cancel,
    callback: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (sender, news) = unbounded();
    let progress = Progress { sender, silent: callback.is_none() };
    std::thread::scope(|scope| {
        // The thread owns the only sender: the channel closes when the work has ended.
        let thread = scope.spawn(move || work(&progress));
        let waited = wait(py, &news, callback.as_ref());
        if waited.is_err() {
            cancel.fire();
        }
        let result = py.detach(|| thread.join());
        waited?;
        match result {
            Ok(result) => Ok(result?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Until the work has ended.
fn wait(py: Python<'_>, news: &Receiver<News>, callback: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    loop {
        let received = py.detach(|| news.recv_timeout(LOOK_EVERY));
        py.check_signals()?;
        match received {
            Ok(news) => tell(callback, news)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn tell(callback: Option<&Bound<'_, PyAny>>, news: News) -> PyResult<()> {
    let Some(callback) = callback else { return Ok(()) };
    match news {
        News::Frames(done, total) => callback.call1((done, total)),
        News::Event(event) => callback.call1((event.to_string(),)),
    }
    .map(drop)
}
