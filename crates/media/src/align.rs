//! Which frames of two streams belong together: an alignment of signatures, as sequences are aligned in biology.
//!
//! A pair of frames earns points if its signatures are as near as those of other pairs, and loses points if not; leaving
//! a frame out costs points, less so if it merely repeats the one before. The best way through a window of both streams
//! is found by dynamic programming with affine gaps (Gotoh 1982). At the start of the files the way may begin anywhere,
//! which gives the offset; later it begins where the last one ended.
//!
//! A pair's distance is measured against the best that its distorted frame finds within the window, so that a coarse
//! encode is judged by its own measure; the cap keeps a burst of damage from looking like a cut.

use std::collections::VecDeque;

use crate::signature::Signature;

/// Points for a perfect pair, and the most that a distance takes away.
const REWARD: f32 = 4.0;
const CAP: f32 = 8.0;
/// Distances below this (square levels) are all the same: 0.1 levels in every cell.
const FLOOR: f32 = 0.01;
/// A pair may be farther than the best by this share of it without a loss: an encoder that saves bits shows a slow scene a little
/// late, frame after frame, and such hints must not add up to a gap.
const SLACK: f32 = 0.5;
/// A frame repeats the one before if it differs from it by less than this share of what frames in motion differ by; what an
/// encoder does to a repeated frame lies within these bounds.
const COPY: f32 = 0.1;
const COPY_BOUNDS: (f32, f32) = (0.004, 1.0);
/// A frame whose best counterpart is so many times worse than usual has none.
const FOREIGN: f32 = 8.0;
/// Streams begin together unless another offset brings them closer than by this factor: a still scene tells no offset.
const AS_GOOD: f32 = 1.02;
/// A start below this confidence is none that can be relied on.
pub(crate) const CERTAIN: f32 = 0.4;
/// Where a start is not certain, one offset for all frames is likelier than gaps that bring them closer by no more than this.
const NEARLY: f32 = 1.3;
/// A pair that loses fewer points than this against another fits as well.
const FITS: f32 = 1.0;
/// Fewer frames than this, or than a third of a window, tell no offset.
const TELLING: usize = 8;
/// How far around a pair the re-check looks.
const LOOK: usize = 25;

/// Costs of leaving frames out: the first of a row, and each further one.
#[derive(Clone, Copy, Debug)]
struct Gap {
    open: f32,
    more: f32,
}

const RARE: Gap = Gap { open: 2.5, more: 1.0 };
/// Where the frame rates differ, frames are missing all the time.
const EXPECTED: Gap = Gap { open: 1.0, more: 0.75 };
const REPEATED: Gap = Gap { open: 0.2, more: 0.1 };
/// Of several equal frames it is the first that counts, although an encoder may have made a later one better.
const REPEATED_LATER: Gap = Gap { open: 8.0, more: 8.0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Pair,
    /// A frame of the reference has no counterpart.
    Missing,
    /// A frame of the distorted video has none.
    Extra,
}

/// What is to be done with the first frames of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Pair,
    /// The two stand at the same place but do not look alike, as in a freeze.
    InPlace,
    Missing,
    Extra,
}

/// Where the two streams meet.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// How surely a pair belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Sure,
    /// Neighbours would fit as well.
    Unclear,
    /// A neighbour would fit better.
    Contradicted,
}

#[derive(Debug)]
struct Entry {
    signature: Signature,
    /// How far it is from the frame before it, brightness included.
    step: f32,
}

/// A window of both streams and the distances between its frames.
#[derive(Debug)]
pub struct Aligner {
    reference: VecDeque<Entry>,
    distorted: VecDeque<Entry>,
    /// A row per frame of the reference.
    distances: VecDeque<VecDeque<f32>>,
    missing: Gap,
    extra: Gap,
    /// Below this a frame repeats the one before.
    copy_limit: f32,
}

