//! What the pictures say: how much worse than the best every likely pair is.
//!
//! Frames of the distorted video are taken in blocks. In each block every frame is compared with all frames of the reference
//! within reach; the offsets that fit the block best, those of its neighbours and those that need no edit are kept as candidates.
//! So memory grows with the number of frames and not with its square.
//!
//! The evidence of one frame is the logarithm of how many times farther a pair is than the nearest that the distorted frame
//! finds. It is free of scale (a coarse encode is judged by its own measure), it is nothing where frames look the same, and it is
//! limited, so that no single frame decides.

use crate::sync::cadence::Cadence;
use crate::sync::lag::Steps;
use crate::sync::look::Look;

/// Frames of a block.
pub const BLOCK: usize = 24;
/// Frames to both sides of the expected place that are looked at; in long videos only near the offset of the block before, but for
/// every so many blocks.
const REACH: i32 = 1200;
const NARROW: i32 = 96;
const SHORT: usize = 3000;
const WIDE_EVERY: usize = 8;
/// Offsets that a block keeps for itself and offers to its neighbours.
const KEPT: usize = 14;
const OFFERED: usize = 6;
/// Distances below this (square levels) are all the same.
pub const FLOOR: f32 = 0.02;
/// The most that one frame says against a pair.
pub const CAP: f32 = 4.0;
/// Evidence per unit of the logarithm.
const WEIGHT: f32 = 3.0;
/// A frame whose nearest is so many times farther than usual shows something else.
const FOREIGN: f32 = 6.0;

/// Candidates of one block: offsets against the cadence, and what every frame says against each.
pub struct Block {
    pub offsets: Vec<i32>,
    /// A row per frame of the block, a column per offset; infinite where there is no such frame.
    pub against: Vec<Vec<f32>>,
}

/// All blocks, and what frames say against being paired at all.
pub struct Evidence {
    pub blocks: Vec<Block>,
    pub foreign: Vec<f32>,
    /// The usual distance of a frame to the nearest.
    pub noise: f32,
}

/// What is asked for beside the pictures.
pub struct Terms<'a> {
    /// How much farther a pair may be (as a logarithm) at no loss.
    pub slack: f32,
    /// Offsets that are candidates everywhere.
    pub always: &'a [i32],
    /// How far pairs were apart so far, if there were any: most of a few frames may show something else.
    pub known: Option<f32>,
    pub steps: &'a Steps,
}

impl Evidence {
    /// The evidence at each of these lags, all by the nearest that a frame finds at any of them, so that they can be compared.
    pub fn at_lags(look: &dyn Look, cadence: &Cadence, lags: &[f32], terms: &Terms<'_>) -> Vec<Self> {
        let (_, distorted) = look.lengths();
        let mut best = Vec::with_capacity(distorted);
        let mut ranked: Vec<Vec<Vec<i32>>> = vec![Vec::new(); lags.len()];
        for from in (0..distorted).step_by(BLOCK) {
            let frames = from..(from + BLOCK).min(distorted);
            let near = ranked.first().and_then(|ranked| ranked.last()?.first().copied());
            let scan = Scan::new(look, cadence, frames.clone(), near);
            let late: Vec<Scan> =
                lags.iter().map(|lag| scan.late(*lag, cadence, from, terms.steps)).collect();
            let nearest = |at: usize| late.iter().map(|scan| least(&scan.rows[at])).fold(f32::MAX, f32::min);
            best.extend((0..frames.len()).map(nearest));
            for (ranked, scan) in ranked.iter_mut().zip(&late) {
                ranked.push(scan.ranked(&best[from..], terms.slack));
            }
        }
        let one =
            |(lag, ranked): (&f32, &Vec<Vec<i32>>)| Self::new(look, cadence, *lag, ranked, &best, terms);
        lags.iter().zip(&ranked).map(one).collect()
    }

    /// `ranked`: the offsets of every block, the fitting ones first. `best`: the distance to the nearest of every frame.
    fn new(
        look: &dyn Look,
        cadence: &Cadence,
        lag: f32,
        ranked: &[Vec<i32>],
        best: &[f32],
        terms: &Terms<'_>,
    ) -> Self {
        let noise = terms.known.map_or(usual(best), |known| known.min(usual(best)));
        let always = [terms.always, &common(ranked)].concat();
        let blocks = (0..ranked.len()).map(|at| {
            let mut offsets: Vec<i32> = always.iter().flat_map(|offset| offset - 2..=offset + 2).collect();
            offsets.extend(ranked[at].iter().take(KEPT));
            for beside in at.saturating_sub(2)..(at + 3).min(ranked.len()) {
                offsets
                    .extend(ranked[beside].iter().take(OFFERED).flat_map(|offset| offset - 1..=offset + 1));
            }
            offsets.sort_unstable();
            offsets.dedup();
            let from = at * BLOCK;
            let best = &best[from..(from + BLOCK).min(best.len())];
            Block::new(look, cadence, (from, best), offsets, lag, terms)
        });
        let foreign = best.iter().map(|best| foreign(*best, noise)).collect();
        Self { blocks: blocks.collect(), foreign, noise }
    }
}

/// The offsets that fit most blocks best.
fn common(ranked: &[Vec<i32>]) -> Vec<i32> {
    const MOST: usize = 5;
    let mut first: Vec<i32> = ranked.iter().filter_map(|offsets| offsets.first().copied()).collect();
    first.sort_unstable();
    let mut counted: Vec<(usize, i32)> =
        first.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
    counted.sort_by(|a, b| b.cmp(a));
    counted.into_iter().take(MOST).map(|(_, offset)| offset).collect()
}

