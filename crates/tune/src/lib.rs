//! Tuning: encoders, the search for a quality, comparison of encoders, ladders and plans per shot.

#![forbid(unsafe_code)]

pub mod bd;
pub mod cache;
pub mod charts;
mod codecs;
mod compare;
mod decode;
mod encode;
pub mod encoders;
mod error;
mod estimate;
mod event;
mod find;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod goal;
pub mod hull;
mod lab;
mod ladder;
pub mod manifest;
pub mod mp4;
mod output;
mod probe_curve;
pub mod samples;
pub mod schema;
mod score;
pub mod search;
pub mod shots;
mod source;
mod tools;
mod workspace;

pub use compare::{CompareSettings, Comparison, Delta, Row, compare};
pub use encode::Recipe;
pub use encoders::Quality;
pub use error::TuneError;
pub use event::{Estimate, Event, Sink};
pub use find::{Attempt, FindAnswer, FindSettings, find};
pub use goal::{Goal, GoalMetric, GoalOutcome};
pub use lab::{Bench, Lab, Made, Measure};
pub use ladder::{Failure, Ladder, LadderSettings, Rendition, ladder};
pub use output::OutputFile;
pub use probe_curve::{Curve, Sample};
pub use score::{Judge, goal_selection};
pub use source::{RawShape, Source, Window, is_pix_fmt, looks_raw};
pub use tools::Tools;
pub use visus_engine::Pooling;
pub use workspace::write_atomically;
