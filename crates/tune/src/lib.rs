//! Tuning: encoders, the search for a quality, comparison of encoders, ladders and plans per shot.

#![forbid(unsafe_code)]

pub mod bd;
pub mod cache;
mod codecs;
mod decode;
mod encode;
pub mod encoders;
mod error;
mod event;
pub mod hull;
mod lab;
pub mod mp4;
mod score;
pub mod search;
mod source;
mod tools;
mod workspace;

pub use encode::Recipe;
pub use error::TuneError;
pub use event::{Estimate, Event, Sink};
pub use lab::{Bench, Lab, Made, Measure};
pub use score::{Judge, Pooling};
pub use source::{RawShape, Source, Window, looks_raw};
pub use tools::Tools;
pub use workspace::write_atomically;
