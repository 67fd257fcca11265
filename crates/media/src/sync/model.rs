//! The edit that explains two videos best: a hidden Markov model over all their frames.
//!
//! The state at a frame of the distorted video is its offset against the [`Cadence`], or that it has no counterpart since it
//! left an offset. Staying is free. Every change of offset, every stretch without counterpart, and a start or end that the two
//! do not share has a price, as the logarithm of how rare it is. What the pictures say against each state is the
//! [`Evidence`]. The cheapest way through all frames is found by dynamic programming (Viterbi 1967), from both ends; so it is
//! also known, for every frame, what the best way through any other state would cost.

use crate::sync::cadence::Cadence;
use crate::sync::changes::Changes;
use crate::sync::evidence::{BLOCK, CAP, Evidence};
use crate::sync::prices::Prices;

/// Paired at an offset, or without a counterpart since that offset was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub offset: i32,
    pub paired: bool,
}

/// Another place of a frame, and what the best way through it costs beyond the cheapest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// The frame of the reference; `None` without a counterpart.
    pub place: Option<i32>,
    pub extra: f32,
}

/// The cheapest way.
#[derive(Clone, Debug)]
pub struct Way {
    pub cost: f32,
    /// A state per frame of the distorted video.
    pub states: Vec<State>,
}

/// A way with all that was weighed for it.
struct Solved {
    way: Way,
    columns: Vec<Column>,
    /// What every state of the last frame still has to pay.
    end: Vec<f32>,
}

/// Everything that decides.
pub struct Model<'a> {
    pub evidence: &'a Evidence,
    pub cadence: &'a Cadence,
    pub prices: Prices,
    /// Frames of the reference and of the distorted video.
    pub lengths: (usize, usize),
    /// The frames before the first were paired with each other: nothing of the reference lies before.
    pub going_on: bool,
    /// How much pictures change from frame to frame.
    pub changes: &'a Changes,
    /// Whether two frames of the reference show the same picture.
    pub same: &'a dyn Fn(i32, i32) -> bool,
}

/// The cheapest ways to all states at one frame: paired ones by offset, then those without counterpart.
struct Column {
    cost: Vec<f32>,
    /// The state before.
    from: Vec<u16>,
    /// Without counterpart: the last frame of the reference that was paired.
    last: Vec<i32>,
}

impl Column {
    fn new(states: usize) -> Self {
        Self { cost: vec![f32::INFINITY; states], from: vec![u16::MAX; states], last: vec![-1; states] }
    }

    fn offer(&mut self, slot: usize, cost: f32, from: usize, last: i32) {
        if cost < self.cost[slot] {
            (self.cost[slot], self.from[slot], self.last[slot]) = (cost, from as u16, last);
        }
    }
}

