//! The report of a score: one shape for every front end.
//!
//! A front end keeps two things of a finished run: its [`Outcome`], which holds the scores as columns of numbers, and
//! [`ScoreFacts`], which hold everything else. A [`ScoreReport`] looks at both and writes them: [`ScoreReport::full`] with
//! every frame in libvmaf's layout, [`ScoreReport::summary`] in about a thousand tokens however long the clip, and
//! [`ScoreReport::page`] for reports that are too long for one answer. All of them are types that serialise, so their
//! schemas (see [`crate::schema`]) cannot say anything else than what is written.

mod facts;
mod full;
mod page;
mod sections;
mod summary;
#[cfg(test)]
mod tests;
mod warnings;

use serde::Serialize;
use serde_json::Value;
use visus_engine::{Column, Outcome};

pub use facts::{
    BriefInput, BriefModel, BriefProvenance, EngineKind, FeatureFacts, InputFacts, MetricFacts, ModelFacts,
    Provenance, ScoreFacts,
};
pub use full::{FrameScores, FullScore, PooledScores};
pub use page::{FramesPage, MAX_PAGE};
pub use sections::{
    ComparabilityReason, ComparabilitySection, Conversion, DoubtfulRun, DoubtfulRuns, FrameRun, FrameRuns,
    MediaFacts, MediaSection, PairingSection, Recheck, Sections, Verdict,
};
pub use summary::{CurveSummary, FrameSeries, PooledSummary, SummaryScore, WorstFrameScore, WorstSecond};

pub use warnings::{FaultWarning, WarningRegion};

use crate::Precision;

/// Why two equal videos do not get 100.
pub const IDENTICAL: &str = "The two inputs are identical, sample for sample. VMAF is a trained model, not a \
difference: it predicts what viewers said, and even of a perfect copy they do not all say 100. A still picture gets about \
97.4 with vmaf_v0.6.1, a moving one 100.";

/// A finished score, ready to be written.
#[derive(Clone, Copy, Debug)]
pub struct ScoreReport<'a> {
    pub facts: &'a ScoreFacts,
    pub outcome: &'a Outcome,
    /// How many digits scores are written with.
    pub precision: Precision,
    /// The job that made it, where there is one.
    pub job_id: Option<&'a str>,
}

impl<'a> ScoreReport<'a> {
    /// A report with every digit.
    pub fn new(facts: &'a ScoreFacts, outcome: &'a Outcome) -> Self {
        Self { facts, outcome, precision: Precision::EXACT, job_id: None }
    }

    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    pub fn of_job(self, id: &'a str) -> Self {
        Self { job_id: Some(id), ..self }
    }

    /// The whole report as JSON. What JSON cannot hold (infinities, not a number) is null.
    pub fn json(self) -> Value {
        json(&self.full())
    }

    /// The listed frames that have at least one score, counted from the first of the run.
    pub fn listed(self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let columns = self.outcome.scores.columns();
        let step = self.outcome.subsample.max(1) as usize;
        let listed = (0..self.outcome.frames).step_by(step);
        listed.filter(move |index| columns.iter().any(|column| column.get(*index).is_some()))
    }

    /// The column that sums the report up: the first model's, or that of the first metric.
    pub fn main_column(self) -> Option<&'a Column> {
        let scores = &self.outcome.scores;
        let model = self.facts.provenance.models.first().and_then(|model| scores.column(&model.name));
        model.or_else(|| scores.columns().first())
    }

    /// A score with the digits that were asked for; `None` for what JSON cannot hold.
    fn number(self, value: f64) -> Option<f64> {
        value.is_finite().then(|| self.precision.rounded(value))
    }

    /// Frames per second, with two decimals.
    fn fps(self) -> Option<f64> {
        let fps = self.outcome.fps();
        fps.is_finite().then(|| (fps * 100.0).round() / 100.0)
    }

    fn shorter_input(self) -> Option<String> {
        self.outcome.shorter.map(|side| side.to_string())
    }

    fn notes(self) -> Vec<&'a str> {
        let own = self.facts.notes.iter().map(String::as_str);
        own.chain(self.outcome.identical.then_some(IDENTICAL)).collect()
    }
}

/// One of this module's types as JSON. They hold nothing that could fail to serialise.
pub fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
