//! A picture that is moved or scaled as a whole. Tiles are looked for on every fourth frame; the frames between show it by
//! detail that is there, but in other places.

use super::{Clip, Sign, median};
use crate::finding::Kind;
use crate::geometry::Placement;
use crate::look::FrameFacts;

/// Frames around one in which tiles were found elsewhere.
const NEAR: usize = 4;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    // A frame that was looked at speaks for itself, others as their neighbours if they are as wrong.
    let kind = match facts.placement.checked {
        true => moved(&facts.placement)?,
        false => {
            let alike = |near: &&FrameFacts| {
                facts.error > 0.5 * near.error && facts.across.likeness < near.across.likeness + 0.3
            };
            clip.around(at, NEAR).iter().filter(alike).find_map(|near| moved(&near.placement))?
        }
    };
    Some(Sign::new(kind, 0.9))
}

fn moved(placement: &Placement) -> Option<Kind> {
    let most = placement.checked
        && placement.tiles >= 2
        && 10 * u32::from(placement.moved_tiles) >= 6 * u32::from(placement.tiles)
        && placement.apart < 1.2;
    if !most {
        return None;
    }
    let [x, y] = placement.shift;
    match (placement.scale - 1.0).abs() > 0.006 {
        true => Some(Kind::Scaled),
        false => (x.abs().max(y.abs()) > 0.6).then_some(Kind::Shifted),
    }
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let checked: Vec<FrameFacts> =
        frames.iter().filter(|facts| moved(&facts.placement).is_some()).copied().collect();
    if kind == Kind::Scaled {
        let scale = median(&checked, |facts| facts.placement.scale);
        let how = if scale > 1.0 { "larger" } else { "smaller" };
        return format!("the picture is scaled: it is {how} by {:.1} %", 100.0 * (scale - 1.0).abs());
    }
    let [x, y] = [0, 1].map(|axis| median(&checked, |facts| facts.placement.shift[axis]));
    format!("the picture is shifted by {x:+.0} samples horizontally and {y:+.0} vertically")
}
