//! Sums of squared differences, in plain Rust.

use visus_video::{Plane, PlaneView};

/// The sum over a plane of `(reference - distorted)^2`. It cannot overflow: the largest picture has 2^30 samples, and
/// a square has at most 32 bits.
///
/// # Panics
/// If the two planes differ in sample type.
pub fn sum_squared_error(reference: PlaneView<'_>, distorted: PlaneView<'_>) -> u64 {
    match (reference, distorted) {
        (PlaneView::U8(reference), PlaneView::U8(distorted)) => sum_rows(reference, distorted, row_u8),
        (PlaneView::U16(reference), PlaneView::U16(distorted)) => sum_rows(reference, distorted, row_u16),
        _ => panic!("planes of one sample type"),
    }
}

fn sum_rows<T>(reference: Plane<'_, T>, distorted: Plane<'_, T>, row: fn(&[T], &[T]) -> u64) -> u64 {
    reference.rows().zip(distorted.rows()).map(|(reference, distorted)| row(reference, distorted)).sum()
}

/// The square of a difference of bytes fits 16 bits, and those of 2^15 samples fit 32. `max - min` and not `abs_diff`:
/// of this the compiler makes byte instructions.
fn row_u8(reference: &[u8], distorted: &[u8]) -> u64 {
    let squares = reference.iter().zip(distorted).map(|(reference, distorted)| {
        let difference = u16::from(*reference.max(distorted) - *reference.min(distorted));
        u32::from(difference * difference)
    });
    u64::from(squares.sum::<u32>())
}

fn row_u16(reference: &[u16], distorted: &[u16]) -> u64 {
    let squares = reference.iter().zip(distorted).map(|(reference, distorted)| {
        let difference = u32::from(reference.abs_diff(*distorted));
        u64::from(difference * difference)
    });
    squares.sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Noise;

    fn naive(reference: &[u16], distorted: &[u16], width: usize, stride: usize) -> u64 {
        let inside = |at: &usize| at % stride < width;
        let square = |at| (i64::from(reference[at]) - i64::from(distorted[at])).pow(2) as u64;
        (0..reference.len()).filter(inside).map(square).sum()
    }

    fn samples(count: usize, low: u32, high: u32, seed: u32) -> Vec<u16> {
        let mut noise = Noise::new(seed);
        (0..count).map(|_| (low + noise.below(high - low + 1)) as u16).collect()
    }

    proptest! {
        #[test]
        fn equals_the_naive_sum(
            width in 1usize..90,
            height in 1usize..6,
            pad in 0usize..40,
            deep in any::<bool>(),
            extreme in 0u32..3,
            seed in any::<u32>(),
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
                sum_squared_error(plane(&reference), plane(&distorted))
            } else {
                let bytes = |data: &[u16]| data.iter().map(|s| *s as u8).collect::<Vec<_>>();
                let (reference, distorted) = (bytes(&reference), bytes(&distorted));
                sum_squared_error(
                    PlaneView::U8(Plane::new(&reference, width, height, stride)),
                    PlaneView::U8(Plane::new(&distorted, width, height, stride)),
                )
            };
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn the_widest_row_does_not_overflow() {
        assert_eq!(row_u8(&[255; 32_768], &[0; 32_768]), 32_768 * 65_025);
        assert_eq!(row_u16(&[65_535; 32_768], &[0; 32_768]), 32_768 * 65_535 * 65_535);
    }
}
