//! Watching a run: pairs are looked at in any order, on any thread; the facts come out in the order of the frames.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use visus_video::{Format, Frame};

use crate::grid::Grid;
use crate::look::{FrameFacts, Look};
use crate::motion::{Centred, REACH, motion};
use crate::strips::Strips;

/// Looks at the pairs of one clip.
#[derive(Debug)]
pub struct Watch {
    grid: Grid,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Looks whose turn has not come.
    waiting: BTreeMap<u64, Option<Look>>,
    /// The number of the next look, once the first is known.
    next: u64,
    /// Pairs that others are still compared with.
    recent: VecDeque<(Centred, Strips, FrameFacts)>,
    /// Of `recent`, how many are done.
    done: usize,
    first: u64,
    facts: Vec<FrameFacts>,
    /// The picture is too small to be looked at.
    blind: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} pairs seen", self.facts.len())
    }
}

impl Watch {
    /// Pairs that are looked at on both sides of those that are scored, so that a part of a clip has the facts of the whole.
    pub const REACH: u64 = REACH as u64;

    /// `first`: the number of the first pair that will be looked at.
    pub fn new(format: &Format, first: u64) -> Self {
        let state = State { next: first, first, ..State::default() };
        Self { grid: Grid::of(format.width(), format.height()), state: Mutex::new(state) }
    }

    /// Looks at a pair. Each number comes once, and none is left out.
    pub fn look(&self, index: u64, reference: &Frame, distorted: &Frame) {
        let look = Look::at(&self.grid, index, reference, distorted);
        let mut state = self.lock();
        state.waiting.insert(index, look);
        loop {
            let next = state.next;
            let Some(look) = state.waiting.remove(&next) else { break };
            state.next += 1;
            state.push(look);
        }
    }

    /// The facts of all pairs, and the number of the first. Empty for pictures that are too small.
    pub fn finish(&self) -> (u64, Vec<FrameFacts>) {
        let mut state = self.lock();
        while state.done < state.recent.len() {
            state.settle();
        }
        (state.first, if state.blind { Vec::new() } else { std::mem::take(&mut state.facts) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, look: Option<Look>) {
        let Some(Look { facts, means, wrong, strips }) = look else {
            self.blind = true;
            return;
        };
        self.recent.push_back((Centred::new(means, facts.mean, wrong), strips, facts));
        if self.recent.len() > self.done + REACH {
            self.settle();
        }
        while self.done > REACH {
            self.recent.pop_front();
            self.done -= 1;
        }
    }

    /// Compares the next pair with those around it.
    fn settle(&mut self) {
        let here = self.done;
        let (from, to) = (here.saturating_sub(REACH), (here + REACH + 1).min(self.recent.len()));
        let around: Vec<&Centred> = self.recent.range(from..to).map(|(centred, ..)| centred).collect();
        let (_, strips, facts) = &self.recent[here];
        let mut facts = *facts;
        facts.motion = motion(&around, here - from);
        let beside = |at: Option<usize>| at.and_then(|at| self.recent.get(at)).map(|(_, strips, _)| strips);
        if let (Some(before), Some(after)) = (beside(here.checked_sub(1)), beside(Some(here + 1))) {
            facts.times = strips.times(before, after);
        }
        self.facts.push(facts);
        self.done += 1;
    }
}
