//! Sums of squared differences, in plain Rust that is compiled for each level.
//!
//! Loops and not iterator chains: what stays a call would not be compiled for the level of its caller.

use visus_video::{Plane, PlaneView};

use crate::simd::Target;
use crate::{Spread, bands};

/// Rows of a band: fewer are not worth a call.
const LEAST_ROWS: usize = 32;

/// The sum over a plane of `(reference - distorted)^2`. It cannot overflow: the largest picture has 2^30 samples, and
/// a square has at most 32 bits.
///
/// # Panics
/// If the two planes differ in sample type.
pub fn sum_squared_error(target: Target, reference: PlaneView<'_>, distorted: PlaneView<'_>) -> u64 {
    target.run(
        #[inline(always)]
        || match (reference, distorted) {
            (PlaneView::U8(reference), PlaneView::U8(distorted)) if target.is_wide() => {
                sum_rows(reference, distorted, row_u8_of_words)
            }
            (PlaneView::U8(reference), PlaneView::U8(distorted)) => sum_rows(reference, distorted, row_u8),
            (PlaneView::U16(reference), PlaneView::U16(distorted)) => sum_rows(reference, distorted, row_u16),
            _ => panic!("planes of one sample type"),
        },
    )
}

/// The same, shared among helping hands.
pub fn sum_squared_error_spread(
    target: Target,
    reference: PlaneView<'_>,
    distorted: PlaneView<'_>,
    spread: &dyn Spread,
) -> u64 {
    bands::sum(reference.height(), LEAST_ROWS, spread, |rows| {
        sum_squared_error(target, reference.band(rows.clone()), distorted.band(rows))
    })
}

#[inline(always)]
fn sum_rows<T>(reference: Plane<'_, T>, distorted: Plane<'_, T>, row_sum: impl Fn(&[T], &[T]) -> u64) -> u64 {
    let mut sum = 0;
    for y in 0..reference.height() {
        sum += row_sum(reference.row(y), distorted.row(y));
    }
    sum
}

/// The square of a difference of bytes fits 16 bits, and those of 2^15 samples fit 32. `max - min` and not `abs_diff`:
/// of this the compiler makes byte instructions.
#[inline(always)]
fn row_u8(reference: &[u8], distorted: &[u8]) -> u64 {
    let mut sum = 0u32;
    for (reference, distorted) in reference.iter().zip(distorted) {
        let difference = u16::from(*reference.max(distorted) - *reference.min(distorted));
        sum += u32::from(difference * difference);
    }
    u64::from(sum)
}

/// The same by way of signed words, whose products wide vectors add in pairs.
#[inline(always)]
fn row_u8_of_words(reference: &[u8], distorted: &[u8]) -> u64 {
    let mut sum = 0u32;
    for (reference, distorted) in reference.iter().zip(distorted) {
        let difference = i16::from(*reference) - i16::from(*distorted);
        sum += (i32::from(difference) * i32::from(difference)) as u32;
    }
    u64::from(sum)
}

#[inline(always)]
fn row_u16(reference: &[u16], distorted: &[u16]) -> u64 {
    let mut sum = 0;
    for (reference, distorted) in reference.iter().zip(distorted) {
        let difference = u32::from(reference.abs_diff(*distorted));
        sum += u64::from(difference * difference);
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::level_tests;
    use crate::testing::Noise;

    fn naive(reference: &[u16], distorted: &[u16], width: usize, stride: usize) -> u64 {
        let inside = |at: &usize| at % stride < width;
        let square = |at| (i64::from(reference[at]) - i64::from(distorted[at])).pow(2) as u64;
        (0..reference.len()).filter(inside).map(square).sum()
    }

    fn samples(count: usize, low: u32, high: u32, seed: u32) -> Vec<u16> {
        let mut noise = Noise::new(seed);
        (0..count).map(|_| (low + noise.below(high - low + 1)) as u16).collect()
    }

    /// One plane pair of every kind that `(width, height, padding, deep, extreme)` names, against the naive sum.
    fn check_planes(
        target: Target,
        width: usize,
        height: usize,
        pad: usize,
        deep: bool,
        extreme: u32,
        seed: u32,
    ) {
        let peak = if deep { 65_535 } else { 255 };
        let ((low, high), (dis_low, dis_high)) = match extreme {
            0 => ((0, peak), (0, peak)),
            1 => ((0, 2), (0, 2)),
            _ => ((peak - 2, peak), (0, 2)),
        };
        let stride = width + pad;
        let reference = samples(stride * height, low, high, seed);
        let distorted = samples(stride * height, dis_low, dis_high, !seed);
        let expected = naive(&reference, &distorted, width, stride);
        let got = if deep {
            let plane = |data| PlaneView::U16(Plane::new(data, width, height, stride));
            sum_squared_error(target, plane(&reference), plane(&distorted))
        } else {
            let bytes = |data: &[u16]| data.iter().map(|s| *s as u8).collect::<Vec<_>>();
            let (reference, distorted) = (bytes(&reference), bytes(&distorted));
            let plane = |data| PlaneView::U8(Plane::new(data, width, height, stride));
            sum_squared_error(target, plane(&reference), plane(&distorted))
        };
        assert_eq!(got, expected, "{width}x{height}+{pad} deep {deep} extreme {extreme} seed {seed}");
    }

    level_tests! {
        fn equals_the_naive_sum(level) {
            let target = Target::new(level);
            proptest!(|(
                width in 1usize..300,
                height in 1usize..6,
                pad in 0usize..40,
                deep in any::<bool>(),
                extreme in 0u32..3,
                seed in any::<u32>(),
            )| check_planes(target, width, height, pad, deep, extreme, seed));
        }

        fn the_widest_row_does_not_overflow(level) {
            let sum = |white, black| sum_squared_error(Target::new(level), white, black);
            let (white, black) = ([255u8; 32_768], [0u8; 32_768]);
            let plane = |row| PlaneView::U8(Plane::new(row, 32_768, 1, 32_768));
            assert_eq!(sum(plane(&white), plane(&black)), 32_768 * 65_025);
            assert_eq!(sum(plane(&black), plane(&white)), 32_768 * 65_025);
            let (white, black) = ([65_535u16; 32_768], [0u16; 32_768]);
            let plane = |row| PlaneView::U16(Plane::new(row, 32_768, 1, 32_768));
            assert_eq!(sum(plane(&white), plane(&black)), 32_768 * 65_535 * 65_535);
        }
    }
}
