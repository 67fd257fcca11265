//! The spread of a collection's models and the confidence interval that follows from it.

use super::{Finish, Model};

/// What a collection adds to its models' names, in the order of the columns.
pub const SUFFIXES: [&str; 4] = ["_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"];

/// One frame's scores of a collection.
#[derive(Clone, Debug)]
pub struct BootstrapScores {
    /// Each model's own finished score.
    pub members: Vec<f64>,
    pub bagging: f64,
    pub stddev: f64,
    pub low: f64,
    pub high: f64,
}

impl BootstrapScores {
    /// Statistics are taken over scores that are neither transformed nor clipped, and finished afterwards.
    pub fn new(models: &[Model], values: &[f64]) -> Self {
        let raw: Vec<f64> = models.iter().map(|model| model.predict(values, Finish::Raw)).collect();
        let members = models.iter().zip(&raw).map(|(model, score)| model.finished(*score)).collect();
        let mean = raw.iter().fold(0.0, |sum, score| sum + score) / raw.len() as f64;
        let squares = raw.iter().fold(0.0, |sum, score| sum + (score - mean) * (score - mean));
        let stddev = (squares / raw.len() as f64).sqrt();
        let mut sorted = raw;
        sorted.sort_by(f64::total_cmp);
        let finish = |score| models[0].finished(score);
        Self {
            members,
            bagging: finish(mean),
            stddev: stddev * local_slope(&models[0], mean),
            low: finish(percentile(&sorted, 2.5)),
            high: finish(percentile(&sorted, 97.5)),
        }
    }
}

/// How much transform and clip stretch a small change around `score`.
fn local_slope(model: &Model, score: f64) -> f64 {
    const DELTA: f64 = 0.01;
    (model.finished(score + DELTA) - model.finished(score - DELTA)) / (2.0 * DELTA)
}

/// Linear interpolation between the two nearest ranks, rounded as libvmaf does it: its bits differ from
/// [`crate::percentile`]'s.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = percent * (sorted.len() - 1) as f64 / 100.0;
    let (low, high) = (rank.floor(), rank.ceil());
    let (below, above) = (sorted[low as usize], sorted[high as usize]);
    if low == high { below } else { below * (high - rank) + above * (rank - low) }
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentile_interpolates() {
        let sorted: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(percentile(&sorted, 0.0), 0.0);
        assert_eq!(percentile(&sorted, 100.0), 19.0);
        assert!((percentile(&sorted, 2.5) - 0.475).abs() < 1e-12);
        assert_eq!(percentile(&[7.0], 97.5), 7.0);
    }
}
