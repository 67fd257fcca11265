//! The frames of both sides that are held: full pictures that wait to be paired, and their signatures.

use std::collections::VecDeque;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use visus_engine::Cancel;
use visus_video::{ColourRange, Frame, PooledFrame, ReadError};

use crate::MediaError;
use crate::sync::bars;
use crate::sync::changes::copy_limit;
use crate::sync::feed::Fed;
use crate::sync::found::Print;
use crate::sync::look::Look;
use crate::sync::signature::{Grid, Signature, View};

/// How long a wait lasts before it looks at the switch.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// One side.
struct Window {
    fed: Receiver<Fed>,
    name: String,
    held: VecDeque<PooledFrame>,
    signatures: VecDeque<Signature>,
    /// The frame that left the window last.
    before: Option<Signature>,
    /// Frames that have left the window: the number of the one at the front.
    taken: u64,
    ended: Option<Result<(), ReadError>>,
    /// Steps below this are repetitions, by the frames of the last full window.
    copy_limit: f32,
}

impl Window {
    /// Learns what motion looks like, if there is enough to see.
    fn learn(&mut self) {
        const ENOUGH: usize = 13;
        if self.signatures.len() >= ENOUGH {
            let pairs = self.signatures.iter().zip(self.signatures.iter().skip(1));
            self.copy_limit = copy_limit(&pairs.map(|(a, b)| step(a, b)).collect::<Vec<_>>());
        }
    }
}

/// Both sides.
pub struct Windows {
    sides: [Window; 2],
    ranges: [ColourRange; 2],
    grid: Grid,
    /// Where not the whole pictures are compared, what is; signatures are made anew then.
    views: Option<[View; 2]>,
    halt: Cancel,
}

impl Windows {
    pub fn new(
        fed: Vec<Receiver<Fed>>,
        names: [String; 2],
        ranges: [ColourRange; 2],
        grid: Grid,
        halt: Cancel,
    ) -> Self {
        let mut fed = fed.into_iter();
        let sides = names.map(|name| Window {
            fed: fed.next().unwrap_or_else(crossbeam_channel::never),
            name,
            held: VecDeque::new(),
            signatures: VecDeque::new(),
            before: None,
            taken: 0,
            ended: None,
            copy_limit: copy_limit(&[]),
        });
        Self { sides, ranges, grid, views: None, halt }
    }

    /// Frames that are held.
    pub fn held(&self, side: usize) -> usize {
        self.sides[side].held.len()
    }

    pub fn front(&self, side: usize) -> Option<&Frame> {
        self.sides[side].held.front().map(|frame| &**frame)
    }

    /// The number of the frame at the front.
    pub fn taken(&self, side: usize) -> u64 {
        self.sides[side].taken
    }

    pub fn any_is_empty(&self) -> bool {
        self.sides.iter().any(|side| side.held.is_empty())
    }

    pub fn has_ended(&self, side: usize) -> bool {
        self.sides[side].ended.is_some()
    }

    pub fn all_ended(&self) -> bool {
        self.sides.iter().all(|side| side.ended.is_some())
    }

    /// How a side ended, if it has.
    pub fn take_end(&mut self, side: usize) -> Option<Result<(), ReadError>> {
        self.sides[side].ended.take()
    }

    /// All frames of a file that was read to its end, from where it was read.
    pub fn count(&self, side: usize) -> Option<u64> {
        let window = &self.sides[side];
        matches!(window.ended, Some(Ok(()))).then(|| window.taken + window.held.len() as u64)
    }

    /// An error of a side of which no frame was read.
    pub fn first_error(&mut self) -> Option<ReadError> {
        let failed = |side: &&mut Window| side.held.is_empty() && matches!(side.ended, Some(Err(_)));
        let side = self.sides.iter_mut().find(failed)?;
        side.ended.take().and_then(Result::err)
    }

    /// Fills both windows up to `wanted` frames, as far as there are any.
    pub fn fill(&mut self, wanted: usize, cancel: &Cancel) -> Result<(), MediaError> {
        loop {
            let lacking = |side: &usize| self.held(*side) < wanted && !self.has_ended(*side);
            let Some(side) = [0, 1].into_iter().filter(lacking).min_by_key(|side| self.held(*side)) else {
                return Ok(());
            };
            self.take(side, cancel)?;
        }
    }

