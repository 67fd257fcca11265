//! A summary that fits into an agent's context: what the mean hides, in about a thousand tokens however long the clip.

use serde_json::{Map, Value, json};
use visus_engine::{Column, pool};
use visus_report::{Precision, stats};

use super::{ModelFacts, ScoreReport};

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

impl ScoreReport {
    pub(super) fn summary(&self, id: &str) -> Map<String, Value> {
        let mut answer = Map::new();
        answer.insert("verdict".to_owned(), json!(self.verdict()));
        answer.insert("detail".to_owned(), json!("summary"));
        answer.insert("frame_count".to_owned(), json!(self.outcome.frames));
        answer.insert("fps".to_owned(), json!(super::full::rounded(self.outcome.fps())));
        answer.insert("pooled_metrics".to_owned(), self.short_pooled());
        let aggregates = self.aggregates();
        if aggregates.as_object().is_some_and(|map| !map.is_empty()) {
            answer.insert("aggregate_metrics".to_owned(), aggregates);
        }
        if let Some(curve) = self.main_curve() {
            answer.insert("worst_frames".to_owned(), worst_frames(&curve));
            answer.insert("worst_second".to_owned(), json!(self.worst_second(&curve)));
            answer.insert("curve".to_owned(), thinned(&curve));
        }
        answer.insert("report".to_owned(), json!(format!("visus://jobs/{id}")));
        self.add_facts(&mut answer, id);
        answer
    }

    /// The summary and, by name, the scores of every listed frame: those of models and of metrics that were asked for.
    pub(super) fn with_frame_scores(&self, id: &str) -> Map<String, Value> {
        let mut answer = self.summary(id);
        answer.insert("detail".to_owned(), json!("frames"));
        let columns = self.outcome.scores.columns().iter().filter(|column| self.is_asked_for(column.name()));
        let scores = |column: &Column| {
            let scores = self.listed().map(|index| column.get(index).map(|score| self.compact(score)));
            (column.name().to_owned(), scores.collect())
        };
        answer.insert("frame_scores".to_owned(), Value::Object(columns.map(scores).collect()));
        answer.insert("frame_step".to_owned(), json!(self.outcome.subsample.max(1)));
        answer
    }

    /// Three decimals say enough of one frame, unless more digits were asked for.
    fn compact(&self, score: f64) -> Value {
        match self.precision {
            Precision::Legacy if score.is_finite() => json!((score * 1000.0).round() / 1000.0),
            _ => self.number(score),
        }
    }

    fn is_asked_for(&self, name: &str) -> bool {
        self.models.iter().any(|model| model.name == name)
            || self.extra_columns.iter().any(|extra| extra == name)
    }

    /// The first model's column, or that of the first metric.
    pub(crate) fn main_column(&self) -> Option<&Column> {
        let columns = self.outcome.scores.columns();
        let model = self.models.first().and_then(|model| self.outcome.scores.column(&model.name));
        model.or_else(|| columns.first())
    }

    fn main_curve(&self) -> Option<Curve> {
        let step = self.outcome.subsample.max(1);
        let curve: Curve =
            self.main_column()?.iter().filter(|(index, _)| index.is_multiple_of(step)).collect();
        (!curve.is_empty()).then_some(curve)
    }

    /// Scores of models and of metrics that were asked for with all figures, what models are made from with few.
    fn short_pooled(&self) -> Value {
        let figures = |column: &Column| {
            let value = if self.is_asked_for(column.name()) {
                self.figures(column)
            } else {
                self.few_figures(column)
            };
            Some((column.name().to_owned(), value?))
        };
        Value::Object(self.outcome.scores.columns().iter().filter_map(figures).collect())
    }

    fn figures(&self, column: &Column) -> Option<Value> {
        let summary = stats::summary(column, self.outcome.frames, self.outcome.subsample)?;
        let pooled = summary.pooled;
        Some(json!({
            "min": self.number(pooled.min),
            "max": self.number(pooled.max),
            "mean": self.number(pooled.mean),
            "harmonic_mean": self.number(pooled.harmonic_mean),
            "p1": self.number(summary.p1),
            "p5": self.number(summary.p5),
            "p10": self.number(summary.p10),
            "p25": self.number(summary.p25),
            "median": self.number(summary.median),
            "min_frame": summary.worst_frame,
        }))
    }

    fn few_figures(&self, column: &Column) -> Option<Value> {
        let pooled = pool(column, self.outcome.frames, self.outcome.subsample)?;
        let (min, mean) = (self.number(pooled.min), self.number(pooled.mean));
        Some(json!({ "min": min, "mean": mean }))
    }

    fn frame_rate(&self) -> f64 {
        let rate = self.reference.frame_rate.or(self.distorted.frame_rate);
        rate.map_or(ASSUMED_RATE, |(num, den)| f64::from(num) / f64::from(den)).clamp(1.0, 1000.0)
    }

    /// The second with the lowest mean, sliding over the listed frames.
    fn worst_second(&self, curve: &Curve) -> Option<WorstSecond> {
        let window = (self.frame_rate() / self.outcome.subsample.max(1) as f64).round().max(1.0) as usize;
        let window = window.min(curve.len());
        let mean = |part: &[(u64, f64)]| part.iter().map(|(_, score)| score).sum::<f64>() / part.len() as f64;
        let worst =
            curve.windows(window).map(|part| (mean(part), part)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (first, last) = (worst.1.first()?.0, worst.1.last()?.0);
        Some(WorstSecond { from_frame: first, to_frame: last, mean: tenths(worst.0) })
    }

    fn verdict(&self) -> String {
        let (Some(model), Some(curve)) = (self.models.first(), self.main_curve()) else {
            return format!("{} frames measured.", self.outcome.frames);
        };
        let mean = curve.iter().map(|(_, score)| score).sum::<f64>() / curve.len() as f64;
        let grade = grade(mean, model);
        let start = format!("{} {mean:.2} ({}): {grade}.", model.name, model.label);
        let dip = self.worst_second(&curve).filter(|worst| mean - worst.mean > NOTABLE_DIP);
        let dip = dip.map(|worst| {
            let WorstSecond { from_frame, to_frame, mean } = worst;
            format!(" Quality dips to {mean:.1} in its worst second, frames {from_frame} to {to_frame}.")
        });
        format!("{start}{}", dip.unwrap_or_else(|| " Quality is even over the clip.".to_owned()))
    }
}

#[derive(Debug, serde::Serialize)]
struct WorstSecond {
    from_frame: u64,
    to_frame: u64,
    mean: f64,
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

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn worst_frames(curve: &Curve) -> Value {
    let mut sorted: Vec<&(u64, f64)> = curve.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let worst = sorted.into_iter().take(WORST);
    worst.map(|(index, score)| json!({ "frame": index, "score": finite(*score) })).collect()
}

/// The curve in few points. Where several frames share a point, the lowest counts: a short dip must stay visible.
fn thinned(curve: &Curve) -> Value {
    let points = CURVE.min(curve.len());
    let lowest = |point: usize| {
        let part = &curve[point * curve.len() / points..(point + 1) * curve.len() / points];
        finite(part.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min))
    };
    json!({
        "frames_per_point": tenths(curve.len() as f64 / points as f64),
        "lowest": (0..points).map(lowest).collect::<Vec<_>>(),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| tenths(value))
}
