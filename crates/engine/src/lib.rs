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

mod cancel;
mod collect;
mod crew;
mod event;
mod feed;
pub mod fuzzing;
mod memory;
pub mod model;
mod pair;
mod part;
mod plan;
mod pooling;
pub mod preset;
mod run;
mod scores;
mod span;
mod worker;

pub use cancel::Cancel;
pub use event::{Event, Flow, Silent, Sink};
pub use model::{ModelSource, ModelSpec, NamedModel};
pub use part::{JoinError, Part, Row, join, run_part};
pub use plan::{FeatureSpec, Plan, PlanError};
pub use pooling::{Pooled, pool};
pub use run::{EngineError, Outcome, Settings, Side, run};
pub use scores::{Column, Scores};
