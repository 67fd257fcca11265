//! Halving a picture with the low-pass of the 9/7 wavelet, in plain Rust.
//!
//! The filter is libvmaf's 9x9 table. Its entries are rounded products of the wavelet's taps, so it cannot be split
//! into rows and columns without changing results. A weighted sample is rounded to `f32`; the 81 of them are summed in
//! `f64`, row by row.

/// Side of the filter.
pub const TAPS: usize = 9;

/// The filter is symmetric in both directions: rows 0..5 of columns 0..5.
const QUARTER: [[f32; 5]; 5] = [
    [0.000714, -0.000450, -0.002090, 0.007132, 0.016114],
    [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146],
    [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149],
    [0.007132, -0.004490, -0.020867, 0.071207, 0.160885],
    [0.016114, -0.010146, -0.047149, 0.160885, 0.363505],
];

const FILTER: [[f32; TAPS]; TAPS] = unfold();

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
const LANES: usize = 8;
/// Samples of either side of a split row under that many outputs.
const REACH: usize = LANES + TAPS / 2;

/// A row of the larger picture with its mirrored ends, its samples dealt out by turns. The first sample is the fourth
/// before the picture, so output `x` takes `even[x], odd[x], even[x + 1], .. even[x + 4]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitRow<'a> {
    pub even: &'a [f32],
    pub odd: &'a [f32],
}

/// How many samples a split row needs on each side for `outputs` of them.
pub const fn split_len(outputs: usize) -> usize {
    outputs + TAPS / 2
}

/// Deals a row out. Beyond an edge it repeats mirrored, the edge sample included; it must have 4 samples or more.
pub fn split_row(row: &[f32], even: &mut [f32], odd: &mut [f32]) {
    for (out, sample) in even[2..].iter_mut().zip(row.iter().step_by(2)) {
        *out = *sample;
    }
    for (out, sample) in odd[2..].iter_mut().zip(row.iter().skip(1).step_by(2)) {
        *out = *sample;
    }
    (even[0], odd[0], even[1], odd[1]) = (row[3], row[2], row[1], row[0]);
    let mirrored = row.iter().rev().take(TAPS / 2);
    for (beyond, sample) in mirrored.enumerate() {
        let at = row.len() + TAPS / 2 + beyond;
        let side = if at.is_multiple_of(2) { &mut *even } else { &mut *odd };
        if let Some(out) = side.get_mut(at / 2) {
            *out = *sample;
        }
    }
}

/// One row of the halved picture, from the nine rows around it.
pub fn halve_row(rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    let whole = out.len() / LANES * LANES;
    for x in (0..whole).step_by(LANES) {
        let sums = rows.iter().zip(&FILTER).fold([0.0; LANES], |sums, (row, weights)| {
            let even = row.even[x..][..REACH].try_into().expect("that many samples");
            let odd = row.odd[x..][..REACH].try_into().expect("that many samples");
            add_row(sums, even, odd, weights)
        });
        for (out, sum) in out[x..].iter_mut().zip(sums) {
            *out = sum as f32;
        }
    }
    for x in whole..out.len() {
        out[x] = halve_pixel(rows, x);
    }
}

/// Adds the nine taps of a row to each sum.
#[inline(always)]
fn add_row(
    mut sums: [f64; LANES],
    even: &[f32; REACH],
    odd: &[f32; REACH],
    weights: &[f32; TAPS],
) -> [f64; LANES] {
    for (tap, weight) in weights.iter().enumerate() {
        let samples = if tap.is_multiple_of(2) { even } else { odd };
        for lane in 0..LANES {
            sums[lane] += f64::from(samples[lane + tap / 2] * weight);
        }
    }
    sums
}

fn halve_pixel(rows: &[SplitRow<'_>; TAPS], x: usize) -> f32 {
    let mut sum = 0.0f64;
    for (row, weights) in rows.iter().zip(&FILTER) {
        for (tap, weight) in weights.iter().enumerate() {
            let samples = if tap.is_multiple_of(2) { row.even } else { row.odd };
            sum += f64::from(samples[x + tap / 2] * weight);
        }
    }
    sum as f32
}
