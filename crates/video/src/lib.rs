//! Pixels and where they come from.
//!
//! This crate owns sample formats, planes, pooled frames and the readers that fill them. It refuses to convert:
//! a sample leaves with the value it had in the file, a reader never returns a short frame, and the memory that
//! frames live in is bounded by a pool.
#![forbid(unsafe_code)]

mod format;
mod frame;
mod pool;

pub use format::{Chroma, Format, FormatError};
pub use frame::{Frame, Plane, PlaneMut, PlaneView, Sample};
pub use pool::{Pool, PooledFrame};
