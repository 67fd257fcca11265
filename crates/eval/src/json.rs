//! Results as JSON: the contract's fields first, then what we add.

use serde_json::{Map, Value, json};

use crate::stats::Interval;
use crate::{Comparison, Evaluation, Intervals, Pair};

impl Evaluation {
    /// One model's result.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "model": self.model,
            "features": self.table,
            "split": self.split.name(),
            "n": self.n(),
            "plcc": self.figures.plcc,
            "srocc": self.figures.srocc,
            "rmse": self.figures.rmse,
            "columns": self.columns,
            "krocc": self.figures.krocc,
            "dropped": self.dropped,
        });
        if let Some(intervals) = &self.intervals {
            value["intervals"] = intervals.json();
        }
        value
    }
}

impl Intervals {
    fn json(&self) -> Value {
        let all = [("plcc", self.plcc), ("srocc", self.srocc), ("krocc", self.krocc), ("rmse", self.rmse)];
        Value::Object(all.into_iter().map(|(name, interval)| (name.to_owned(), pair(interval))).collect())
    }
}

fn pair(interval: Option<Interval>) -> Value {
    interval.map_or(Value::Null, |interval| json!([interval.low, interval.high]))
}

impl Comparison {
    /// The ranking, the errors, and the tests between models.
    pub fn json(&self) -> Value {
        let error = |(model, error): &(String, String)| json!({ "model": model, "error": error });
        let mut value = json!({
            "ranked": self.ranked.iter().map(Evaluation::json).collect::<Vec<_>>(),
            "errors": self.errors.iter().map(error).collect::<Vec<_>>(),
        });
        if !self.pairs.is_empty() {
            value["pairs"] = self.pairs.iter().map(Pair::json).collect();
        }
        if let Some(friedman) = self.friedman {
            value["friedman"] = json!({ "statistic": friedman.statistic, "p": friedman.p });
        }
        value
    }
}

impl Pair {
    fn json(&self) -> Value {
        let mut map = Map::new();
        map.insert("models".to_owned(), json!(self.models));
        map.insert("n".to_owned(), json!(self.n));
        map.insert("plcc_difference".to_owned(), json!(self.plcc_difference));
        if let Some((interval, chance)) = self.plcc_bootstrap {
            map.insert("plcc_interval".to_owned(), pair(Some(interval)));
            map.insert("plcc_p_bootstrap".to_owned(), json!(chance));
        }
        map.insert("plcc_p_steiger".to_owned(), json!(self.plcc_steiger));
        map.insert("srocc_p_steiger".to_owned(), json!(self.srocc_steiger));
        if let Some(test) = self.wilcoxon {
            map.insert("wilcoxon_statistic".to_owned(), json!(test.statistic));
            map.insert("wilcoxon_p".to_owned(), json!(test.p));
            map.insert("wilcoxon_p_holm".to_owned(), json!(self.wilcoxon_holm));
        }
        Value::Object(map)
    }
}