    /// Waits for the next frame of a side; `false` at its end.
    fn take(&mut self, side: usize, cancel: &Cancel) -> Result<bool, MediaError> {
        let view = self.views.map(|views| views[side]);
        let (range, grid) = (self.ranges[side], self.grid);
        let window = &mut self.sides[side];
        while window.ended.is_none() {
            if self.halt.is_fired() || cancel.is_fired() {
                return Err(MediaError::Cancelled);
            }
            match window.fed.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) if self.halt.is_fired() => {
                    return Err(MediaError::Cancelled);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(MediaError::ThreadDied { what: "decodes", file: window.name.clone() });
                }
                Ok(Err(error)) => window.ended = Some(Err(error)),
                Ok(Ok(None)) => window.ended = Some(Ok(())),
                Ok(Ok(Some((frame, signature)))) => {
                    let own = view.map(|view| Signature::of_view(&frame, range, grid, view));
                    window.signatures.extend(own.or(signature));
                    window.held.push_back(frame);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Leaves frames out at the front, and reads them if need be.
    pub fn skip(&mut self, side: usize, count: usize, cancel: &Cancel) -> Result<(), MediaError> {
        for _ in 0..count {
            if self.sides[side].held.is_empty() && !self.take(side, cancel)? {
                break;
            }
            self.pop(side);
        }
        Ok(())
    }

    /// Takes the frame at the front.
    pub fn pop(&mut self, side: usize) -> Option<PooledFrame> {
        const EVERY: u64 = 8;
        let window = &mut self.sides[side];
        if window.taken.is_multiple_of(EVERY) {
            window.learn();
        }
        window.before = window.signatures.pop_front().or(window.before.take());
        window.taken += 1;
        window.held.pop_front()
    }

    /// Compares parts of the pictures only: makes all signatures anew.
    pub fn look_at(&mut self, views: Option<[View; 2]>) {
        self.views = views;
        let looked = views.unwrap_or_default();
        for (side, window) in self.sides.iter_mut().enumerate() {
            let look =
                |frame: &PooledFrame| Signature::of_view(frame, self.ranges[side], self.grid, looked[side]);
            window.signatures = window.held.iter().map(look).collect();
        }
    }

    pub fn views(&self) -> [View; 2] {
        self.views.unwrap_or_default()
    }

    /// Black bars of a side, in a few of its frames.
    pub fn bars(&self, side: usize) -> [usize; 4] {
        const LOOKS: usize = 6;
        let held = &self.sides[side].held;
        let every = held.len().div_ceil(LOOKS).max(1);
        bars::of(held.iter().step_by(every).map(|frame| &**frame), self.ranges[side])
    }

    /// The signatures at the front of both.
    pub fn fronts(&self) -> Option<(&Signature, &Signature)> {
        Some((self.sides[0].signatures.front()?, self.sides[1].signatures.front()?))
    }

    /// By which the whole frames at the front of both are recognised.
    pub fn prints(&self) -> Option<[Print; 2]> {
        let print = |side: usize| {
            let window = &self.sides[side];
            let signature = match self.views {
                None => window.signatures.front()?.print(),
                Some(_) => Signature::of(window.held.front()?, self.ranges[side], self.grid).print(),
            };
            Some(signature)
        };
        Some([print(0)?, print(1)?])
    }

    /// How much the frame at the front differs from the one before it, brightness included.
    pub fn step(&self, side: usize) -> Option<f32> {
        let window = &self.sides[side];
        Some(step(window.before.as_ref()?, window.signatures.front()?))
    }

    /// The frame at the front repeats the one before.
    pub fn front_is_copy(&self, side: usize) -> bool {
        self.step(side).is_some_and(|step| step < self.sides[side].copy_limit)
    }

    /// The median straight line from reference to distorted brightness over the first pairs.
    pub fn brightness(&self) -> Option<(f32, f32)> {
        let both = self.sides[0].signatures.iter().zip(&self.sides[1].signatures);
        let mut lines: Vec<(f32, f32)> = both.filter_map(|(a, b)| a.line_to(b)).collect();
        lines.sort_by(|a, b| a.0.total_cmp(&b.0));
        lines.get(lines.len() / 2).copied()
    }
}

fn step(before: &Signature, now: &Signature) -> f32 {
    let shift = before.mean - now.mean;
    before.distance(now) + shift * shift
}

impl Look for Windows {
    fn lengths(&self) -> (usize, usize) {
        (self.sides[0].signatures.len(), self.sides[1].signatures.len())
    }

    fn distance(&self, reference: usize, distorted: usize) -> f32 {
        self.sides[0].signatures[reference].distance(&self.sides[1].signatures[distorted])
    }

    fn within(&self, side: usize, a: usize, b: usize) -> f32 {
        step(&self.sides[side].signatures[a], &self.sides[side].signatures[b])
    }

    fn brighter(&self, side: usize, a: usize, b: usize) -> f32 {
        self.sides[side].signatures[b].mean - self.sides[side].signatures[a].mean
    }

    fn likeness(&self, reference: usize, distorted: usize) -> Option<f32> {
        self.sides[0].signatures[reference].likeness(&self.sides[1].signatures[distorted])
    }
}
