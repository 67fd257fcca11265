//! The thread that decides which frames belong together and passes them on.

use std::collections::VecDeque;

use crossbeam_channel::{SendTimeoutError, Sender};
use visus_engine::Cancel;
use visus_video::ReadError;

use crate::MediaError;
use crate::sync::findings::Sync;
use crate::sync::log::{Check, Noted, Tail};
use crate::sync::look::Look;
use crate::sync::paired::Given;
use crate::sync::plan::{Doubt, Plan, Prior};
use crate::sync::signature::Signature;
use crate::sync::steps::{Step, steps, steps_to};
use crate::sync::threads::guarded;
use crate::sync::window::{PATIENCE, Windows};
use crate::sync::{NARROWEST, Request, Shared, lock};

/// Frames that are looked ahead once the start is found.
pub(super) const AHEAD: usize = 32;
/// Pairs of which it is remembered how far their frames were apart.
const REMEMBERED: usize = 64;
/// The part of them that is decided on at once.
pub(super) const COMMITTED: usize = 4;
/// Pictures below this likeness do not show the same.
pub(crate) const UNLIKE: f32 = 0.5;
/// A picture stands still if it changes by less than this share of what its reference changes by, and that by more than this
/// (square levels).
const STILL: f32 = 0.02;
const MOVING: f32 = 0.1;

/// Where steps come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// One after another, until the window shows an edit.
    Watch,
    /// All are known.
    Planned,
    /// One after another, whatever the pictures show.
    InStep,
}

/// Decides which frames belong together.
pub struct Pairer {
    pub(super) windows: Windows,
    outputs: Vec<Sender<Given>>,
    pub(super) log: Shared,
    pub(super) request: Request,
    pub(super) prior: Prior,
    pub(super) capacity: usize,
    route: Route,
    pub(super) steps: VecDeque<Step>,
    /// Doubts of the plan about frames to come, by their number in the distorted video.
    doubts: VecDeque<(u64, Doubt)>,
    /// The reference of the last pair.
    last: Option<Signature>,
    /// How far the frames of the last pairs were apart.
    distances: VecDeque<f32>,
    /// Frames that were left out before pairing.
    skipped: [u64; 2],
}

impl Pairer {
    pub fn new(
        windows: Windows,
        outputs: Vec<Sender<Given>>,
        log: Shared,
        request: Request,
        prior: Prior,
        capacity: usize,
        skipped: [u64; 2],
    ) -> Self {
        let route = match (&request.pairs, request.sync) {
            (Some(_), _) => Route::Planned,
            (None, Sync::Full) => Route::Watch,
            (None, _) => Route::InStep,
        };
        let steps = request.pairs.as_deref().map(steps_to).unwrap_or_default();
        let (doubts, distances) = (VecDeque::new(), VecDeque::new());
        Self {
            windows,
            outputs,
            log,
            request,
            prior,
            capacity,
            route,
            steps,
            doubts,
            last: None,
            distances,
            skipped,
        }
    }

    /// Does what a plan says, of which the first frames have these numbers.
    pub(super) fn follow(&mut self, plan: &Plan, first: [u64; 2]) {
        if self.request.sync != Sync::Full {
            return;
        }
        self.route = Route::Planned;
        self.steps = steps(&plan.fates, usize::MAX, true).into();
        self.doubts = numbered(plan, first[1]);
    }

    /// Hands over pair after pair until a stream ends or nobody wants more. Should this thread die, both sides are told.
    pub fn run_to_end(self) {
        let (outputs, halt) = (self.outputs.clone(), self.request.halt.clone());
        let log = Shared::clone(&self.log);
        guarded(
            || self.run(),
            |reason| {
                let frame = lock(&log).pairs.len() as u64;
                let reason = format!("the thread that pairs frames died: {reason}");
                for (output, file) in outputs.iter().zip(["the reference", "the distorted video"]) {
                    let error = ReadError::Decoder { file: file.to_owned(), frame, reason: reason.clone() };
                    give(output, &halt, Err(error));
                }
            },
        );
    }

