//! The whole report: libvmaf's layout, and where the numbers come from.

use serde_json::{Map, Value, json};
use visus_engine::{Column, pool};

use super::ScoreReport;

impl ScoreReport {
    pub(super) fn full(&self, id: &str) -> Map<String, Value> {
        let mut answer = Map::new();
        answer.insert("version".to_owned(), json!(self.engine.version));
        answer.insert("fps".to_owned(), json!(rounded(self.outcome.fps())));
        answer.insert("frames".to_owned(), self.listed().map(|index| self.frame(index)).collect());
        answer.insert("pooled_metrics".to_owned(), self.pooled());
        answer.insert("aggregate_metrics".to_owned(), self.aggregates());
        answer.insert("frame_count".to_owned(), json!(self.outcome.frames));
        answer.insert("detail".to_owned(), json!("full"));
        self.add_facts(&mut answer, id);
        answer
    }

    fn pooled(&self) -> Value {
        if let Some(pooled) = &self.foreign_pooled {
            return pooled.clone();
        }
        let figures = |column: &Column| {
            let pooled = pool(column, self.outcome.frames, self.outcome.subsample)?;
            let value = json!({
                "min": self.number(pooled.min),
                "max": self.number(pooled.max),
                "mean": self.number(pooled.mean),
                "harmonic_mean": self.number(pooled.harmonic_mean),
            });
            Some((column.name().to_owned(), value))
        };
        Value::Object(self.outcome.scores.columns().iter().filter_map(figures).collect())
    }

    pub(super) fn aggregates(&self) -> Value {
        let aggregates = self.outcome.scores.aggregates();
        Value::Object(aggregates.iter().map(|(name, value)| (name.clone(), self.number(*value))).collect())
    }
}

/// Two decimals are enough for a speed.
pub(super) fn rounded(fps: f64) -> Option<f64> {
    fps.is_finite().then(|| (fps * 100.0).round() / 100.0)
}
