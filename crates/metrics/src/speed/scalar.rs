//! The loops over samples, in plain Rust.
//!
//! Every sum is `f32` and is formed in libvmaf's order: rows from the top, columns from the left, taps from the first. Only sums
//! that do not depend on each other stand side by side. No multiply-add is fused.

use visus_video::{Plane, Sample};

use super::geometry::DECIMATION;
use crate::picture::FloatPlane;
use crate::separable::mirror;

/// The rows that a vertical filter reads, one for each tap.
pub trait Rows {
    /// `N` columns of the row for tap `tap`, from `x` on.
    fn columns<const N: usize>(&self, tap: usize, x: usize) -> [f32; N];
}

/// Rows of floats.
#[derive(Clone, Copy, Debug)]
pub struct Floats<'a> {
    pub plane: &'a FloatPlane,
    pub rows: &'a [usize],
}

/// Rows of samples, taken to `sample * scale + offset`.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a, T> {
    pub plane: Plane<'a, T>,
    pub rows: &'a [usize],
    pub scale: f32,
    pub offset: f32,
}

/// The scaled differences of two rows of samples. Each difference is exact, so it does not matter that no offset is added
/// to its parts.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a, T> {
    pub before: Plane<'a, T>,
    pub after: Plane<'a, T>,
    pub rows: &'a [usize],
    pub scale: f32,
}

/// `N` values of a row, from `x` on.
#[inline(always)]
pub fn part<T, const N: usize>(row: &[T], x: usize) -> &[T; N] {
    row[x..].first_chunk().expect("columns inside of the row")
}

#[inline(always)]
fn part_mut<T, const N: usize>(row: &mut [T], x: usize) -> &mut [T; N] {
    row[x..].first_chunk_mut().expect("columns inside of the row")
}

impl Rows for Floats<'_> {
    #[inline(always)]
    fn columns<const N: usize>(&self, tap: usize, x: usize) -> [f32; N] {
        *part(self.plane.row(self.rows[tap]), x)
    }
}

impl<T: Sample> Rows for Samples<'_, T> {
    #[inline(always)]
    fn columns<const N: usize>(&self, tap: usize, x: usize) -> [f32; N] {
        let samples = part::<T, N>(self.plane.row(self.rows[tap]), x);
        let mut out = [0.0; N];
        for lane in 0..N {
            let value: f32 = samples[lane].into();
            out[lane] = value * self.scale + self.offset;
        }
        out
    }
}

impl<T: Sample> Rows for Changes<'_, T> {
    #[inline(always)]
    fn columns<const N: usize>(&self, tap: usize, x: usize) -> [f32; N] {
        let row = self.rows[tap];
        let (before, after) = (part::<T, N>(self.before.row(row), x), part::<T, N>(self.after.row(row), x));
        let mut out = [0.0; N];
        for lane in 0..N {
            let (before, after): (f32, f32) = (before[lane].into(), after[lane].into());
            out[lane] = (before - after) * self.scale;
        }
        out
    }
}

/// Columns whose sums are kept in registers: finding a row takes as long as a few vectors of it.
const COLUMNS: usize = 64;
/// The same for narrow planes.
const FEW_COLUMNS: usize = 16;

/// A vertical filter: each sum is that of a column.
#[inline(always)]
pub fn filter_columns(taps: &[f32], rows: &impl Rows, sums: &mut [f32]) {
    match sums.len() {
        COLUMNS.. => filter_blocks::<COLUMNS>(taps, rows, sums),
        FEW_COLUMNS.. => filter_blocks::<FEW_COLUMNS>(taps, rows, sums),
        _ => filter_blocks::<1>(taps, rows, sums),
    }
}

/// Block by block. The last one ends with the row, and overlaps the one before.
#[inline(always)]
fn filter_blocks<const N: usize>(taps: &[f32], rows: &impl Rows, sums: &mut [f32]) {
    for start in (0..sums.len()).step_by(N) {
        let x = start.min(sums.len() - N);
        *part_mut(sums, x) = column_sums::<N>(taps, rows, x);
    }
}

#[inline(always)]
fn column_sums<const N: usize>(taps: &[f32], rows: &impl Rows, x: usize) -> [f32; N] {
    let mut sums = [0.0; N];
    for (index, tap) in taps.iter().enumerate() {
        let values = rows.columns::<N>(index, x);
        for lane in 0..N {
            sums[lane] += tap * values[lane];
        }
    }
    sums
}

/// Subtracts each value from the one below it in `out`.
#[inline(always)]
pub fn subtract_row(row: &[f32], out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(row) {
        *out -= value;
    }
}

/// Filters a row at every 16th position.
#[inline(always)]
pub fn filter_decimated(taps: &[f32], row: &[f32], out: &mut [f32]) {
    for (x, out) in out.iter_mut().enumerate() {
        *out = filter_at(taps, row, x * DECIMATION);
    }
}

/// The filter's value at position `x` of a row that is mirrored at its ends.
#[inline(always)]
fn filter_at(taps: &[f32], row: &[f32], x: usize) -> f32 {
    let reach = taps.len() / 2;
    let mut sum = 0.0f32;
    if x >= reach && x + reach < row.len() {
        for (tap, value) in taps.iter().zip(&row[x - reach..]) {
            sum += tap * value;
        }
    } else {
        for (x, tap) in (x as isize - reach as isize..).zip(taps) {
            sum += tap * row[mirror(x, row.len())];
        }
    }
    sum
}

/// `plane` minus its filtered self, in the part that `field` covers. `row` is scratch, at least as wide as the plane, and
/// `rows` has room for one number per tap.
#[inline(always)]
pub fn subtract_local_mean(
    taps: &[f32],
    plane: &FloatPlane,
    row: &mut [f32],
    rows: &mut [usize],
    field: &mut FloatPlane,
) {
    let (row, reach) = (&mut row[..plane.width()], taps.len() as isize / 2);
    for y in 0..field.height() {
        for (out, y) in rows.iter_mut().zip(y as isize - reach..) {
            *out = mirror(y, plane.height());
        }
        filter_columns(taps, &Floats { plane, rows }, row);
        filter_along(taps, row, field.row_mut(y));
        for (out, value) in field.row_mut(y).iter_mut().zip(plane.row(y)) {
            *out = value - *out;
        }
    }
}

/// Filters the first positions of a row, as many as `out` has.
#[inline(always)]
fn filter_along(taps: &[f32], row: &[f32], out: &mut [f32]) {
    let reach = taps.len() / 2;
    // So many have all taps inside of the row, from `reach` on.
    let inner = out.len().min(row.len() - reach.min(row.len())).saturating_sub(reach);
    if inner < FEW_COLUMNS {
        return out.iter_mut().enumerate().for_each(|(x, out)| *out = filter_at(taps, row, x));
    }
    for start in (0..inner).step_by(FEW_COLUMNS) {
        let x = start.min(inner - FEW_COLUMNS);
        *part_mut(out, reach + x) = sums_along::<FEW_COLUMNS>(taps, &row[x..]);
    }
    for x in (0..reach).chain(reach + inner..out.len()) {
        out[x] = filter_at(taps, row, x);
    }
}

/// The sums of neighbouring positions, side by side.
#[inline(always)]
fn sums_along<const N: usize>(taps: &[f32], row: &[f32]) -> [f32; N] {
    let mut sums = [0.0; N];
    for (index, tap) in taps.iter().enumerate() {
        let values = part::<f32, N>(row, index);
        for lane in 0..N {
            sums[lane] += tap * values[lane];
        }
    }
    sums
}
