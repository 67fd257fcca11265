//! A summary that fits into an agent's context: what the mean hides, in about a thousand tokens however long the clip.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;
use visus_engine::{Column, pool};

use super::full::{Aggregates, PooledScores};
use super::sections::Sections;
use super::warnings;
use super::{BriefProvenance, FaultWarning, ModelFacts, Provenance, ScoreReport};

/// Worst frames that are named.
const WORST: usize = 5;
/// Points of a curve at most.
const CURVE: usize = 60;
/// Frames in a second where the inputs do not say.
const ASSUMED_RATE: f64 = 25.0;
/// A second whose mean lies so far below the whole clip's is worth a sentence.
const NOTABLE_DIP: f64 = 6.0;

/// Scores over the listed frames, in frame order.
type Curve = Vec<(u64, f64)>;

/// A score report without its frames.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SummaryScore<'a> {
    /// The result in a sentence.
    verdict: String,
    /// summary, or frames where `series` is there.
    detail: &'static str,
    /// Pairs of frames that were scored.
    frame_count: u64,
    /// Frames scored per second.
    fps: Option<f64>,
    /// Every column over all listed frames, by name: with all figures where it was asked for, else lowest score and mean.
    #[schemars(with = "BTreeMap<String, PooledSummary>")]
    pooled_metrics: ShortPooled<'a>,
    /// Numbers for the whole clip, by name.
    #[serde(skip_serializing_if = "Aggregates::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Option<f64>>>")]
    aggregate_metrics: Aggregates<'a>,
    /// The frames with the lowest scores, worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    worst_frames: Vec<WorstFrameScore>,
    /// The second with the lowest mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_second: Option<WorstSecond>,
    /// The score over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<CurveSummary>,
    /// Every frame's score, with detail frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<FrameSeries<'a>>,
    /// Address of the whole report.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    /// The backend that was asked for: auto, cpu, or a kind of device.
    backend_requested: &'a str,
    /// The backend that really ran.
    backend_used: &'a str,
    /// The model was made for another picture size.
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatched_model_warning: Option<&'a str>,
    /// What else one should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    notes: Vec<&'a str>,
    /// Faults of the distorted video that the scores do not show, or do not name: the most certain ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    warnings: Vec<&'a FaultWarning>,
    /// How many further ones the full report has.
    #[serde(skip_serializing_if = "Option::is_none")]
    further_warnings: Option<usize>,
    /// The inputs are the same, sample for sample; absent where they are not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    identical: bool,
    /// The video that ended first, where the other one goes on: reference or distorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    shorter_input: Option<String>,
    #[serde(flatten)]
    sections: &'a Sections,
    /// Where the numbers come from.
    provenance: BriefProvenance,
    /// The job that made the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<&'a str>,
}

/// A column in figures: all of them, or the lowest score and the mean.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PooledSummary {
    /// Of a model, or of a metric that was asked for by itself.
    All(PooledScores),
    /// Of a feature that a model reads.
    Few {
        /// The lowest score.
        min: Option<f64>,
        /// The mean.
        mean: Option<f64>,
    },
}

/// A frame and its score.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorstFrameScore {
    /// Its number in the clip, from 0.
    pub frame: u64,
    /// Its score, to a tenth.
    pub score: Option<f64>,
}

/// The second with the lowest mean.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorstSecond {
    /// Its first frame.
    pub from_frame: u64,
    /// Its last frame.
    pub to_frame: u64,
    /// Its mean score, to a tenth; null where it is not a number.
    #[schemars(with = "Option<f64>")]
    pub mean: f64,
}

/// A score over time, in few points.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurveSummary {
    /// Listed frames that share a point.
    pub frames_per_point: f64,
    /// The lowest score of each point's frames, to a tenth.
    pub lowest: Vec<Option<f64>>,
}

