//! From the cheapest way to a plan: what is done with every frame, and where that is doubtful.
//!
//! Several hypotheses are weighed as wholes: every frame once, each phase of the cadence that the frame rates suggest, and
//! frames that are dropped or doubled all the time. The one that costs least explains the file.
//!
//! A stretch without counterpart on both sides at the same place, of the same length, is a substitution: damage, a logo, a
//! coarse quantiser. It is scored in place. So is a short way to another offset and back, which is what a freeze looks like.

use serde::{Deserialize, Serialize};

use crate::sync::cadence::Cadence;
use crate::sync::changes::Changes;
use crate::sync::evidence::Evidence;
use crate::sync::findings::Alternative;
use crate::sync::look::{Look, confidence, is_same, median_likeness};
use crate::sync::model::{Model, Prices, Rival, State, Way};

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
}

/// Another pairing that explains a frame nearly as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The frame of the distorted video.
    pub distorted: u32,
    pub other: Alternative,
}

/// What is known beforehand.
#[derive(Clone, Copy, Debug, Default)]
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
}

/// A rival that costs less than this beyond the chosen way makes a frame doubtful.
const DOUBTFUL: f32 = 6.0;
/// How much farther (as a logarithm) a pair may be than the nearest at no loss; and where lengths and times agree.
const SLACK: f32 = 0.05;
const STRICT_SLACK: f32 = 0.8;
/// What it costs to explain videos of different frame rates without a cadence.
const NO_CADENCE: f32 = 6.0;
/// The longest way to another offset and back that is scored in place.
const EXCURSION: usize = 24;
/// A picture is a blend if it is nearer to the mean of two frames than this share of its distance to the nearer one, if these two
/// differ by more than this (square levels), and the nearer one lies farther than this share of that.
const BLEND: f32 = 0.4;
const BLEND_MOTION: f32 = 0.5;
const BLEND_SHARE: f32 = 0.12;
/// Pairs at the start that tell how sure the offset is.
const TELLING: usize = 96;

impl Plan {
    /// The plan that explains two videos best; `None` if one of them is empty.
    pub fn find(look: &dyn Look, prior: &Prior) -> Option<Self> {
        let changes = Changes::new(look);
        let mut best: Option<(f32, Way, Cadence)> = None;
        for (cadence, once) in cadences(prior) {
            for (cost, way) in ways(look, cadence, prior, &changes) {
                if best.as_ref().is_none_or(|(least, ..)| cost + once < *least) {
                    best = Some((cost + once, way, cadence));
                }
            }
        }
        let (_, way, cadence) = best?;
        Some(Self::of_way(&way, cadence, look.lengths(), prior))
    }

    fn of_way(way: &Way, cadence: Cadence, lengths: (usize, usize), prior: &Prior) -> Self {
        let mut states = way.states.clone();
        flatten(&mut states);
        let mut fates = fates(&states, cadence);
        substitute(&mut fates, lengths, prior.open_ended);
        let doubts = (0..).zip(&way.states).zip(&way.rivals);
        // That a frame might as well be left out puts no other picture in its place.
        let other =
            |own: &State, rival: &Rival| rival.extra < DOUBTFUL && (rival.state.paired || !own.paired);
        let doubts =
            doubts.filter(|((_, own), rival)| other(own, rival)).map(|((distorted, own), rival)| Doubt {
                distorted,
                other: match rival.state.paired {
                    true => Alternative::Shift(rival.state.offset - own.offset),
                    false => Alternative::Alone,
                },
            });
        Self { doubts: doubts.collect(), fates }
    }

    /// Pairs of frames: reference and distorted.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.fates.iter().enumerate().filter_map(|(distorted, fate)| match fate {
            Fate::Pair(reference) | Fate::InPlace(reference) => Some((*reference as usize, distorted)),
            Fate::Extra | Fate::Repeat => None,
        })
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
        }
    }
}

impl Plan {
    /// Frames of the distorted video that show two neighbouring frames of the reference at once: blended by a conversion of
    /// frame rates, or interlaced as in telecine.
    pub fn blends(&self, look: &dyn Look) -> Vec<usize> {
        let pairs = self.pairs().filter(|(reference, distorted)| is_blend(look, *reference, *distorted));
        pairs.map(|(_, distorted)| distorted).collect()
    }
}

/// The distance to the mean of two pictures, from the distances to both and between them: it lies on the median of a triangle.
fn to_mean(a: f32, b: f32, between: f32) -> f32 {
    ((a + b) / 2.0 - between / 4.0).max(0.0)
}

fn is_blend(look: &dyn Look, reference: usize, distorted: usize) -> bool {
    let own = look.distance(reference, distorted);
    let others = [reference.checked_sub(1), Some(reference + 1)].into_iter().flatten();
    let mut others = others.filter(|other| *other < look.lengths().0);
    others.any(|other| {
        let between = look.within(0, reference, other);
        let mean = to_mean(own, look.distance(other, distorted), between);
        between > BLEND_MOTION && mean < BLEND * own && own > BLEND_SHARE * between
    })
}

/// Cadences to weigh, and what it costs to assume each.
fn cadences(prior: &Prior) -> Vec<(Cadence, f32)> {
    let [Some(reference), Some(distorted)] = prior.rates else { return vec![(Cadence::PLAIN, 0.0)] };
    let phases = Cadence::of_rates(reference, distorted);
    let plain = if phases.is_empty() { 0.0 } else { NO_CADENCE };
    std::iter::once((Cadence::PLAIN, plain)).chain(phases.into_iter().map(|phase| (phase, 0.0))).collect()
}

/// The cheapest ways with one cadence, and what they cost.
fn ways(look: &dyn Look, cadence: Cadence, prior: &Prior, changes: &Changes) -> Vec<(f32, Way)> {
    let lengths = look.lengths();
    if lengths.0 == 0 || lengths.1 == 0 {
        return Vec::new();
    }
    let slack = if prior.agree { STRICT_SLACK } else { SLACK };
    let same_end = lengths.0 as i32 - 1 - cadence.due(lengths.1 - 1) as i32;
    let evidence = Evidence::new(look, cadence, slack, &[0, same_end], prior.noise);
    let same = |a: i32, b: i32| is_same(look, a, b);
    let solve = |(prices, once): (Prices, f32)| {
        let prices = if prior.going_on { prices.going_on() } else { prices };
        let prices = if prior.open_ended { prices.open_ended() } else { prices };
        let model = Model {
            evidence: &evidence,
            cadence,
            prices,
            lengths,
            going_on: prior.going_on,
            changes,
            same: &same,
        };
        model.solve().map(|way| (way.cost + once, way))
    };
    if prior.agree {
        return solve((Prices::strict(prior.watching), 0.0)).into_iter().collect();
    }
    let regimes = [(Prices::OPEN, 0.0), (Prices::BUSY, Prices::BUSY_ONCE)];
    regimes.into_iter().filter_map(solve).collect()
}

/// A short way to another offset and back stays where it was.
fn flatten(states: &mut [State]) {
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
fn fates(states: &[State], cadence: Cadence) -> Vec<Fate> {
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
fn substitute(fates: &mut [Fate], (reference, distorted): (usize, usize), open_ended: bool) {
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

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
