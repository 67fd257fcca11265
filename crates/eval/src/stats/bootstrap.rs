//! Bootstrap intervals: how far would the figures move with other clips?
//!
//! All models see the same resamples, so that differences between models can be judged as well. Resamples depend on the
//! seed alone, not on the number of threads.

use visus_engine::percentile;
use visus_report::bootstrap::SplitMix;

use super::{Figures, Ranking, join};

/// How resampling is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// How many resamples; 0 for none.
    pub resamples: u32,
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 1000, seed: 1 }
    }
}

/// Rows of one resample at most. Of more rows, so many are drawn and the spread is scaled by the root of the ratio (the
/// m-out-of-n bootstrap of Bickel, Götze and van Zwet, 1997): the interval is the same, the time does not grow.
const MOST_ROWS: usize = 4000;

/// 95 of 100 resamples lie within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The figures of every resample, for each model.
#[derive(Clone, Debug)]
pub struct Resampled {
    /// By resample, then by model; nothing where a resample does not vary.
    figures: Vec<Vec<Option<Figures>>>,
    /// By how much the spread of a resample exceeds that of all rows.
    scale: f64,
}

impl Bootstrap {
    /// Resamples rows of predictions (a list for each model) and opinion scores. `None` once it is cancelled, which is asked
    /// before every resample.
    pub fn run(
        &self,
        models: &[&[f64]],
        opinions: &[f64],
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Resampled> {
        let rows = opinions.len().min(MOST_ROWS);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16) as u32;
        let part = |first: u32| -> Vec<(u32, Vec<Option<Figures>>)> {
            let mine = (first..self.resamples).step_by(threads as usize).take_while(|_| !cancelled());
            mine.map(|index| (index, self.resample(index, rows, models, opinions))).collect()
        };
        let mut all: Vec<_> = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
            parts.into_iter().flat_map(join).collect()
        });
        if all.len() < self.resamples as usize {
            return None;
        }
        all.sort_by_key(|(index, _)| *index);
        let figures = all.into_iter().map(|(_, figures)| figures).collect();
        Some(Resampled { figures, scale: (rows as f64 / opinions.len() as f64).sqrt() })
    }

    fn resample(&self, index: u32, rows: usize, models: &[&[f64]], opinions: &[f64]) -> Vec<Option<Figures>> {
        let mut random = SplitMix(self.seed ^ (u64::from(index) + 1).wrapping_mul(0xd134_2543_de82_ef95));
        let drawn: Vec<usize> = (0..rows).map(|_| random.below(opinions.len())).collect();
        let of = |list: &[f64]| -> Vec<f64> { drawn.iter().map(|row| list[*row]).collect() };
        let drawn_opinions = of(opinions);
        let opinion_ranks = Ranking::of(&drawn_opinions);
        let figures = |model: &&[f64]| {
            let predicted = of(model);
            Figures::ranked(&predicted, &drawn_opinions, &Ranking::of(&predicted), &opinion_ranks)
        };
        models.iter().map(figures).collect()
    }
}

impl Resampled {
    /// The interval of one figure of a model around its value on all rows.
    pub fn interval(&self, model: usize, value: f64, figure: fn(&Figures) -> f64) -> Option<Interval> {
        let values = self.figures.iter().filter_map(|row| row[model].as_ref().map(figure)).collect();
        self.percentiles(values, value)
    }

    /// The interval of a difference between two models, and the two-sided p value of its sign.
    pub fn difference(
        &self,
        models: [usize; 2],
        value: f64,
        figure: fn(&Figures) -> f64,
    ) -> Option<(Interval, f64)> {
        let difference = |row: &Vec<Option<Figures>>| {
            Some(figure(row[models[0]].as_ref()?) - figure(row[models[1]].as_ref()?))
        };
        let values: Vec<f64> = self.figures.iter().filter_map(difference).collect();
        let scaled: Vec<f64> = values.iter().map(|other| value + (other - value) * self.scale).collect();
        let (below, above) =
            (scaled.iter().filter(|d| **d <= 0.0).count(), scaled.iter().filter(|d| **d >= 0.0).count());
        let chance = 2.0 * (below.min(above) as f64 + 1.0) / (scaled.len() as f64 + 1.0);
        Some((self.percentiles(values, value)?, chance.min(1.0)))
    }

    /// Fewer than half of the resamples are no basis.
    fn percentiles(&self, mut values: Vec<f64>, value: f64) -> Option<Interval> {
        if values.is_empty() || values.len() * 2 < self.figures.len() {
            return None;
        }
        values.iter_mut().for_each(|other| *other = value + (*other - value) * self.scale);
        values.sort_by(f64::total_cmp);
        Some(Interval { low: percentile(&values, 2.5), high: percentile(&values, 97.5) })
    }
}