impl Aligner {
    /// `rates` are the frame rates of both, as far as they are known.
    pub fn new(rates: [Option<f64>; 2]) -> Self {
        let ratio = rates[0].zip(rates[1]).map_or(1.0, |(reference, distorted)| reference / distorted);
        let cost = |expected: bool| if expected { EXPECTED } else { RARE };
        Self {
            reference: VecDeque::new(),
            distorted: VecDeque::new(),
            distances: VecDeque::new(),
            missing: cost(ratio > 1.01),
            extra: cost(ratio < 0.99),
            copy_limit: COPY_BOUNDS.0,
        }
    }

    pub fn lengths(&self) -> (usize, usize) {
        (self.reference.len(), self.distorted.len())
    }

    /// Adds a frame of the reference (0) or of the distorted video (1).
    pub fn push(&mut self, side: usize, signature: Signature) {
        if side == 0 { self.push_reference(signature) } else { self.push_distorted(signature) }
    }

    pub fn push_reference(&mut self, signature: Signature) {
        self.distances
            .push_back(self.distorted.iter().map(|entry| signature.distance(&entry.signature)).collect());
        self.reference.push_back(entry(signature, self.reference.back()));
    }

    pub fn push_distorted(&mut self, signature: Signature) {
        for (row, entry) in self.distances.iter_mut().zip(&self.reference) {
            row.push_back(entry.signature.distance(&signature));
        }
        self.distorted.push_back(entry(signature, self.distorted.back()));
    }

    pub fn pop_reference(&mut self) -> Option<Signature> {
        self.distances.pop_front();
        self.reference.pop_front().map(|entry| entry.signature)
    }

    pub fn pop_distorted(&mut self) -> Option<Signature> {
        self.distances.iter_mut().for_each(|row| {
            row.pop_front();
        });
        self.distorted.pop_front().map(|entry| entry.signature)
    }

    /// The first two frames of the window.
    pub fn front(&self) -> Option<(&Signature, &Signature)> {
        Some((&self.reference.front()?.signature, &self.distorted.front()?.signature))
    }

    /// The frame at the front of the reference, or of the distorted video, repeats the one before.
    pub fn front_is_copy(&self, distorted: bool) -> bool {
        let side = if distorted { &self.distorted } else { &self.reference };
        let limit = self.copy_limit;
        side.front().is_some_and(|entry| entry.step < limit)
    }

    /// Learns what motion looks like, if there is enough to see.
    fn learn_copy_limit(&mut self) {
        const ENOUGH: usize = 12;
        let mut steps: Vec<f32> = self
            .reference
            .iter()
            .chain(&self.distorted)
            .map(|entry| entry.step)
            .filter(|step| step.is_finite())
            .collect();
        steps.sort_by(f32::total_cmp);
        let moving = steps.get(steps.len() * 3 / 4).copied().unwrap_or(0.0);
        if steps.len() >= ENOUGH {
            self.copy_limit = (COPY * moving).clamp(COPY_BOUNDS.0, COPY_BOUNDS.1);
        }
    }

    /// The best way from the beginning of both streams; `None` if a stream is empty.
    pub fn start(&mut self) -> Option<Start> {
        self.learn_copy_limit();
        let (a, b) = self.lengths();
        if a == 0 || b == 0 {
            return None;
        }
        let (mut i, mut j, mut ops) = self.best_way(true);
        self.begin_with_first_copies(&mut i, &mut j, &mut ops);
        let common = i.min(j);
        let skips = (i - common, j - common);
        let mut pairs = Vec::new();
        for op in ops {
            if op == Op::Pair {
                pairs.push((i, j));
            }
            i += usize::from(op != Op::Extra);
            j += usize::from(op != Op::Missing);
        }
        let found = self.begin(skips, &pairs);
        if found.confidence > CERTAIN {
            return Some(found);
        }
        let steady = self.steady();
        let nearly = self.mean_distance(&steady) <= NEARLY * self.mean_distance(&pairs);
        if nearly { steady.first().map(|first| self.begin(*first, &steady)) } else { Some(found) }
    }