    fn run(mut self) {
        let wanted = if self.request.sync == Sync::Off { 1 } else { self.capacity.min(AHEAD) };
        loop {
            if let Err(error) = self.look_ahead(wanted) {
                return self.fail(error);
            }
            let step = self.steps.pop_front().filter(|_| !self.windows.any_is_empty());
            let Some(step) = step else { return self.finish() };
            if !self.step(step) || self.request.halt.is_fired() {
                return;
            }
        }
    }

    /// Fills the windows, and decides on the next steps if none are left.
    fn look_ahead(&mut self, wanted: usize) -> Result<(), MediaError> {
        let never = Cancel::new();
        self.windows.fill(wanted, &never)?;
        if !self.steps.is_empty() || self.windows.any_is_empty() || self.route == Route::Planned {
            return Ok(());
        }
        if self.route == Route::InStep {
            self.steps.push_back(Step::Pair);
            return Ok(());
        }
        let ended = self.windows.all_ended();
        let lengths = self.windows.lengths();
        let known = if ended { self.whole(&self.windows) } else { self.prior.clone() };
        let prior = Prior {
            going_on: true,
            open_ended: !ended,
            watching: !ended,
            noise: self.usual_distance(),
            ..known
        };
        let commit = (wanted / COMMITTED).max(1).min(lengths.0).min(lengths.1);
        let Some(plan) = Plan::find(&self.windows, &prior) else { return Ok(()) };
        if !ended && plan.begins_plain(commit) {
            self.steps.extend(std::iter::repeat_n(Step::Pair, commit));
            return Ok(());
        }
        if !ended && self.plan_the_rest()? {
            return Ok(());
        }
        self.steps = steps(&plan.fates, commit, ended).into();
        self.doubts = numbered(&plan, self.windows.taken(1));
        if self.steps.is_empty() && !ended {
            // The window begins with a gap of which it does not show the end: the streams are kept in step.
            self.steps.push_back(Step::Pair);
        }
        Ok(())
    }

    /// How far the frames of the last pairs were apart, in the middle of them; `None` after too few.
    fn usual_distance(&self) -> Option<f32> {
        let mut sorted: Vec<f32> = self.distances.iter().copied().collect();
        sorted.sort_by(f32::total_cmp);
        (sorted.len() >= NARROWEST).then(|| sorted[sorted.len() / 2])
    }

    /// Looks at all that is left of both files; `false` where that is impossible.
    fn plan_the_rest(&mut self) -> Result<bool, MediaError> {
        let Some(mut thumbnails) = (self.request.scan)(self.windows.views(), &self.request.halt)? else {
            return Ok(false);
        };
        let first = [0, 1].map(|side| self.windows.taken(side));
        thumbnails.pass(first);
        let prior = Prior { going_on: true, ..self.seen_whole(&thumbnails) };
        let Some(plan) = Plan::find(&thumbnails, &prior) else {
            return Ok(false);
        };
        let blends = plan.blends(&thumbnails).into_iter().map(|frame| first[1] + frame as u64).collect();
        let mut log = lock(&self.log);
        (log.searched_far, log.blended) = (true, blends);
        drop(log);
        self.follow(&plan, first);
        Ok(true)
    }

