//! The loops over samples, in plain Rust.
//!
//! Every sum is `f32` (covariances: `f64`) and is formed in libvmaf's order: rows from the top, columns from the left,
//! taps from the first. Only sums that do not depend on each other stand side by side. No multiply-add is fused.

use visus_video::Sample;

use super::geometry::{BLOCK, CELLS, DECIMATION};
use crate::picture::FloatPlane;
use crate::separable::mirror;

/// Adds `tap` times each value to the sums.
pub fn add_row(row: &[f32], tap: f32, sums: &mut [f32]) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += tap * value;
    }
}

/// Adds `tap` times each sample, taken to `sample * scale + offset`, to the sums.
pub fn add_samples<T: Sample>(row: &[T], scale: f32, offset: f32, tap: f32, sums: &mut [f32]) {
    for (sum, sample) in sums.iter_mut().zip(row) {
        let value: f32 = (*sample).into();
        *sum += tap * (value * scale + offset);
    }
}

/// Adds `tap` times the scaled difference of two samples to the sums. The difference is exact, so it does not matter
/// that no offset is added to its parts.
pub fn add_changes<T: Sample>(before: &[T], after: &[T], scale: f32, tap: f32, sums: &mut [f32]) {
    for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
        let (before, after): (f32, f32) = ((*before).into(), (*after).into());
        *sum += tap * ((before - after) * scale);
    }
}

/// Subtracts each value from the one below it in `out`.
pub fn subtract_row(row: &[f32], out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(row) {
        *out -= value;
    }
}

/// Filters a row at every 16th position.
pub fn filter_decimated(taps: &[f32], row: &[f32], out: &mut [f32]) {
    for (x, out) in out.iter_mut().enumerate() {
        *out = filter_at(taps, row, x * DECIMATION);
    }
}

/// The filter's value at position `x` of a row that is mirrored at its ends.
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

/// `plane` minus its filtered self, in the part that `field` covers. `row` is scratch, at least as wide as the plane.
pub fn subtract_local_mean(taps: &[f32], plane: &FloatPlane, row: &mut [f32], field: &mut FloatPlane) {
    let (row, reach) = (&mut row[..plane.width()], taps.len() as isize / 2);
    for y in 0..field.height() {
        row.fill(0.0);
        for (y, tap) in (y as isize - reach..).zip(taps) {
            add_row(plane.row(mirror(y, plane.height())), *tap, row);
        }
        for (x, (out, value)) in field.row_mut(y).iter_mut().zip(plane.row(y)).enumerate() {
            *out = value - filter_at(taps, row, x);
        }
    }
}

/// One number per cell of a block, rounded up to whole vectors. What is beyond [`CELLS`] is zero.
pub type Cells<T> = [T; LANES];
const LANES: usize = 28;

/// Covariances of one tile of cells with another.
const TILE: usize = 4;

/// Scratch for [`Covariance::matrix`]: the samples of one row of blocks' positions, less their means.
#[derive(Debug, Default)]
pub struct Covariance {
    centred: Vec<Cells<f64>>,
}

impl Covariance {
    /// The covariance of each pair of cells of a block, taken over all positions at which a block fits into the field.
    pub fn matrix(&mut self, field: &FloatPlane, out: &mut [[f32; CELLS]; CELLS]) {
        let (width, height) = (field.width() - BLOCK + 1, field.height() - BLOCK + 1);
        let means = means(field, width, height);
        let mut sums = [[0.0; LANES]; LANES];
        self.centred.resize(width, [0.0; LANES]);
        for y in 0..height {
            for row in 0..BLOCK {
                centre_row(field.row(y + row), row * BLOCK, &means, &mut self.centred);
            }
            add_products(&self.centred, &mut sums);
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
fn add_products(centred: &[Cells<f64>], sums: &mut [Cells<f64>; LANES]) {
    for x in (0..LANES).step_by(TILE) {
        for y in (0..=x).step_by(TILE) {
            add_tile(centred, x, y, sums);
        }
    }
}

#[inline]
fn add_tile(centred: &[Cells<f64>], x: usize, y: usize, sums: &mut [Cells<f64>; LANES]) {
    let mut tile = [[0.0; TILE]; TILE];
    for (row, sums) in tile.iter_mut().zip(&sums[x..]) {
        row.copy_from_slice(&sums[y..y + TILE]);
    }
    for cells in centred {
        for (row, a) in tile.iter_mut().zip(&cells[x..x + TILE]) {
            for (sum, b) in row.iter_mut().zip(&cells[y..y + TILE]) {
                *sum += a * b;
            }
        }
    }
    for (row, sums) in tile.iter().zip(&mut sums[x..]) {
        sums[y..y + TILE].copy_from_slice(row);
    }
}
