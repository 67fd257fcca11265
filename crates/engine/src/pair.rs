//! Pairing: two streams of frames become one stream of windows.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use visus_video::{PooledFrame, ReadError};

use crate::run::PATIENCE;
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
    pub current: FramePair,
    pub earlier: Vec<FramePair>,
}

/// How pairing ended.
#[derive(Debug, Default)]
pub(crate) struct PairEnd {
    pub frames: u64,
    /// The side that ended first, if the other one goes on.
    pub shorter: Option<Side>,
    pub error: Option<EngineError>,
}

/// Takes frames from both readers in step and sends windows until one ends, the limit is reached, or nobody listens.
pub(crate) fn pair(
    reference: &Receiver<Read>,
    distorted: &Receiver<Read>,
    jobs: &Sender<Job>,
    limit: Option<u64>,
    history: usize,
    halt: &Cancel,
) -> PairEnd {
    let mut end = PairEnd::default();
    let mut earlier: VecDeque<FramePair> = VecDeque::with_capacity(history + 1);
    while limit.is_none_or(|limit| end.frames < limit) {
        let current = match (next(reference, Side::Reference, halt), next(distorted, Side::Distorted, halt)) {
            (Ok(Some(reference)), Ok(Some(distorted))) => FramePair { reference, distorted },
            (Ok(None), Ok(None)) => break,
            (Ok(None), Ok(Some(_))) => {
                end.shorter = Some(Side::Reference);
                break;
            }
            (Ok(Some(_)), Ok(None)) => {
                end.shorter = Some(Side::Distorted);
                break;
            }
            (Err(error), _) | (_, Err(error)) => {
                end.error = Some(error);
                break;
            }
        };
        let job =
            Job { index: end.frames, current: current.clone(), earlier: earlier.iter().cloned().collect() };
        if jobs.send(job).is_err() {
            break;
        }
        end.frames += 1;
        earlier.push_front(current);
        earlier.truncate(history);
    }
    end
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
