//! Models against opinion scores.
//!
//! This crate owns ONNX models and the distrust they deserve ([`onnx`]), tables of features and opinion scores
//! ([`table`]), the rule of splits, the statistics of predictions ([`stats`]), comparisons of models, their charts, and
//! small ONNX models beside VMAF's own in scoring ([`tiny`]). It prints nothing.
//!
//! ```no_run
//! use visus_eval::{Evaluation, Question, Scorer};
//!
//! let scorers = [Scorer::open("model.onnx", &Default::default())?];
//! let table = visus_eval::open_table("features.parquet".as_ref(), &scorers)?;
//! let question = Question::default();
//! let evaluation: Evaluation = question.evaluate(&scorers[0], &table, &|| false)?;
//! println!("{} rows, PLCC {}", evaluation.n(), evaluation.figures.plcc);
//! # Ok::<(), visus_eval::EvalError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make files of their own"))]

mod apart;
pub mod charts;
mod compare;
mod error;
mod evaluate;
pub mod features;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod json;
pub mod onnx;

mod scorer;
mod split;
pub mod stats;
pub mod table;
pub mod tiny;

pub use compare::{Comparison, Pair};
pub use error::{EvalError, TableError};
pub use evaluate::{Evaluation, Intervals, Question, open_table, read_table_apart};
pub use json::{ComparisonReport, EvaluationReport, OUTPUTS};
pub use scorer::Scorer;
pub use split::Split;

/// The columns that models read, in the order in which they read them.
pub const FEATURES: [&str; 6] = ["adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"];
