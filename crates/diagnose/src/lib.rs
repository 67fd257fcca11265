//! Faults of a video that quality models do not see, or do not name: levels, colour, frame order, fields, placement, overlays,
//! damage, sharpening, noise.
//!
//! Three steps, of which the first runs beside the metrics on the frames that they have in memory:
//!
//! 1. [`Watch::look`] sums a pair up on a grid of cells, from a part of its rows (`grid`), fits how levels and colours were
//!    changed as a whole (`fit`), and finds the cells that are wrong beyond that (`local`).
//! 2. In frame order, each frame is compared with its neighbours in both videos (`motion`, and `strips` for its fields). The result
//!    is [`FrameFacts`], some eighty numbers per frame, all that is kept; parts of a clip carry them so that they can be joined.
//! 3. [`judge`] asks the detectors (`detectors`, one file each) about every frame and makes [`Finding`]s of frames in a row.
#![forbid(unsafe_code)]

mod detectors;
mod finding;
mod fit;
mod flow;
mod geometry;
mod grid;
mod judge;
mod local;
mod look;
mod motion;
mod strips;
mod totals;
mod watch;

pub use finding::{Area, Finding, Kind, Visibility};
pub use fit::{ChromaFit, LumaFit};
pub use geometry::Placement;
pub use judge::judge;
pub use local::Patch;
pub use look::{DetailFacts, FrameFacts};
pub use motion::Motion;
pub use strips::FieldTime;
pub use watch::Watch;
