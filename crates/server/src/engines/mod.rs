//! The two engines: the embedded one, and a `vmaf` executable as child process.
//!
//! Both take a [`ScoreTask`]: a request of the `scoring` crate, with every file opened, and what only a server asks for.

pub mod external;
mod feed;
mod foreign;
pub mod native;
pub mod probe;
mod render;
pub mod tiny;
mod warning;

use std::sync::Arc;
use std::time::Duration;

use visus_metrics::Level;
use visus_report::{Precision, libvmaf};
use visus_scoring::{
    Columns, Decoders, ErrorClass, Pairing, RequestError, RunOptions, Sampling, ScoreError, ScoreRequest,
    Selection, Video, Videos,
};
use visus_video::Format;

use crate::ToolError;
use crate::error::chain;
use crate::report::Detail;
use crate::roots::Opened;

pub use warning::model_mismatch;

/// The names of what features can be computed on.
pub const BACKENDS: [&str; 7] = ["auto", "cpu", "cuda", "sycl", "vulkan", "hip", "metal"];

/// The backends that a build can have or lack.
pub const DEVICES: [&str; 6] = ["cpu", "cuda", "sycl", "vulkan", "hip", "metal"];

/// The largest model file that is read; the largest known one has 0.4 MB.
pub const MAX_MODEL_BYTES: u64 = 4 << 20;

/// A scoring run with everything checked and opened.
#[derive(Debug)]
pub struct ScoreTask {
    pub request: ScoreRequest,
    pub presets: Presets,
    pub backend: String,
    pub precision: Precision,
    /// The precision as it was asked for, which an executable is given.
    pub precision_text: Option<String>,
    /// A format other than JSON.
    pub format: Option<(&'static str, libvmaf::Format)>,
    pub detail: Detail,
    /// Bits of instruction sets and GPU operations not to use, which an executable is given.
    pub masks: [Option<u64>; 2],
    pub notes: Vec<String>,
    /// A small ONNX model beside the others.
    pub tiny: Option<tiny::TinyRequest>,
    /// Samples of the frames are scored until they say enough.
    pub sampling: Option<Sampling>,
}

/// Common test conditions that were asked for. Their models and metrics are the last ones of the selection; an executable
/// brings its own.
#[derive(Clone, Debug, Default)]
pub struct Presets {
    /// Option and version.
    pub options: Vec<(&'static str, String)>,
    pub models: usize,
    pub metrics: usize,
}

impl ScoreTask {
    /// A task over two clips in memory, with the default model.
    pub fn of_clips(
        clips: [(&str, Arc<[u8]>); 2],
        raw: Format,
        backend: &str,
        level: Level,
    ) -> Result<Self, ToolError> {
        let [reference, distorted] =
            clips.map(|(name, bytes)| Video::Memory { name: name.to_owned(), bytes });
        let videos =
            Videos { reference, distorted, raw: Some(raw), pairing: Pairing::default(), skip: [0, 0] };
        let selection = Selection::parse(["vmaf_v0.6.1"], [], Columns::Libvmaf).map_err(wrong_request)?;
        Ok(Self {
            request: ScoreRequest { videos, selection, options: RunOptions::with_level(level) },
            presets: Presets::default(),
            backend: backend.to_owned(),
            precision: Precision::Digits(17),
            precision_text: Some("max".to_owned()),
            format: None,
            detail: Detail::Full,
            masks: [None, None],
            notes: Vec::new(),
            tiny: None,
            sampling: None,
        })
    }
}

/// A file that was opened within the allowed roots.
pub fn video(opened: Opened) -> Video {
    Video::File { name: opened.path, file: opened.file }
}

/// How decoders of encoded video are started.
pub fn decoders(launcher: Option<std::path::PathBuf>, limit: Duration, total: Duration) -> Decoders {
    Decoders { launcher, limit, total: Some(total), purpose: "vmaf_score_encoded".to_owned(), previews: None }
}

/// What is said of a backend that is not there.
pub fn unavailable(backend: &str, available: &[&str]) -> ToolError {
    let list = available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    ToolError::Refused(format!(
        "backend '{backend}' requested but the local vmaf binary does not advertise it (available: [{list}]); refusing to \
         fall back silently. Pass backend='auto' to let the engine choose."
    ))
}

/// The failure of a score, as a tool's error. `limit` is the one on children.
pub fn tool_error(error: ScoreError, limit: Duration) -> ToolError {
    match (error.class(), &error) {
        (ErrorClass::Cancelled, _) => ToolError::Cancelled,
        (ErrorClass::TimedOut, _) => ToolError::TimedOut { limit },
        (ErrorClass::NotComparable, ScoreError::NotComparable(refusal)) if refusal.can_be_forced => {
            ToolError::NotComparable(format!("{refusal}. Pass force=true to score them all the same"))
        }
        (ErrorClass::NotComparable, _) => ToolError::NotComparable(chain(&error)),
        (ErrorClass::Video, _) => ToolError::Video(chain(&error)),
        (ErrorClass::Request, _) => ToolError::Refused(chain(&error)),
        (ErrorClass::Failed, _) => ToolError::Failed(chain(&error)),
    }
}

/// A wrong request, as a tool's error.
pub fn wrong_request(error: RequestError) -> ToolError {
    ToolError::Refused(error.to_string())
}
