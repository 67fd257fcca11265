//! Sums over a plane as the single-precision features take them: each square is rounded to `f32`, the sum is an `f64`
//! that grows pixel by pixel.
//!
//! Samples count in their own steps here, which the caller scales by a power of two, so nothing else is rounded.
//! All terms are whole numbers. While a sum stays below 2^53 every partial sum is exact, and the order of the terms
//! does not matter; only beyond that they are added again one by one.

use visus_video::{Plane, PlaneView};

use crate::simd::Target;
use crate::{Spread, bands, psnr};

/// Rows of a band: fewer are not worth a call.
const LEAST_ROWS: usize = 32;

/// Below this whole numbers are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Sums that grow side by side.
const LANES: usize = 16;

/// The sum of all samples. It is always exact.
pub fn sum(target: Target, plane: PlaneView<'_>, spread: &dyn Spread) -> f64 {
    let sum = bands::sum(plane.height(), LEAST_ROWS, spread, |rows| {
        let plane = plane.band(rows);
        target.run(
            #[inline(always)]
            || match plane {
                PlaneView::U8(plane) => sum_rows(plane, row_sum),
                PlaneView::U16(plane) => sum_rows(plane, row_sum),
            },
        )
    });
    sum as f64
}

/// The sum of the squares of all samples.
pub fn sum_of_squares(target: Target, plane: PlaneView<'_>, spread: &dyn Spread) -> f64 {
    match plane {
        PlaneView::U8(plane) => {
            let sum = bands::sum(plane.height(), LEAST_ROWS, spread, |rows| {
                target.run(
                    #[inline(always)]
                    || sum_rows(plane.band(rows), row_squares),
                )
            });
            sum as f64
        }
        PlaneView::U16(plane) => sum_rounded(target, [plane; 2], spread, |sample, _| sample),
    }
}

/// The sum of the squared differences of two planes.
///
/// # Panics
/// If the two planes differ in sample type.
pub fn sum_of_squared_differences(
    target: Target,
    reference: PlaneView<'_>,
    distorted: PlaneView<'_>,
    spread: &dyn Spread,
) -> f64 {
    match (reference, distorted) {
        (PlaneView::U16(reference), PlaneView::U16(distorted)) => {
            sum_rounded(target, [reference, distorted], spread, u16::abs_diff)
        }
        _ => psnr::scalar::sum_squared_error_spread(target, reference, distorted, spread) as f64,
    }
}

#[inline(always)]
fn sum_rows<T>(plane: Plane<'_, T>, row_sum: impl Fn(&[T]) -> u64) -> u64 {
    let mut sum = 0;
    for y in 0..plane.height() {
        sum += row_sum(plane.row(y));
    }
    sum
}

/// A row has at most 2^15 samples of 16 bits.
#[inline(always)]
fn row_sum<T: Copy + Into<u32>>(row: &[T]) -> u64 {
    let mut sum = 0u32;
    for sample in row {
        sum += (*sample).into();
    }
    u64::from(sum)
}

#[inline(always)]
fn row_squares(row: &[u8]) -> u64 {
    let mut sum = 0u32;
    for sample in row {
        let sample = i32::from(i16::from(*sample));
        sum += (sample * sample) as u32;
    }
    u64::from(sum)
}

