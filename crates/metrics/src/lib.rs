//! Video quality features as pure functions of a window of frames and a set of options.
//!
//! This crate owns every CPU metric, a folder each: a naive truth in the tests, a scalar kernel, and SIMD kernels beside
//! it. It refuses IO, threads and clocks. Integer features are equal to libvmaf's scalar path to the last bit, at
//! every [`Level`].
//!
//! A [`Metric`] is made from a name and options by the [`registry`]; it hands out an [`Extractor`] per worker, which
//! turns a [`Window`] into a row of raw numbers, and one [`Fold`], which sees those rows in frame order and turns them
//! into scores. Whatever depends on order (motion's minimum over neighbours, sums over a clip) lives in the fold.
#![deny(unsafe_code)]

pub mod adm;
pub mod cambi;
pub mod ciede;
mod clip;
pub mod csf;
pub mod device;
pub mod float_adm;
pub mod float_ansnr;
pub mod float_moment;
pub mod float_motion;
pub mod float_ms_ssim;
pub mod float_psnr;
pub mod float_ssim;
pub mod float_vif;
pub mod gaussian;
mod level;
#[cfg(test)]
mod made;
pub mod math;
mod metric;
pub mod motion;
pub mod null;
mod options;
pub mod picture;
pub mod printf;
pub mod psnr;
pub mod psnr_hvs;
pub mod registry;
pub mod resize;
pub mod separable;
mod simd;
pub mod speed;
mod squares;
pub mod ssimulacra2;
#[cfg(test)]
mod synthetic;
pub mod vif;
pub mod xpsnr;

pub use clip::ClipInfo;
pub use level::Level;
pub use metric::{
    Alone, Appears, Build, Direct, Emit, Extractor, Fold, GroupExtractor, Info, Key, Metric, MetricError,
    Needs, Pair, Reach, Spread, Window,
};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
