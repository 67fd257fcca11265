//! Halving a picture with the low-pass of the 9/7 wavelet, in plain Rust that is compiled for each level.
//!
//! The filter is libvmaf's 9x9 table. Its entries are rounded products of the wavelet's taps, so it cannot be split
//! into rows and columns without changing results. A weighted sample is rounded to `f32`; the 81 of them are summed in
//! `f64`, row by row.
//!
//! Where samples are those of a picture, whole multiples of 1/256 below 256, a product is a whole multiple of 2^-43 (the
//! smallest weight is above 2^-12, and a product keeps 24 bits), and every partial sum is below 2^9: the sums are exact, in
//! whatever order they are taken. Columns may then be summed first, and serve several outputs ([`ColumnSums`]).
//!
//! The same holds for floats from 2^-4 to 2^10 ([`sums_are_exact`]): products are whole multiples of 2^-39, and partial sums
//! are below 2^12, as the weights' magnitudes sum up to less than 4. Smaller pictures mostly are of that kind: they leave it
//! where full black meets white.

use std::ops::Range;

use crate::float_ssim::{Row, Source};
use crate::picture::FloatPlane;
use crate::simd::Adder;

/// Side of the filter.
pub const TAPS: usize = 9;

/// The filter is symmetric in both directions: rows 0..5 of columns 0..5.
pub const QUARTER: [[f32; 5]; 5] = [
    [0.000714, -0.000450, -0.002090, 0.007132, 0.016114],
    [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146],
    [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149],
    [0.007132, -0.004490, -0.020867, 0.071207, 0.160885],
    [0.016114, -0.010146, -0.047149, 0.160885, 0.363505],
];

pub const FILTER: [[f32; TAPS]; TAPS] = unfold();

const fn unfold() -> [[f32; TAPS]; TAPS] {
    let mut filter = [[0.0; TAPS]; TAPS];
    let mut at = 0;
    while at < TAPS * TAPS {
        let (row, column) = (at / TAPS, at % TAPS);
        filter[row][column] = QUARTER[4 - row.abs_diff(4)][4 - column.abs_diff(4)];
        at += 1;
    }
    filter
}

/// Outputs that are computed side by side, so that sums stay in registers while the taps go by.
pub const LANES: usize = 8;
type Lane<T> = [T; LANES];

/// A row of the larger picture with its mirrored ends, its samples dealt out by turns. The first sample is the fourth
/// before the picture, so output `x` takes `even[x], odd[x], even[x + 1], .. even[x + 4]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitRow<'a> {
    pub even: &'a [f32],
    pub odd: &'a [f32],
}

/// How many samples a split row needs on each side for `outputs` of them, computed in whole lanes.
pub const fn split_len(outputs: usize) -> usize {
    outputs.next_multiple_of(LANES) + LANES
}

/// Row `number`, counted from the fourth above a picture. Beyond an edge it repeats mirrored, the edge row included.
pub fn mirrored(number: usize, height: usize) -> usize {
    match number.checked_sub(TAPS / 2) {
        None => TAPS / 2 - 1 - number,
        Some(inside) if inside < height => inside,
        Some(beyond) => 2 * height - 1 - beyond,
    }
}

/// Deals a row out. Beyond an edge it repeats mirrored, the edge sample included; it must have 4 samples or more.
#[inline(always)]
pub fn split_row(row: Row<'_>, even: &mut [f32], odd: &mut [f32]) {
    match row {
        Row::U8(row, factor) => split_values(row, factor, even, odd),
        Row::U16(row, factor) => split_values(row, factor, even, odd),
        Row::Floats(row) => split_values(row, 1.0, even, odd),
    }
}

#[inline(always)]
pub fn split_values<T: Copy + Into<f32>>(row: &[T], factor: f32, even: &mut [f32], odd: &mut [f32]) {
    let float = |sample: T| sample.into() * factor;
    let pairs = row.as_chunks::<2>().0;
    for (pair, (even, odd)) in pairs.iter().zip(even[2..].iter_mut().zip(&mut odd[2..])) {
        (*even, *odd) = (float(pair[0]), float(pair[1]));
    }
    split_ends(row, factor, even, odd);
}

/// Deals out what is no pair of a row: the last sample of an odd number, and what is beyond the edges.
#[inline(always)]
pub fn split_ends<T: Copy + Into<f32>>(row: &[T], factor: f32, even: &mut [f32], odd: &mut [f32]) {
    let float = |sample: T| sample.into() * factor;
    let (pairs, rest) = row.as_chunks::<2>();
    if let [last] = rest {
        even[2 + pairs.len()] = float(*last);
    }
    (even[0], odd[0], even[1], odd[1]) = (float(row[3]), float(row[2]), float(row[1]), float(row[0]));
    for beyond in 0..TAPS / 2 {
        let at = row.len() + TAPS / 2 + beyond;
        let side = if at.is_multiple_of(2) { &mut *even } else { &mut *odd };
        side[at / 2] = float(row[row.len() - 1 - beyond]);
    }
}