    /// What is known of a start after so many frames, by the pairs that it leads to.
    fn begin(&self, (skip_reference, skip_distorted): (usize, usize), pairs: &[(usize, usize)]) -> Start {
        let mut likeness: Vec<f32> = pairs
            .iter()
            .filter_map(|(i, j)| self.reference[*i].signature.likeness(&self.distorted[*j].signature))
            .collect();
        likeness.sort_by(f32::total_cmp);
        Start {
            skip_reference,
            skip_distorted,
            confidence: self.confidence(pairs),
            likeness: likeness.get(likeness.len() / 2).copied(),
            pairs: pairs.len(),
        }
    }

    /// The pairs of the one offset that brings all frames closest. What counts is how much closer both frames of a pair find
    /// others: that some are coded better than others says nothing of the offset.
    fn steady(&self) -> Vec<(usize, usize)> {
        let (a, b) = self.lengths();
        let (row_best, column_best) = self.bests();
        let excess = |pairs: &[(usize, usize)]| {
            let of = |(i, j): &(usize, usize)| self.distances[*i][*j] - row_best[*i].max(column_best[*j]);
            FLOOR
                + pairs.iter().map(of).map(|excess| excess.max(0.0)).sum::<f32>() / pairs.len().max(1) as f32
        };
        let least = (a.min(b) / 3).max(TELLING).min(a.min(b));
        let shifted =
            |skips: (usize, usize)| -> Vec<(usize, usize)> { (skips.0..a).zip(skips.1..b).collect() };
        let mut best = (shifted((0, 0)), excess(&shifted((0, 0))) / AS_GOOD);
        let skips = (1..=a - least).map(|skip| (skip, 0)).chain((1..=b - least).map(|skip| (0, skip)));
        for pairs in skips.map(shifted) {
            let farther = excess(&pairs);
            if farther < best.1 {
                best = (pairs, farther);
            }
        }
        best.0
    }

    fn mean_distance(&self, pairs: &[(usize, usize)]) -> f32 {
        let sum: f32 = pairs.iter().map(|(i, j)| self.distances[*i][*j].max(FLOOR)).sum();
        sum / pairs.len().max(1) as f32
    }

    /// Where one side shows each picture several times, the first of them begins.
    fn begin_with_first_copies(&self, i: &mut usize, j: &mut usize, ops: &mut Vec<Op>) {
        let limit = self.copy_limit;
        while self.extra.open == EXPECTED.open && *i == 0 && *j > 0 && self.distorted[*j].step < limit {
            *j -= 1;
            ops.insert(ops.len().min(1), Op::Extra);
        }
        while self.missing.open == EXPECTED.open && *j == 0 && *i > 0 && self.reference[*i].step < limit {
            *i -= 1;
            ops.insert(ops.len().min(1), Op::Missing);
        }
    }

    /// The median straight line from reference to distorted brightness over the first pairs.
    pub fn brightness(&self) -> Option<(f32, f32)> {
        let (a, b) = self.lengths();
        let mut lines: Vec<(f32, f32)> = (0..a.min(b))
            .filter_map(|at| self.reference[at].signature.line_to(&self.distorted[at].signature))
            .collect();
        lines.sort_by(|a, b| a.0.total_cmp(&b.0));
        lines.get(lines.len() / 2).copied()
    }

