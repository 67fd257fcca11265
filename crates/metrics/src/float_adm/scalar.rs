//! Kernels over rows, in plain Rust.
//!
//! Every value is rounded to `f32` exactly where libvmaf rounds it; nothing is fused, and sums keep their order. Rows
//! are separate arguments, not arrays of rows, so that the compiler knows that they do not overlap and can vectorise.

use super::reciprocal::reciprocal;
use crate::math;

/// The Daubechies wavelet of four taps.
const LOW: [f32; 4] = [0.482962913144690, 0.836516303737469, 0.224143868041857, -0.129409522550921];
const HIGH: [f32; 4] = [-0.129409522550921, -0.224143868041857, 0.836516303737469, -0.482962913144690];

/// The squared cosine of one degree.
const COS_SQUARED: f32 = 0.99969542;

/// What keeps a division by a coefficient of zero finite.
const TINY: f32 = 1e-30;

/// The shares that a coefficient and each of its eight neighbours have in the masking threshold. Decimal figures near
/// 1/30 and 1/15, multiplied in double precision.
const NEIGHBOUR_SHARE: f64 = 0.0333333351;
const CENTRE_SHARE: f64 = 0.0666666701;

#[inline(always)]
fn filter(taps: [f32; 4], [a, b, c, d]: [f32; 4]) -> f32 {
    taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d
}

/// The vertical half of the transform: one row of low and one of high frequencies from four rows.
pub fn split_rows(rows: [&[f32]; 4], low: &mut [f32], high: &mut [f32]) {
    let width = low.len();
    let [a, b, c, d] = rows.map(|row| &row[..width]);
    let high = &mut high[..width];
    for x in 0..width {
        let samples = [a[x], b[x], c[x], d[x]];
        low[x] = filter(LOW, samples);
        high[x] = filter(HIGH, samples);
    }
}

/// The low frequencies of [`split_rows`] alone.
pub fn low_row(rows: [&[f32]; 4], low: &mut [f32]) {
    let width = low.len();
    let [a, b, c, d] = rows.map(|row| &row[..width]);
    for x in 0..width {
        low[x] = filter(LOW, [a[x], b[x], c[x], d[x]]);
    }
}

/// The horizontal half of the transform. Output `x` comes from `line[2 * x..2 * x + 4]`.
pub fn split_columns(line: &[f32], low: &mut [f32], high: &mut [f32]) {
    let width = low.len();
    let pairs = &line.as_chunks::<2>().0[..width + 1];
    let high = &mut high[..width];
    for x in 0..width {
        let ([a, b], [c, d]) = (pairs[x], pairs[x + 1]);
        low[x] = filter(LOW, [a, b, c, d]);
        high[x] = filter(HIGH, [a, b, c, d]);
    }
}

/// The low frequencies of [`split_columns`] alone.
pub fn low_columns(line: &[f32], low: &mut [f32]) {
    let width = low.len();
    let pairs = &line.as_chunks::<2>().0[..width + 1];
    for x in 0..width {
        let ([a, b], [c, d]) = (pairs[x], pairs[x + 1]);
        low[x] = filter(LOW, [a, b, c, d]);
    }
}

/// What is left of the reference's coefficients in the distorted picture: at most all, at least nothing.
pub fn restore(reference: &[f32], distorted: &[f32], restored: &mut [f32]) {
    for ((restored, original), seen) in restored.iter_mut().zip(reference).zip(distorted) {
        let kept = seen * reciprocal(original + TINY);
        *restored = kept.clamp(0.0, 1.0) * original;
    }
}

/// Marks (by non-zero) where the gradients of reference and distorted picture differ by less than a degree, that is
/// where detail was not lost but changed in contrast.
pub fn mark_aligned(
    reference_h: &[f32],
    reference_v: &[f32],
    distorted_h: &[f32],
    distorted_v: &[f32],
    aligned: &mut [u32],
) {
    let width = aligned.len();
    let (oh, ov) = (&reference_h[..width], &reference_v[..width]);
    let (th, tv) = (&distorted_h[..width], &distorted_v[..width]);
    for x in 0..width {
        let product = oh[x] * th[x] + ov[x] * tv[x];
        let original = oh[x] * oh[x] + ov[x] * ov[x];
        let seen = th[x] * th[x] + tv[x] * tv[x];
        // cos² = product² / (|original|² |seen|²), which needs no angle.
        let within = product * product >= COS_SQUARED * original * seen;
        aligned[x] = u32::from((product >= 0.0) & within);
    }
}

/// Where marked, restored coefficients may grow by the factor `limit`, up to the distorted picture's.
pub fn enhance(aligned: &[u32], distorted: &[f32], limit: f64, restored: &mut [f32]) {
    let single = limit as f32;
    if f64::from(single) == limit {
        // The product of two singles is exact in a double, so one rounding to single is all there is.
        enhance_by(aligned, distorted, restored, |coefficient| coefficient * single);
    } else {
        enhance_by(aligned, distorted, restored, |coefficient| (f64::from(coefficient) * limit) as f32);
    }
}

#[inline(always)]
fn enhance_by(aligned: &[u32], distorted: &[f32], restored: &mut [f32], grow: impl Fn(f32) -> f32) {
    for ((restored, seen), aligned) in restored.iter_mut().zip(distorted).zip(aligned) {
        let (old, seen) = (*restored, *seen);
        let grown = grow(old);
        let up = if grown < seen { grown } else { seen };
        let down = if grown > seen { grown } else { seen };
        let positive = (*aligned != 0) & (old > 0.0);
        let negative = (*aligned != 0) & (old < 0.0);
        let grown_up = if positive { up } else { old };
        *restored = if negative { down } else { grown_up };
    }
}

