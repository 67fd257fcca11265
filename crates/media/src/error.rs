//! Why a video cannot be used.

use std::path::Path;

use visus_engine::Side;
use visus_video::budget::OverBudget;
use visus_video::{FormatError, ReadError};

/// What is wrong with a tool, a file, or a pair of files.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// Clients look for the first half of this sentence.
    #[error("{tool} not on PATH; install ffmpeg to use {purpose}{hint}")]
    NoTool { tool: &'static str, purpose: String, hint: &'static str },
    #[error("{tool} cannot be started: {reason}")]
    ToolBroken { tool: &'static str, reason: String },
    #[error("cannot open {file}: {reason}")]
    Open { file: String, reason: String },
    #[error("{file} is empty")]
    Empty { file: String },
    #[error("{file} is not a video that ffmpeg can read: {reason}")]
    NotVideo { file: String, reason: String },
    #[error("no video stream found in {file}")]
    NoVideoStream { file: String },
    #[error("{file} has {count} video streams, counted from 0; there is no stream v:{wanted}")]
    NoSuchStream { file: String, wanted: u32, count: usize },
    #[error(
        "pixel format '{pix_fmt}' cannot be mapped to planar YUV of 8 to 16 bits, which is what metrics compare \
         ({file}); convert the file first"
    )]
    PixelFormat { file: String, pix_fmt: String },
    #[error("{file}: {error}")]
    Format { file: String, error: FormatError },
    #[error(
        "{file} has pictures of {width}x{height} pixels, more than the limit of {limit} pixels per picture; scale it down first"
    )]
    TooManyPixels { file: String, width: u64, height: u64, limit: u64 },
    /// The words of the limit on children, as clients know them.
    #[error("subprocess timed out after {seconds:.1}s (set VMAF_MCP_SUBPROCESS_TIMEOUT_S to override)")]
    TimedOut { seconds: f64 },
    #[error("cancelled")]
    Cancelled,
    /// A thread ended without a result and without an error: a defect of this program.
    #[error("the thread that {what} {file} died; this is a defect, please report it")]
    ThreadDied { what: &'static str, file: String },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{0}")]
    Picture(String),
    #[error(transparent)]
    Memory(OverBudget),
    #[error("the {side} video: {error}")]
    OneSide { side: Side, error: Box<MediaError> },
    #[error("the reference video: {reference}; the distorted video: {distorted}")]
    BothSides { reference: Box<MediaError>, distorted: Box<MediaError> },
}

impl MediaError {
    pub(crate) fn on(self, side: Side) -> Self {
        Self::OneSide { side, error: Box::new(self) }
    }

    pub(crate) fn both(reference: Self, distorted: Self) -> Self {
        Self::BothSides { reference: Box::new(reference), distorted: Box::new(distorted) }
    }

    pub(crate) fn open(path: &Path, reason: impl ToString) -> Self {
        Self::Open { file: shown(path), reason: reason.to_string() }
    }
}

/// A path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