    /// What to do with the frames at the front. At most `most` pairs, unless both streams have `ended`; never half of a
    /// gap.
    pub fn steps(&mut self, most: usize, ended: bool) -> Vec<Step> {
        self.learn_copy_limit();
        let (_, _, ops) = self.best_way(false);
        let mut steps = Vec::new();
        let (mut pairs, mut at) = (0, 0);
        while at < ops.len() && (ended || pairs < most) {
            if ops[at] == Op::Pair {
                steps.push(Step::Pair);
                (pairs, at) = (pairs + 1, at + 1);
                continue;
            }
            let run = ops[at..].iter().take_while(|op| **op != Op::Pair).count();
            let at_end = at + run == ops.len();
            if at_end && !ended {
                break;
            }
            let gap = &ops[at..at + run];
            let (missing, extra) = self.count_gap(gap, at_end.then_some(&ops[..]));
            push_gap(&mut steps, missing, extra);
            at += run;
        }
        if steps.is_empty() {
            // The way begins with a gap that the window does not show the end of: the streams are kept in step.
            steps.push(Step::InPlace);
        }
        steps
    }

    /// Frames left out on both sides. At the end of the streams, what the way did not reach counts as well, as far as
    /// the other side has something to stand beside it.
    fn count_gap(&self, gap: &[Op], whole: Option<&[Op]>) -> (usize, usize) {
        let count = |ops: &[Op], wanted: &[Op]| ops.iter().filter(|op| wanted.contains(op)).count();
        let (mut missing, mut extra) = (count(gap, &[Op::Missing]), count(gap, &[Op::Extra]));
        if let Some(whole) = whole {
            let (a, b) = self.lengths();
            let rest_reference = a - count(whole, &[Op::Pair, Op::Missing]);
            let rest_distorted = b - count(whole, &[Op::Pair, Op::Extra]);
            let beside = extra.saturating_sub(missing).min(rest_reference);
            let below = missing.saturating_sub(extra).min(rest_distorted);
            (missing, extra) = (missing + beside, extra + below);
        }
        (missing, extra)
    }

    /// Whether the pair at the front is better than its neighbours in the window.
    pub fn check_front(&self) -> Check {
        let Some(row) = self.distances.front() else { return Check::Unclear };
        let own = row.front().map_or(f32::MAX, |distance| distance.max(FLOOR));
        let limit = self.copy_limit;
        let beyond_copies =
            |side: &VecDeque<Entry>| side.iter().skip(1).take_while(|entry| entry.step < limit).count() + 1;
        // While the reference stands still, later frames of the other show the same, better or worse coded.
        let still = beyond_copies(&self.reference);
        let ahead = row.iter().skip(still.max(beyond_copies(&self.distorted))).take(LOOK).copied();
        let below = self.distances.iter().skip(still).take(LOOK).map(|row| row[0]);
        let other = ahead.chain(below).fold(f32::MAX, f32::min).max(FLOOR);
        if own * 2.0 <= other {
            Check::Sure
        } else if other * 2.0 < own {
            Check::Contradicted
        } else {
            Check::Unclear
        }
    }

    /// The distance from every frame of the reference, and of the other, to the nearest that it finds.
    fn bests(&self) -> (Vec<f32>, Vec<f32>) {
        let least = |values: &mut dyn Iterator<Item = f32>| values.fold(f32::MAX, f32::min);
        let rows = self.distances.iter().map(|row| least(&mut row.iter().copied())).collect();
        let column = |j: usize| least(&mut self.distances.iter().map(|row| row[j]));
        (rows, (0..self.lengths().1).map(column).collect())
    }

    /// Points of every pair. What counts is how much farther a pair is than the best that its distorted frame finds, in
    /// units of what its encoder does to it: so a coarse frame in a still scene is no evidence of anything. A distorted frame
    /// that finds nothing like it is judged by what the frame of the reference finds.
    fn points(&self) -> Vec<Vec<f32>> {
        let (a, b) = self.lengths();
        let (row_best, column_best) = self.bests();
        // Frames whose counterparts lie outside the window say nothing about the encoder; they may be most of one side.
        let noise = third(&column_best).min(third(&row_best)).max(FLOOR);
        let points = |i: usize, j: usize| {
            let distance = self.distances[i][j];
            let foreign =
                if column_best[j] > FOREIGN * noise { (distance - row_best[i]) / noise } else { 0.0 };
            let excess = (distance - column_best[j]) / column_best[j].max(noise);
            REWARD - (1.0 + (excess.max(foreign) - SLACK).max(0.0)).min(CAP)
        };
        (0..a).map(|i| (0..b).map(|j| points(i, j)).collect()).collect()
    }

