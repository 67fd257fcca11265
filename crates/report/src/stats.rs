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

/// Any series of scores in figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub mean: f64,
    pub harmonic_mean: f64,
    pub min: f64,
    /// Where the lowest score stands first.
    pub min_place: usize,
    pub max: f64,
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p25: f64,
    pub median: f64,
}

/// The figures of scores in frame order, summed in this order; `None` if there are none or one is not a number.
pub fn figures(values: &[f64]) -> Option<Figures> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let count = values.len() as f64;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let at = |percent| percentile(&sorted, percent);
    Some(Figures {
        mean: values.iter().sum::<f64>() / count,
        harmonic_mean: count / values.iter().map(|value| 1.0 / (value + 1.0)).sum::<f64>() - 1.0,
        min,
        min_place: values.iter().position(|value| *value == min).unwrap_or(0),
        max,
        p1: at(1.0),
        p5: at(5.0),
        p10: at(10.0),
        p25: at(25.0),
        median: at(50.0),
    })
}

/// The lowest scores, worst first, each at least `apart` places from the others: a single bad moment fills one place.
pub fn worst_places(values: &[Option<f64>], count: usize, apart: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).filter(|place| values[*place].is_some()).collect();
    order.sort_by(|a, b| values[*a].unwrap_or(0.0).total_cmp(&values[*b].unwrap_or(0.0)).then(a.cmp(b)));
    let mut taken: Vec<usize> = Vec::new();
    for place in order {
        if taken.len() == count {
            break;
        }
        if taken.iter().all(|other| other.abs_diff(place) >= apart) {
            taken.push(place);
        }
    }
    taken
}

/// The score that 5 % of the frames do not reach, without sorting all of them. The order of the values is lost.
pub fn fifth_percentile(values: &mut [f64]) -> f64 {
    let rank = 0.05 * values.len().saturating_sub(1) as f64;
    let place = rank.floor() as usize;
    if values.is_empty() {
        return f64::NAN;
    }
    let (_, below, rest) = values.select_nth_unstable_by(place, f64::total_cmp);
    let below = *below;
    let above = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    below + (above - below) * (rank - rank.floor())
}

/// Linear interpolation between the nearest ranks of sorted values, as numpy's default does.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = percent / 100.0 * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * (rank - rank.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_series() {
        let figures = figures(&[3.0, 1.0, 2.0, 1.0]).unwrap();
        assert_eq!((figures.mean, figures.min, figures.min_place, figures.max), (1.75, 1.0, 1, 3.0));
        assert_eq!(figures.median, 1.5);
        assert_eq!(figures.harmonic_mean, 4.0 / (0.25 + 0.5 + 1.0 / 3.0 + 0.5) - 1.0);
        assert_eq!(super::figures(&[]), None);
        assert_eq!(super::figures(&[f64::NAN]), None);
    }

    #[test]
    fn the_fifth_percentile_needs_no_sorting() {
        let values: Vec<f64> = (0..137u32).map(|n| f64::from(n.wrapping_mul(7919) % 137)).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(fifth_percentile(&mut values.clone()), percentile(&sorted, 5.0));
        assert_eq!(fifth_percentile(&mut [3.0]), 3.0);
    }

    #[test]
    fn worst_places_are_apart() {
        let values = [9.0, 1.0, 2.0, 9.0, 3.0, 9.0].map(Some);
        assert_eq!(worst_places(&values, 2, 2), [1, 4]);
        assert_eq!(worst_places(&values, 9, 1), [1, 2, 4, 0, 3, 5]);
        assert_eq!(worst_places(&[None, Some(1.0)], 5, 1), [1]);
    }

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
