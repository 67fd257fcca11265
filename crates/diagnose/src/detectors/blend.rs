//! Frames that mix two frames of the reference, as blended rate conversions and crossfades make them.

use super::{Clip, Sign, median};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// Squared levels per cell by which the mixed frames must differ.
const APART: f32 = 0.8;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let motion = &clip.facts[at].motion;
    let usual = clip.usual(at, |facts| facts.motion.own);
    let unusual = motion.own > 1.5 * usual && motion.mixture_distance < 0.55 * motion.own;
    let mixed = motion.mixed_with != 0
        && (0.25..0.87).contains(&motion.share)
        && motion.mixture_apart > APART
        && motion.own > 0.15
        && (motion.mixture_distance < 0.3 * motion.own || unusual);
    let confidence = (1.0 - motion.mixture_distance / motion.own.max(0.01)).clamp(0.5, 1.0);
    mixed.then_some(Sign::new(Kind::Blended, confidence))
}

pub(crate) fn words(frames: &[FrameFacts]) -> String {
    let far = median(frames, |facts| f32::from(facts.motion.mixed_with));
    let share = 100.0 * median(frames, |facts| facts.motion.share);
    let which = if far < 0.0 { "previous" } else { "next" };
    format!("frames are blended: about {share:.0} % of the {which} frame is mixed in (ghosting)")
}
