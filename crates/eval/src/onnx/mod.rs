//! ONNX models that nobody vouches for.
//!
//! A model is read with a limit on its size, and its operators are compared with a list of those that regressors and
//! small networks are made of: no loops, no local functions, no foreign domains. Tensors outside the file must lie in
//! the model's own folder. It then runs in a child process with a limit on memory and time ([`Runner`]), so that neither
//! a crash nor a tensor of a terabyte reaches us. [`Session`] is the bare run inside of one process.

mod batch;
mod external;
mod file;
mod folder;
mod operators;
mod runner;
mod scan;
mod session;
#[cfg(test)]
mod tests;
mod wire;
pub mod worker;

pub use batch::{Batch, Output, python_shape};
pub use file::{Limits, ModelFile};
pub use folder::Folder;
pub use operators::ALLOWED;
pub use runner::Runner;
pub use scan::Input;
pub use session::Session;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    #[error("cannot read model {name}")]
    Read { name: String, source: std::io::Error },
    #[error("model {name} has {bytes} bytes, more than the {limit} that are allowed")]
    TooLarge { name: String, bytes: u64, limit: u64 },
    #[error("model {name} is not an ONNX file: {reason}")]
    Malformed { name: String, reason: &'static str },
    #[error("model {name} uses operator '{operator}', which is not allowed; allowed are {}", ALLOWED.join(", "))]
    Operator { name: String, operator: String },
    #[error("model {name} keeps data in '{location}': {reason}")]
    External { name: String, location: String, reason: String },
    #[error("model {name} has no input '{wanted}' (inputs: {known})")]
    NoInput { name: String, wanted: String, known: String },
    #[error("model {name} needs a further input '{input}', which is not given")]
    MissingInput { name: String, input: String },
    #[error("model {name}: input '{input}' takes shape {expected}, got {actual}")]
    InputShape { name: String, input: String, expected: String, actual: String },
    #[error("model {name} cannot be loaded: {reason}")]
    Load { name: String, reason: String },
    #[error("model {name} failed: {reason}")]
    Run { name: String, reason: String },
    #[error("model {name} took longer than the {:.0} s that are allowed", limit.as_secs_f64())]
    TimedOut { name: String, limit: std::time::Duration },
    #[error("model {name} needed more memory than the {} MiB that are allowed", limit >> 20)]
    OutOfMemory { name: String, limit: u64 },
    #[error(transparent)]
    Memory(visus_video::budget::OverBudget),
    #[error("cancelled")]
    Cancelled,
    #[error("the process for model {name} cannot be run: {reason}")]
    Process { name: String, reason: String },
}