/// How strong coefficients look.
pub fn csf(band: &[f32], weight: f32, level: &mut [f32]) {
    for (level, coefficient) in level.iter_mut().zip(band) {
        *level = (weight * coefficient).abs();
    }
}

/// How strong the differences of coefficients look.
pub fn csf_difference(distorted: &[f32], restored: &[f32], weight: f32, level: &mut [f32]) {
    for ((level, seen), restored) in level.iter_mut().zip(distorted).zip(restored) {
        *level = (weight * (seen - restored)).abs();
    }
}

/// What levels add to the masking thresholds of their neighbours.
pub fn spread(level: &[f32], share: &mut [f32]) {
    for (share, level) in share.iter_mut().zip(level) {
        *share = (NEIGHBOUR_SHARE * f64::from(*level)) as f32;
    }
}

/// Adds the masking by one band: the shares of the eight neighbours and a double share of the coefficient itself.
/// Neighbour rows begin one column before `level` and `threshold`.
pub fn add_masking(above: &[f32], beside: &[f32], below: &[f32], level: &[f32], threshold: &mut [f32]) {
    let width = threshold.len();
    let (above, beside, below) = (&above[..width + 2], &beside[..width + 2], &below[..width + 2]);
    let level = &level[..width];
    for x in 0..width {
        let before = above[x] + above[x + 1] + above[x + 2] + beside[x];
        let centred = (f64::from(before) + CENTRE_SHARE * f64::from(level[x])) as f32;
        threshold[x] += centred + beside[x + 2] + below[x] + below[x + 1] + below[x + 2];
    }
}

/// How far levels stand out of the masking threshold.
pub fn excess(level: &[f32], threshold: &[f32], out: &mut [f32]) {
    for ((out, level), threshold) in out.iter_mut().zip(level).zip(threshold) {
        let above = level - threshold;
        *out = if above < 0.0 { 0.0 } else { above };
    }
}

pub fn cube(values: &mut [f32]) {
    for value in values {
        *value = *value * *value * *value;
    }
}

/// For positive exponents. Most masked values are zero, and stay so.
pub fn raise(values: &mut [f32], exponent: f32) {
    for value in values.iter_mut().filter(|value| **value != 0.0) {
        *value = math::powf(*value, exponent);
    }
}

/// The sums of three rows, each from left to right. The three are independent, which hides the latency of addition.
pub fn sum_in_order(a: &[f32], b: &[f32], c: &[f32]) -> [f32; 3] {
    let mut sums = [0.0; 3];
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        sums[0] += a;
        sums[1] += b;
        sums[2] += c;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(length: usize) -> impl Strategy<Value = Vec<f32>> {
        let level = prop_oneof![0.0f32..1e-6, 0.0f32..2.0, 100.0f32..300.0, Just(0.0f32)];
        proptest::collection::vec(level, length)
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    proptest! {
        /// Rounded to single precision after each of the nine additions and no sooner.
        #[test]
        fn masking_rounds_where_libvmaf_does(
            rows in proptest::array::uniform3(levels(103)), level in levels(101), start in levels(101),
        ) {
            let mut threshold = start.clone();
            add_masking(&rows[0], &rows[1], &rows[2], &level, &mut threshold);
            let naive: Vec<f32> = (0..101).map(|x| {
                let mut sum = 0.0f32;
                for (row, column) in (0..9).map(|i| (i / 3, i % 3)) {
                    let centre = (f64::from(sum) + 0.0666666701 * f64::from(level[x])) as f32;
                    sum = if (row, column) == (1, 1) { centre } else { sum + rows[row][x + column] };
                }
                start[x] + sum
            }).collect();
            prop_assert_eq!(bits(&threshold), bits(&naive));
        }

        #[test]
        fn shares_are_products_in_double_precision(level in levels(101)) {
            let mut share = vec![0.0; 101];
            spread(&level, &mut share);
            let naive: Vec<f32> = level.iter().map(|level| (0.0333333351 * f64::from(*level)) as f32).collect();
            prop_assert_eq!(bits(&share), bits(&naive));
        }

        /// The single-precision short cut gives what the double-precision comparison gives.
        #[test]
        fn enhancement_is_that_of_double_precision(
            seen in proptest::collection::vec(-300.0f32..300.0, 99),
            kept in proptest::collection::vec(0.0f32..1.1, 99),
            aligned in proptest::collection::vec(0u32..2, 99),
            limit in prop_oneof![Just(1.0), Just(100.0), Just(1.2), 1.0f64..100.0],
        ) {
            let old: Vec<f32> = seen.iter().zip(&kept).map(|(seen, kept)| seen * kept).collect();
            let mut restored = old.clone();
            enhance(&aligned, &seen, limit, &mut restored);
            let naive: Vec<f32> = (0..99).map(|x| {
                let (grown, seen) = (f64::from(old[x]) * limit, f64::from(seen[x]));
                match aligned[x] {
                    1 if old[x] > 0.0 => grown.min(seen) as f32,
                    1 if old[x] < 0.0 => grown.max(seen) as f32,
                    _ => old[x],
                }
            }).collect();
            prop_assert_eq!(bits(&restored), bits(&naive));
        }

        #[test]
        fn three_sums_run_from_left_to_right(a in levels(77), b in levels(77), c in levels(77)) {
            let naive = [&a, &b, &c].map(|row| row.iter().fold(0.0f32, |sum, value| sum + value));
            prop_assert_eq!(sum_in_order(&a, &b, &c), naive);
        }
    }
}
