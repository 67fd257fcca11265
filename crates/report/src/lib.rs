//! How results look.
//!
//! This crate owns every text and picture that a result is written as: [`libvmaf`]'s four formats, byte for byte, our own
//! JSON ([`score`] and its siblings, with their [`schema`]s), a self-contained [`html`] page, pages of tables ([`document`]),
//! charts ([`plot`]), gates and comparisons of reports, the numbers that people read ([`stats`]) and small drawings in text
//! ([`spark`]). Text from outside goes through [`escape`]. It computes no scores and opens no files.
#![forbid(unsafe_code)]

pub mod batch;
pub mod bench;
pub mod bootstrap;
pub mod diff;
pub mod document;
pub mod escape;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod gate;
pub mod html;
pub mod libvmaf;
pub mod migrate;
pub mod models;
pub mod part;
pub mod plot;
mod precision;
pub mod record;
pub mod sampling;
pub mod schema;
pub mod score;
pub mod shots;
pub mod spark;
pub mod stats;
pub mod worst;

pub use precision::{Precision, PrecisionError};
pub use record::Record;
