//! What is done with every frame, and where that is doubtful: made of the cheapest explanation of two videos.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::sync::blends;
use crate::sync::cadence::Cadence;
use crate::sync::fates::{fates, flatten, substitute};
use crate::sync::look::{Look, confidence, median_likeness};
use crate::sync::model::Rival;
use crate::sync::runs::Alternative;
use crate::sync::weigh::{DOUBTFUL, weigh};

/// What becomes of a frame of the distorted video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Scored against this frame of the reference.
    Pair(u32),
    /// Scored against it because of its place; it does not look like it.
    InPlace(u32),
    /// Shows what the reference does not have.
    Extra,
    /// Shows again what was scored.
    Repeat,
}

/// Where the two videos meet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub skip_reference: usize,
    pub skip_distorted: usize,
    /// How much better this offset is than any other near it, 0 to 1.
    pub confidence: f32,
    /// Median likeness of the pairs; `None` if the pictures are too flat to tell.
    pub likeness: Option<f32>,
    /// Pairs that this rests on.
    pub pairs: usize,
    /// Another start explains the pictures nearly as well.
    pub doubtful: bool,
}

/// Another pairing that explains a frame nearly as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The frame of the distorted video.
    pub distorted: u32,
    pub other: Alternative,
}

impl Doubt {
    /// That a frame might as well be left out puts no other picture in its place, and is no doubt.
    fn of(distorted: u32, fate: Fate, rival: &Rival) -> Option<Self> {
        let other = match (fate, rival.place) {
            _ if rival.extra >= DOUBTFUL => return None,
            (Fate::Pair(own) | Fate::InPlace(own), Some(place)) => Alternative::Shift(place - own as i32),
            (Fate::Extra | Fate::Repeat, _) | (_, None) => return None,
        };
        (other != Alternative::Shift(0)).then_some(Self { distorted, other })
    }
}

/// What is known beforehand.
#[derive(Clone, Debug, Default)]
pub struct Prior {
    pub rates: [Option<f64>; 2],
    /// Lengths and times are the same on both sides: nothing was edited, unless the pictures prove it.
    pub agree: bool,
    /// The frames before these were paired with each other already.
    pub going_on: bool,
    /// More frames may follow.
    pub open_ended: bool,
    /// How far the frames of pairs were apart so far (square levels).
    pub noise: Option<f32>,
    /// The frame of the reference that every frame of the distorted video shows by their timestamps, where these are uneven.
    pub times: Option<Arc<[u32]>>,
    /// It is asked whether there is an edit at all; what it is will be found out with more frames.
    pub watching: bool,
}

impl Prior {
    /// Frame rates are the same, as far as they are known.
    pub fn has_one_rate(&self) -> bool {
        let [Some(reference), Some(distorted)] = self.rates else { return true };
        Cadence::of_rates(reference, distorted).is_empty()
    }
}

/// What is done with every frame.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub fates: Vec<Fate>,
    pub doubts: Vec<Doubt>,
    /// After how many frames a conversion of frame rates repeats itself, where there is one.
    period: Option<usize>,
}

/// Pairs at the start that tell how sure the offset is.
const TELLING: usize = 96;

impl Plan {
    /// The plan that explains two videos best; `None` if one of them is empty.
    pub fn find(look: &dyn Look, prior: &Prior) -> Option<Self> {
        let chosen = weigh(look, prior)?;
        let mut states = chosen.states;
        flatten(&mut states);
        let mut fates = fates(&states, &chosen.cadence);
        substitute(&mut fates, look.lengths(), prior.open_ended);
        let doubts = (0..).zip(&fates).zip(&chosen.rivals);
        let doubts = doubts.filter_map(|((distorted, fate), rival)| Doubt::of(distorted, *fate, rival));
        Some(Self { doubts: doubts.collect(), fates, period: chosen.cadence.period() })
    }

    /// Pairs of frames: reference and distorted.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.fates.iter().enumerate().filter_map(|(distorted, fate)| match fate {
            Fate::Pair(reference) | Fate::InPlace(reference) => Some((*reference as usize, distorted)),
            Fate::Extra | Fate::Repeat => None,
        })
    }

    /// Frames of the distorted video that show two neighbouring frames of the reference at once.
    pub fn blends(&self, look: &dyn Look) -> Vec<usize> {
        blends::find(look, &self.pairs().collect::<Vec<_>>(), self.period)
    }

    /// So many frames at the beginning are paired with the ones at the same place.
    pub fn begins_plain(&self, frames: usize) -> bool {
        let plain = |(place, fate): (u32, &Fate)| *fate == Fate::Pair(place) || *fate == Fate::InPlace(place);
        (0..).zip(self.fates.iter().take(frames)).all(plain)
    }

    /// Where the videos meet by this plan; where nothing is paired, at their first frames.
    pub fn start(&self, look: &dyn Look) -> Start {
        let pairs: Vec<(usize, usize)> = self.pairs().take(TELLING).collect();
        let (reference, distorted) = pairs.first().copied().unwrap_or_default();
        Start {
            skip_reference: reference,
            skip_distorted: distorted,
            confidence: confidence(look, &pairs),
            likeness: median_likeness(look, &pairs),
            pairs: pairs.len(),
            doubtful: self.doubts.iter().any(|doubt| doubt.distorted as usize == distorted),
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
