//! Covariances of the cells of a block, in plain Rust.
//!
//! Sums are `f64`, except for the means' `f32`, and are formed in libvmaf's order: positions row by row from the left. Only sums that
//! do not depend on each other stand side by side. No multiply-add is fused.

use super::geometry::{BLOCK, CELLS};
use super::scalar::part;
use crate::picture::FloatPlane;

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
