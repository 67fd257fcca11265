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
pub mod csf;
pub mod float_adm;
pub mod float_motion;
pub mod float_vif;
pub mod gaussian;
mod level;
pub mod math;
mod metric;
pub mod motion;
mod options;
pub mod picture;
pub mod printf;
pub mod registry;
pub mod resize;
pub mod separable;
mod simd;
#[cfg(test)]
mod synthetic;
pub mod vif;

pub use level::Level;
pub use metric::{
    Appears, Build, Direct, Emit, Extractor, Fold, Info, Key, Metric, MetricError, Needs, Pair, Window,
};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
