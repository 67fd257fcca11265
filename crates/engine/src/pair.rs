//! Pairing: two streams of frames become one stream of windows.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use visus_video::{PooledFrame, ReadError};

use crate::run::PATIENCE;
use crate::span::Span;
use crate::{Cancel, EngineError, Side};

/// A frame that several windows share.
pub(crate) type SharedFrame = Arc<PooledFrame>;

/// What a reader thread hands over: a frame, the clean end (`None`), or why there is none.
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
    /// The side that ended first, if the other one goes on.
    pub shorter: Option<Side>,
    pub error: Option<EngineError>,
}

/// Takes frames from both readers in step and sends windows until one ends, the span is done, or nobody listens.
pub(crate) fn pair(
    reference: &Receiver<Read>,
    distorted: &Receiver<Read>,
    jobs: &Sender<Job>,
    span: &Span,
    history: usize,
    halt: &Cancel,
) -> PairEnd {
    let mut end = PairEnd::default();
    let mut earlier: VecDeque<FramePair> = VecDeque::with_capacity(history + 1);
    let mut index = span.read;
    while span.reads(index) {
        let Some(current) = next_pair(reference, distorted, halt, &mut end) else { break };
        let context = !span.contains(index);
        if index >= span.context {
            let earlier = earlier.iter().cloned().collect();
            if jobs.send(Job { index, context, current: current.clone(), earlier }).is_err() {
                break;
            }
            end.frames += u64::from(!context);
        }
        index += 1;
        earlier.push_front(current);
        earlier.truncate(history);
    }
    end
}

/// The next frame of both sides, or how they ended.
fn next_pair(
    reference: &Receiver<Read>,
    distorted: &Receiver<Read>,
    halt: &Cancel,
    end: &mut PairEnd,
) -> Option<FramePair> {
    match (next(reference, Side::Reference, halt), next(distorted, Side::Distorted, halt)) {
        (Ok(Some(reference)), Ok(Some(distorted))) => return Some(FramePair { reference, distorted }),
        (Ok(None), Ok(None)) => end.ended = true,
        (Ok(None), Ok(Some(_))) => (end.ended, end.shorter) = (true, Some(Side::Reference)),
        (Ok(Some(_)), Ok(None)) => (end.ended, end.shorter) = (true, Some(Side::Distorted)),
        (Err(error), _) | (_, Err(error)) => end.error = Some(error),
    }
    None
}

/// The next frame of one side. A halt, or a reader that vanished, looks like the end.
fn next(frames: &Receiver<Read>, side: Side, halt: &Cancel) -> Result<Option<SharedFrame>, EngineError> {
    while !halt.is_fired() {
        match frames.recv_timeout(PATIENCE) {
            Ok(read) => return read.map_err(|source| EngineError::Read { side, source }),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}
