//! Why a run or a session gave no result.
//!
//! Every way to fail has a variant of its own, so that a front end can map it to an exit code or a status. `Cancelled`
//! means that somebody cancelled: the switch was fired or a sink said stop. A thread that dies is [`EngineError::Died`],
//! which names it; it never looks like the end of a video.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use visus_metrics::MetricError;
use visus_video::budget::OverBudget;
use visus_video::{Format, ReadError};

use crate::backend::{DeviceError, DeviceId};

/// One of the two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Reference,
    Distorted,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Reference { "reference" } else { "distorted" })
    }
}

/// Who does what in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads one of the inputs.
    Reader(Side),
    /// Brings the frames of both inputs together.
    Pairing,
    /// Computes metrics on the CPU.
    Worker,
    /// Computes metrics on a device.
    Device(DeviceId),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reader(side) => write!(f, "the reader of the {side} video"),
            Self::Pairing => f.write_str("the pairing of frames"),
            Self::Worker => f.write_str("a worker"),
            Self::Device(device) => write!(f, "the lane of device {device}"),
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("the inputs cannot be compared: {reference} against {distorted}")]
    Incompatible { reference: Format, distorted: Format },
    #[error("reading the {side} video failed")]
    Read { side: Side, source: ReadError },
    #[error("the {side} frame {index} is {got}, but the session scores {expected}")]
    WrongFrame { side: Side, index: u64, expected: Format, got: Format },
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error("device {device} failed")]
    Device { device: DeviceId, source: DeviceError },
    #[error("a part from frame {from} to {to} has no frame")]
    EmptyPart { from: u64, to: u64 },
    #[error("a part must begin with a frame that is listed: {from} is not a multiple of the step {step}")]
    UnlistedStart { from: u64, step: u64 },
    #[error("there is no pair of frames to score")]
    NoFrames,
    /// There is no room for frames and scratch; see [`visus_video::budget`].
    #[error(transparent)]
    Memory(OverBudget),
    /// Something panicked, or ended without saying why. This is a fault of the program, never of its input.
    #[error("{who} stopped unexpectedly: {reason}")]
    Died { who: Role, reason: String },
    #[error("{who} could not be started")]
    Start { who: Role, source: io::Error },
    /// A lane ended without having scored all it was given.
    #[error("frame {frame} was never scored: {metrics} did not deliver")]
    Incomplete { frame: u64, metrics: String },
    #[error("the session has already ended with an error")]
    SessionFailed,
    #[error("cancelled")]
    Cancelled,
}

impl From<OverBudget> for EngineError {
    fn from(error: OverBudget) -> Self {
        match error {
            OverBudget::Cancelled => Self::Cancelled,
            other => Self::Memory(other),
        }
    }
}

/// Runs `work` and makes an error that names `who` of a panic. What `work` has changed is not looked at any more after a
/// panic: the run ends.
pub(crate) fn guarded<T>(
    who: &Role,
    work: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let result = catch_unwind(AssertUnwindSafe(work));
    result.unwrap_or_else(|panic| Err(EngineError::Died { who: who.clone(), reason: message_of(&*panic) }))
}

/// What a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let fails = |work: fn() -> Result<(), EngineError>| {
            guarded(&Role::Reader(Side::Distorted), work).unwrap_err().to_string()
        };
        let who = "the reader of the distorted video stopped unexpectedly: ";
        assert_eq!(fails(|| panic!("plain")), format!("{who}plain"));
        assert_eq!(fails(|| panic!("number {}", 7)), format!("{who}number 7"));
        assert_eq!(fails(|| std::panic::panic_any(7)), format!("{who}it panicked without a message"));
        assert_eq!(fails(|| Err(EngineError::NoFrames)), "there is no pair of frames to score");
    }
}
