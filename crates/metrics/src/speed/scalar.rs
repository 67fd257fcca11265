//! The loops over samples, in plain Rust.
//!
//! Every sum is `f32` (covariances: `f64`) and is formed in libvmaf's order: rows from the top, columns from the left,
//! taps from the first. Only sums that do not depend on each other stand side by side. No multiply-add is fused.

use visus_video::{Plane, Sample};

use super::geometry::{BLOCK, CELLS, DECIMATION};
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
fn part<T, const N: usize>(row: &[T], x: usize) -> &[T; N] {
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

/// One number per cell of a block, rounded up to whole vectors. What is beyond [`CELLS`] is zero.
pub type Cells<T> = [T; LANES];
const LANES: usize = 32;

/// Cells whose covariances with as many or with [`VECTOR`] others are summed in registers.
const TILE: usize = 4;
const VECTOR: usize = 8;
/// Positions that are gone through for one tile after the other, so that they stay in the first cache.
const POSITIONS: usize = 32;

/// Scratch for [`Covariance::matrix`]: the samples of one row of blocks' positions, less their means.
#[derive(Clone, Debug, Default)]
pub struct Covariance {
    centred: Vec<Cells<f64>>,
}

impl Covariance {
    /// The covariance of each pair of cells of a block, taken over all positions at which a block fits into the field.
    /// `wide` says whether vectors hold four `f64` or more, so that larger tiles fit into registers.
    #[inline(always)]
    pub fn matrix(&mut self, field: &FloatPlane, wide: bool, out: &mut [[f32; CELLS]; CELLS]) {
        let (width, height) = (field.width() - BLOCK + 1, field.height() - BLOCK + 1);
        let means = means(field, width, height);
        let mut sums = [[0.0; LANES]; LANES];
        self.centred.resize(width, [0.0; LANES]);
        for y in 0..height {
            for row in 0..BLOCK {
                centre_row(field.row(y + row), row * BLOCK, &means, &mut self.centred);
            }
            for centred in self.centred.chunks(POSITIONS) {
                if wide {
                    add_products_wide(centred, &mut sums);
                } else {
                    add_products(centred, &mut sums);
                }
            }
        }
        let count = (width * height) as f64;
        for x in 0..CELLS {
            for y in 0..=x {
                out[x][y] = (sums[x][y] / count) as f32;
                out[y][x] = out[x][y];
            }
        }
    }
}

/// The mean of each cell over all `width` x `height` positions of a block.
#[inline(always)]
fn means(field: &FloatPlane, width: usize, height: usize) -> [f32; CELLS] {
    let mut sums = [[0.0f32; BLOCK]; BLOCK];
    for y in 0..field.height() {
        let first = (y + 1).saturating_sub(height);
        let last = y.min(BLOCK - 1);
        add_windows(field.row(y), &mut sums[first..=last]);
    }
    let count = (width * height) as f32;
    std::array::from_fn(|cell| sums[cell / BLOCK][cell % BLOCK] / count)
}

/// Adds the row to the sums of each cell row that passes over it.
#[inline(always)]
fn add_windows(row: &[f32], sums: &mut [[f32; BLOCK]]) {
    for sums in sums {
        for window in row.windows(BLOCK) {
            for (sum, value) in sums.iter_mut().zip(window) {
                *sum += value;
            }
        }
    }
}

/// Subtracts the means of one row of cells, the first of which is `first`.
#[inline(always)]
fn centre_row(row: &[f32], first: usize, means: &[f32; CELLS], centred: &mut [Cells<f64>]) {
    let means: &[f32] = &means[first..first + BLOCK];
    for (window, cells) in row.windows(BLOCK).zip(centred) {
        let cells = &mut cells[first..first + BLOCK];
        for ((cell, value), mean) in cells.iter_mut().zip(window).zip(means) {
            *cell = f64::from(*value) - f64::from(*mean);
        }
    }
}

/// Adds the products of all pairs of cells to the sums, position after position; only tiles on and below the diagonal.
#[inline(always)]
fn add_products(centred: &[Cells<f64>], sums: &mut [Cells<f64>; LANES]) {
    for x in (0..CELLS).step_by(TILE) {
        for y in (0..=x).step_by(TILE) {
            add_tile::<TILE, TILE>(centred, x, y, sums);
        }
    }
}

/// The same with tiles of [`VECTOR`] columns. The last cell is a row of its own, and has two vectors at a time.
#[inline(always)]
fn add_products_wide(centred: &[Cells<f64>], sums: &mut [Cells<f64>; LANES]) {
    for x in (0..CELLS - 1).step_by(TILE) {
        for y in (0..=x).step_by(VECTOR) {
            add_tile::<TILE, VECTOR>(centred, x, y, sums);
        }
    }
    for y in (0..CELLS).step_by(2 * VECTOR) {
        add_tile::<1, { 2 * VECTOR }>(centred, CELLS - 1, y, sums);
    }
}

#[inline(always)]
fn add_tile<const ROWS: usize, const COLUMNS: usize>(
    centred: &[Cells<f64>],
    x: usize,
    y: usize,
    sums: &mut [Cells<f64>; LANES],
) {
    let mut tile = [[0.0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        tile[row] = *part(&sums[x + row], y);
    }
    for cells in centred {
        let (a, b) = (part::<f64, ROWS>(cells, x), part::<f64, COLUMNS>(cells, y));
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                tile[row][column] += a[row] * b[column];
            }
        }
    }
    for row in 0..ROWS {
        sums[x + row][y..y + COLUMNS].copy_from_slice(&tile[row]);
    }
}
