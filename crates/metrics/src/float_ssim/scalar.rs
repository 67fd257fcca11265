//! Row kernels of the windowed statistic, in plain Rust.
//!
//! What decides the last bit: a weighted sample is rounded to `f32`, a sum of them is kept in `f64` from the first tap
//! to the last and rounded to `f32` at its end, once after each direction.

/// One direction of the Gaussian window (sigma 1.5), with libvmaf's six decimals.
pub const WINDOW: [f32; TAPS] = [
    0.001028, 0.007599, 0.036001, 0.109361, 0.213006, 0.266012, 0.213006, 0.109361, 0.036001, 0.007599,
    0.001028,
];
pub const TAPS: usize = 11;

/// Outputs that are computed side by side, so that sums stay in registers while the taps go by.
const LANES: usize = 8;

/// Stabilising constants of Wang et al., for a range of 255: `(0.01 L)^2`, `(0.03 L)^2` and half of that.
const C1: f32 = (0.01 * 255.0) * (0.01 * 255.0);
const C2: f32 = (0.03 * 255.0) * (0.03 * 255.0);
const C3: f32 = C2 / 2.0;

/// The window along a row: `out[x]` covers `row[x..x + TAPS]`.
pub fn filter_row(row: &[f32], out: &mut [f32]) {
    let taps: [&[f32]; TAPS] = std::array::from_fn(|tap| &row[tap..][..out.len()]);
    filter_rows(&taps, out);
}

/// The window down the columns: `out[x]` covers `rows[..][x]`.
pub fn filter_rows(rows: &[&[f32]; TAPS], out: &mut [f32]) {
    let rows = rows.map(|row| &row[..out.len()]);
    let whole = out.len() / LANES * LANES;
    for x in (0..whole).step_by(LANES) {
        let mut sums = [0.0f64; LANES];
        for (row, weight) in rows.iter().zip(WINDOW) {
            let row: &[f32; LANES] = row[x..][..LANES].try_into().expect("as long as out");
            for lane in 0..LANES {
                sums[lane] += f64::from(row[lane] * weight);
            }
        }
        for lane in 0..LANES {
            out[x + lane] = sums[lane] as f32;
        }
    }
    for x in whole..out.len() {
        let taps = rows.iter().zip(WINDOW);
        out[x] = taps.fold(0.0, |sum, (row, weight)| sum + f64::from(row[x] * weight)) as f32;
    }
}

/// `out = a * b`, sample by sample.
pub fn multiply_row(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a * b;
    }
}

/// Windowed means of a row of pixels: of the two pictures, of their squares and of their product.
#[derive(Clone, Copy, Debug)]
pub struct Moments<'a> {
    pub reference: &'a [f32],
    pub distorted: &'a [f32],
    pub reference_squared: &'a [f32],
    pub distorted_squared: &'a [f32],
    pub product: &'a [f32],
}

/// How alike the means are.
pub fn luminance_row(moments: &Moments<'_>, out: &mut [f64]) {
    for ((out, mean), other) in out.iter_mut().zip(moments.reference).zip(moments.distorted) {
        let twice = 2.0 * f64::from(*mean) * f64::from(*other);
        *out = (twice + f64::from(C1)) / f64::from(mean * mean + other * other + C1);
    }
}

/// How alike the deviations are (contrast), and how far the pictures move together (structure).
pub fn contrast_structure_row(moments: &Moments<'_>, contrast: &mut [f64], structure: &mut [f64]) {
    let width = contrast.len();
    let (mean, other) = (&moments.reference[..width], &moments.distorted[..width]);
    let (square, other_square) = (&moments.reference_squared[..width], &moments.distorted_squared[..width]);
    let (product, structure) = (&moments.product[..width], &mut structure[..width]);
    for x in 0..width {
        // Rounding can take a variance below zero.
        let variance = not_negative(square[x] - mean[x] * mean[x]);
        let other_variance = not_negative(other_square[x] - other[x] * other[x]);
        let covariance = product[x] - mean[x] * other[x];
        let deviations = (variance * other_variance).sqrt();
        contrast[x] =
            (2.0 * f64::from(deviations) + f64::from(C2)) / f64::from(variance + other_variance + C2);
        // A flat window must not be punished for a covariance that rounding made negative.
        let flat = covariance < 0.0 && deviations <= 0.0;
        let covariance = if flat { 0.0 } else { covariance };
        structure[x] = f64::from((covariance + C3) / (deviations + C3));
    }
}

fn not_negative(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Noise;

    fn row(len: usize, limit: u32, scale: f32, seed: u32) -> Vec<f32> {
        let mut noise = Noise::new(seed);
        (0..len).map(|_| noise.below(limit) as f32 * scale).collect()
    }

    fn naive_sum(samples: impl Iterator<Item = f32>) -> f32 {
        samples.zip(WINDOW).fold(0.0f64, |sum, (sample, weight)| sum + f64::from(sample * weight)) as f32
    }

    proptest! {
        #[test]
        fn filters_equal_the_naive_sums(
            width in 1usize..70,
            limit in prop_oneof![Just(3u32), Just(256), Just(65_536)],
            scale in prop_oneof![Just(1.0f32), Just(0.003_906_25), Just(254.7)],
            seed in any::<u32>(),
        ) {
            let long = row(width + TAPS - 1, limit, scale, seed);
            let mut out = vec![0.0; width];
            filter_row(&long, &mut out);
            for x in 0..width {
                prop_assert_eq!(out[x], naive_sum(long[x..].iter().copied()));
            }
            let rows: Vec<Vec<f32>> = (0..11).map(|k| row(width, limit, scale, seed ^ k)).collect();
            filter_rows(&std::array::from_fn(|k| &rows[k][..]), &mut out);
            for x in 0..width {
                prop_assert_eq!(out[x], naive_sum(rows.iter().map(|row| row[x])));
            }
        }
    }

    fn terms(mean: f32, other: f32, square: f32, other_square: f32, product: f32) -> [f64; 3] {
        let [reference, distorted, reference_squared, distorted_squared, product] =
            &[[mean], [other], [square], [other_square], [product]];
        let moments = Moments { reference, distorted, reference_squared, distorted_squared, product };
        let (mut l, mut c, mut s) = ([0.0], [0.0], [0.0]);
        luminance_row(&moments, &mut l);
        contrast_structure_row(&moments, &mut c, &mut s);
        [l[0], c[0], s[0]]
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
