//! What a finished run found.

use std::time::Duration;

use visus_video::Format;

use crate::Scores;
use crate::backend::BackendUsed;
use crate::error::Side;

/// What a finished run or session found.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub format: Format,
    /// The first pair's number in the clip; scores are counted from it. Not 0 in a part of a clip.
    pub first_frame: u64,
    /// Pairs that were scored.
    pub frames: u64,
    pub subsample: u64,
    /// The side that ended first, where the other one went on.
    pub shorter: Option<Side>,
    /// The two inputs are the same, sample for sample.
    pub identical: bool,
    pub scores: Scores,
    pub elapsed: Duration,
    pub backend: BackendUsed,
}

impl Outcome {
    /// Pairs per second.
    pub fn fps(&self) -> f64 {
        self.frames as f64 / self.elapsed.as_secs_f64()
    }
}
