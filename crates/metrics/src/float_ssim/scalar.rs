//! Kernels of the windowed statistic, in plain Rust that is compiled for each level.
//!
//! What decides the last bit: a weighted sample is rounded to `f32`, a sum of them is kept in `f64` from the first tap
//! to the last and rounded to `f32` at its end, once after each direction.
//!
//! Pixels are worked on in cells of [`LANES`] neighbours, which run on into the padding of rows.

use super::source::Row;
use crate::simd::Adder;

/// One direction of the Gaussian window (sigma 1.5), with libvmaf's six decimals.
pub const WINDOW: [f32; TAPS] = [
    0.001028, 0.007599, 0.036001, 0.109361, 0.213006, 0.266012, 0.213006, 0.109361, 0.036001, 0.007599,
    0.001028,
];
pub const TAPS: usize = 11;

/// Pixels that are computed side by side, so that sums stay in registers while the taps go by.
pub const LANES: usize = 8;

/// What is filtered: both pictures, their squares and their product.
pub const SIGNALS: usize = 5;

/// Stabilising constants of Wang et al., for a range of 255: `(0.01 L)^2`, `(0.03 L)^2` and half of that.
const C1: f32 = (0.01 * 255.0) * (0.01 * 255.0);
pub const C2: f32 = (0.03 * 255.0) * (0.03 * 255.0);
pub const C3: f32 = C2 / 2.0;

/// Neighbouring pixels of one signal.
pub type Lane<T> = [T; LANES];

/// Neighbouring pixels of all signals. Whole cache lines, so that no load crosses one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Cell(pub [Lane<f32>; SIGNALS]);

impl Cell {
    pub const ZERO: Self = Self([[0.0; LANES]; SIGNALS]);
}

/// The rows of the squares and of the product, from the first two: a row of each picture. All have the same length.
#[inline(always)]
pub fn multiply_rows(rows: [&mut [f32]; SIGNALS]) {
    let width = rows[0].len();
    let [plain, other, squared, other_squared, product] = rows.map(|row| &mut row[..width]);
    for x in 0..width {
        let (a, b) = (plain[x], other[x]);
        (squared[x], other_squared[x], product[x]) = (a * a, b * b, a * b);
    }
}

/// The rows of all signals from column `from` on, as many as there are and fit.
#[inline(always)]
pub fn signal_rows(reference: Row<'_>, distorted: Row<'_>, from: usize, rows: [&mut [f32]; SIGNALS]) {
    let [plain, other, squared, other_squared, product] = rows;
    let width = reference.read(from, plain);
    distorted.read(from, other);
    multiply_rows([plain, other, squared, other_squared, product].map(|row| &mut row[..width]));
}

/// The window along rows: lane `n` of cell `x` covers the samples from `LANES * x + n` on. The rows must be as long as
/// the cells and the window's overhang.
#[inline(always)]
pub fn filter_along<A: Adder>(adder: A, rows: [&[f32]; SIGNALS], out: &mut [Cell]) {
    let rows = rows.map(|row| &row[..LANES * out.len() + TAPS - 1]);
    for (x, out) in out.iter_mut().enumerate() {
        for (row, out) in rows.iter().zip(&mut out.0) {
            let row = &row[LANES * x..][..LANES + TAPS - 1];
            *out = weighted_sum(adder, |tap| row[tap..].first_chunk().expect("long enough"));
        }
    }
}

/// The window down the columns, for one cell of each of the rows under it.
#[inline(always)]
pub fn filter_down<A: Adder>(adder: A, cells: [&Cell; TAPS]) -> Cell {
    let mut out = Cell::ZERO;
    for (signal, out) in out.0.iter_mut().enumerate() {
        *out = weighted_sum(adder, |tap| &cells[tap].0[signal]);
    }
    out
}

#[inline(always)]
fn weighted_sum<'a, A: Adder>(adder: A, samples: impl Fn(usize) -> &'a Lane<f32>) -> Lane<f32> {
    let mut sums = [0.0f64; LANES];
    for tap in 0..TAPS {
        let samples = samples(tap);
        for lane in 0..LANES {
            let term = f64::from(samples[lane] * WINDOW[tap]);
            // A conversion per term takes as long as an addition: three quarters of these elsewhere balance both.
            sums[lane] = if tap % 4 == 0 { sums[lane] + term } else { adder.add(sums[lane], term) };
        }
    }
    sums.map(|sum| sum as f32)
}

/// How alike the means are.
#[inline(always)]
pub fn luminance<const N: usize>([reference, distorted, ..]: &[[f32; N]; SIGNALS]) -> [f64; N] {
    let mut out = [0.0; N];
    for lane in 0..N {
        let (mean, other) = (reference[lane], distorted[lane]);
        let twice = 2.0 * f64::from(mean) * f64::from(other);
        out[lane] = (twice + f64::from(C1)) / f64::from(mean * mean + other * other + C1);
    }
    out
}

/// How alike the deviations are (contrast), and how far the pictures move together (structure).
#[inline(always)]
pub fn contrast_structure(moments: &Cell) -> (Lane<f64>, Lane<f64>) {
    let variances = Variances::of(&moments.0);
    variances.contrast_structure(&variances.deviations())
}

/// What contrast and structure of neighbouring pixels are made of. Its steps stand apart so that other work can come between
/// roots and divisions, which take their time.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Variances<const N: usize> {
    product: [f32; N],
    /// With the constant that goes with it.
    sum: [f32; N],
    /// With the constant that goes with it.
    covariance: [f32; N],
}

