//! Fine detail: exaggerated edges, added noise, blur. Then [`blocks`](super::blocks) is asked.
//!
//! Second differences of the distorted picture are compared with those of the reference. Sharpening multiplies them, noise
//! adds others, blur removes them. Encoders remove detail too, so blur is said of frames that have far less of it than the
//! frames around them; they hardly ever add any, so the other two are said of any frame.

use super::{Clip, Sign, blocks, median, sign};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// Factor of second differences that is sharpening.
const SHARPER: f32 = 1.15;
/// Energy per sample that is noise.
const NOISE: f32 = 25.0;
/// Energy of second differences over squared error: 6 for white noise, at most 3.4 for what encoders leave (without deblocking).
const WHITE: f32 = 4.0;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    if let Some(found) = blocks::sign_of(clip, at) {
        return Some(found);
    }
    let gain = sharpening(facts);
    let alike = facts.across.likeness.min(facts.down.likeness);
    if gain > SHARPER && alike > 0.6 {
        return sign(Kind::Oversharpened, gain - 1.0, SHARPER - 1.0);
    }
    if amplified(clip, at) {
        return Some(Sign::new(Kind::Oversharpened, 0.75));
    }
    // A patch that holds most of the error is a fault of its own.
    if facts.patch.cells > 3 && facts.patch.share > 0.5 {
        return None;
    }
    let added = facts.across.added().min(facts.down.added());
    let more = facts.across.ratio().max(facts.down.ratio()) / contrast(facts).powi(2);
    let both = facts.across.ratio().min(facts.down.ratio()) > 1.0;
    if both && more > 1.25 && added > WHITE * facts.error && facts.luma.shift.abs() < 2.0 {
        return sign(Kind::Noise, added, NOISE);
    }
    blurred(clip, at)
}

/// Encoders take grain away; frames that suddenly have more of the reference's detail than it has itself were sharpened.
fn amplified(clip: &Clip<'_>, at: usize) -> bool {
    let facts = &clip.facts[at];
    let gain = |facts: &FrameFacts| facts.across.gain.min(facts.down.gain);
    let least = |facts: &FrameFacts| facts.across.ratio().min(facts.down.ratio());
    least(facts) > 1.2
        && least(facts) > 2.0 * clip.usual(at, least)
        && gain(facts) > clip.usual(at, gain) + 0.25
        && facts.error < 3.0 * clip.usual(at, |facts| facts.error)
}

/// By how much second differences were multiplied, beyond what contrast explains.
fn sharpening(facts: &FrameFacts) -> f32 {
    facts.across.gain.min(facts.down.gain) / contrast(facts)
}

fn contrast(facts: &FrameFacts) -> f32 {
    if facts.luma.spread > 8.0 { facts.luma.gain.clamp(0.5, 2.0) } else { 1.0 }
}

/// Share of the detail's energy that is left.
pub(crate) fn ratio(facts: &FrameFacts) -> f32 {
    facts.across.ratio().max(facts.down.ratio())
}

fn blurred(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let usual = clip.usual(at, ratio);
    let enough = facts.across.energy[0].max(facts.down.energy[0]) > 4.0;
    (enough && ratio(facts) < 0.4 * usual && ratio(facts) < 0.35)
        .then(|| sign(Kind::Blurred, 0.4 * usual / ratio(facts).max(1e-3), 1.0))
        .flatten()
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let ratio = median(frames, |facts| (facts.across.ratio() + facts.down.ratio()) / 2.0);
    match kind {
        Kind::Oversharpened => {
            let gain = median(frames, sharpening);
            format!("oversharpened: fine detail is amplified {gain:.1} times, with halos at edges")
        }
        Kind::Noise => format!(
            "noise was added: fine detail has {:.0} % more energy than the reference's",
            100.0 * (ratio - 1.0)
        ),
        _ => format!(
            "blurred: {:.0} % of the fine detail's energy is gone, more than in the frames around",
            100.0 * (1.0 - ratio)
        ),
    }
}
