//! Combing: rows of one field come from another frame, so one field is right and the other is not.

use super::{Clip, Sign, blend, median};
use crate::finding::Kind;
use crate::look::FrameFacts;

/// Mean squared error that the wrong field must have.
const ERROR: f32 = 6.0;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let [a, b] = facts.fields;
    let (wrong, right) = (a.max(b), a.min(b));
    let uneven = wrong / right.max(1.0);
    // Rows that alternate raise detail along columns and leave that along rows alone.
    let vertical = facts.down.ratio() / facts.across.ratio();
    let rows = facts.down.added() > wrong;
    let uneven_enough = (uneven > 1.8 && vertical > 1.25) || (uneven > 1.2 && vertical > 2.0);
    // Means of cells cannot tell woven frames from mixed ones, but mixing leaves rows alone.
    let woven = blend::sign_of(clip, at).is_some() && vertical > 1.4 && uneven > 1.5;
    let combed = wrong > ERROR && ((rows && uneven_enough) || woven);
    let confidence = (0.5 + 0.25 * (uneven - 1.8).max(0.0) + 0.25 * (vertical - 1.25)).clamp(0.5, 1.0);
    combed.then_some(Sign::new(Kind::Combing, confidence))
}

pub(crate) fn words(frames: &[FrameFacts]) -> String {
    let even = median(frames, |facts| facts.fields[0]) > median(frames, |facts| facts.fields[1]);
    let which = if even { "even" } else { "odd" };
    format!("combing (interlacing): the {which} rows come from another frame than the rest")
}
