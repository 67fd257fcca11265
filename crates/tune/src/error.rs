//! Why tuning gave no answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that can go wrong; each text carries what was given and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    #[error("{tool} not on PATH; install ffmpeg to encode and measure video{hint}")]
    NoTool { tool: &'static str, hint: &'static str },
    #[error("{path} cannot be read as video: {reason}", path = path.display())]
    Source { path: PathBuf, reason: String },
    #[error("unknown encoder '{name}'; known are {known}")]
    UnknownEncoder { name: String, known: String },
    #[error("encoder {name} cannot be used here: {reason}")]
    EncoderAbsent { name: String, reason: String },
    #[error("invalid {name} '{value}': {reason}")]
    Invalid { name: &'static str, value: String, reason: String },
    #[error("{encoder} failed at {knob} {quality}: {reason}")]
    Encode { encoder: String, knob: String, quality: crate::Quality, reason: String },
    #[error("no space left on the device that holds {path}", path = path.display())]
    DiskFull { path: PathBuf },
    #[error("ffmpeg timed out after {:.1} s", limit.as_secs_f64())]
    TimedOut { limit: Duration },
    #[error("{what}: {reason}")]
    Score { what: String, reason: String },
    #[error("model: {0}")]
    Model(String),
    #[error("{path}", path = path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is not an MP4 file as expected: {reason}", path = path.display())]
    Mp4 { path: PathBuf, reason: String },
    #[error("cancelled")]
    Cancelled,
}

impl TuneError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            return Self::DiskFull { path: path.to_owned() };
        }
        Self::Io { path: path.to_owned(), source }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// The error with its causes, in one line.
    pub fn chain(&self) -> String {
        visus_video::chain(self)
    }
}
