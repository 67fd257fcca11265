//! Errors, sample by sample: of structure, and at edges.
//!
//! The operations are those of the published tool, nothing fused; sums run over a plane row by row, in one chain each.

/// Keeps the structure term from dividing by zero.
const C2: f32 = 0.0009;

/// Sums of an error and of its fourth power.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    first: f64,
    fourth: f64,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, error: f64) {
        let square = error * error;
        self.first += error;
        self.fourth += square * square;
    }

    /// The mean and the 4-norm over `count` values.
    pub fn norms(&self, count: usize) -> [f64; 2] {
        let scale = 1.0 / count as f64;
        [scale * self.first, (scale * self.fourth).sqrt().sqrt()]
    }
}

/// Blurred rows: of both pictures, of their squares, and of their product.
#[derive(Clone, Copy, Debug)]
pub struct Moments<'a> {
    pub mean: [&'a [f32]; 2],
    pub square: [&'a [f32]; 2],
    pub product: &'a [f32],
}

/// Adds a row's errors of structure: 1 - SSIM, without SSIM's denominator for the means, because their scale is
/// already that of perception.
#[inline(always)]
pub fn add_structure(moments: Moments<'_>, sums: &mut Sums) {
    let width = moments.product.len();
    let [mean_a, mean_b] = moments.mean.map(|row| &row[..width]);
    let [square_a, square_b] = moments.square.map(|row| &row[..width]);
    for x in 0..width {
        let (a, b) = (mean_a[x], mean_b[x]);
        let luminance = (1.0 - f64::from((a - b) * (a - b))) as f32;
        let numerator = 2.0 * (moments.product[x] - a * b) + C2;
        let denominator = (square_a[x] - a * a) + (square_b[x] - b * b) + C2;
        sums.add(positive(1.0 - f64::from(luminance * numerator / denominator)));
    }
}

/// Adds a row's errors at edges, where an edge is how far a sample is from its blurred self: edges that only the
/// distorted picture has, and edges that only the reference has.
#[inline(always)]
pub fn add_edges(samples: [&[f32]; 2], means: [&[f32]; 2], new: &mut Sums, lost: &mut Sums) {
    let width = samples[0].len();
    let [reference, distorted] = samples.map(|row| &row[..width]);
    let [reference_mean, distorted_mean] = means.map(|row| &row[..width]);
    for x in 0..width {
        let edge = |sample: f32, mean: f32| 1.0 + f64::from((sample - mean).abs());
        let change = edge(distorted[x], distorted_mean[x]) / edge(reference[x], reference_mean[x]) - 1.0;
        new.add(positive(change));
        lost.add(positive(-change));
    }
}

#[inline(always)]
fn positive(error: f64) -> f64 {
    if error > 0.0 { error } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_have_no_errors() {
        let row = [0.1f32, 0.5, 0.9];
        let square = row.map(|value| value * value + 0.01);
        let mut sums = [Sums::default(); 3];
        let moments = Moments { mean: [&row, &row], square: [&square, &square], product: &square };
        add_structure(moments, &mut sums[0]);
        let [_, new, lost] = &mut sums;
        add_edges([&row, &row], [&square, &square], new, lost);
        assert_eq!(sums, [Sums::default(); 3]);
    }

    #[test]
    fn structure_is_what_the_formula_says() {
        let moments = Moments { mean: [&[0.5], &[0.25]], square: [&[0.375], &[0.125]], product: &[0.1875] };
        let mut sums = Sums::default();
        add_structure(moments, &mut sums);
        // Variances 0.125 and 0.0625, covariance 0.0625, difference of means 0.25.
        let expected = 1.0 - (1.0 - 0.0625) * (0.125 + 0.0009) / (0.1875 + 0.0009);
        assert!((sums.first - expected).abs() < 1e-6);
        assert!((sums.fourth - expected.powi(4)).abs() < 1e-6);
        let [mean, fourth] = sums.norms(2);
        assert!(
            (mean - expected / 2.0).abs() < 1e-6
                && (fourth - (expected.powi(4) / 2.0).powf(0.25)).abs() < 1e-6
        );
    }

    #[test]
    fn edges_are_new_or_lost() {
        let (flat, edge, means) = ([0.5f32, 0.5], [0.75f32, 0.5], [0.5f32, 0.5]);
        let mut sums = [Sums::default(); 2];
        let [new, lost] = &mut sums;
        add_edges([&flat, &edge], [&means, &means], new, lost);
        assert_eq!(sums.map(|sums| sums.first), [0.25, 0.0]);
        let mut sums = [Sums::default(); 2];
        let [new, lost] = &mut sums;
        add_edges([&edge, &flat], [&means, &means], new, lost);
        assert_eq!(sums.map(|sums| sums.first), [0.0, 1.0 - 1.0 / 1.25]);
    }
}
