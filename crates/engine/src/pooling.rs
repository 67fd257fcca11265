//! One number for many frames.

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

/// Pools the frames `0, step, 2·step, …` below `frames`, summed in this order. `None` if one of them has no score.
pub fn pool(column: &Column, frames: u64, step: u64) -> Option<Pooled> {
    let (mut count, mut sum, mut inverse) = (0u64, 0.0, 0.0);
    let (mut min, mut max) = (0.0, 0.0);
    for index in (0..frames).step_by(step.max(1) as usize) {
        let score = column.get(index)?;
        if index == 0 || score < min {
            min = score;
        }
        if index == 0 || score > max {
            max = score;
        }
        sum += score;
        inverse += 1.0 / (score + 1.0);
        count += 1;
    }
    let count = count as f64;
    (frames > 0).then(|| Pooled { min, max, mean: sum / count, harmonic_mean: count / inverse - 1.0 })
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
}