impl<const N: usize> Variances<N> {
    pub const ZERO: Self = Self { product: [0.0; N], sum: [C2; N], covariance: [C3; N] };

    #[inline(always)]
    pub fn of(moments: &[[f32; N]; SIGNALS]) -> Self {
        let [reference, distorted, squared, other_squared, product] = moments;
        let mut out = Self::ZERO;
        for lane in 0..N {
            let (mean, other) = (reference[lane], distorted[lane]);
            // Rounding can take a variance below zero.
            let variance = not_negative(squared[lane] - mean * mean);
            let other_variance = not_negative(other_squared[lane] - other * other);
            let covariance = product[lane] - mean * other;
            out.product[lane] = variance * other_variance;
            out.sum[lane] = variance + other_variance + C2;
            // A flat window must not be punished for a covariance that rounding made negative.
            let flat = covariance < 0.0 && out.product[lane] <= 0.0;
            out.covariance[lane] = if flat { 0.0 } else { covariance } + C3;
        }
        out
    }

    /// The products of both standard deviations.
    #[inline(always)]
    pub fn deviations(&self) -> [f32; N] {
        self.product.map(f32::sqrt)
    }

    /// Structure is a number of `f32`, in either type.
    #[inline(always)]
    pub fn contrast_structure<T: Copy + From<f32>>(&self, deviations: &[f32; N]) -> ([f64; N], [T; N]) {
        let (mut contrast, mut structure) = ([0.0; N], [T::from(0.0); N]);
        for lane in 0..N {
            let both = deviations[lane];
            contrast[lane] = (2.0 * f64::from(both) + f64::from(C2)) / f64::from(self.sum[lane]);
            structure[lane] = T::from(self.covariance[lane] / (both + C3));
        }
        (contrast, structure)
    }
}

#[inline(always)]
fn not_negative(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::{OnMultipliers, Plain, Target, level_tests};
    use crate::testing::Noise;

    fn row(len: usize, limit: u32, scale: f32, seed: u32) -> Vec<f32> {
        let mut noise = Noise::new(seed);
        (0..len).map(|_| noise.below(limit) as f32 * scale).collect()
    }

    fn naive_sum(samples: impl Iterator<Item = f32>) -> f32 {
        samples.zip(WINDOW).fold(0.0f64, |sum, (sample, weight)| sum + f64::from(sample * weight)) as f32
    }

    /// Both directions on noise of `cells` cells, against the naive sums.
    fn check_filters<A: Adder>(adder: A, target: Target, cells: usize, limit: u32, scale: f32, seed: u32) {
        let width = cells * LANES + TAPS - 1;
        let rows: [Vec<f32>; SIGNALS] = std::array::from_fn(|n| row(width, limit, scale, seed ^ n as u32));
        let mut along = vec![Cell::ZERO; cells];
        target.run(
            #[inline(always)]
            || filter_along(adder, rows.each_ref().map(|row| &row[..]), &mut along),
        );
        for (x, signal) in (0..cells * LANES).flat_map(|x| (0..SIGNALS).map(move |signal| (x, signal))) {
            let expected = naive_sum(rows[signal][x..].iter().copied());
            assert_eq!(along[x / LANES].0[signal][x % LANES], expected);
        }
        let stack: [Cell; TAPS] = std::array::from_fn(|tap| along[tap % cells]);
        let down = target.run(
            #[inline(always)]
            || filter_down(adder, stack.each_ref()),
        );
        for (n, signal) in (0..LANES).flat_map(|n| (0..SIGNALS).map(move |signal| (n, signal))) {
            assert_eq!(down.0[signal][n], naive_sum(stack.iter().map(|cell| cell.0[signal][n])));
        }
    }

    level_tests! {
        fn filters_equal_the_naive_sums(level) {
            let target = Target::new(level);
            proptest!(|(
                cells in 1usize..9,
                limit in prop_oneof![Just(3u32), Just(256), Just(65_536)],
                scale in prop_oneof![Just(1.0f32), Just(0.003_906_25), Just(254.7), Just(-0.37)],
                seed in any::<u32>(),
            )| {
                check_filters(Plain, target, cells, limit, scale, seed);
                check_filters(OnMultipliers::new(), target, cells, limit, scale, seed);
            });
        }
    }

    fn terms(mean: f32, other: f32, square: f32, other_square: f32, product: f32) -> [f64; 3] {
        let moments = Cell([mean, other, square, other_square, product].map(|value| [value; LANES]));
        let (contrast, structure) = contrast_structure(&moments);
        [luminance(&moments.0)[0], contrast[0], structure[0]]
    }

    #[test]
    fn equal_windows_are_alike_in_every_term() {
        // The luminance of equal windows is 1 only up to rounding: its two halves have different widths.
        for (mean, square) in [(0.0, 0.0), (100.0, 10_000.0), (100.0, 10_400.0), (255.0, 65_025.0)] {
            let [l, c, s] = terms(mean, mean, square, square, square);
            assert!((l - 1.0).abs() < 1e-7 && (c - 1.0).abs() < 1e-7 && s == 1.0, "{mean} {square}");
        }
    }

    #[test]
    fn rounding_below_zero_is_forgiven_in_flat_windows_only() {
        let flat = terms(10.0, 10.0, 99.99, 99.99, 99.99);
        assert_eq!(flat[2], 1.0);
        let opposite = terms(10.0, 10.0, 120.0, 120.0, 80.0);
        assert_eq!(opposite[2], f64::from((-20.0 + C3) / (20.0 + C3)));
    }
}
