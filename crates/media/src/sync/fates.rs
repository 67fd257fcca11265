//! From states to fates: what is done with every frame.
//!
//! A stretch without counterpart on both sides at the same place, of the same length, is a substitution: damage, a logo, a
//! coarse quantiser. It is scored in place. So is a short way to another offset and back, which is what a freeze looks like.

use crate::sync::cadence::Cadence;
use crate::sync::model::State;
use crate::sync::plan::Fate;

/// The longest way to another offset and back that is scored in place.
const EXCURSION: usize = 24;

/// A short way to another offset and back stays where it was.
pub fn flatten(states: &mut [State]) {
    let mut at = 1;
    while at < states.len() {
        let before = states[at - 1];
        if !before.paired || states[at] == before {
            at += 1;
            continue;
        }
        let back = (at + 1..states.len().min(at + EXCURSION)).find(|next| states[*next] == before);
        match back {
            Some(back) => {
                states[at..back].fill(State { paired: false, ..before });
                at = back;
            }
            None => at += 1,
        }
    }
}

/// Of several frames that show one frame of the reference the first is scored.
pub fn fates(states: &[State], cadence: &Cadence) -> Vec<Fate> {
    let mut last = None;
    let mut fate = |(frame, state): (usize, &State)| {
        let place = u32::try_from(cadence.due(frame) as i64 + i64::from(state.offset)).ok();
        match place.filter(|_| state.paired) {
            Some(place) if last.is_none_or(|last| place > last) => {
                last = Some(place);
                Fate::Pair(place)
            }
            Some(_) => Fate::Repeat,
            None => Fate::Extra,
        }
    };
    states.iter().enumerate().map(&mut fate).collect()
}

/// Frames that were left out in equal numbers on both sides at one place are scored in place.
pub fn substitute(fates: &mut [Fate], (reference, distorted): (usize, usize), open_ended: bool) {
    let mut next = 0;
    let mut at = 0;
    while at < fates.len() {
        match fates[at] {
            Fate::Pair(place) | Fate::InPlace(place) => next = place as usize + 1,
            Fate::Extra | Fate::Repeat => {}
        }
        if fates[at] != Fate::Extra {
            at += 1;
            continue;
        }
        let until = (at..fates.len()).find(|frame| fates[*frame] != Fate::Extra).unwrap_or(distorted);
        let (left, follows) = match fates.get(until) {
            Some(Fate::Pair(place) | Fate::InPlace(place)) => (*place as usize - next, true),
            _ => (reference - next.min(reference), false),
        };
        // Where more frames follow, the end of what is seen is not the end of the stretch.
        if left == until - at && (follows || !open_ended) {
            for frame in at..until {
                fates[frame] = Fate::InPlace((next + frame - at) as u32);
            }
        }
        at = until;
    }
}
