//! The binaries: parse, call, draw.
//!
//! `vmaf` stands in for libvmaf's tool, flag by flag; `visus` is the command for people, `vmaf-mcp` a thin way to its
//! server for agents. Data goes to standard output
//! or files, words to standard error, and each binary's exit code is decided in one place.
#![forbid(unsafe_code)]

pub mod visus;
pub mod vmaf;
#[cfg(feature = "server")]
pub mod vmaf_mcp;

use std::path::Path;

use visus_video::{Format, ReadError, Source};

/// What opening a video gives.
pub(crate) type Opened = Result<Box<dyn Source>, ReadError>;

/// Opens both videos at the same time: with named pipes, opening one waits for a writer that may wait for the other.
pub(crate) fn open_both(reference: &Path, distorted: &Path, raw: Option<Format>) -> (Opened, Opened) {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| visus_video::open(distorted, raw));
        let reference = visus_video::open(reference, raw);
        (reference, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(feature = "eval")]
/// Works on foreign files that our own program handed to itself.
pub(crate) fn onnx_worker(words: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    visus_eval::onnx::worker::main(words)
}

/// What stands as the version in reports.
pub const VERSION: &str = concat!("visus-", env!("CARGO_PKG_VERSION"));
