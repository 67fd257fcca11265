//! A straight line through points, and how far a new point may lie from it.

use super::sum;

/// The least-squares line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub slope: f64,
    pub intercept: f64,
    mean_x: f64,
    squares_x: f64,
    deviation: f64,
    count: f64,
}

impl Fit {
    /// `None` where x does not vary.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let count = x.len() as f64;
        let (mean_x, mean_y) = (sum(x.len(), &|i| x[i]) / count, sum(y.len(), &|i| y[i]) / count);
        let squares_x = sum(x.len(), &|i| (x[i] - mean_x).powi(2));
        let slope = sum(x.len(), &|i| (x[i] - mean_x) * (y[i] - mean_y)) / squares_x;
        let intercept = mean_y - slope * mean_x;
        let rest = sum(x.len(), &|i| (y[i] - slope * x[i] - intercept).powi(2));
        let deviation = (rest / (count - 2.0).max(1.0)).sqrt();
        slope.is_finite().then_some(Self { slope, intercept, mean_x, squares_x, deviation, count })
    }

    pub fn at(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// Half the width of the band in which 95 of 100 new observations are to be expected (normal approximation).
    pub fn half_width(&self, x: f64) -> f64 {
        let leverage = 1.0 + 1.0 / self.count + (x - self.mean_x).powi(2) / self.squares_x;
        1.96 * self.deviation * leverage.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points() {
        let fit = Fit::of(&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0]).unwrap();
        assert_eq!((fit.slope, fit.intercept, fit.at(10.0)), (2.0, 1.0, 21.0));
        assert_eq!(fit.half_width(1.0), 0.0);
        assert_eq!(Fit::of(&[1.0, 1.0], &[1.0, 2.0]), None);
        let noisy = Fit::of(&[0.0, 1.0, 2.0, 3.0], &[0.0, 2.0, 1.0, 3.0]).unwrap();
        assert!(noisy.half_width(30.0) > noisy.half_width(1.5), "far from the points the band widens");
    }
}
