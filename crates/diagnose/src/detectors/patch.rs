//! A part of the picture that shows something else: an overlay (logo, caption, box), or damage (lost blocks, noise, pieces of
//! another place).
//!
//! Both are cells whose error no encoder would leave. An overlay stays as it is while the reference moves beneath it, or lets
//! the reference shine through; lost blocks are flat in the colours that decoders fill them with; all else is damage.

use super::{Clip, Sign, median};
use crate::finding::Kind;
use crate::local::Patch;
use crate::look::FrameFacts;

/// Least number of cells.
const CELLS: u32 = 3;
/// Least share of the picture's error.
const SHARE: f32 = 0.25;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let patch = &facts.patch;
    let all = (clip.columns * clip.rows) as u32;
    // Most of the picture is not a part of it.
    if patch.cells < CELLS.max(all / 1500) || patch.wrong > all * 6 / 10 {
        return None;
    }
    // Cells here and there are what a coarse encode leaves; a patch is dense.
    let area = u32::from(patch.to[0] - patch.from[0]) * u32::from(patch.to[1] - patch.from[1]);
    if 100 * patch.cells < 30 * area || 2 * patch.cells < patch.wrong {
        return None;
    }
    // Otherwise the whole picture is wrong, and texture says how.
    if patch.share < SHARE {
        return None;
    }
    let confidence = (0.4 + patch.cells as f32 / 20.0 + patch.error[0] / 60.0).clamp(0.5, 1.0);
    Some(Sign::new(Kind::Damage, confidence))
}

/// Which of the two a run of frames shows.
pub(crate) fn kind(frames: &[FrameFacts]) -> Kind {
    let figure = |of: fn(&FrameFacts) -> f32| median(frames, of);
    let flat = figure(|facts| facts.patch.texture[1]) < 4.0;
    if flat && 2 * frames.iter().filter(|facts| lost(&facts.patch)).count() > frames.len() {
        return Kind::Damage;
    }
    // The first frame moves because the patch appears.
    let moved = |side: usize| {
        frames.iter().skip(1).map(|facts| facts.motion.patch_moved[side]).sum::<f32>()
            / (frames.len().max(2) - 1) as f32
    };
    let [reference, distorted] = [moved(0), moved(1)];
    let stays = reference > 1.0 && distorted < 0.65 * reference;
    let shines = figure(|facts| facts.patch.likeness) > 0.75;
    let steady = reference <= 1.0 && distorted < 1.5;
    if flat || stays || shines || steady { Kind::Overlay } else { Kind::Damage }
}

/// Colours that decoders leave in lost blocks: green (all zero), grey, black.
fn lost(patch: &Patch) -> bool {
    let [luma, cb, cr] = patch.colour;
    let green = cb < -12.0 && cr < -12.0;
    let neutral = cb.abs() < 6.0 && cr.abs() < 6.0;
    green || (neutral && (luma < 24.0 || (120.0..136.0).contains(&luma)))
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let error = median(frames, |facts| facts.patch.error[0]);
    if kind == Kind::Overlay {
        return "an overlay (logo, caption or box) that the reference does not have".to_owned();
    }
    let flat = median(frames, |facts| facts.patch.texture[1]) < 4.0;
    let green = median(frames, |facts| facts.patch.colour[1].max(facts.patch.colour[2])) < -12.0;
    match (flat, green) {
        (true, true) => "damage: green blocks, as lost data leave them".to_owned(),
        (true, false) => "damage: flat blocks where the reference has a picture".to_owned(),
        _ => format!("damage in a part of the picture: its error is {error:.0} levels of 255"),
    }
}
