//! The numbers that people read: what the mean hides.

use visus_engine::{Column, Pooled, pool};

/// A column in figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub pooled: Pooled,
    /// Scores that 1, 5, 10 and 25 % of the frames do not reach, and the middle one.
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p25: f64,
    pub median: f64,
    /// The first frame with the lowest score.
    pub worst_frame: u64,
}

/// The figures of a column over the listed frames; `None` if there are none or one has no score.
pub fn summary(column: &Column, frames: u64, step: u64) -> Option<Summary> {
    let pooled = pool(column, frames, step)?;
    let listed: Vec<(u64, f64)> =
        column.iter().filter(|(index, _)| index.is_multiple_of(step.max(1))).collect();
    let worst_frame = listed.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| *index)?;
    let mut sorted: Vec<f64> = listed.into_iter().map(|(_, value)| value).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |percent| percentile(&sorted, percent);
    Some(Summary {
        pooled,
        p1: at(1.0),
        p5: at(5.0),
        p10: at(10.0),
        p25: at(25.0),
        median: at(50.0),
        worst_frame,
    })
}

/// Linear interpolation between the nearest ranks of sorted values, as numpy's default does.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = percent / 100.0 * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * (rank - rank.floor())
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_interpolate_between_ranks() {
        let sorted = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(percentile(&sorted, 0.0), 10.0);
        assert_eq!(percentile(&sorted, 50.0), 30.0);
        assert_eq!(percentile(&sorted, 10.0), 14.0);
        assert_eq!(percentile(&sorted, 100.0), 50.0);
        assert_eq!(percentile(&[7.0], 5.0), 7.0);
    }
}
