//! Models and the pipeline that scores one video against another.
//!
//! This crate owns model files, predictions, the plan of what is computed, and the threads that compute it. Results do
//! not depend on the number of threads or on the CPU level, memory is bounded however long the clip is, and every
//! wait can be cancelled. It knows no output format: a [`Sink`] receives events, and `run` returns an [`Outcome`].
//!
//! ```
//! use visus_engine::{Cancel, ModelSpec, Plan, Settings, Silent, run};
//! use visus_video::{Chroma, Format, synthetic};
//!
//! let format = Format::new(64, 48, Chroma::C420, 8)?;
//! let clip = || Box::new(synthetic::Clip::scene(format, 3, 7));
//! let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true)?;
//! let outcome = run(&plan, clip(), clip(), &Settings::default(), &Cancel::new(), &mut Silent)?;
//! assert_eq!(outcome.frames, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod backend;
mod cancel;
mod collect;
mod error;
mod event;
mod feed;
mod frame_threads;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gpu;
mod gpus;
mod lane;
mod memory;
pub mod model;
mod observe;
mod outcome;
mod pair;
mod part;
mod plan;
mod pooling;
pub mod preset;
mod run;
mod scores;
mod session;
mod settings;
mod span;
mod stage;
#[cfg(test)]
mod tests;
mod worker;

pub use backend::{
    Backend, BackendUsed, Device, DeviceError, DeviceId, DeviceLane, DevicePolicy, DeviceRequest, Fallback,
    LaneRequest,
};
pub use cancel::Cancel;
pub use error::{EngineError, Role, Side};
pub use event::{Event, Flow, Silent, Sink};
pub use gpu::Gpu;
pub use gpus::Gpus;
pub use lane::{FramePair, Job, Jobs, Lane, NextJob, PartialRow, RowSender, Ticket};
pub use model::{ModelSource, ModelSpec, NamedModel};
pub use observe::PairObserver;
pub use outcome::Outcome;
pub use part::{JoinError, Part, Row, join};
pub use plan::{FeatureSpec, Plan, PlanError, PlannedMetric};
pub use pooling::{Pooled, Pooling, listed, percentile, percentile_of, pool};
pub use run::{run, run_part};
pub use scores::{Column, Scores};
pub use session::PushSession;
pub use settings::{FrameRange, Settings};
#[cfg(feature = "wgpu")]
pub use visus_gpu::wgpu::{AdapterInfo, Api, adapters, first as first_adapter};
pub use visus_gpu::{PICTURE_LOST, VideoCodec, VideoDecoder, VideoStream};
pub use visus_metrics::ClipInfo;
