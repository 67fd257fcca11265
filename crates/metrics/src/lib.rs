//! Video quality features as pure functions of a window of frames and a set of options.
//!
//! This crate owns every CPU metric, a folder each: a naive truth in the tests, a scalar kernel, and SIMD kernels beside
//! it. It does no I/O, starts no threads and reads no clock. Integer features are equal to libvmaf's scalar path to the last bit, at
//! every [`Level`].
//!
//! A [`Metric`] is made from a name and options by the [`registry`]; it hands out an [`Extractor`] per worker, which
//! turns a [`Window`] into a row of raw numbers, and one [`Fold`], which sees those rows in frame order and turns them
//! into scores. Whatever depends on order (motion's minimum over neighbours, sums over a clip) lives in the fold.
//!
//! The folders are private: other crates go through the registry. [`device`] has what a device needs to compute a metric in
//! an extractor's place.
#![deny(unsafe_code)]

mod adm;
mod bands;
mod cambi;
mod ciede;
mod clip;
mod csf;
pub mod device;
mod fixed_kernel;
mod float_adm;
mod float_ansnr;
mod float_moment;
mod float_motion;
mod float_ms_ssim;
mod float_psnr;
mod float_ssim;
mod float_vif;
mod gaussian;
mod level;
pub mod math;
mod metric;
mod motion;
mod null;
mod options;
mod ordered;
mod picture;
#[cfg(test)]
mod planes_tests;
pub mod printf;
mod psnr;
mod psnr_hvs;
pub mod registry;
mod resize;
mod separable;
mod simd;
mod speed;
#[cfg(test)]
mod spread_tests;
mod squares;
mod ssimulacra2;
#[cfg(test)]
mod testing;
mod vif;
mod xpsnr;

pub use clip::ClipInfo;
pub use fixed_kernel::FixedKernel;
pub use level::Level;
pub(crate) use metric::group_settings;
pub use metric::{
    Appears, Build, Direct, Emit, Extractor, Fold, GroupExtractor, Info, Key, Metric, MetricError, Needs,
    Pair, PlanesRead, Reach, Window,
};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
pub use visus_video::{Alone, Spread};