/// Scores of every listed frame as one list per score, without the features that models read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FrameSeries<'a> {
    /// Number of the first listed frame.
    first_frame: u64,
    /// Distance from one listed frame to the next.
    step: u64,
    /// A list per score, in frame order; null where a frame has none.
    #[schemars(with = "BTreeMap<String, Vec<Option<f64>>>")]
    scores: Series<'a>,
}

impl<'a> ScoreReport<'a> {
    /// The report without its frames.
    pub fn summary(self) -> SummaryScore<'a> {
        let (facts, outcome) = (self.facts, self.outcome);
        let curve = self.main_curve();
        let (warnings, further) = warnings::brief(facts.warnings.as_deref().unwrap_or_default());
        SummaryScore {
            verdict: self.verdict(),
            detail: "summary",
            frame_count: outcome.frames,
            fps: self.fps(),
            pooled_metrics: ShortPooled(self),
            aggregate_metrics: self.aggregates(),
            worst_frames: curve.as_ref().map_or(Vec::new(), worst_frames),
            worst_second: curve.as_ref().and_then(|curve| self.worst_second(curve)),
            curve: curve.as_ref().map(thinned),
            series: None,
            report: self.job_id.map(|id| format!("visus://jobs/{id}")),
            backend_requested: &facts.backend_requested,
            backend_used: &facts.backend_used,
            mismatched_model_warning: facts.mismatched_model_warning.as_deref(),
            notes: facts.notes.iter().map(String::as_str).collect(),
            warnings,
            further_warnings: (further > 0).then_some(further),
            identical: outcome.identical,
            shorter_input: self.shorter_input(),
            sections: &facts.sections,
            provenance: facts.provenance.brief(),
            job_id: self.job_id,
        }
    }

    /// The summary, and the scores of every frame as one list each.
    pub fn summary_with_frames(self) -> SummaryScore<'a> {
        let series = FrameSeries {
            first_frame: self.outcome.first_frame,
            step: self.outcome.subsample.max(1),
            scores: Series(self),
        };
        SummaryScore { detail: "frames", series: Some(series), ..self.summary() }
    }

    /// Whether a column was asked for, by itself or as a model's score.
    fn was_asked(self, name: &str) -> bool {
        self.facts.provenance.models.iter().any(|model| model.name == name)
            || self.facts.extra_columns.iter().any(|extra| extra == name)
    }

    fn main_curve(self) -> Option<Curve> {
        let step = self.outcome.subsample.max(1);
        let first = self.outcome.first_frame;
        let listed = self.main_column()?.iter().filter(|(index, _)| index.is_multiple_of(step));
        let curve: Curve = listed.map(|(index, score)| (first + index, score)).collect();
        (!curve.is_empty()).then_some(curve)
    }

    fn frame_rate(self) -> f64 {
        let Provenance { reference, distorted, .. } = &self.facts.provenance;
        let rate = reference.frames_per_second().or(distorted.frames_per_second());
        rate.unwrap_or(ASSUMED_RATE).clamp(1.0, 1000.0)
    }

    /// The second with the lowest mean, sliding over the listed frames.
    fn worst_second(self, curve: &Curve) -> Option<WorstSecond> {
        let window = (self.frame_rate() / self.outcome.subsample.max(1) as f64).round().max(1.0) as usize;
        let window = window.min(curve.len());
        let worst =
            curve.windows(window).map(|part| (mean(part), part)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (first, last) = (worst.1.first()?.0, worst.1.last()?.0);
        Some(WorstSecond { from_frame: first, to_frame: last, mean: tenths(worst.0) })
    }

    /// The result in a sentence.
    pub fn verdict(self) -> String {
        let (Some(model), Some(curve)) = (self.facts.provenance.models.first(), self.main_curve()) else {
            return format!("{} frames measured.", self.outcome.frames);
        };
        let mean = mean(&curve);
        let start = format!("{} {mean:.2} ({}): {}.", model.name, model.label, grade(mean, model));
        let dip = self.worst_second(&curve).filter(|worst| mean - worst.mean > NOTABLE_DIP);
        let dip = dip.map(|worst| {
            let WorstSecond { from_frame, to_frame, mean } = worst;
            format!(" Quality dips to {mean:.1} in its worst second, frames {from_frame} to {to_frame}.")
        });
        let even = || " Quality is even over the clip.".to_owned();
        format!("{start}{}{}", dip.unwrap_or_else(even), self.fault_sentence())
    }

    /// The most certain fault that detectors found.
    fn fault_sentence(self) -> String {
        let all = self.facts.warnings.as_deref().unwrap_or_default();
        let (shown, _) = warnings::brief(all);
        match (all.len(), shown.iter().max_by(|a, b| a.confidence.total_cmp(&b.confidence))) {
            (1, Some(warning)) => format!(" Warning: {}.", warning.text),
            (count, Some(warning)) => format!(" {count} warnings, among them {}.", warning.text),
            (_, None) => String::new(),
        }
    }
}