/// The sum of the squares of `value(reference, distorted)`.
fn sum_rounded(
    target: Target,
    [reference, distorted]: [Plane<'_, u16>; 2],
    spread: &dyn Spread,
    value: impl Fn(u16, u16) -> u16 + Copy + Sync,
) -> f64 {
    let sum: f64 = bands::sum(reference.height(), LEAST_ROWS, spread, |rows| {
        let (reference, distorted) = (reference.band(rows.clone()), distorted.band(rows));
        target.run(
            #[inline(always)]
            || sum_in_lanes(reference, distorted, value),
        )
    });
    if sum < EXACT { sum } else { sum_in_order(reference, distorted, value) }
}

#[inline(always)]
fn sum_in_lanes(
    reference: Plane<'_, u16>,
    distorted: Plane<'_, u16>,
    value: impl Fn(u16, u16) -> u16 + Copy,
) -> f64 {
    let mut sums = [0.0f64; LANES];
    for y in 0..reference.height() {
        let (whole, rest) = reference.row(y).as_chunks::<LANES>();
        let (other_whole, other_rest) = distorted.row(y).as_chunks::<LANES>();
        for (reference, distorted) in whole.iter().zip(other_whole) {
            for lane in 0..LANES {
                sums[lane] += rounded_square(value(reference[lane], distorted[lane]));
            }
        }
        for (reference, distorted) in rest.iter().zip(other_rest) {
            sums[0] += rounded_square(value(*reference, *distorted));
        }
    }
    let mut sum = 0.0;
    for lane in sums {
        sum += lane;
    }
    sum
}

fn sum_in_order(
    reference: Plane<'_, u16>,
    distorted: Plane<'_, u16>,
    value: impl Fn(u16, u16) -> u16 + Copy,
) -> f64 {
    let samples = reference.rows().flatten().zip(distorted.rows().flatten());
    samples.fold(0.0, |sum, (reference, distorted)| sum + rounded_square(value(*reference, *distorted)))
}

#[inline(always)]
fn rounded_square(value: u16) -> f64 {
    f64::from((u32::from(value) * u32::from(value)) as f32)
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::Alone;
    use crate::simd::level_tests;
    use crate::testing::{self, Content, Hands};

    /// What libvmaf does: floats on the 8-bit scale, one after another.
    fn naive(reference: &[f32], distorted: &[f32]) -> f64 {
        reference.iter().zip(distorted).fold(0.0, |sum, (a, b)| sum + f64::from((a - b) * (a - b)))
    }

    fn floats(plane: PlaneView<'_>, scale: f32) -> Vec<f32> {
        match plane {
            PlaneView::U8(plane) => plane.rows().flatten().map(|s| f32::from(*s) / scale).collect(),
            PlaneView::U16(plane) => plane.rows().flatten().map(|s| f32::from(*s) / scale).collect(),
        }
    }

    level_tests! {
        fn equals_the_naive_sums(level) {
            let target = Target::new(level);
            for (width, height, depth) in [(33, 7, 8), (1, 1, 8), (200, 3, 8), (70, 9, 10), (19, 5, 12), (77, 13, 16)] {
                for content in Content::ALL {
                    let format = testing::format(width, height, Chroma::C400, depth);
                    let (one, two) = (testing::frame(format, content, 1), testing::frame(format, content, 2));
                    let scale = f32::from(1u16 << (depth - 8));
                    let (a, b) = (floats(one.plane(0), scale), floats(two.plane(0), scale));
                    let square = f64::from(scale * scale);
                    let zeros = vec![0.0; a.len()];
                    let differences = sum_of_squared_differences(target, one.plane(0), two.plane(0), &Hands::new(3));
                    assert_eq!(differences / square, naive(&a, &b));
                    assert_eq!(sum_of_squares(target, one.plane(0), &Alone) / square, naive(&a, &zeros));
                    let total = a.iter().fold(0.0, |sum, sample| sum + f64::from(*sample));
                    assert_eq!(sum(target, one.plane(0), &Hands::new(2)) / f64::from(scale), total);
                }
            }
        }

        fn beyond_exact_sums_the_order_counts(level) {
            let row: Vec<u16> = (0..2048).map(|x| 65_535 - x % 7 * 901).collect();
            // The same row again and again: a plane of 2048 x 1400 in little memory.
            let tall: Vec<u16> = row.iter().copied().cycle().take(2048 * 1400).collect();
            let plane = Plane::new(&tall, 2048, 1400, 2048);
            let floats: Vec<f32> = tall.iter().map(|sample| f32::from(*sample) / 256.0).collect();
            let ordered = naive(&floats, &vec![0.0; floats.len()]);
            assert!(ordered * 65_536.0 > EXACT);
            assert_eq!(sum_of_squares(Target::new(level), PlaneView::U16(plane), &Hands::new(3)) / 65_536.0, ordered);
        }
    }
}
