//! One request, one result: the path from what a user asked for to scores, the same for every front end.
//!
//! A front end parses its own syntax into a [`ScoreRequest`], calls [`score`], and prints the [`ScoreResult`]. Everything in
//! between is decided here and nowhere else:
//!
//! | question | where |
//! |---|---|
//! | which model does `v0.6.1`, `auto` or `all` mean? | [`names`], [`Selection`] |
//! | which metric does `ssim` mean? | [`names`] |
//! | is a file raw, Y4M or encoded, and how are two videos brought together? | [`Videos`], [`Prepared`] |
//! | can the two be compared? | [`NotComparable`] |
//! | what is done to the videos beforehand? | [`inputs`] |
//! | how are samples of the frames scored? | [`score_sampled`] |
//! | how do the scores of two models correspond? | [`Migration`] |
//! | which frames does `--from 1:30` mean? | [`range`] |
//! | which instructions may be used, and which device? | [`cpu`], [`backend`] |
//! | whose fault is an error? | [`ScoreError::class`] |
//!
//! A front end that already holds frames pushes them into a [`FrameScorer`], whose result is the same [`ScoreResult`]; one
//! that holds sources (tuning tools read encodes they made themselves) calls [`run_sources`].
#![forbid(unsafe_code)]

mod adapter;
mod anytime;
pub mod backend;
mod cache;
pub mod cpu;
mod error;
mod faults;
mod frames;
mod handle;
pub mod inputs;
mod migrate;
pub mod names;
mod open;
mod pair;
pub mod range;
mod request;
mod run;
mod sampling;
mod selection;
mod shape;
mod strata;
mod video;

pub use anytime::{Estimates, score_sampled};
pub use backend::BackendRequest;
pub use cache::cache_folder;
pub use error::{ErrorClass, NotComparable, RequestError, ScoreError};
pub use faults::{Faults, join_diagnosis};
pub use frames::FrameScorer;
pub use handle::{ModelFile, OpenedFile};
pub use inputs::InputOptions;
pub use migrate::Migration;
pub use open::{OpenVideos, Prepared, open_one};
pub use pair::PairInfo;
pub use request::{Decoders, DeviceDecoding, Pairing, RunOptions, ScoreRequest, Videos};
pub use run::{Part, ScoreResult, Scored, run_sources, score, score_opened, score_resolved, score_with_plan};
pub use sampling::{SampleBudget, Sampling, Within};
pub use selection::{Columns, Resolved, Selection};
pub use shape::Shape;
pub use video::{OpenBytes, SeekableBytes, Video};
pub use visus_media::FoundPairs;
