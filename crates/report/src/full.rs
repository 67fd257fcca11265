//! The report of `visus`: libvmaf's JSON layout with full precision, more statistics, and where the numbers come from.

use serde_json::{Map, Value, json};
use visus_engine::{Column, NamedModel, Outcome, Plan};
use visus_metrics::Metric;
use visus_video::{Format, Source};

use crate::stats;

/// What is known of an input.
#[derive(Clone, Debug)]
pub struct InputFacts {
    pub file: String,
    pub format: Format,
    pub frame_rate: Option<(u32, u32)>,
    pub warnings: Vec<String>,
}

impl InputFacts {
    pub fn of(source: &dyn Source) -> Self {
        Self {
            file: source.name().to_owned(),
            format: *source.format(),
            frame_rate: source.frame_rate(),
            warnings: source.info().warnings.iter().map(ToString::to_string).collect(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "file": self.file,
            "width": self.format.width(),
            "height": self.format.height(),
            "chroma": self.format.chroma().to_string(),
            "bit_depth": self.format.depth(),
            "frame_rate": self.frame_rate.map(|(num, den)| format!("{num}/{den}")),
            "warnings": self.warnings,
        })
    }
}

/// Everything a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct FullReport<'a> {
    pub version: &'a str,
    pub plan: &'a Plan,
    pub outcome: &'a Outcome,
    pub reference: &'a InputFacts,
    pub distorted: &'a InputFacts,
}

/// Why two equal videos do not get 100.
pub const IDENTICAL: &str = "The two inputs are identical, sample for sample. VMAF is a trained model, not a \
difference: it predicts what viewers said, and even of a perfect copy they do not all say 100. A still picture gets about \
97.4 with vmaf_v0.6.1, a moving one 100.";

impl FullReport<'_> {
    /// The report as JSON. What JSON cannot hold (infinities, not a number) is null.
    pub fn json(&self) -> Value {
        json!({
            "version": self.version,
            "fps": round(self.outcome.fps()),
            "provenance": self.provenance(),
            "identical": self.outcome.identical,
            "note": self.outcome.identical.then_some(IDENTICAL),
            "frame_count": self.outcome.frames,
            "shorter_input": self.outcome.shorter.map(|side| side.to_string()),
            "frames": self.frames(),
            "pooled_metrics": self.pooled(),
            "aggregate_metrics": Value::Object(
                self.outcome.scores.aggregates().iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
            ),
        })
    }

    fn provenance(&self) -> Value {
        json!({
            "engine": self.version,
            "cpu_level": self.outcome.backend.cpu.name(),
            "subsample": self.outcome.subsample,
            "models": self.plan.models().map(model).collect::<Vec<_>>(),
            "metrics": self.plan.metrics().map(metric).collect::<Vec<_>>(),
            "reference": self.reference.json(),
            "distorted": self.distorted.json(),
        })
    }

    fn frames(&self) -> Value {
        let listed = (0..self.outcome.frames).step_by(self.outcome.subsample as usize);
        let frame = |index: u64| {
            let score = |column: &Column| Some((column.name().to_owned(), json!(column.get(index)?)));
            let metrics: Map<String, Value> =
                self.outcome.scores.columns().iter().filter_map(score).collect();
            json!({ "frameNum": self.outcome.first_frame + index, "metrics": metrics })
        };
        listed.map(frame).collect()
    }

    fn pooled(&self) -> Value {
        let summary = |column: &Column| {
            let summary = stats::summary(column, self.outcome.frames, self.outcome.subsample)?;
            let value = json!({
                "min": summary.pooled.min,
                "max": summary.pooled.max,
                "mean": summary.pooled.mean,
                "harmonic_mean": summary.pooled.harmonic_mean,
                "p1": summary.p1,
                "p5": summary.p5,
                "p10": summary.p10,
                "p25": summary.p25,
                "median": summary.median,
                "min_frame": self.outcome.first_frame + summary.worst_frame,
            });
            Some((column.name().to_owned(), value))
        };
        Value::Object(self.outcome.scores.columns().iter().filter_map(summary).collect())
    }
}

fn model(model: &NamedModel) -> Value {
    let feature = |feature: &visus_engine::model::ModelFeature| {
        let options: Map<String, Value> =
            feature.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({ "name": feature.name, "options": options })
    };
    json!({
        "name": model.name,
        "model": model.label,
        "sha256": model.sha256,
        "features": model.model.features.iter().map(feature).collect::<Vec<_>>(),
    })
}

/// A metric and its columns, whose names show every option that differs from its default.
fn metric(metric: &dyn Metric) -> Value {
    let columns: Vec<&String> = metric.keys().iter().map(|key| &key.name).collect();
    json!({ "metric": metric.info().name, "columns": columns })
}

fn round(fps: f64) -> Option<f64> {
    fps.is_finite().then(|| (fps * 100.0).round() / 100.0)
}
