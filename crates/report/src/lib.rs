//! How results look.
//!
//! This crate owns every text that a result is written as: [`libvmaf`]'s four formats, byte for byte, the numbers that
//! people read ([`stats`]) and small drawings in text ([`spark`]). It computes no scores and opens no files.
#![forbid(unsafe_code)]

pub mod full;
pub mod libvmaf;
mod precision;
pub mod spark;
pub mod stats;

pub use precision::{Precision, PrecisionError};
