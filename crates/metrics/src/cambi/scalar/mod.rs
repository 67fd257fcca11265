//! Kernels in plain Rust, a file per stage: rows in, rows out.

pub mod contrast;
pub mod histogram;
pub mod mask;
pub mod mode;
pub mod runs;
pub mod samples;
