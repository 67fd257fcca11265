//! Brightness, contrast and gamma, from the line (and its bend) that the levels of the cells follow; blank pictures.
//!
//! VMAF compares structure, not levels: a picture that is darker throughout keeps nearly its whole score. Encoders keep the mean of
//! a picture to a fraction of a level, except in fades, where a coarse encode may show the levels of some frames before; so
//! limits rise with the speed at which the reference fades.

use super::{Clip, Sign, median, sign};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// Levels of 255 by which the mean may differ.
const SHIFT: f32 = 2.0;
/// By how much the factor of contrast may differ from 1.
const GAIN: f32 = 0.06;
/// Levels by which mid-tones may lie off the line.
const BEND: f32 = 1.6;
/// Spread of levels (as a standard deviation) that is needed to tell contrast from brightness.
const SPREAD: f32 = 8.0;

/// The picture is even, and the reference is not.
pub(crate) fn blank(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let even = facts.luma.gain.abs() < 0.04
        && facts.across.energy[1] < 0.3
        && facts.across.energy[0] > 2.0
        && facts.luma.spread > 4.0
        && facts.luma.left < 2.0;
    even.then_some(Sign::new(Kind::Blank, 1.0))
}

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let fit = &facts.luma;
    let late = late(clip, at);
    // What is fitted must outweigh what is left, or the fit means nothing.
    let told = fit.spread > SPREAD && (fit.gain - 1.0).abs() * fit.spread > 0.5 + 0.9 * fit.left + late;
    if told && fit.bend.abs() > BEND && fit.bend.abs() > 0.3 * fit.left {
        return sign(Kind::Gamma, fit.bend.abs(), BEND);
    }
    if told && (fit.gain - 1.0).abs() > GAIN {
        return sign(Kind::Contrast, (fit.gain - 1.0).abs(), GAIN);
    }
    sign(Kind::Brightness, fit.shift.abs(), SHIFT + 0.4 * fit.left + late)
}

/// How far levels may be off because they are those of some frames before, in the direction in which they are off.
fn late(clip: &Clip<'_>, at: usize) -> f32 {
    let shift = clip.facts[at].luma.shift;
    let faded = clip.facts[at.saturating_sub(1)..=at].iter().map(|facts| facts.motion.faded);
    let against = faded.filter(|faded| faded * shift < 0.0).map(f32::abs);
    3.0 * against.fold(0.0, f32::max)
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let shift = median(frames, |facts| facts.luma.shift);
    let gain = median(frames, |facts| facts.luma.gain);
    let side = if shift > 0.0 { "brighter" } else { "darker" };
    match kind {
        Kind::Blank => "blank: the picture is one even colour".to_owned(),
        Kind::Gamma => {
            let bend = median(frames, |facts| facts.luma.bend);
            let (how, way) = if bend > 0.0 { ("raised", "brighter") } else { ("lowered", "darker") };
            format!(
                "gamma: mid-tones are {how} by about {:.0} levels of 255 against dark and bright tones, the picture looks {way}",
                bend.abs().max(1.0)
            )
        }
        Kind::Contrast => {
            let how = if gain < 1.0 { "lower" } else { "higher" };
            let mean = if shift.abs() > 2.0 {
                format!(", and the mean is {side} by {:.0} levels of 255", shift.abs())
            } else {
                String::new()
            };
            format!("contrast is {how}: luma is scaled by {gain:.2}{mean}")
        }
        _ => format!("brightness differs: luma is {side} by {:.1} levels of 255", shift.abs()),
    }
}
