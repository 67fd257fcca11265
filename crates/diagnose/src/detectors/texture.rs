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

/// Factor of detail of a few samples that is sharpening: encoders lose such detail, and never amplify it.
const CRISPER: f32 = 1.2;
/// Share of the usual detail within cells below which a picture is blurred; variance that cells must have to tell.
const SOFTER: f32 = 0.75;
const WITHIN: f32 = 6.0;

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
    let crisp = facts.middle.gain / contrast(facts);
    if crisp > CRISPER && facts.middle.likeness > 0.6 && facts.middle.energy[0] > 1.0 {
        return sign(Kind::Oversharpened, crisp - 1.0, CRISPER - 1.0);
    }
    if let Some(found) = amplified(clip, at) {
        return Some(found);
    }
    // A patch that holds most of the error is a fault of its own.
    if facts.patch.cells > 3 && facts.patch.share > 0.5 {
        return None;
    }
    let added = facts.across.added().min(facts.down.added());
    let more = facts.across.ratio().max(facts.down.ratio()) / contrast(facts).powi(2);
    let both = facts.across.ratio().min(facts.down.ratio()) > 1.0;
    if both && more > 1.25 && added > WHITE * facts.error && facts.luma.shift.abs() < 2.0 {
        // A coarse encode of very fine detail may look like that for a frame.
        let found = sign(Kind::Noise, added, NOISE);
        return found.map(|sign| Sign { confidence: sign.confidence.min(0.9), ..sign });
    }
    blurred(clip, at)
}

/// Encoders take detail away; frames that suddenly have more of the reference's detail than those around were sharpened, also where
/// what an encoder left of that is below the reference's own.
fn amplified(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let gain = |facts: &FrameFacts| facts.middle.gain;
    let times = gain(facts) / clip.usual(at, gain).max(0.1);
    let more = energy(facts) / clip.usual(at, energy).max(0.1);
    let told = facts.middle.energy[0] > 1.0 && facts.within.energy[0] > WITHIN && facts.within.likeness > 0.8;
    // Never certain: one frame alone is what a key frame looks like.
    let found = Sign { kind: Kind::Oversharpened, confidence: 0.75, strength: more };
    (told && times > 1.2 && more > 1.08 * contrast(facts).powi(2)).then_some(found)
}

/// Energy within cells over the reference's.
pub(crate) fn energy(facts: &FrameFacts) -> f32 {
    facts.within.ratio()
}

/// More detail than the reference has.
pub(crate) fn is_crisp(facts: &FrameFacts) -> bool {
    facts.middle.gain / contrast(facts) > CRISPER || sharpening(facts) > SHARPER
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
    let fine = (enough && ratio(facts) < 0.4 * usual && ratio(facts) < 0.35)
        .then(|| sign(Kind::Blurred, 0.4 * usual / ratio(facts).max(1e-3), 1.0))
        .flatten();
    fine.or_else(|| {
        let usual = clip.usual(at, coarse);
        let plain = facts.within.energy[0] > WITHIN && facts.within.likeness > 0.5;
        plain.then(|| sign(Kind::Blurred, SOFTER * usual / coarse(facts).max(1e-3), 1.0)).flatten()
    })
}

/// Share of the reference's detail within cells that is left, beyond what contrast explains.
pub(crate) fn coarse(facts: &FrameFacts) -> f32 {
    facts.within.gain / contrast(facts)
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let ratio = median(frames, |facts| (facts.across.ratio() + facts.down.ratio()) / 2.0);
    match kind {
        Kind::Oversharpened => {
            let gain = median(frames, |facts| sharpening(facts).max(facts.middle.gain / contrast(facts)));
            format!("oversharpened: fine detail is amplified {gain:.1} times, with halos at edges")
        }
        Kind::Noise => format!(
            "noise was added: fine detail has {:.0} % more energy than the reference's",
            100.0 * (ratio - 1.0)
        ),
        _ => {
            let left = median(frames, |facts| coarse(facts).powi(2)).min(ratio).clamp(0.0, 1.0);
            format!(
                "blurred: {:.0} % of the detail's energy is gone, more than in the frames around",
                100.0 * (1.0 - left)
            )
        }
    }
}
