//! Pairing: two streams of frames become one stream of windows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use visus_video::{PlaneView, PooledFrame, ReadError};

use crate::feed::Feed;
use crate::span::Span;
use crate::{Cancel, EngineError, Side};

/// A frame that several windows share.
pub(crate) type SharedFrame = Arc<PooledFrame>;

/// What a reader hands over: a frame, the clean end (`None`), or why there is none.
pub(crate) type Read = Result<Option<SharedFrame>, ReadError>;

/// Two frames that belong together.
#[derive(Clone, Debug)]
pub(crate) struct FramePair {
    pub reference: SharedFrame,
    pub distorted: SharedFrame,
}

/// One unit of work: a pair and the pairs before it, newest first.
#[derive(Debug)]
pub(crate) struct Job {
    pub index: u64,
    /// Outside the span: only folds that look around want its row.
    pub context: bool,
    pub current: FramePair,
    pub earlier: Vec<FramePair>,
}

/// How pairing ended.
#[derive(Debug, Default)]
pub(crate) struct PairEnd {
    /// Pairs of the span.
    pub frames: u64,
    /// An input ended: nothing comes after the span.
    pub ended: bool,
    /// All pairs of the span were the same, sample for sample.
    pub identical: bool,
    /// The side that ended first, if the other one goes on.
    pub shorter: Option<Side>,
    pub error: Option<EngineError>,
}

/// Whether a pair was found to differ: from then on nobody asks for samples that no metric looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Differs(Arc<AtomicBool>);

impl Differs {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How two streams of frames become one of windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairing<'a> {
    pub span: &'a Span,
    /// Earlier pairs that a window shows.
    pub history: usize,
    /// Told once two pictures differ.
    pub differs: &'a Differs,
}

impl<'a> Pairing<'a> {
    pub fn walk<F: Feed>(self, reference: F, distorted: F) -> Walk<'a, F> {
        let earlier = VecDeque::with_capacity(self.history + 1);
        let end = PairEnd { identical: true, ..PairEnd::default() };
        Walk { pairing: self, reference, distorted, earlier, index: self.span.read, over: false, end }
    }
}

/// Two sides on their way, in step.
pub(crate) struct Walk<'a, F> {
    pairing: Pairing<'a>,
    reference: F,
    distorted: F,
    /// Newest first.
    earlier: VecDeque<FramePair>,
    index: u64,
    /// Nothing is asked of the sides any more: what they said last counts.
    over: bool,
    /// How it ended, once there is no next window.
    pub end: PairEnd,
}

impl<F: Feed> Walk<'_, F> {
    /// The next window; none once a side has ended or failed, the span is done, or at a halt.
    pub fn next(&mut self, halt: &Cancel) -> Option<Job> {
        while !self.over && self.pairing.span.reads(self.index) {
            let current = next_pair(&mut self.reference, &mut self.distorted, halt, &mut self.end);
            self.over = current.is_none();
            let current = current?;
            let job = self.window(&current);
            self.index += 1;
            self.earlier.push_front(current);
            self.earlier.truncate(self.pairing.history);
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// The window of a pair, unless it is there only to be looked back at.
    fn window(&mut self, current: &FramePair) -> Option<Job> {
        let Pairing { span, differs, .. } = self.pairing;
        let (index, context) = (self.index, !span.contains(self.index));
        if !context && self.end.identical && !same_pictures(current) {
            self.end.identical = false;
            differs.set();
        }
        if index < span.context {
            return None;
        }
        self.end.frames += u64::from(!context);
        Some(Job {
            index,
            context,
            current: current.clone(),
            earlier: self.earlier.iter().cloned().collect(),
        })
    }
}

/// The next frame of both sides, or how they ended.
fn next_pair(
    reference: &mut impl Feed,
    distorted: &mut impl Feed,
    halt: &Cancel,
    end: &mut PairEnd,
) -> Option<FramePair> {
    let failed = |side| move |source| EngineError::Read { side, source };
    let reference = reference.next(halt).map_err(failed(Side::Reference));
    let distorted = distorted.next(halt).map_err(failed(Side::Distorted));
    match (reference, distorted) {
        (Ok(Some(reference)), Ok(Some(distorted))) => return Some(FramePair { reference, distorted }),
        (Ok(None), Ok(None)) => end.ended = true,
        (Ok(None), Ok(Some(_))) => (end.ended, end.shorter) = (true, Some(Side::Reference)),
        (Ok(Some(_)), Ok(None)) => (end.ended, end.shorter) = (true, Some(Side::Distorted)),
        (Err(error), _) | (_, Err(error)) => end.error = Some(error),
    }
    None
}

/// Compares row by row and ends with the first difference, which in most pairs is in the first row.
fn same_pictures(pair: &FramePair) -> bool {
    (0..pair.reference.format().planes()).all(|plane| {
        match (pair.reference.plane(plane), pair.distorted.plane(plane)) {
            (PlaneView::U8(a), PlaneView::U8(b)) => a.rows().eq(b.rows()),
            (PlaneView::U16(a), PlaneView::U16(b)) => a.rows().eq(b.rows()),
            _ => false,
        }
    })
}
