//! How results look.
//!
//! This crate owns every text and picture that a result is written as: [`libvmaf`]'s four formats, byte for byte, our own
//! JSON ([`full`]), a self-contained [`html`] page, plots ([`plot`]), gates and comparisons of reports, the numbers that
//! people read ([`stats`]) and small drawings in text ([`spark`]). It computes no scores and opens no files.
#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod diff;
pub mod document;
pub mod escape;
pub mod full;
pub mod gate;
pub mod html;
pub mod libvmaf;
pub mod part;
pub mod plot;
mod precision;
pub mod record;
pub mod score;
pub mod shots;
pub mod spark;
pub mod stats;

pub use precision::{Precision, PrecisionError};
pub use record::Record;