/// The columns in figures, in their order.
#[derive(Clone, Copy, Debug)]
struct ShortPooled<'a>(ScoreReport<'a>);

impl ShortPooled<'_> {
    fn figures(&self, column: &Column) -> Option<PooledSummary> {
        let report = self.0;
        if report.was_asked(column.name()) {
            return Some(PooledSummary::All(report.pooled(column)?));
        }
        let pooled = pool(column, report.outcome.frames, report.outcome.subsample)?;
        Some(PooledSummary::Few { min: report.number(pooled.min), mean: report.number(pooled.mean) })
    }
}

impl Serialize for ShortPooled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = self.0.outcome.scores.columns().iter();
        serializer.collect_map(columns.filter_map(|column| Some((column.name(), self.figures(column)?))))
    }
}

/// Scores by column, then by frame.
#[derive(Clone, Copy, Debug)]
struct Series<'a>(ScoreReport<'a>);

impl Serialize for Series<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.0;
        let scores = |column: &Column| -> Vec<Option<f64>> {
            let step = report.outcome.subsample.max(1) as usize;
            let listed = (0..report.outcome.frames).step_by(step);
            listed.map(|index| column.get(index).and_then(|score| report.number(score))).collect()
        };
        let columns = report.outcome.scores.columns().iter();
        let asked = columns.filter(|column| report.was_asked(column.name()));
        serializer.collect_map(asked.map(|column| (column.name(), scores(column))))
    }
}

fn mean(part: &[(u64, f64)]) -> f64 {
    part.iter().map(|(_, score)| score).sum::<f64>() / part.len() as f64
}

/// What a mean stands for. VMAF is trained on a scale where 20 is bad and 100 excellent.
fn grade(mean: f64, model: &ModelFacts) -> &'static str {
    match mean * 100.0 / model.highest.unwrap_or(100.0).max(1.0) {
        score if score >= 93.0 => "most viewers will not notice a difference",
        score if score >= 80.0 => "good, differences are visible on a close look",
        score if score >= 60.0 => "fair, differences are visible",
        score if score >= 40.0 => "poor, differences disturb",
        _ => "bad",
    }
}

fn worst_frames(curve: &Curve) -> Vec<WorstFrameScore> {
    let mut sorted: Vec<&(u64, f64)> = curve.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let worst = sorted.into_iter().take(WORST);
    worst.map(|(frame, score)| WorstFrameScore { frame: *frame, score: finite(*score) }).collect()
}

/// The curve in few points. Where several frames share a point, the lowest counts: a short dip must stay visible.
fn thinned(curve: &Curve) -> CurveSummary {
    let points = CURVE.min(curve.len());
    let lowest = |point: usize| {
        let part = &curve[point * curve.len() / points..(point + 1) * curve.len() / points];
        finite(part.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min))
    };
    CurveSummary {
        frames_per_point: tenths(curve.len() as f64 / points as f64),
        lowest: (0..points).map(lowest).collect(),
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| tenths(value))
}
