//! The two engines behind one door: the embedded one, and a `vmaf` executable as child process.

pub mod encoded;
pub mod external;
mod feed;
mod foreign;
pub mod native;
mod place;
pub mod probe;
mod render;
pub mod tiny;
mod warning;

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use visus_engine::{FeatureSpec, ModelSpec};
use visus_report::{Precision, libvmaf};
use visus_video::{ChromaRounding, Format, ReadError, Source, raw_seekable, y4m_seekable};

use crate::ToolError;
use crate::report::Detail;
use crate::roots::Opened;

pub use warning::model_mismatch;

/// The words for where features are computed.
pub const BACKENDS: [&str; 7] = ["auto", "cpu", "cuda", "sycl", "vulkan", "hip", "metal"];

/// The backends that can be there or not.
pub const DEVICES: [&str; 6] = ["cpu", "cuda", "sycl", "vulkan", "hip", "metal"];

/// The largest model file that is read; the largest known one has 0.4 MB.
pub const MAX_MODEL_BYTES: u64 = 64 << 20;

/// Which model is to be used.
#[derive(Debug)]
pub enum ModelWish {
    /// The one that fits the picture.
    Auto,
    These(Vec<WantedModel>),
}

impl ModelWish {
    /// The name of the first model; `None` while that is open.
    pub fn first(&self) -> Option<String> {
        match self {
            Self::Auto => None,
            Self::These(models) => Some(models.first().map_or(String::new(), |model| model.spec.label())),
        }
    }
}

/// A model, with its file opened.
#[derive(Debug)]
pub struct WantedModel {
    /// The words of the request; `None` if a preset brought it.
    pub given: Option<String>,
    pub spec: ModelSpec,
    pub file: Option<Opened>,
}

/// How a run is done.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// `None`: all cores.
    pub threads: Option<u64>,
    pub frame_cnt: Option<u64>,
    pub skip_ref: u64,
    pub skip_dist: u64,
    pub subsample: u64,
    pub no_prediction: bool,
    pub cpumask: Option<u64>,
    pub gpumask: Option<u64>,
}

/// A scoring run with everything checked and opened.
#[derive(Debug)]
pub struct ScoreTask {
    pub reference: Input,
    pub distorted: Input,
    /// The format of raw files; Y4M if absent.
    pub raw: Option<Format>,
    /// The files are encoded, and how they are brought together.
    pub encoded: Option<encoded::Encoded>,
    pub models: ModelWish,
    /// Metrics, with the words of the request; presets have none.
    pub features: Vec<(Option<String>, FeatureSpec)>,
    /// Option and version of common test conditions.
    pub presets: Vec<(&'static str, String)>,
    pub backend: String,
    pub precision: Precision,
    pub precision_text: Option<String>,
    /// A format other than JSON.
    pub format: Option<(&'static str, libvmaf::Format)>,
    pub detail: Detail,
    pub tuning: Tuning,
    pub notes: Vec<String>,
    /// A small ONNX model beside the others.
    pub tiny: Option<tiny::TinyTask>,
}

/// One of the two videos.
#[derive(Debug)]
pub struct Input {
    /// For people; the content comes from the bytes.
    pub name: PathBuf,
    pub bytes: Bytes,
}

/// Where the bytes of a video are.
#[derive(Debug)]
pub enum Bytes {
    File(File),
    /// A clip that was made here.
    Memory(Arc<[u8]>),
}

impl From<Opened> for Input {
    fn from(opened: Opened) -> Self {
        Self { name: opened.path, bytes: Bytes::File(opened.file) }
    }
}

impl Input {
    /// The same video once more, to be read after this one.
    pub fn again(&self) -> std::io::Result<Self> {
        let bytes = match &self.bytes {
            Bytes::File(file) => Bytes::File(file.try_clone()?),
            Bytes::Memory(bytes) => Bytes::Memory(Arc::clone(bytes)),
        };
        Ok(Self { name: self.name.clone(), bytes })
    }

    /// A reader from the beginning; the input keeps its own handle.
    pub fn source(&self, raw: Option<Format>) -> Result<Box<dyn Source>, ToolError> {
        let fail = |error: &dyn std::error::Error| ToolError::Failed(crate::error::chain(error));
        let name = crate::error::cleaned(&self.name.to_string_lossy());
        let reader = match &self.bytes {
            Bytes::File(file) => {
                let mut file = file.try_clone().map_err(|error| fail(&error))?;
                // The place in a file is shared by its handles, and somebody may have read before.
                file.rewind().map_err(|error| fail(&error))?;
                reader(&name, file, raw)
            }
            Bytes::Memory(bytes) => reader(&name, Cursor::new(Arc::clone(bytes)), raw),
        };
        reader.map_err(|error| fail(&error))
    }
}

fn reader(
    name: &str,
    bytes: impl Read + Seek + Send + 'static,
    raw: Option<Format>,
) -> Result<Box<dyn Source>, ReadError> {
    Ok(match raw {
        Some(format) => Box::new(raw_seekable(name, bytes, format, ChromaRounding::Auto)?),
        None => Box::new(y4m_seekable(name, bytes)?),
    })
}

/// What is said of a backend that is not there.
pub fn unavailable(backend: &str, available: &[&str]) -> ToolError {
    let list = available.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    ToolError::Refused(format!(
        "backend '{backend}' requested but the local vmaf binary does not advertise it (available: [{list}]); refusing to \
         fall back silently. Pass backend='auto' to let the engine choose."
    ))
}