    /// The best way through the window: where it begins and what it does. With `anywhere` it begins where it likes; it ends
    /// where one of the two is used up.
    fn best_way(&self, anywhere: bool) -> (usize, usize, Vec<Op>) {
        let points = self.points();
        let mut table = Table::new(self.lengths());
        let limit = self.copy_limit;
        let (a, b) = self.lengths();
        for i in 0..=a {
            for j in 0..=b {
                if i > 0 && j > 0 {
                    table.pair(i, j, points[i - 1][j - 1], anywhere);
                }
                if i > 0 {
                    let gap = gap_at(&self.reference, i - 1, limit, self.missing);
                    table.gap(i, j, Op::Missing, gap);
                }
                if j > 0 {
                    let gap = gap_at(&self.distorted, j - 1, limit, self.extra);
                    table.gap(i, j, Op::Extra, gap);
                }
            }
        }
        let (i, j, mut ops) = table.trace_back();
        self.leave_out_the_later((i, j), &mut ops, &points);
        (i, j, ops)
    }

    /// Of two frames that show the same, the later one is extra, also where it is coded so much better that it would fit as
    /// well or better than the other.
    fn leave_out_the_later(&self, (mut i, mut j): (usize, usize), ops: &mut [Op], points: &[Vec<f32>]) {
        for at in 0..ops.len() {
            let single = ops[at] == Op::Extra && ops.get(at + 1) == Some(&Op::Pair);
            if single && self.distorted[j + 1].step < self.distorted[j].step {
                let (earlier, later) = (points[i][j], points[i][j + 1]);
                if earlier + FITS > later {
                    ops.swap(at, at + 1);
                }
            }
            i += usize::from(ops[at] != Op::Extra);
            j += usize::from(ops[at] != Op::Missing);
        }
    }

    /// How much worse the nearest other offset would be. Frames that repeat the paired one are no other offset.
    fn confidence(&self, pairs: &[(usize, usize)]) -> f32 {
        let limit = self.copy_limit;
        let copies_between =
            |a: usize, b: usize| (a.min(b) + 1..=a.max(b)).all(|at| self.distorted[at].step < limit);
        let mut worst: Option<f32> = None;
        for shift in (-(LOOK as i64)..=LOOK as i64).filter(|shift| *shift != 0) {
            let (mut own, mut other, mut count) = (0.0, 0.0, 0);
            for (i, j) in pairs {
                let Ok(shifted) = usize::try_from(*j as i64 + shift) else { continue };
                if shifted < self.distorted.len() && !copies_between(*j, shifted) {
                    own += self.distances[*i][*j] + FLOOR;
                    other += self.distances[*i][shifted] + FLOOR;
                    count += 1;
                }
            }
            if count >= 3.max(pairs.len() / 4) {
                worst = Some(worst.unwrap_or(0.0).max(own / other));
            }
        }
        worst.map_or(0.0, |worst| (1.0 - worst).clamp(0.0, 1.0))
    }
}

/// What it costs to leave out a frame.
fn gap_at(side: &VecDeque<Entry>, at: usize, limit: f32, otherwise: Gap) -> Gap {
    let repeats = |at: usize| side.get(at).is_some_and(|entry| entry.step < limit);
    match (repeats(at), repeats(at + 1)) {
        (true, _) => REPEATED,
        (false, true) => REPEATED_LATER,
        (false, false) => otherwise,
    }
}

fn entry(signature: Signature, before: Option<&Entry>) -> Entry {
    let step = before.map_or(f32::INFINITY, |before| {
        let shift = before.signature.mean - signature.mean;
        before.signature.distance(&signature) + shift * shift
    });
    Entry { signature, step }
}

