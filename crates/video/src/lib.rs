//! Pixels and where they come from.
//!
//! This crate owns sample formats, planes, pooled frames and the readers that fill them. It refuses to convert:
//! a sample leaves with the value it had in the file, a reader never returns a short frame, and the memory that
//! frames live in is bounded by a pool.
//!
//! A [`Source`] gives frames one after another: [`open`] reads Y4M and raw planar video from files, pipes and standard
//! input, and a [`synthetic::Clip`] makes its own.
//!
//! ```
//! use visus_video::{Chroma, Format, Pool, Source, synthetic::Clip};
//!
//! let format = Format::new(64, 36, Chroma::C420, 8)?;
//! let mut source = Clip::scene(format, 3, 1);
//! let pool = Pool::new(format, 2);
//! while let Some(mut frame) = pool.take() {
//!     if !source.read(&mut frame)? {
//!         break;
//!     }
//! }
//! assert_eq!((source.frames_read(), pool.allocated()), (3, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod budget;
mod crop;
mod declared;
mod error;
mod format;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod info;
mod input;
mod layout;
mod lent;
mod libvmaf_words;
mod memory;
#[cfg(unix)]
mod parts;
mod plane_set;
mod pool;
mod reader;
mod remote;
mod share;
pub mod shots;
mod source;
mod spread;
pub mod synthetic;
mod writer;
mod y4m;
mod zeros;

pub use crop::{Cropped, Region};
pub use declared::Declared;
pub use error::{HeaderFault, ReadError, chain};
pub use format::{Chroma, Format, FormatError, MAX_SIDE};
pub use frame::{Frame, LayoutError, Plane, PlaneLayout, PlaneMut, PlaneView, Sample};
pub use info::{ChromaRounding, ColourRange, Info, Interlacing, Warning};
pub use input::{peek_stdin, stdin_bytes};
pub use lent::LentPicture;
pub use memory::{Allocator, Buffer};
pub use plane_set::PlaneSet;
pub use pool::{Pool, PooledFrame, SharedFrame};
pub use reader::Reader;
pub use remote::RemotePicture;
pub use share::share;
pub use source::{
    Source, open, open_file, open_raw, open_raw_rounded, open_y4m, raw_seekable, raw_stream, y4m_seekable,
    y4m_stream,
};
pub use spread::{Alone, Spread};
pub use writer::{Y4mWriter, write_raw, write_y4m};
pub use zeros::{Plain, Zeros};
