//! Results as JSON: the contract's fields first, then what we add.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use visus_report::schema::OutputSchema;

use crate::stats::Interval;
use crate::{Comparison, Evaluation, Intervals, Pair};

/// The outputs of this crate.
pub const OUTPUTS: &[OutputSchema] = &[
    OutputSchema::of::<EvaluationReport>("evaluation", "The answer of eval_model_on_split."),
    OutputSchema::of::<ComparisonReport>("eval", "The answer of `visus eval --json` and of compare_models."),
];

/// Low and high end.
type Ends = (f64, f64);

/// One model against opinion scores.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvaluationReport {
    /// The model.
    model: String,
    /// The table of features and opinion scores.
    features: String,
    /// train, val, test or all.
    split: &'static str,
    /// Rows that were used.
    n: usize,
    /// Pearson's correlation.
    plcc: f64,
    /// Spearman's rank correlation.
    srocc: f64,
    /// Root of the mean squared error.
    rmse: f64,
    /// The columns that the model read, in this order.
    columns: Vec<String>,
    /// Kendall's tau-b.
    krocc: f64,
    /// Rows of the split that were left out because a value is missing.
    dropped: usize,
    /// 95 % bootstrap intervals; absent without resampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<IntervalsReport>,
}

/// Low and high end of the 95 % bootstrap interval of each figure; null where too few resamples vary.
#[derive(Debug, Serialize, JsonSchema)]
struct IntervalsReport {
    /// Of Pearson's correlation.
    plcc: Option<Ends>,
    /// Of Spearman's rank correlation.
    srocc: Option<Ends>,
    /// Of Kendall's tau-b.
    krocc: Option<Ends>,
    /// Of the root of the mean squared error.
    rmse: Option<Ends>,
}

/// Several models on the same rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparisonReport {
    /// By descending PLCC.
    ranked: Vec<EvaluationReport>,
    /// Models that gave no result.
    errors: Vec<ModelError>,
    /// Tests of two models each, in the order of the ranking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pairs: Vec<PairReport>,
    /// Friedman's test of all models' absolute errors; from three models on.
    #[serde(skip_serializing_if = "Option::is_none")]
    friedman: Option<FriedmanReport>,
}

/// A model that gave no result.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelError {
    /// The model.
    model: String,
    /// Why.
    error: String,
}

/// Friedman's test.
#[derive(Debug, Serialize, JsonSchema)]
struct FriedmanReport {
    /// The statistic.
    statistic: f64,
    /// The chance of such a statistic if the models do not differ.
    p: f64,
}

/// Two models on the rows that both have.
#[derive(Debug, Serialize, JsonSchema)]
struct PairReport {
    /// The two models.
    models: [String; 2],
    /// Rows that both have.
    n: usize,
    /// The first one's PLCC less the second one's.
    plcc_difference: f64,
    /// Its 95 % bootstrap interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    plcc_interval: Option<Ends>,
    /// The chance of a difference like this, by resampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    plcc_p_bootstrap: Option<f64>,
    /// The same by Steiger's test.
    plcc_p_steiger: Option<f64>,
    /// The same for SROCC.
    srocc_p_steiger: Option<f64>,
    /// Statistic of Wilcoxon's signed-rank test of the absolute errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    wilcoxon_statistic: Option<f64>,
    /// Its chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    wilcoxon_p: Option<f64>,
    /// The same, corrected for the number of pairs (Holm).
    #[serde(skip_serializing_if = "Option::is_none")]
    wilcoxon_p_holm: Option<f64>,
}

impl Evaluation {
    /// One model's result.
    pub fn report(&self) -> EvaluationReport {
        EvaluationReport {
            model: self.model.clone(),
            features: self.table.clone(),
            split: self.split.name(),
            n: self.n(),
            plcc: self.figures.plcc,
            srocc: self.figures.srocc,
            rmse: self.figures.rmse,
            columns: self.columns.clone(),
            krocc: self.figures.krocc,
            dropped: self.dropped,
            intervals: self.intervals.as_ref().map(Intervals::report),
        }
    }

    pub fn json(&self) -> Value {
        visus_report::score::json(&self.report())
    }
}

fn ends(interval: Interval) -> Ends {
    (interval.low, interval.high)
}

impl Intervals {
    fn report(&self) -> IntervalsReport {
        IntervalsReport {
            plcc: self.plcc.map(ends),
            srocc: self.srocc.map(ends),
            krocc: self.krocc.map(ends),
            rmse: self.rmse.map(ends),
        }
    }
}

impl Comparison {
    /// The ranking, the errors, and the tests between models.
    pub fn report(&self) -> ComparisonReport {
        let error =
            |(model, error): &(String, String)| ModelError { model: model.clone(), error: error.clone() };
        ComparisonReport {
            ranked: self.ranked.iter().map(Evaluation::report).collect(),
            errors: self.errors.iter().map(error).collect(),
            pairs: self.pairs.iter().map(Pair::report).collect(),
            friedman: self.friedman.map(|test| FriedmanReport { statistic: test.statistic, p: test.p }),
        }
    }

    pub fn json(&self) -> Value {
        visus_report::score::json(&self.report())
    }
}

impl Pair {
    fn report(&self) -> PairReport {
        PairReport {
            models: self.models.clone(),
            n: self.n,
            plcc_difference: self.plcc_difference,
            plcc_interval: self.plcc_bootstrap.map(|(interval, _)| ends(interval)),
            plcc_p_bootstrap: self.plcc_bootstrap.map(|(_, chance)| chance),
            plcc_p_steiger: self.plcc_steiger,
            srocc_p_steiger: self.srocc_steiger,
            wilcoxon_statistic: self.wilcoxon.map(|test| test.statistic),
            wilcoxon_p: self.wilcoxon.map(|test| test.p),
            wilcoxon_p_holm: self.wilcoxon_holm,
        }
    }
}
