//! Pixels and where they come from.
//!
//! This crate owns sample formats, planes, pooled frames and the readers that fill them. It refuses to convert:
//! a sample leaves with the value it had in the file, a reader never returns a short frame, and the memory that
//! frames live in is bounded by a pool.
//!
//! A [`Source`] gives frames one after another: [`open`] reads Y4M and raw planar video from files, pipes and standard
//! input.
#![forbid(unsafe_code)]

mod error;
mod format;
mod frame;
mod info;
mod input;
mod layout;
mod libvmaf_words;
mod pool;
mod reader;
mod source;
mod y4m;

pub use error::{HeaderFault, ReadError};
pub use format::{Chroma, Format, FormatError, MAX_SIDE};
pub use frame::{Frame, Plane, PlaneMut, PlaneView, Sample};
pub use info::{ChromaRounding, ColourRange, Info, Interlacing, Warning};
pub use pool::{Pool, PooledFrame};
pub use reader::Reader;
pub use source::{
    Source, open, open_raw, open_raw_rounded, open_y4m, raw_seekable, raw_stream, y4m_seekable, y4m_stream,
};
