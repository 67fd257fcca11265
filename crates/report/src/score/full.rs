//! The whole report: libvmaf's layout, more statistics, and where the numbers come from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;
use visus_engine::Column;

use super::sections::Sections;
use super::{FaultWarning, Provenance, ScoreReport};
use crate::stats;

/// A score report with every frame.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FullScore<'a> {
    /// Version of the engine.
    version: &'a str,
    /// Frames scored per second; lines of batches have none, so that they are the same in every run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    fps: Option<Option<f64>>,
    /// full: every frame is listed; pooled: none is, as in a batch.
    detail: &'static str,
    /// The backend that was asked for: auto, cpu, or a kind of device.
    backend_requested: &'a str,
    /// The backend that really ran.
    backend_used: &'a str,
    /// Where the numbers come from.
    provenance: &'a Provenance,
    /// Whether the inputs are the same, sample for sample.
    identical: bool,
    /// The video that ended first, where the other one goes on: reference or distorted.
    shorter_input: Option<String>,
    /// The model was made for another picture size.
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatched_model_warning: Option<&'a str>,
    /// What else one should know.
    notes: Vec<&'a str>,
    /// Faults of the distorted video that the scores do not show, or do not name; absent where nobody looked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<&'a [FaultWarning]>,
    /// Pairs of frames that were scored.
    frame_count: u64,
    /// The scores of every listed frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<FrameScores>>")]
    frames: Option<Frames<'a>>,
    /// Every column over all listed frames, by name; a column with a frame that has no score is absent.
    #[schemars(with = "BTreeMap<String, PooledScores>")]
    pooled_metrics: Pooled<'a>,
    /// Numbers for the whole clip, by name.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    aggregate_metrics: Aggregates<'a>,
    #[serde(flatten)]
    sections: &'a Sections,
    /// Of a part of a clip: what `visus merge` needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::part::PartEntry>")]
    part: Option<&'a Value>,
    /// The job that made the report; with it the server hands out pages of frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<&'a str>,
}

/// One frame.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FrameScores {
    /// Its number in the clip, from 0.
    #[serde(rename = "frameNum")]
    pub frame_num: u64,
    /// Its scores by name; null where a score is not a finite number.
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// One column over all listed frames.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PooledScores {
    /// The lowest score.
    pub min: Option<f64>,
    /// The highest score.
    pub max: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The harmonic mean of the scores plus one, less one: low scores weigh more.
    pub harmonic_mean: Option<f64>,
    /// 1 % of the frames are below; an external engine does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p1: Option<f64>,
    /// 5 % of the frames are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p5: Option<f64>,
    /// 10 % of the frames are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p10: Option<f64>,
    /// 25 % of the frames are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p25: Option<f64>,
    /// Half of the frames are below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// The first frame with the lowest score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_frame: Option<u64>,
}

impl FullScore<'_> {
    /// The same without what differs from run to run.
    pub fn timeless(self) -> Self {
        Self { fps: None, ..self }
    }
}

impl<'a> ScoreReport<'a> {
    /// The report with every frame.
    pub fn full(self) -> FullScore<'a> {
        let facts = self.facts;
        FullScore {
            version: &facts.provenance.version,
            fps: Some(self.fps()),
            detail: "full",
            backend_requested: &facts.backend_requested,
            backend_used: &facts.backend_used,
            provenance: &facts.provenance,
            identical: self.outcome.identical,
            shorter_input: self.shorter_input(),
            mismatched_model_warning: facts.mismatched_model_warning.as_deref(),
            notes: self.notes(),
            warnings: facts.warnings.as_deref(),
            frame_count: self.outcome.frames,
            frames: Some(Frames(self)),
            pooled_metrics: Pooled(self),
            aggregate_metrics: Aggregates(self),
            sections: &facts.sections,
            part: facts.part.as_ref(),
            job_id: self.job_id,
        }
    }

    /// The same without frames, for reports of many clips.
    pub fn without_frames(self) -> FullScore<'a> {
        FullScore { detail: "pooled", frames: None, ..self.full() }
    }

    /// One frame, counted from the first of the run.
    pub(super) fn frame(self, index: u64) -> Frame<'a> {
        Frame { report: self, index }
    }

    /// All figures of a column; `None` if a listed frame has no score.
    pub(super) fn pooled(self, column: &Column) -> Option<PooledScores> {
        let summary = stats::summary(column, self.outcome.frames, self.outcome.subsample)?;
        let number = |value| self.number(value);
        Some(PooledScores {
            min: number(summary.pooled.min),
            max: number(summary.pooled.max),
            mean: number(summary.pooled.mean),
            harmonic_mean: number(summary.pooled.harmonic_mean),
            p1: number(summary.p1),
            p5: number(summary.p5),
            p10: number(summary.p10),
            p25: number(summary.p25),
            median: number(summary.median),
            min_frame: Some(self.outcome.first_frame + summary.worst_frame),
        })
    }

    pub(super) fn aggregates(self) -> Aggregates<'a> {
        Aggregates(self)
    }
}

/// The listed frames, written straight from the columns.
#[derive(Clone, Copy, Debug)]
struct Frames<'a>(ScoreReport<'a>);

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.listed().map(|index| self.0.frame(index)))
    }
}

/// One frame of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    report: ScoreReport<'a>,
    index: u64,
}

impl Serialize for Frame<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frame = serializer.serialize_struct("Frame", 2)?;
        frame.serialize_field("frameNum", &(self.report.outcome.first_frame + self.index))?;
        frame.serialize_field("metrics", &Metrics(*self))?;
        frame.end()
    }
}

struct Metrics<'a>(Frame<'a>);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Frame { report, index } = self.0;
        let mut scores = serializer.serialize_map(None)?;
        for column in report.outcome.scores.columns() {
            if let Some(score) = column.get(index) {
                scores.serialize_entry(column.name(), &report.number(score))?;
            }
        }
        scores.end()
    }
}

/// The columns in figures, in their order. Of an external engine, what it wrote.
#[derive(Clone, Copy, Debug)]
struct Pooled<'a>(ScoreReport<'a>);

impl Serialize for Pooled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(pooled) = &self.0.facts.external_pooled {
            return pooled.serialize(serializer);
        }
        let columns = self.0.outcome.scores.columns().iter();
        let pooled = columns.filter_map(|column| Some((column.name(), self.0.pooled(column)?)));
        serializer.collect_map(pooled)
    }
}

/// Numbers for the whole clip, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregates<'a>(ScoreReport<'a>);

impl Aggregates<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.outcome.scores.aggregates().is_empty()
    }
}

impl Serialize for Aggregates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.0.outcome.scores.aggregates().iter();
        serializer.collect_map(all.map(|(name, value)| (name, self.0.number(*value))))
    }
}
