//! The kernels: blur, and the mean absolute difference of two planes, in plain Rust that is compiled for each level.

use crate::picture::FloatPlane;
use crate::separable::{self, MirroredRow};

/// Taps and row memory of the blur.
#[derive(Clone, Debug)]
pub struct Blur {
    taps: &'static [f32],
    starts: Vec<usize>,
    column: MirroredRow,
    row: Vec<f32>,
}

impl Blur {
    /// For planes of `width`. Precondition: both sides are longer than half of the taps.
    pub fn new(width: usize, taps: &'static [f32]) -> Self {
        Self {
            taps,
            starts: vec![0; taps.len()],
            column: MirroredRow::new(width, taps.len()),
            row: vec![0.0; separable::padded(width)],
        }
    }
}

/// Blurs a plane, columns first.
#[inline(always)]
pub fn blur(source: &FloatPlane, scratch: &mut Blur, out: &mut FloatPlane) {
    let width = source.width();
    for y in 0..source.height() {
        separable::row_starts(source, y, &mut scratch.starts);
        let column = scratch.column.values_mut();
        separable::filter_columns(scratch.taps, source.data(), &scratch.starts, column);
        scratch.column.reflect();
        scratch.column.filter(scratch.taps, &mut scratch.row);
        out.row_mut(y).copy_from_slice(&scratch.row[..width]);
    }
}

/// Rows whose sums are formed side by side. The order within a row is fixed, so that an addition must wait for the one
/// before it; other rows fill the wait.
const ROWS: usize = 4;

/// The mean absolute difference of two planes of one size. Sums run along a row, then over rows, in `f32`.
#[inline(always)]
pub fn mean_difference(a: &FloatPlane, b: &FloatPlane) -> f32 {
    let (width, height) = (a.width(), a.height());
    let mut sum = 0.0f32;
    let whole = height - height % ROWS;
    for y in (0..whole).step_by(ROWS) {
        for row in row_differences::<ROWS>(a, b, y) {
            sum += row;
        }
    }
    for y in whole..height {
        sum += row_differences::<1>(a, b, y)[0];
    }
    sum / (width * height) as f32
}

/// The sums of absolute differences of `N` rows from row `y` on.
#[inline(always)]
fn row_differences<const N: usize>(a: &FloatPlane, b: &FloatPlane, y: usize) -> [f32; N] {
    let width = a.width();
    let a: [&[f32]; N] = std::array::from_fn(|n| &a.row(y + n)[..width]);
    let b: [&[f32]; N] = std::array::from_fn(|n| &b.row(y + n)[..width]);
    let mut sums = [0.0f32; N];
    for x in 0..width {
        for n in 0..N {
            sums[n] += (a[n][x] - b[n][x]).abs();
        }
    }
    sums
}
