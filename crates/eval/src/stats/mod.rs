//! Statistics of predictions against opinion scores, in f64; ties get their average rank.

mod bootstrap;
mod chance;
mod correlation;
mod fit;
mod ranks;
mod significance;

pub use bootstrap::{Bootstrap, Interval, Resampled};
pub use chance::{chi_squared_tail, normal_tail};
pub use correlation::{kendall, pearson, rmse, spearman};
pub use fit::Fit;
pub use ranks::{Ranking, average_ranks};
pub use significance::{Friedman, Wilcoxon, friedman, steiger, wilcoxon};
pub use visus_report::bootstrap::holm;

use crate::EvalError;

/// How well predictions agree with opinion scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Pearson's correlation.
    pub plcc: f64,
    /// Spearman's rank correlation.
    pub srocc: f64,
    /// Kendall's tau-b.
    pub krocc: f64,
    /// Root of the mean squared error.
    pub rmse: f64,
}

impl Figures {
    /// All figures; both lists have the same length. Two threads share the sorting.
    pub fn of(predicted: &[f64], opinions: &[f64]) -> Result<Self, EvalError> {
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| Ranking::of(opinions));
            (Ranking::of(predicted), join(other))
        });
        Self::ranked(predicted, opinions, &first, &second).ok_or(EvalError::ZeroVariance)
    }

    /// The same with ranks that are there already; nothing if one side does not vary.
    fn ranked(predicted: &[f64], opinions: &[f64], first: &Ranking, second: &Ranking) -> Option<Self> {
        Some(Self {
            plcc: pearson(predicted, opinions)?,
            srocc: pearson(&first.average, &second.average)?,
            krocc: correlation::kendall_of_ranks(&first.dense, &second.dense)?,
            rmse: rmse(predicted, opinions),
        })
    }
}

/// Waits for a thread; its panic goes on here.
pub(crate) fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Sums by halves, so that the error grows with the logarithm of the length.
pub(crate) fn sum(length: usize, value: &impl Fn(usize) -> f64) -> f64 {
    fn part(from: usize, to: usize, value: &impl Fn(usize) -> f64) -> f64 {
        if to - from <= 128 {
            return (from..to).map(value).sum();
        }
        let middle = from + (to - from) / 2;
        part(from, middle, value) + part(middle, to, value)
    }
    part(0, length, value)
}

#[cfg(test)]
mod tests;
