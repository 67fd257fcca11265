//! The binaries: parse, call, draw.
//!
//! `vmaf` stands in for libvmaf's tool, flag by flag; `visus` is the command for people. Data goes to standard output
//! or files, words to standard error, and each binary's exit code is decided in one place.
#![forbid(unsafe_code)]

pub mod visus;
pub mod vmaf;

/// What stands as the version in reports.
pub const VERSION: &str = concat!("visus-", env!("CARGO_PKG_VERSION"));
