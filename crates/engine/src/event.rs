//! What a run reports while it runs.

use visus_video::Format;

use crate::Scores;

/// Something happened. Frames come in order, each once, when all their scores are known.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Both inputs are open and comparable.
    Started {
        format: Format,
        /// Pairs to score, where the lengths of the inputs are known.
        total: Option<u64>,
    },
    /// A listed frame is complete.
    Frame { index: u64, scores: &'a Scores },
    /// A pair was read and scored, listed or not.
    Progress { done: u64 },
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

/// Receives events, on the thread that called `run` or that uses a session.
pub trait Sink {
    fn event(&mut self, event: Event<'_>) -> Flow;
}

/// Listens to nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Sink for Silent {
    fn event(&mut self, _event: Event<'_>) -> Flow {
        Flow::Continue
    }
}

impl<F: FnMut(Event<'_>) -> Flow> Sink for F {
    fn event(&mut self, event: Event<'_>) -> Flow {
        self(event)
    }
}
