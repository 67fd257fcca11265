//! One number for many frames: the one place where scores are pooled.

use std::str::FromStr;

use crate::Column;

/// A column pooled over its listed frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// `n / Σ 1/(s+1) − 1`: low scores weigh more.
    pub harmonic_mean: f64,
}

impl Pooled {
    /// Scores in frame order, summed in this order; `None` without any.
    pub fn of(scores: &[f64]) -> Option<Self> {
        let first = *scores.first()?;
        let (mut sum, mut inverse, mut min, mut max) = (0.0, 0.0, first, first);
        for score in scores {
            if *score < min {
                min = *score;
            }
            if *score > max {
                max = *score;
            }
            sum += score;
            inverse += 1.0 / (score + 1.0);
        }
        let count = scores.len() as f64;
        Some(Self { min, max, mean: sum / count, harmonic_mean: count / inverse - 1.0 })
    }
}

/// The scores of the frames `0, step, 2·step, …` below `frames`; `None` if one of them has no score.
pub fn listed(column: &Column, frames: u64, step: u64) -> Option<Vec<f64>> {
    (0..frames).step_by(step.max(1) as usize).map(|index| column.get(index)).collect()
}

/// Pools the frames `0, step, 2·step, …` below `frames`, summed in this order. `None` if one of them has no score.
pub fn pool(column: &Column, frames: u64, step: u64) -> Option<Pooled> {
    Pooled::of(&listed(column, frames, step)?)
}

/// The value that `percent` of all values do not reach: linear interpolation between the nearest ranks of sorted values, as
/// numpy's default does. NaN without any.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let rank = percent / 100.0 * last as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * (rank - rank.floor())
}

/// The same of values in any order, without sorting all of them. Their order is lost.
pub fn percentile_of(values: &mut [f64], percent: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let rank = percent / 100.0 * last as f64;
    let (_, below, rest) = values.select_nth_unstable_by(rank.floor() as usize, f64::total_cmp);
    let below = *below;
    let above = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    below + (above - below) * (rank - rank.floor())
}

/// A way to make one number of many frames' scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    #[default]
    Mean,
    /// `n / Σ 1/(s+1) − 1`, as libvmaf's.
    Harmonic,
    Min,
    Median,
    /// The score that so many percent of the frames do not reach.
    P1,
    P5,
    P10,
    P25,
}

impl Pooling {
    pub const NAMES: [&str; 8] = ["mean", "harmonic", "min", "median", "p1", "p5", "p10", "p25"];
    pub const ALL: [Self; 8] =
        [Self::Mean, Self::Harmonic, Self::Min, Self::Median, Self::P1, Self::P5, Self::P10, Self::P25];

    /// What it is called in options and reports.
    pub fn name(self) -> &'static str {
        let place = Self::ALL.iter().position(|pooling| *pooling == self);
        place.map_or("mean", |place| Self::NAMES[place])
    }

    /// The percentile that it is, for those that are one.
    fn percent(self) -> Option<f64> {
        match self {
            Self::Mean | Self::Harmonic => None,
            Self::Min => Some(0.0),
            Self::P1 => Some(1.0),
            Self::P5 => Some(5.0),
            Self::P10 => Some(10.0),
            Self::P25 => Some(25.0),
            Self::Median => Some(50.0),
        }
    }

    /// The frames' scores in one number; NaN without frames.
    pub fn pool(self, scores: &[f64]) -> f64 {
        let pooled = |pick: fn(Pooled) -> f64| Pooled::of(scores).map_or(f64::NAN, pick);
        match self.percent() {
            Some(percent) => percentile_of(&mut scores.to_vec(), percent),
            None if self == Self::Harmonic => pooled(|pooled| pooled.harmonic_mean),
            None => pooled(|pooled| pooled.mean),
        }
    }
}

impl FromStr for Pooling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|pooling| pooling.name() == text);
        found.ok_or_else(|| format!("must be one of {}", Self::NAMES.join("|")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f64]) -> Column {
        let mut column = Column::new("x".to_owned());
        for (index, value) in (0..).zip(values) {
            column.set(index, *value);
        }
        column
    }

    #[test]
    fn four_ways() {
        let pooled = pool(&column(&[1.0, 3.0]), 2, 1).unwrap();
        assert_eq!((pooled.min, pooled.max, pooled.mean), (1.0, 3.0, 2.0));
        assert_eq!(pooled.harmonic_mean, 2.0 / (0.5 + 0.25) - 1.0);
    }

    #[test]
    fn only_listed_frames_count_and_none_may_be_missing() {
        assert_eq!(pool(&column(&[1.0, 100.0, 3.0]), 3, 2).unwrap().mean, 2.0);
        assert_eq!(pool(&column(&[1.0]), 2, 1), None);
        assert_eq!(pool(&column(&[]), 0, 1), None);
    }

    #[test]
    fn percentiles_interpolate_between_ranks() {
        let sorted = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(percentile(&sorted, 0.0), 10.0);
        assert_eq!(percentile(&sorted, 50.0), 30.0);
        assert_eq!(percentile(&sorted, 10.0), 14.0);
        assert_eq!(percentile(&sorted, 100.0), 50.0);
        assert_eq!(percentile(&[7.0], 5.0), 7.0);
        assert!(percentile(&[], 5.0).is_nan() && percentile_of(&mut [], 5.0).is_nan());
    }

    #[test]
    fn a_percentile_needs_no_sorting() {
        let values: Vec<f64> = (0..137u32).map(|n| f64::from(n.wrapping_mul(7919) % 137)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for percent in [0.0, 1.0, 5.0, 33.3, 50.0, 99.9, 100.0] {
            assert_eq!(percentile_of(&mut values.clone(), percent), percentile(&sorted, percent));
        }
    }

    #[test]
    fn every_way_by_its_name() {
        let scores: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        for (pooling, expected) in [
            (Pooling::Mean, 50.0),
            (Pooling::Min, 0.0),
            (Pooling::Median, 50.0),
            (Pooling::P1, 1.0),
            (Pooling::P5, 5.0),
            (Pooling::P10, 10.0),
            (Pooling::P25, 25.0),
        ] {
            assert_eq!(pooling.pool(&scores), expected, "{}", pooling.name());
            assert_eq!(pooling.name().parse(), Ok(pooling));
        }
        assert_eq!(Pooling::Harmonic.pool(&[1.0, 3.0]), 2.0 / 0.75 - 1.0);
        assert!(Pooling::ALL.iter().all(|pooling| pooling.pool(&[]).is_nan()));
        assert!("mode".parse::<Pooling>().unwrap_err().contains("mean|harmonic"));
    }
}