/// Frames left out on both sides at one place stand beside each other; the rest is a gap.
fn push_gap(steps: &mut Vec<Step>, missing: usize, extra: usize) {
    let beside = missing.min(extra);
    steps.extend(std::iter::repeat_n(Step::InPlace, beside));
    steps.extend(std::iter::repeat_n(Step::Missing, missing - beside));
    steps.extend(std::iter::repeat_n(Step::Extra, extra - beside));
}

/// The value that a third of all stay below.
fn third(values: &[f32]) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    sorted.get(sorted.len() / 3).copied().unwrap_or(FLOOR)
}

const LAYERS: [Op; 3] = [Op::Pair, Op::Missing, Op::Extra];
/// Stands for "the way begins here".
const BEGIN: u8 = 3;

/// Best points per cell and last step, and the last step before that.
struct Table {
    columns: usize,
    lengths: (usize, usize),
    best: Vec<[f32; 3]>,
    from: Vec<[u8; 3]>,
}

impl Table {
    fn new(lengths: (usize, usize)) -> Self {
        let cells = (lengths.0 + 1) * (lengths.1 + 1);
        let mut best = vec![[f32::NEG_INFINITY; 3]; cells];
        best[0][0] = 0.0;
        Self { columns: lengths.1 + 1, lengths, best, from: vec![[BEGIN; 3]; cells] }
    }

    fn pair(&mut self, i: usize, j: usize, points: f32, anywhere: bool) {
        let before = self.best[(i - 1) * self.columns + j - 1];
        let (mut best, mut from) = highest(before);
        if anywhere && best <= 0.0 {
            (best, from) = (0.0, BEGIN);
        }
        let cell = i * self.columns + j;
        self.best[cell][0] = best + points;
        self.from[cell][0] = from;
    }

    fn gap(&mut self, i: usize, j: usize, op: Op, gap: Gap) {
        let layer = if op == Op::Missing { 1 } else { 2 };
        let before = if op == Op::Missing { (i - 1) * self.columns + j } else { i * self.columns + j - 1 };
        let mut costs = [gap.open; 3];
        costs[layer] = gap.more;
        let reached: [f32; 3] = std::array::from_fn(|at| self.best[before][at] - costs[at]);
        let (best, from) = highest(reached);
        let cell = i * self.columns + j;
        self.best[cell][layer] = best;
        self.from[cell][layer] = from;
    }

    /// From the best cell at the far edges back to the beginning.
    fn trace_back(&self) -> (usize, usize, Vec<Op>) {
        let (a, b) = self.lengths;
        let edge = (0..=a).map(|i| (i, b)).chain((0..b).map(|j| (a, j)));
        let top = |(i, j): &(usize, usize)| highest(self.best[i * self.columns + j]).0;
        // Of equal ends the one nearest to the diagonal.
        let order = |x: &(usize, usize), y: &(usize, usize)| {
            let far = |(i, j): &(usize, usize)| (a - i).max(b - j);
            top(x).total_cmp(&top(y)).then(far(y).cmp(&far(x)))
        };
        let (mut i, mut j) = edge.max_by(order).unwrap_or((0, 0));
        let mut layer = highest(self.best[i * self.columns + j]).1;
        let mut ops = Vec::new();
        while (i, j) != (0, 0) || layer != 0 {
            let from = self.from[i * self.columns + j][usize::from(layer)];
            let op = LAYERS[usize::from(layer)];
            ops.push(op);
            i -= usize::from(op != Op::Extra);
            j -= usize::from(op != Op::Missing);
            if from == BEGIN {
                break;
            }
            layer = from;
        }
        ops.reverse();
        (i, j, ops)
    }
}

/// The highest of three and its place; of equal ones the first.
fn highest(values: [f32; 3]) -> (f32, u8) {
    let mut best = (values[0], 0);
    for (at, value) in (1..).zip(&values[1..]) {
        if *value > best.0 {
            best = (*value, at);
        }
    }
    best
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