fn foreign(best: f32, noise: f32) -> f32 {
    (WEIGHT * ((best + FLOOR) / (FOREIGN * (noise + FLOOR))).ln()).clamp(0.0, CAP)
}

fn least(row: &[f32]) -> f32 {
    row.iter().copied().fold(f32::MAX, f32::min)
}

/// The value that four in ten stay below.
fn usual(values: &[f32]) -> f32 {
    let mut sorted: Vec<f32> = values.iter().copied().filter(|value| *value < f32::MAX).collect();
    sorted.sort_by(f32::total_cmp);
    sorted.get(sorted.len() * 2 / 5).copied().unwrap_or(0.0)
}

/// What a distance says against a pair, beside the nearest.
pub fn against(distance: f32, best: f32, slack: f32) -> f32 {
    if distance == f32::MAX {
        return f32::INFINITY;
    }
    (WEIGHT * (((distance + FLOOR) / (best + FLOOR)).ln() - slack)).clamp(0.0, CAP)
}

/// How much a frame of the distorted video counts: frames that repeat one of the reference say one thing.
fn weight(cadence: &Cadence) -> f32 {
    match cadence {
        Cadence::Even { above, below, .. } => (*above as f32 / *below as f32).min(1.0),
        Cadence::Timed(_) => 1.0,
    }
}

/// The frame of the reference at an offset, if there is one.
fn place(cadence: &Cadence, frame: usize, offset: i32, reference: usize) -> Option<usize> {
    usize::try_from(cadence.due(frame) as i32 + offset).ok().filter(|at| *at < reference)
}

/// Distances of a block's frames to all frames of the reference within reach.
struct Scan {
    /// Offset of the first column.
    first: i32,
    /// A row per frame of the block.
    rows: Vec<Vec<f32>>,
}

impl Scan {
    fn new(look: &dyn Look, cadence: &Cadence, frames: std::ops::Range<usize>, near: Option<i32>) -> Self {
        let (reference, _) = look.lengths();
        let due = cadence.due(frames.start) as i32;
        let everywhere = reference <= SHORT || (frames.start / BLOCK).is_multiple_of(WIDE_EVERY);
        let (centre, reach) = match near {
            Some(near) if !everywhere => (near, NARROW),
            _ => (0, REACH),
        };
        let first = (centre - reach).max(-due - BLOCK as i32);
        let last = (centre + reach).min(reference as i32 - 1 - due).max(first);
        let distance = |frame: usize, offset: i32| {
            place(cadence, frame, offset, reference).map_or(f32::MAX, |at| look.distance(at, frame))
        };
        let row = |frame: usize| (first..=last).map(|offset| distance(frame, offset)).collect();
        Self { first, rows: frames.map(row).collect() }
    }

    /// The same for pictures that are late.
    fn late(&self, lag: f32, cadence: &Cadence, from: usize, steps: &Steps) -> Self {
        let late = |(row, frame): (&Vec<f32>, usize)| -> Vec<f32> {
            let due = cadence.due(frame) as i32 + self.first;
            let one = |column: usize| {
                let before = column.checked_sub(1).map_or(f32::MAX, |before| row[before]);
                usize::try_from(due + column as i32)
                    .map_or(row[column], |at| steps.late(lag, at, row[column], before))
            };
            (0..row.len()).map(one).collect()
        };
        Self { first: self.first, rows: self.rows.iter().zip(from..).map(late).collect() }
    }

    /// Offsets, the fitting ones first.
    fn ranked(&self, best: &[f32], slack: f32) -> Vec<i32> {
        let width = self.rows.first().map_or(0, Vec::len);
        let each = |column: usize| {
            let rows = self.rows.iter().zip(best);
            rows.map(move |(row, best)| against(row[column], *best, slack).min(2.0 * CAP))
        };
        let mut all: Vec<(f32, i32)> =
            (0..width).map(|column| (each(column).sum(), self.first + column as i32)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.abs().cmp(&b.1.abs())));
        all.into_iter().take(KEPT).map(|(_, offset)| offset).collect()
    }
}

impl Block {
    /// `from` and `best`: the first frame, and the distance to the nearest of this one and those behind it.
    fn new(
        look: &dyn Look,
        cadence: &Cadence,
        (from, best): (usize, &[f32]),
        offsets: Vec<i32>,
        lag: f32,
        terms: &Terms<'_>,
    ) -> Self {
        let (reference, _) = look.lengths();
        let share = weight(cadence);
        let row = |(frame, best): (usize, &f32)| -> Vec<f32> {
            let distance = |offset: i32| {
                place(cadence, frame, offset, reference).map_or(f32::MAX, |at| look.distance(at, frame))
            };
            let plain: Vec<f32> = offsets.iter().map(|offset| distance(*offset)).collect();
            let late = |at: usize| {
                let beside = at > 0 && offsets[at - 1] + 1 == offsets[at];
                let before = match (lag > 0.0, beside) {
                    (true, true) => plain[at - 1],
                    (true, false) => distance(offsets[at] - 1),
                    (false, _) => f32::MAX,
                };
                place(cadence, frame, offsets[at], reference)
                    .map_or(f32::MAX, |place| terms.steps.late(lag, place, plain[at], before))
            };
            let distances: Vec<f32> = (0..offsets.len()).map(late).collect();
            let best = best.min(least(&distances));
            distances.into_iter().map(|distance| share * against(distance, best, terms.slack)).collect()
        };
        let against = (from..).zip(best).map(row).collect();
        Self { offsets, against }
    }
}