impl Model<'_> {
    fn offsets(&self, frame: usize) -> &[i32] {
        &self.evidence.blocks[frame / BLOCK].offsets
    }

    /// What the pictures say against a pair.
    fn against(&self, frame: usize, at: usize) -> f32 {
        self.evidence.blocks[frame / BLOCK].against[frame % BLOCK][at] + self.evidence.foreign[frame]
    }

    /// The frame of the reference at an offset; it may lie outside.
    fn place(&self, frame: usize, offset: i32) -> i32 {
        self.cadence.due(frame) as i32 + offset
    }

    /// The price of going from one offset to another, paired before and after; infinite where time would run backwards.
    fn step(&self, frame: usize, from: i32, to: i32) -> f32 {
        let (before, now) = (self.place(frame - 1, from), self.place(frame, to));
        let change = self.changes.against(frame, before, now, self.evidence.noise);
        if from == to {
            return change;
        }
        let frames = (to - from).unsigned_abs() as f32;
        let repeats =
            if to > from { self.are_copies(before + 1, now) } else { self.changes.copies[1][frame] };
        let price = match (repeats, to > from) {
            (true, _) => self.prices.copy,
            (false, true) => self.prices.drop,
            (false, false) => self.prices.double,
        };
        if now < before { f32::INFINITY } else { price + 0.5 * frames.ln() + change }
    }

    /// Whether all these frames of the reference repeat the one before each.
    fn are_copies(&self, from: i32, to: i32) -> bool {
        let copy = |at: i32| {
            usize::try_from(at).ok().and_then(|at| self.changes.copies[0].get(at)).is_some_and(|copy| *copy)
        };
        from < to && (from..to).all(copy)
    }

    /// What it costs to leave a frame without counterpart: little where it shows something else, or lies before or behind
    /// the reference.
    fn alone(&self, frame: usize, offset: i32) -> f32 {
        let place = self.place(frame, offset);
        let Prices { alone, foreign, .. } = self.prices;
        let beyond = place < 0 && !self.going_on || place >= self.lengths.0 as i32;
        let familiar = if beyond { self.prices.beyond } else { alone };
        familiar - (familiar - foreign) * self.evidence.foreign[frame] / CAP
    }

    /// What it costs to begin doing so.
    fn leave(&self, frame: usize, offset: i32) -> f32 {
        let behind = self.place(frame, offset) >= self.lengths.0 as i32;
        if behind { self.prices.end } else { self.prices.insert }
    }

    fn first(&self) -> Column {
        let offsets = self.offsets(0);
        let mut column = Column::new(2 * offsets.len());
        for (at, offset) in offsets.iter().enumerate() {
            let begin = if *offset == 0 { 0.0 } else { self.prices.begin };
            column.cost[at] = self.against(0, at) + begin;
            column.cost[offsets.len() + at] = self.prices.begin + self.alone(0, *offset);
        }
        column
    }

    fn next(&self, frame: usize, before: &Column) -> Column {
        let (old, new) = (self.offsets(frame - 1), self.offsets(frame));
        let mut column = Column::new(2 * new.len());
        for (at, offset) in new.iter().enumerate() {
            self.reach_pair(frame, (at, *offset), before, &mut column);
            let Some(from) = old.iter().position(|earlier| earlier == offset) else { continue };
            let alone = self.alone(frame, *offset);
            let leave = before.cost[from] + self.leave(frame, *offset) + alone;
            column.offer(new.len() + at, leave, from, self.place(frame - 1, *offset));
            let stay = old.len() + from;
            column.offer(new.len() + at, before.cost[stay] + alone, stay, before.last[stay]);
        }
        column
    }

    /// All ways to a pair.
    fn reach_pair(&self, frame: usize, (at, offset): (usize, i32), before: &Column, column: &mut Column) {
        let against = self.against(frame, at);
        if !against.is_finite() {
            return;
        }
        let old = self.offsets(frame - 1);
        let place = self.place(frame, offset);
        for (from, earlier) in old.iter().enumerate() {
            if before.cost[from].is_finite() {
                let cost = before.cost[from] + self.step(frame, *earlier, offset) + against;
                column.offer(at, cost, from, -1);
            }
            let alone = old.len() + from;
            // What comes before the first pair lies before it at that pair's offset.
            let leads = before.last[alone] < 0 && *earlier != offset;
            if before.last[alone] < place && !leads {
                let back = if *earlier == offset { 0.0 } else { self.prices.back };
                column.offer(at, before.cost[alone] + back + against, alone, -1);
            }
        }
    }

    /// What is still to pay at the end.
    fn end(&self, column: &Column) -> Vec<f32> {
        let frame = self.lengths.1 - 1;
        let offsets = self.offsets(frame);
        let last = |at: usize| match offsets.get(at) {
            Some(offset) => self.place(frame, *offset),
            None => column.last[at],
        };
        let all = |at: usize| last(at) + 1 >= self.lengths.0 as i32;
        (0..column.cost.len()).map(|at| if all(at) { 0.0 } else { self.prices.end }).collect()
    }

    /// The cheapest way; `None` if a video has no frames.
    pub fn cheapest(&self) -> Option<Way> {
        self.solve().map(|solved| solved.way)
    }

    fn solve(&self) -> Option<Solved> {
        let frames = self.lengths.1;
        if frames == 0 || self.lengths.0 == 0 {
            return None;
        }
        let mut columns = vec![self.first()];
        for frame in 1..frames {
            let next = self.next(frame, &columns[frame - 1]);
            // Only the newest column needs it, and there is one for every frame of a film.
            columns[frame - 1].last = Vec::new();
            columns.push(next);
        }
        let end = self.end(&columns[frames - 1]);
        let totals = columns[frames - 1].cost.iter().zip(&end).map(|(cost, end)| cost + end);
        let (mut at, cost) = totals.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut states = Vec::with_capacity(frames);
        for frame in (0..frames).rev() {
            states.push(self.state(frame, at));
            at = usize::from(columns[frame].from[at]);
        }
        states.reverse();
        Some(Solved { way: Way { cost, states }, columns, end })
    }

    /// What a given way costs; infinite where it is none of those that are weighed.
    pub fn cost_of(&self, states: &[State]) -> f32 {
        let slot = |frame: usize| {
            let at = self.offsets(frame).iter().position(|offset| *offset == states[frame].offset)?;
            Some(if states[frame].paired { at } else { at + self.offsets(frame).len() })
        };
        let mut cost = match slot(0) {
            Some(at) => self.first().cost[at],
            None => return f32::INFINITY,
        };
        for frame in 1..states.len() {
            let (Some(at), Some(from)) = (slot(frame), slot(frame - 1)) else { return f32::INFINITY };
            let mut rest = vec![f32::INFINITY; 2 * self.offsets(frame).len()];
            rest[at] = 0.0;
            cost += self.rest(frame, &rest)[from];
        }
        cost
    }

    fn state(&self, frame: usize, at: usize) -> State {
        let offsets = self.offsets(frame);
        State { offset: offsets[at % offsets.len()], paired: at < offsets.len() }
    }

    /// Where a state puts a frame.
    pub fn place_of(&self, frame: usize, state: State) -> Option<i32> {
        state.paired.then(|| self.place(frame, state.offset))
    }

    /// For every frame the cheapest way that shows another picture than `places` does; costs are given beyond `cost`. The way
    /// that `places` is may come from a model with another cadence or other prices.
    pub fn rivals(&self, places: &[Option<i32>], cost: f32) -> Vec<Rival> {
        let Some(Solved { columns, end, .. }) = self.solve() else { return Vec::new() };
        let mut rest = end;
        let mut all = Vec::with_capacity(columns.len());
        for frame in (0..columns.len()).rev() {
            if frame + 1 < columns.len() {
                rest = self.rest(frame + 1, &rest);
            }
            let own = places[frame];
            let mut nearest = Rival { place: own, extra: f32::INFINITY };
            for (at, rest) in rest.iter().enumerate() {
                let extra = columns[frame].cost[at] + rest - cost;
                let place = self.place_of(frame, self.state(frame, at));
                if extra < nearest.extra && !self.shows_same(place, own) {
                    nearest = Rival { place, extra };
                }
            }
            all.push(nearest);
        }
        all.reverse();
        all
    }

    fn shows_same(&self, a: Option<i32>, b: Option<i32>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => (self.same)(a, b),
            (a, b) => a == b,
        }
    }

    /// The cheapest rest of the way from all states of the frame before, by that from all states of this one.
    fn rest(&self, frame: usize, rest: &[f32]) -> Vec<f32> {
        let (old, new) = (self.offsets(frame - 1), self.offsets(frame));
        let mut before = vec![f32::INFINITY; 2 * old.len()];
        for (at, offset) in new.iter().enumerate() {
            let onward = rest[at] + self.against(frame, at);
            for (from, earlier) in old.iter().enumerate() {
                let alone = old.len() + from;
                if onward.is_finite() {
                    let back = if earlier == offset { 0.0 } else { self.prices.back };
                    before[from] = before[from].min(onward + self.step(frame, *earlier, *offset));
                    before[alone] = before[alone].min(onward + back);
                }
                if earlier == offset {
                    let stay = rest[new.len() + at] + self.alone(frame, *offset);
                    before[from] = before[from].min(stay + self.leave(frame, *offset));
                    before[alone] = before[alone].min(stay);
                }
            }
        }
        before
    }
}