    /// Does one step; `false` if nobody listens.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Missing => {
                self.windows.pop(0);
                true
            }
            Step::Extra => {
                self.windows.pop(1);
                true
            }
            Step::Pair => {
                self.note_pair();
                let frames = [self.windows.pop(0), self.windows.pop(1)];
                frames.into_iter().zip(&self.outputs).all(|(frame, output)| {
                    let heard = give(output, &self.request.halt, Ok(frame));
                    if !heard {
                        self.request.halt.fire();
                    }
                    heard
                })
            }
        }
    }

    fn note_pair(&mut self) {
        let (reference, distorted) = (self.windows.taken(0), self.windows.taken(1));
        let mut noted = Noted { reference, distorted, ..Noted::default() };
        let Some((a, b)) = self.windows.fronts() else { return lock(&self.log).pairs.push(noted) };
        noted.change = self.last.as_ref().map_or(0.0, |last| last.change(a));
        let unlike = a.likeness(b).is_some_and(|likeness| likeness < UNLIKE);
        noted.check = match (self.is_frozen(), unlike) {
            (true, _) => Check::Frozen,
            (_, true) => Check::Unlike,
            _ => Check::of_front(&self.windows),
        };
        // What is told as a whole is not told of a part as well.
        if !matches!(noted.check, Check::Frozen | Check::Unlike) {
            noted.farthest = a.farthest(b);
        }
        while self.doubts.front().is_some_and(|(frame, _)| *frame < distorted) {
            self.doubts.pop_front();
        }
        let doubt = self.doubts.front().filter(|(frame, _)| *frame == distorted);
        noted.doubt = doubt.map(|(_, doubt)| doubt.other);
        self.distances.push_back(a.distance(b));
        if self.distances.len() > REMEMBERED {
            self.distances.pop_front();
        }
        self.last = Some(a.clone());
        let prints = if self.request.prints { self.windows.prints() } else { None };
        let mut log = lock(&self.log);
        log.prints.extend(prints);
        log.pairs.push(noted);
    }

    /// The picture of the distorted video stands still while that of the reference moves.
    fn is_frozen(&self) -> bool {
        let steps = [0, 1].map(|side| self.windows.step(side));
        let [Some(reference), Some(distorted)] = steps else { return false };
        reference > MOVING && distorted < STILL * reference
    }

    /// What is left of one side may be no more than its last picture, repeated.
    fn drop_last_copies(&mut self) -> [u64; 2] {
        [0, 1].map(|side| {
            let mut count = 0;
            while self.windows.has_ended(side) && self.windows.front_is_copy(side) {
                self.windows.pop(side);
                count += 1;
            }
            count
        })
    }

    /// Tells both sides that, and why, there is no more.
    fn finish(mut self) {
        let counted = [0, 1].map(|side| self.windows.count(side).map(|count| self.skipped[side] + count));
        let copies = self.drop_last_copies();
        let longer = match [0, 1].map(|side| self.windows.held(side) > 0) {
            [true, _] => Some(0),
            [_, true] => Some(1),
            _ => None,
        };
        lock(&self.log).tail = Some(Tail { longer, counted, copies });
        let ends = [0, 1].map(|side| self.windows.take_end(side).unwrap_or(Ok(())));
        for (output, end) in self.outputs.iter().zip(ends) {
            give(output, &self.request.halt, end.map(|()| None));
        }
    }

    /// Tells both sides what went wrong. Where reading was stopped from outside nobody listens.
    fn fail(self, error: MediaError) {
        if self.request.halt.is_fired() {
            return;
        }
        let frame = lock(&self.log).pairs.len() as u64;
        for (output, name) in self.outputs.iter().zip(["the reference", "the distorted video"]) {
            let (file, reason) = (name.to_owned(), error.to_string());
            give(output, &self.request.halt, Err(ReadError::Decoder { file, frame, reason }));
        }
    }
}

/// Doubts of a plan, by the numbers that its frames have in the distorted video.
fn numbered(plan: &Plan, first: u64) -> VecDeque<(u64, Doubt)> {
    plan.doubts.iter().map(|doubt| (first + u64::from(doubt.distorted), *doubt)).collect()
}

/// Waits until there is room; `false` if nobody wants it any more.
fn give(output: &Sender<Given>, halt: &Cancel, mut given: Given) -> bool {
    loop {
        match output.send_timeout(given, PATIENCE) {
            Ok(()) => return true,
            Err(SendTimeoutError::Timeout(back)) if !halt.is_fired() => given = back,
            Err(_) => return false,
        }
    }
}
