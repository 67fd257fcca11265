//! How a run is done.

use std::sync::Arc;

use crate::Plan;
use crate::backend::Backend;
use crate::error::EngineError;
use crate::observe::PairObserver;
use crate::span::Span;

/// How a run or a session is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workers. 0 is the caller's own thread in a session, and 1 in a run.
    pub threads: usize,
    /// List every n-th frame only.
    pub subsample: u64,
    /// Which pairs are scored.
    pub range: FrameRange,
    /// Frames of the reference to skip before the first pair. Without meaning in a session, whose caller has the frames.
    pub skip_reference: u64,
    /// The same for the distorted video.
    pub skip_distorted: u64,
    pub backend: Backend,
    /// Sees every pair that a CPU worker measures. Where a device computes, nobody calls it.
    pub observer: Option<Arc<dyn PairObserver>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            subsample: 1,
            range: FrameRange::All,
            skip_reference: 0,
            skip_distorted: 0,
            backend: Backend::default(),
            observer: None,
        }
    }
}

/// Which pairs of a clip are scored. They are counted from the first that both inputs have after their skips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameRange {
    #[default]
    All,
    /// The first so many, as if the clip ended there.
    First(u64),
    /// From one pair up to, not including, another, with the scores that a run over the whole clip gives them: pairs
    /// around the part are read as far as metrics look at them.
    Part { from: u64, to: Option<u64> },
}

/// A limit, if there is one.
impl From<Option<u64>> for FrameRange {
    fn from(limit: Option<u64>) -> Self {
        limit.map_or(Self::All, Self::First)
    }
}

impl Settings {
    pub(crate) fn step(&self) -> u64 {
        self.subsample.max(1)
    }

    /// The pairs that are scored and those that are read around them.
    pub(crate) fn span(&self, plan: &Plan) -> Result<Span, EngineError> {
        match self.range {
            FrameRange::All => Ok(Span::first(None)),
            FrameRange::First(limit) => Ok(Span::first(Some(limit))),
            FrameRange::Part { from, to: Some(to) } if to <= from => Err(EngineError::EmptyPart { from, to }),
            FrameRange::Part { from, .. } if !from.is_multiple_of(self.step()) => {
                Err(EngineError::UnlistedStart { from, step: self.step() })
            }
            FrameRange::Part { from, to } => {
                let observed = self.observer.as_ref().map_or(0, |observer| observer.reach());
                Ok(Span::part(plan, observed, from, to))
            }
        }
    }
}
