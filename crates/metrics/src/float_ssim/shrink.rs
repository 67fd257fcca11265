//! Shrinking by a whole factor with a box filter, as SSIM does before it looks.
//!
//! Each sample (on the 8-bit scale) is multiplied by the weight in `f32`; the products are summed in `f64`. Samples are
//! whole multiples of 1/256 below 256 and a weight is at least 1/100, so a product is a whole multiple of 2^-38 and
//! every partial sum has fewer than 48 bits: the sums are exact, in whatever order they are taken. That is why columns
//! may be summed first.

use visus_video::{Plane, PlaneView, Sample};

use crate::picture::FloatPlane;
use crate::simd::Target;
use crate::{Spread, bands};

/// The size that remains. An odd side keeps one more than its quotient, whatever the factor (but for factor 1, where
/// nothing is done).
pub fn shrunk(side: usize, factor: usize) -> usize {
    if factor == 1 { side } else { side / factor + side % 2 }
}

/// Shrinks a plane into `to`, whose size is [`shrunk`]. `columns` is scratch of the plane's width. Both sides of the
/// plane must be larger than the factor.
pub fn shrink(
    target: Target,
    from: PlaneView<'_>,
    depth: u8,
    factor: usize,
    columns: &mut [f64],
    to: &mut FloatPlane,
) {
    target.run(
        #[inline(always)]
        || match from {
            PlaneView::U8(from) => shrink_samples(from, depth, factor, columns, to),
            PlaneView::U16(from) => shrink_samples(from, depth, factor, columns, to),
        },
    );
}

/// The same, shared among helping hands.
pub fn shrink_spread(
    target: Target,
    from: PlaneView<'_>,
    depth: u8,
    factor: usize,
    to: &mut FloatPlane,
    spread: &dyn Spread,
) {
    let (width, stride) = (to.width(), to.stride());
    let bands = bands::bands(to.height(), 1, 1, spread);
    bands::for_each(to.bands_mut(&bands), spread, |(rows, data)| {
        let mut columns = vec![0.0; from.width()];
        target.run(
            #[inline(always)]
            || {
                for (y, row) in rows.zip(data.chunks_mut(stride)) {
                    match from {
                        PlaneView::U8(from) => {
                            shrink_row(from, depth, factor, &mut columns, y, &mut row[..width])
                        }
                        PlaneView::U16(from) => {
                            shrink_row(from, depth, factor, &mut columns, y, &mut row[..width])
                        }
                    }
                }
            },
        );
    });
}

#[inline(always)]
fn shrink_samples<T: Sample>(
    from: Plane<'_, T>,
    depth: u8,
    factor: usize,
    columns: &mut [f64],
    to: &mut FloatPlane,
) {
    for y in 0..to.height() {
        shrink_row(from, depth, factor, columns, y, to.row_mut(y));
    }
}

#[inline(always)]
fn shrink_row<T: Sample>(
    from: Plane<'_, T>,
    depth: u8,
    factor: usize,
    columns: &mut [f64],
    y: usize,
    out: &mut [f32],
) {
    let scale = 1.0 / f32::from(1u16 << (depth - 8));
    let weight = 1.0 / (factor * factor) as f32;
    columns.fill(0.0);
    for tap in 0..factor {
        add_weighted(from.row(mirrored(y, tap, factor, from.height())), scale, weight, columns);
    }
    sum_boxes(columns, factor, out);
}

#[inline(always)]
fn add_weighted<T: Sample>(row: &[T], scale: f32, weight: f32, sums: &mut [f64]) {
    for (sum, sample) in sums.iter_mut().zip(row) {
        let sample: f32 = (*sample).into();
        *sum += f64::from(sample * scale * weight);
    }
}

#[inline(always)]
fn sum_boxes(columns: &[f64], factor: usize, out: &mut [f32]) {
    // Boxes over an edge are rare; the others are taken without asking where they are.
    let (first, last) = (factor / 2, factor - factor / 2);
    let inside = (columns.len().saturating_sub(last) / factor + 1).min(out.len());
    for (x, out) in out.iter_mut().enumerate() {
        let mut sum = 0.0;
        if (1..inside).contains(&x) {
            for column in &columns[x * factor - first..][..factor] {
                sum += column;
            }
        } else {
            for tap in 0..factor {
                sum += columns[mirrored(x, tap, factor, columns.len())];
            }
        }
        *out = sum as f32;
    }
}

/// Where tap `tap` of output `at` lies: the box starts half a factor before `at * factor`; beyond an edge the picture
/// repeats mirrored, the edge sample included.
fn mirrored(at: usize, tap: usize, factor: usize, side: usize) -> usize {
    let position = at * factor + tap;
    match position.checked_sub(factor / 2) {
        None => factor / 2 - 1 - position,
        Some(inside) if inside < side => inside,
        Some(beyond) => 2 * side - 1 - beyond,
    }
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::simd::level_tests;
    use crate::testing::{self, Content};

    /// The definition: two nested loops around the centre, in the reference's order.
    fn naive(from: Plane<'_, u16>, depth: u8, factor: usize, x: usize, y: usize) -> f32 {
        let fold = |at: i64, side: usize| {
            let side = side as i64;
            (if at < 0 { -1 - at } else { at.min(2 * side - 1 - at) }) as usize
        };
        let before = factor as i64 / 2;
        let after = before - i64::from(factor.is_multiple_of(2));
        let weight = 1.0f32 / (factor * factor) as f32;
        let mut sum = 0.0f64;
        for v in -before..=after {
            for u in -before..=after {
                let row = from.row(fold((y * factor) as i64 + v, from.height()));
                let sample = row[fold((x * factor) as i64 + u, from.width())];
                sum += f64::from(f32::from(sample) / f32::from(1u16 << (depth - 8)) * weight);
            }
        }
        sum as f32
    }

    level_tests! {
    fn equals_the_naive_sum_at_every_factor(level) {
        let sizes =
            [(2, 30, 31), (3, 37, 33), (4, 45, 40), (5, 51, 60), (7, 79, 35), (9, 45, 91), (10, 101, 99)];
        for (factor, width, height) in sizes {
            for (depth, content) in [(9, Content::Noise), (16, Content::Noise), (16, Content::Dark)] {
                let format = testing::format(width, height, Chroma::C400, depth);
                let frame = testing::frame(format, content, 7);
                let PlaneView::U16(from) = frame.plane(0) else { unreachable!("more than 8 bits") };
                let mut to = FloatPlane::new(shrunk(width, factor), shrunk(height, factor));
                shrink(Target::new(level), frame.plane(0), depth, factor, &mut vec![0.0; width], &mut to);
                for (x, y) in (0..to.height()).flat_map(|y| (0..to.width()).map(move |x| (x, y))) {
                    let expected = naive(from, depth, factor, x, y);
                    assert_eq!(to.row(y)[x], expected, "factor {factor}, {width}x{height} at {x},{y}");
                }
            }
        }
    }
    }
}
