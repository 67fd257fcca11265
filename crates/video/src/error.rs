//! Why a video cannot be read: which file, which frame, which byte, what was expected and what is there.

use std::io;

use crate::{Format, FormatError};

/// Why reading stopped. Causes of the operating system are in `source()`.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot open \"{file}\"")]
    Open { file: String, source: io::Error },
    #[error("cannot read frame {frame} of \"{file}\" at byte {byte}")]
    Io { file: String, frame: u64, byte: u64, source: io::Error },
    #[error("header of \"{file}\" at byte {byte}: {fault}")]
    Header { file: String, byte: u64, fault: HeaderFault },
    /// The input ends within a frame. `byte` is where that frame begins, its frame header included; `expected` and
    /// `got` count from there. In a Y4M file fewer than 6 bytes are what libvmaf's tool takes for a regular end.
    #[error(
        "\"{file}\" is cut short: frame {frame} at byte {byte} has {got} of {expected} bytes, after {whole_frames} \
         whole frames"
    )]
    Truncated { file: String, frame: u64, whole_frames: u64, byte: u64, expected: u64, got: u64 },
    #[error(
        "framing of \"{file}\" is lost at byte {byte}: frame {frame} begins with \"{found}\", not with FRAME"
    )]
    LostFraming { file: String, frame: u64, byte: u64, found: String },
    #[error("header of frame {frame} of \"{file}\" at byte {byte} is longer than {limit} bytes")]
    FrameHeader { file: String, frame: u64, byte: u64, limit: u64 },
    #[error("\"{file}\" has frames of {expected}, they cannot be read into a frame of {got}")]
    WrongFrame { file: String, expected: Format, got: Format },
    /// A decoder, or whatever else makes frames outside this crate, gave up.
    #[error("\"{file}\" cannot be decoded beyond frame {frame}: {reason}")]
    Decoder { file: String, frame: u64, reason: String },
    /// A device's decoder gave up; ffmpeg's may decode the file nevertheless.
    #[error("the device's decoder cannot decode \"{file}\" beyond frame {frame}: {reason}")]
    Device { file: String, frame: u64, reason: String },
    #[error("\"{file}\" cannot be read on after an earlier error")]
    Failed { file: String },
}

/// Which part of a Y4M header is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("the file is empty")]
    Empty,
    #[error(
        "this is no Y4M file: it begins with \"{found}\", not with YUV4MPEG2 (for raw video give size, chroma format \
         and bit depth)"
    )]
    NotY4m { found: String },
    #[error("the file ends within the header, after {got} bytes")]
    EndsEarly { got: u64 },
    #[error("the header is longer than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("the {what} is missing (tag {tag})")]
    Missing { tag: char, what: &'static str },
    #[error("\"{tag}\" is not a {what}; expected is for example {example}")]
    BadTag { tag: String, what: &'static str, example: &'static str },
    #[error(
        "chroma format \"{tag}\" is not supported; accepted are 420, 420jpeg, 420mpeg2, 420paldv, 422, 444, 444alpha, \
         mono, and 420p, 422p, 444p or mono followed by 9 to 16 bits"
    )]
    Chroma { tag: String },
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// An error with its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