/// Floats whose weighted sums are exact in any order.
const EXACT: std::ops::RangeInclusive<f32> = 0.0625..=1024.0;

/// Whether the order of sums over these rows does not matter.
#[inline(always)]
pub fn sums_are_exact(from: Source<'_>, mut rows: Range<usize>) -> bool {
    match from {
        Source::Samples(..) => true,
        Source::Floats(plane) => rows.all(|y| row_is_exact(plane, y)),
    }
}

#[inline(always)]
fn row_is_exact(plane: &FloatPlane, y: usize) -> bool {
    let mut outside = 0;
    for value in plane.row(y) {
        outside |= u32::from(!EXACT.contains(value));
    }
    outside == 0
}

/// One row of the halved picture, from the nine rows around it. All rows are padded to whole lanes.
#[inline(always)]
pub fn halve_row<A: Adder>(adder: A, rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    for (cell, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sums = [0.0; LANES];
        for (row, weights) in rows.iter().zip(&FILTER) {
            for (tap, weight) in weights.iter().enumerate() {
                let side = if tap.is_multiple_of(2) { row.even } else { row.odd };
                sums = add_weighted(adder, tap, sums, lane(side, LANES * cell + tap / 2), *weight);
            }
        }
        *out = sums.map(|sum| sum as f32);
    }
}

#[inline(always)]
fn lane<T>(row: &[T], at: usize) -> &Lane<T> {
    row[at..].first_chunk().expect("rows have whole lanes")
}

/// Adds weighted samples to sums.
#[inline(always)]
fn add_weighted<A: Adder>(
    adder: A,
    tap: usize,
    mut sums: Lane<f64>,
    samples: &Lane<f32>,
    weight: f32,
) -> Lane<f64> {
    for lane in 0..LANES {
        let term = f64::from(samples[lane] * weight);
        // A conversion per term takes as long as an addition: three quarters of these elsewhere balance both.
        sums[lane] = if tap.is_multiple_of(4) { sums[lane] + term } else { adder.add(sums[lane], term) };
    }
    sums
}

/// Outputs whose column sums are kept at a time: few enough for the nearest cache.
const STRETCH: usize = 256;
const COLUMNS: usize = STRETCH + LANES;

/// Five columns of an output, or pairs of them that lie side by side in a split row.
pub const STEPS: usize = TAPS.div_ceil(2);

/// Sums of columns. An output `x` is the sum of `steps[k][x + k]`: columns `2 k` and `2 k + 1` of the filter.
#[derive(Debug)]
pub struct ColumnSums {
    steps: [[f64; COLUMNS]; STEPS],
}

impl ColumnSums {
    pub const ZERO: Self = Self { steps: [[0.0; COLUMNS]; STEPS] };

    /// The same as [`halve_row`] where sums are exact.
    #[inline(always)]
    pub fn halve_row<A: Adder>(&mut self, adder: A, rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
        for (stretch, out) in out.chunks_mut(STRETCH).enumerate() {
            let first = stretch * STRETCH;
            let cells = (out.len() + STEPS - 1).div_ceil(LANES);
            for cell in 0..cells {
                self.sum_columns(adder, rows, first, cell * LANES);
            }
            self.sum_steps(out);
        }
    }

    /// The filter is symmetric, so that columns 0 and 8, 1 and 7, 2 and 6, 3 and 5 have the same sums.
    #[inline(always)]
    fn sum_columns<A: Adder>(&mut self, adder: A, rows: &[SplitRow<'_>; TAPS], first: usize, at: usize) {
        let (mut even, mut odd) = ([[0.0; LANES]; 3], [[0.0; LANES]; 2]);
        for (row, weights) in rows.iter().zip(&FILTER) {
            let (samples, odd_samples) = (lane(row.even, first + at), lane(row.odd, first + at));
            for column in 0..3 {
                even[column] = add_weighted(adder, column + 1, even[column], samples, weights[2 * column]);
            }
            for column in 0..2 {
                odd[column] =
                    add_weighted(adder, column + 1, odd[column], odd_samples, weights[2 * column + 1]);
            }
        }
        let mut steps = [even[0], even[1], even[2], even[1], even[0]];
        for (step, column) in [0, 1, 1, 0].into_iter().enumerate() {
            for lane in 0..LANES {
                steps[step][lane] += odd[column][lane];
            }
        }
        for (out, step) in self.steps.iter_mut().zip(steps) {
            out[at..at + LANES].copy_from_slice(&step);
        }
    }

    #[inline(always)]
    fn sum_steps(&self, out: &mut [f32]) {
        for (cell, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = [0.0; LANES];
            for (step, columns) in self.steps.iter().enumerate() {
                let columns = lane(columns, cell * LANES + step);
                for lane in 0..LANES {
                    sums[lane] += columns[lane];
                }
            }
            *out = sums.map(|sum| sum as f32);
        }
    }
}
