//! Frames that show another frame of the reference: swapped, too early or late, or the last one once more.
//!
//! The cells' means are compared with those of the frames around. A frame is out of order if another frame of the reference
//! explains it far better than its own, by a distance that motion accounts for. It is frozen if it repeats the frame before
//! while the reference moves on; that the picture then is wrong by just that motion keeps coarse encodes of slow scenes out.

use super::{Clip, Sign, median};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// Squared levels per cell that a frame must be off.
const OFF: f32 = 0.25;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let motion = &clip.facts[at].motion;
    let shows_other = motion.best != 0
        && motion.own > OFF
        && motion.best_apart > OFF
        && motion.best_distance < 0.4 * motion.own
        && motion.own > 0.5 * motion.best_apart;
    let usual = clip.usual(at, |facts| facts.motion.own);
    let confidence = (1.0 - motion.best_distance / motion.own.max(0.01)).clamp(0.5, 1.0);
    (shows_other && motion.own > 2.0 * usual.min(motion.own / 2.1))
        .then_some(Sign::new(Kind::FrameOrder, confidence))
}

/// The picture repeats the one before, and is off by what the reference moved meanwhile.
pub(crate) fn frozen(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    is_frozen(clip, at).then_some(Sign::new(Kind::Frozen, 0.9))
}

fn is_frozen(clip: &Clip<'_>, at: usize) -> bool {
    let motion = &clip.facts[at].motion;
    if !stands_still(&clip.facts[at]) || motion.own < OFF {
        return false;
    }
    // Since when it stands still, and how far the reference moved since.
    let mut start = at;
    while start > 0 && stands_still(&clip.facts[start]) {
        start -= 1;
    }
    let way: f32 = clip.facts[start + 1..=at].iter().map(|facts| facts.motion.moved[0]).sum();
    let before = clip.facts[start].motion.own;
    way > OFF && motion.own > 3.0 * before + 0.3 * OFF && motion.own > 0.4 * way.min(4.0)
}

/// Hardly any change, or what an encoder adds to a picture that it has begun to repeat: that shows an earlier frame far better than
/// its own.
fn stands_still(facts: &FrameFacts) -> bool {
    let motion = &facts.motion;
    let [reference, distorted] = motion.moved;
    let refined = distorted < 0.25 * reference && motion.best < 0 && motion.best_distance < 0.4 * motion.own;
    distorted < 0.01 || distorted < 0.04 * reference || refined
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    if kind == Kind::Frozen {
        return "the picture is frozen: it repeats an earlier frame while the reference moves".to_owned();
    }
    let shown: Vec<i8> = frames.iter().map(|facts| facts.motion.best).filter(|best| *best != 0).collect();
    let both = shown.iter().any(|best| *best > 0) && shown.iter().any(|best| *best < 0);
    let usual = median(frames, |facts| f32::from(facts.motion.best)) as i32;
    match shown.iter().all(|best| i32::from(*best) == usual) && !both {
        true if usual != 0 => {
            let (count, way) = (usual.abs(), if usual > 0 { "later" } else { "earlier" });
            let plural = if count == 1 { "" } else { "s" };
            format!("frames are out of order: they show the reference's picture {count} frame{plural} {way}")
        }
        _ => {
            "frames are out of order (swapped): they show earlier and later pictures of the reference in turn"
                .to_owned()
        }
    }
}
