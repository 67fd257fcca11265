//! Errors, sample by sample: of structure, and at edges.
//!
//! The operations are those of the published tool, nothing fused; sums run over a plane row by row, in one chain each.

use crate::ordered::{GROUP, add_doubles};

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

    /// Adds a row of terms, one after another.
    #[inline(always)]
    pub fn add_row(&mut self, terms: &[f64], map: ErrorMap) {
        match map {
            ErrorMap::Structure => self.add_terms(terms, |term| term),
            ErrorMap::NewEdges => self.add_terms(terms, positive),
            ErrorMap::LostEdges => self.add_terms(terms, |term| positive(-term)),
        }
    }

    #[inline(always)]
    fn add_terms(&mut self, terms: &[f64], error: impl Fn(f64) -> f64) {
        let (mut errors, mut fourths) = ([0.0; GROUP], [0.0; GROUP]);
        for terms in terms.chunks(GROUP) {
            for (at, term) in terms.iter().enumerate() {
                let error = error(*term);
                let square = error * error;
                (errors[at], fourths[at]) = (error, square * square);
            }
            self.first = add_doubles(self.first, &errors[..terms.len()]);
            self.fourth = add_doubles(self.fourth, &fourths[..terms.len()]);
        }
    }

    /// The mean and the 4-norm over `count` values.
    pub fn norms(&self, count: usize) -> [f64; 2] {
        let scale = 1.0 / count as f64;
        [scale * self.first, (scale * self.fourth).sqrt().sqrt()]
    }
}

/// What errors are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorMap {
    Structure,
    /// Edges that only the distorted picture has.
    NewEdges,
    /// Edges that only the reference has.
    LostEdges,
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
        sums.add(structure_error([mean_a[x], mean_b[x]], [square_a[x], square_b[x]], moments.product[x]));
    }
}

/// The terms of [`add_structure`], to be added up by [`Sums::add_row`].
#[inline(always)]
pub fn structure(moments: Moments<'_>, out: &mut [f64]) {
    let width = out.len();
    let [mean_a, mean_b] = moments.mean.map(|row| &row[..width]);
    let [square_a, square_b] = moments.square.map(|row| &row[..width]);
    let product = &moments.product[..width];
    for x in 0..width {
        out[x] = structure_error([mean_a[x], mean_b[x]], [square_a[x], square_b[x]], product[x]);
    }
}

#[inline(always)]
fn structure_error([a, b]: [f32; 2], [square_a, square_b]: [f32; 2], product: f32) -> f64 {
    let luminance = (1.0 - f64::from((a - b) * (a - b))) as f32;
    let numerator = 2.0 * (product - a * b) + C2;
    let denominator = (square_a - a * a) + (square_b - b * b) + C2;
    positive(1.0 - f64::from(luminance * numerator / denominator))
}

/// Adds a row's errors at edges, where an edge is how far a sample is from its blurred self: edges that only the
/// distorted picture has, and edges that only the reference has.
#[inline(always)]
pub fn add_edges(samples: [&[f32]; 2], means: [&[f32]; 2], new: &mut Sums, lost: &mut Sums) {
    let width = samples[0].len();
    let [reference, distorted] = samples.map(|row| &row[..width]);
    let [reference_mean, distorted_mean] = means.map(|row| &row[..width]);
    for x in 0..width {
        let change = edge_change([reference[x], distorted[x]], [reference_mean[x], distorted_mean[x]]);
        new.add(positive(change));
        lost.add(positive(-change));
    }
}

/// The terms of [`add_edges`], for both of its maps, to be added up by [`Sums::add_row`].
#[inline(always)]
pub fn edges(samples: [&[f32]; 2], means: [&[f32]; 2], out: &mut [f64]) {
    let width = out.len();
    let [reference, distorted] = samples.map(|row| &row[..width]);
    let [reference_mean, distorted_mean] = means.map(|row| &row[..width]);
    for x in 0..width {
        out[x] = edge_change([reference[x], distorted[x]], [reference_mean[x], distorted_mean[x]]);
    }
}

#[inline(always)]
fn edge_change(samples: [f32; 2], means: [f32; 2]) -> f64 {
    let edge = |side: usize| 1.0 + f64::from((samples[side] - means[side]).abs());
    edge(1) / edge(0) - 1.0
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
