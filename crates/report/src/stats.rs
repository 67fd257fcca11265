//! The numbers that people read: what the mean hides.

use visus_engine::{Column, Pooled, Pooling, listed, percentile};

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
    let values = listed(column, frames, step)?;
    let pooled = Pooled::of(&values)?;
    let lowest = (0..).zip(&values).min_by(|a: &(u64, &f64), b| a.1.total_cmp(b.1))?.0;
    let mut sorted = values;
    sorted.sort_by(f64::total_cmp);
    let at = |percent| percentile(&sorted, percent);
    Some(Summary {
        pooled,
        p1: at(1.0),
        p5: at(5.0),
        p10: at(10.0),
        p25: at(25.0),
        median: at(50.0),
        worst_frame: lowest * step.max(1),
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
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let Pooled { min, max, mean, harmonic_mean } = Pooled::of(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |percent| percentile(&sorted, percent);
    Some(Figures {
        mean,
        harmonic_mean,
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

impl Figures {
    /// One of the figures.
    pub fn get(&self, pooling: Pooling) -> f64 {
        match pooling {
            Pooling::Mean => self.mean,
            Pooling::Harmonic => self.harmonic_mean,
            Pooling::Min => self.min,
            Pooling::Median => self.median,
            Pooling::P1 => self.p1,
            Pooling::P5 => self.p5,
            Pooling::P10 => self.p10,
            Pooling::P25 => self.p25,
        }
    }
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
    fn worst_places_are_apart() {
        let values = [9.0, 1.0, 2.0, 9.0, 3.0, 9.0].map(Some);
        assert_eq!(worst_places(&values, 2, 2), [1, 4]);
        assert_eq!(worst_places(&values, 9, 1), [1, 2, 4, 0, 3, 5]);
        assert_eq!(worst_places(&[None, Some(1.0)], 5, 1), [1]);
    }

    #[test]
    fn figures_by_the_way_they_are_pooled() {
        let values = [3.0, 1.0, 2.0, 1.0, 9.0];
        let figures = figures(&values).unwrap();
        for pooling in Pooling::ALL {
            assert_eq!(figures.get(pooling), pooling.pool(&values), "{}", pooling.name());
        }
    }
}
