//! VMAF's features on a GPU, equal to the CPU's to the last bit.
//!
//! A device delivers sums; the code of `visus-metrics` that makes scores of the CPU's sums makes them of the
//! device's too. [`Work`] says which sums a set of metrics needs, each once; a [`Session`] has batches of pairs in
//! flight on a [`Device`] and gives [`PairSums`] back in order; [`Work::finish`] makes rows of them.
//!
//! `layout` and `schedule` decide where everything lies and what is launched, as plain values. [`cuda`] carries it out:
//! the driver is loaded at run time, and without one there is an error that says so. Kernels are written in CUDA C
//! (`kernels/*.cu`) and embedded as PTX, which `cargo xtask gpu` makes of them. With the feature `wgpu` there is a
//! module of that name: Vulkan and Metal, with kernels in WGSL (`kernels/wgsl`).
#![deny(unsafe_code)]

mod arguments;
pub mod cuda;
mod decoder;
mod device;
mod engines;
mod error;
mod layout;
mod schedule;
mod selftest;
mod sums;
#[cfg(feature = "wgpu")]
pub mod wgpu;
mod work;

pub use decoder::{PICTURE_LOST, VideoCodec, VideoDecoder, VideoStream};
pub use device::{Device, DeviceInfo, Limits, PairJob, Session};
pub use error::{CudaVersion, DeviceError};
pub use schedule::Kernel;
pub use sums::PairSums;
pub use work::{SMALLEST_SIDE, Work};
