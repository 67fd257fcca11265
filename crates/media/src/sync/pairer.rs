//! The thread that decides which frames belong together and passes them on.

use std::collections::VecDeque;

use crossbeam_channel::{SendTimeoutError, Sender};
use visus_engine::Cancel;
use visus_video::{Frame, ReadError};

use crate::MediaError;
use crate::sync::findings::Sync;
use crate::sync::log::{Check, Laid, Noted, Tail};
use crate::sync::look::Look;
use crate::sync::paired::Given;
use crate::sync::plan::{Doubt, Fate, Plan, Prior, Start};
use crate::sync::signature::Signature;
use crate::sync::threads::guarded;
use crate::sync::thumbnails::Thumbnails;
use crate::sync::window::{PATIENCE, Windows};
use crate::sync::{Lengths, NARROWEST, Request, Shared, bars, lock};

/// Frames that are looked ahead once the start is found.
const AHEAD: usize = 32;
/// Pairs of which it is remembered how far their frames were apart.
const REMEMBERED: usize = 64;
/// The part of them that is decided on at once.
const COMMITTED: usize = 4;
/// An offset of up to this part of the frames that are looked ahead is plain: most of them then have their like.
const PLAIN_SHARE: usize = 4;
/// Pictures above this likeness show the same beyond doubt.
const ALIKE: f32 = 0.8;
/// Pictures below this likeness do not show the same.
pub(crate) const UNLIKE: f32 = 0.5;
/// A start below this confidence is none that can be relied on.
pub(crate) const CERTAIN: f32 = 0.4;
/// A picture stands still if it changes by less than this share of what its reference changes by, and that by more than this
/// (square levels).
const STILL: f32 = 0.02;
const MOVING: f32 = 0.1;

