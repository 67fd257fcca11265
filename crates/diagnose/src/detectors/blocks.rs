//! Blocking and banding: steps at the borders of blocks, and slopes that have become flat steps.
//!
//! Coarse encodes show a little of blocking, so a frame must show far more of it than the frames around. Banding is found where
//! the histogram of levels has peaks that the reference's has not.

use super::{Clip, Sign, median, sign};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// How many times stronger steps at borders of blocks must be.
const STEPS: f32 = 3.5;
/// By how much the histogram may become rougher.
const ROUGH: f32 = 0.25;

pub(crate) fn steps(facts: &FrameFacts) -> f32 {
    facts.blocks[1] / facts.blocks[0].max(0.2)
}

fn peaks(facts: &FrameFacts) -> f32 {
    facts.roughness[1] - facts.roughness[0]
}

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let usual = clip.usual(at, steps);
    if steps(facts) > STEPS * usual.max(1.0) && facts.motion.faded.abs() < 1.0 {
        return sign(Kind::Blocking, steps(facts) / usual.max(1.0), STEPS);
    }
    // A coarse encode of a dark or fading picture has few levels too, but then no detail.
    let kept = facts.across.ratio().max(facts.down.ratio()) > 0.6;
    let steady = facts.motion.faded.abs() < 1.0;
    (kept && steady).then(|| sign(Kind::Banding, peaks(facts), ROUGH)).flatten()
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    match kind {
        Kind::Blocking => {
            let more = 100.0 * (median(frames, steps) - 1.0);
            format!(
                "blocking: steps at the borders of 8x8 blocks are {more:.0} % stronger than in the reference"
            )
        }
        _ => {
            let share = 50.0 * median(frames, |facts| facts.roughness[1]);
            format!(
                "banding (posterisation): slopes have become steps, {share:.0} % of the samples crowd at few levels"
            )
        }
    }
}
