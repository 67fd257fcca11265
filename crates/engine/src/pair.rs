//! Pairing: two streams of frames become one stream of jobs.
//!
//! [`Windows`] keeps the pairs that metrics look back at and makes a job of each new pair; a session that is given pairs
//! uses it directly. [`Walk`] takes the frames of two feeds in step and pushes them into it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use visus_video::PlaneView;

use crate::error::{EngineError, Role, Side, guarded};
use crate::feed::Feed;
use crate::lane::{FramePair, Job, Jobs, NextJob, Ticket};
use crate::span::Span;
use crate::{Cancel, Plan};

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

/// Makes jobs of pairs, each with the pairs before it.
pub(crate) struct Windows {
    span: Span,
    step: u64,
    /// Earlier pairs that a job shows.
    history: usize,
    /// All metrics of the plan.
    places: Arc<[usize]>,
    /// Set once two pictures differ.
    differs: Differs,
    /// Newest first.
    earlier: VecDeque<FramePair>,
    /// The next pair's number.
    index: u64,
    /// Pairs of the span so far.
    frames: u64,
    /// All pairs of the span were the same so far, sample for sample.
    identical: bool,
}

impl Windows {
    /// The first pair that is pushed has the number `index`.
    pub fn new(plan: &Plan, span: Span, step: u64, index: u64, differs: Differs) -> Self {
        let history = plan.history();
        let earlier = VecDeque::with_capacity(history + 1);
        let places = plan.all_places();
        Self { span, step, history, places, differs, earlier, index, frames: 0, identical: true }
    }

    /// The next pair's number.
    pub fn index(&self) -> u64 {
        self.index
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    pub fn identical(&self) -> bool {
        self.identical
    }

    /// Whether no pair comes after the span if an input has no more frames now.
    fn ends_span(&self) -> bool {
        self.span.to.is_none_or(|to| self.index <= to)
    }

    /// Whether the span needs another pair.
    pub fn wants_more(&self) -> bool {
        self.span.reads(self.index)
    }

    /// The job of a pair, unless the pair lies outside the span or is there only to be looked back at.
    pub fn push(&mut self, current: FramePair) -> Option<Job> {
        let index = self.index;
        self.index += 1;
        if index < self.span.read || !self.span.reads(index) {
            return None;
        }
        let job = self.job(index, &current);
        self.earlier.push_front(current);
        self.earlier.truncate(self.history);
        job
    }

    fn job(&mut self, index: u64, current: &FramePair) -> Option<Job> {
        let context = !self.span.contains(index);
        if !context && self.identical && !same_pictures(current) {
            self.identical = false;
            self.differs.set();
        }
        if index < self.span.context {
            return None;
        }
        self.frames += u64::from(!context);
        let (listed, places) = (index.is_multiple_of(self.step), Arc::clone(&self.places));
        Some(Job {
            ticket: Ticket { index, listed, context, places },
            current: current.clone(),
            earlier: self.earlier.iter().cloned().collect(),
        })
    }
}

/// How pairing ended.
#[derive(Debug, Default)]
pub(crate) struct PairEnd {
    /// An input ended within the span or right behind it: no pair comes after the span.
    pub ended: bool,
    /// The side that ended first, if the other one goes on.
    pub shorter: Option<Side>,
    pub error: Option<EngineError>,
}

/// Two sides on their way, in step.
pub(crate) struct Walk<F> {
    reference: F,
    distorted: F,
    pub windows: Windows,
    /// Nothing is asked of the sides any more: what they said last counts.
    over: bool,
    /// How it ended, once there is no next job.
    pub end: PairEnd,
}

impl<F: Feed> Walk<F> {
    pub fn new(reference: F, distorted: F, windows: Windows) -> Self {
        Self { reference, distorted, windows, over: false, end: PairEnd::default() }
    }

    /// The next job; none once a side has ended or failed, the span is done, or at a halt.
    pub fn next(&mut self, halt: &Cancel) -> Option<Job> {
        let job = guarded(&Role::Pairing, || Ok(self.step(halt)));
        job.unwrap_or_else(|error| {
            (self.over, self.end.error) = (true, Some(error));
            None
        })
    }

    fn step(&mut self, halt: &Cancel) -> Option<Job> {
        while !self.over && self.windows.wants_more() {
            let Some(pair) = self.next_pair(halt) else {
                self.over = true;
                return None;
            };
            let job = self.windows.push(pair);
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// The next frame of both sides, or how they ended.
    fn next_pair(&mut self, halt: &Cancel) -> Option<FramePair> {
        let shorter = match (self.reference.next(halt), self.distorted.next(halt)) {
            (Ok(Some(reference)), Ok(Some(distorted))) => return Some(FramePair { reference, distorted }),
            (Ok(None), Ok(None)) => None,
            (Ok(None), Ok(Some(_))) => Some(Side::Reference),
            (Ok(Some(_)), Ok(None)) => Some(Side::Distorted),
            (Err(error), _) | (_, Err(error)) => {
                self.end.error = Some(error);
                return None;
            }
        };
        if self.windows.ends_span() {
            (self.end.ended, self.end.shorter) = (true, shorter);
        }
        None
    }
}

/// A walk that several workers share: whoever needs a job reads the next pair.
pub(crate) struct SharedWalk<F> {
    pub walk: Arc<Mutex<Walk<F>>>,
    pub halt: Cancel,
}

impl<F: Feed> Jobs for SharedWalk<F> {
    fn next(&mut self) -> Option<Job> {
        self.walk.lock().unwrap_or_else(PoisonError::into_inner).next(&self.halt)
    }

    fn try_next(&mut self) -> NextJob {
        self.next().map_or(NextJob::Ended, |job| NextJob::Job(Box::new(job)))
    }
}

/// Compares row by row and ends with the first difference, which in most pairs is in the first row. A device compares its own
/// pictures.
fn same_pictures(pair: &FramePair) -> bool {
    if let (Some(reference), Some(distorted)) = (pair.reference.remote(), pair.distorted.remote())
        && let Some(same) = reference.same_as(distorted)
    {
        return same;
    }
    (0..pair.reference.format().planes()).all(|plane| {
        match (pair.reference.plane(plane), pair.distorted.plane(plane)) {
            (PlaneView::U8(a), PlaneView::U8(b)) => a.rows().eq(b.rows()),
            (PlaneView::U16(a), PlaneView::U16(b)) => a.rows().eq(b.rows()),
            _ => false,
        }
    })
}
