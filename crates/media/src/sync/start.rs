//! Where two streams meet: what the pairing thread finds out before it passes anything on.

use visus_engine::Cancel;
use visus_video::Frame;

use crate::MediaError;
use crate::sync::findings::Sync;
use crate::sync::log::Laid;
use crate::sync::look::Look;
use crate::sync::pairer::{AHEAD, COMMITTED, Pairer};
use crate::sync::plan::{Plan, Prior, Start};
use crate::sync::steps::Step;
use crate::sync::thumbnails::Thumbnails;
use crate::sync::{Lengths, NARROWEST, bars, lock};

/// An offset of up to this part of the frames that are looked ahead is plain: most of them then have their like.
const PLAIN_SHARE: usize = 4;
/// Pictures above this likeness show the same beyond doubt.
const ALIKE: f32 = 0.8;
/// A start below this confidence is none that can be relied on.
pub(crate) const CERTAIN: f32 = 0.4;

impl Pairer {
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
    pub(super) fn whole(&self, look: &dyn Look) -> Prior {
        let (reference, distorted) = look.lengths();
        Prior { agree: reference == distorted && self.prior.has_one_rate(), ..self.prior.clone() }
    }

    /// The same of small copies of whole files, with what their timestamps say.
    pub(super) fn seen_whole(&self, thumbnails: &Thumbnails) -> Prior {
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
}

impl Start {
    /// Enough pairs that are alike, and no other offset that would do as well.
    pub(crate) fn is_good(&self) -> bool {
        self.pairs >= NARROWEST
            && self.confidence > CERTAIN
            && self.likeness.is_some_and(|likeness| likeness > ALIKE)
    }
}
