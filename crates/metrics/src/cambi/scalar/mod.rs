//! Kernels in plain Rust, a file per stage: rows in, rows out. All of it is compiled for each CPU level, as part of
//! [`Scorer::score`](super::scorer::Scorer::score).

pub mod contrast;
pub mod histogram;
pub mod mask;
pub mod mode;
pub mod runs;
pub mod samples;
pub mod spans;
pub mod strengths;