/// What is to be done with the frames at the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Pair,
    /// A frame of the reference has no counterpart.
    Missing,
    /// A frame of the distorted video has none.
    Extra,
}

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
    windows: Windows,
    outputs: Vec<Sender<Given>>,
    log: Shared,
    request: Request,
    prior: Prior,
    capacity: usize,
    route: Route,
    steps: VecDeque<Step>,
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

    /// Fills the windows and finds where the streams meet.
    pub fn find_start(&mut self) -> Result<(), MediaError> {
        let few = if self.request.sync == Sync::Off { 1 } else { self.capacity.min(AHEAD) };
        let cancel = self.request.cancel.clone();
        self.windows.fill(few, &cancel)?;
        if let Some(error) = self.windows.first_error() {
            return Err(error.into());
        }
        lock(&self.log).bars = [0, 1].map(|side| self.windows.bars(side));
        if self.request.sync == Sync::Off {
            return Ok(());
        }
        self.choose_view();
        // Most pairs begin together or nearly so, which a few frames show; memory for more is taken only where they do not.
        let Some(plan) = self.near_plan() else { return Ok(()) };
        let start = plan.start(&self.windows);
        if self.is_plain_start(&plan, &start, few) {
            return self.begin(start, &cancel);
        }
        self.windows.fill(self.capacity, &cancel)?;
        let Some(plan) = self.near_plan() else { return Ok(()) };
        let start = plan.start(&self.windows);
        if self.windows.all_ended() {
            self.follow(&plan, [0, 0]);
            return self.begin(start, &cancel);
        }
        match (self.request.scan)(self.windows.views(), &cancel)? {
            Some(thumbnails) => {
                lock(&self.log).searched_far = true;
                let prior = self.seen_whole(&thumbnails);
                let Some(plan) = Plan::find(&thumbnails, &prior) else { return Ok(()) };
                let start = plan.start(&thumbnails);
                self.follow(&plan, [0, 0]);
                let blends = plan.blends(&thumbnails);
                lock(&self.log).blended = blends.into_iter().map(|frame| frame as u64).collect();
                self.begin(start, &cancel)
            }
            None => self.begin(start, &cancel),
        }
    }

    /// The first frames already show where the streams meet, and nothing else of note.
    fn is_plain_start(&self, plan: &Plan, start: &Start, few: usize) -> bool {
        let lengths = self.windows.lengths();
        if self.prior.agree {
            return plan.begins_plain(few / COMMITTED);
        }
        let skip = start.skip_reference.max(start.skip_distorted);
        let offset = |(reference, distorted): (usize, usize)| {
            reference + start.skip_distorted == distorted + start.skip_reference
        };
        self.request.lengths != Lengths::Differ
            && self.prior.has_one_rate()
            && start.is_good()
            && skip <= few / PLAIN_SHARE
            && plan.pairs().all(offset)
            && plan.pairs().count() + skip == lengths.0.min(lengths.1)
    }

    /// What the windows show at the start.
    fn near_plan(&self) -> Option<Plan> {
        let ended = self.windows.all_ended();
        let prior =
            if ended { self.whole(&self.windows) } else { Prior { open_ended: true, ..self.prior.clone() } };
        Plan::find(&self.windows, &prior)
    }

    /// What is known beforehand of frames that are seen to their end. Containers often estimate their number from a duration;
    /// here they are counted.
    fn whole(&self, look: &dyn Look) -> Prior {
        let (reference, distorted) = look.lengths();
        Prior { agree: reference == distorted && self.prior.has_one_rate(), ..self.prior.clone() }
    }

    /// The same of small copies of whole files, with what their timestamps say.
    fn seen_whole(&self, thumbnails: &Thumbnails) -> Prior {
        let times = thumbnails.due();
        let known = self.whole(thumbnails);
        let contradicted =
            times.as_ref().is_some_and(|times| (0..).zip(&**times).any(|(at, due)| at != *due));
        Prior { agree: known.agree && !contradicted, times, ..known }
    }

    /// Leaves out what comes before the first pair.
    fn begin(&mut self, start: Start, cancel: &Cancel) -> Result<(), MediaError> {
        let first = self.steps.iter().position(|step| *step == Step::Pair).unwrap_or(0);
        self.steps.drain(..first);
        self.windows.skip(0, start.skip_reference, cancel)?;
        self.windows.skip(1, start.skip_distorted, cancel)?;
        let mut log = lock(&self.log);
        log.start = Some(start);
        log.brightness = self.windows.brightness();
        Ok(())
    }

    /// Does what a plan says, of which the first frames have these numbers.
    fn follow(&mut self, plan: &Plan, first: [u64; 2]) {
        if self.request.sync != Sync::Full {
            return;
        }
        self.route = Route::Planned;
        self.steps = steps(&plan.fates, usize::MAX, true).into();
        self.doubts = numbered(plan, first[1]);
    }

    /// Where the pictures are not alike and bars are on one side only, they are looked at without the bars.
    fn choose_view(&mut self) {
        let likeness = |pairer: &Self| {
            let start = pairer.near_plan().map(|plan| plan.start(&pairer.windows));
            start.and_then(|start| start.likeness)
        };
        let bars = lock(&self.log).bars;
        let [Some(reference), Some(distorted)] = [0, 1].map(|side| self.windows.front(side)) else { return };
        let size = |frame: &Frame| (frame.format().width(), frame.format().height());
        let own = [bars::view(bars[0], size(reference)), bars::view(bars[1], size(distorted))];
        if !bars::one_sided(own) {
            return;
        }
        let whole = likeness(self).unwrap_or(1.0);
        if whole >= ALIKE {
            return;
        }
        let mut best = (whole, Laid::Whole, None);
        for (laid, views) in [(Laid::WithoutBars, [bars::common(own); 2]), (Laid::Fitted, own)] {
            self.windows.look_at(Some(views));
            let likeness = likeness(self).unwrap_or(0.0);
            if likeness > best.0 {
                best = (likeness, laid, Some(views));
            }
        }
        lock(&self.log).laid = best.1;
        self.windows.look_at(best.2);
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
        lock(&self.log).pairs.push(noted);
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

/// The steps that fates ask for: at most `most` pairs unless all are wanted, and never half of a gap.
fn steps(fates: &[Fate], most: usize, all: bool) -> Vec<Step> {
    let (mut steps, mut whole, mut pairs, mut next) = (Vec::new(), 0, 0, 0);
    for fate in fates {
        match fate {
            Fate::Extra | Fate::Repeat => steps.push(Step::Extra),
            Fate::Pair(place) | Fate::InPlace(place) => {
                steps.extend((next..*place).map(|_| Step::Missing));
                steps.push(Step::Pair);
                (whole, pairs, next) = (steps.len(), pairs + 1, place + 1);
                if !all && pairs >= most {
                    break;
                }
            }
        }
    }
    steps.truncate(whole);
    steps
}

/// The steps that lead to these pairs.
fn steps_to(pairs: &[(u64, u64)]) -> VecDeque<Step> {
    let (mut steps, mut next) = (VecDeque::new(), (0, 0));
    for (reference, distorted) in pairs {
        steps.extend((next.0..*reference).map(|_| Step::Missing));
        steps.extend((next.1..*distorted).map(|_| Step::Extra));
        steps.push_back(Step::Pair);
        next = (reference + 1, distorted + 1);
    }
    steps
}

impl Start {
    /// Enough pairs that are alike, and no other offset that would do as well.
    pub(crate) fn is_good(&self) -> bool {
        self.pairs >= NARROWEST
            && self.confidence > CERTAIN
            && self.likeness.is_some_and(|likeness| likeness > ALIKE)
    }
}
