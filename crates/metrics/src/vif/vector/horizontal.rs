//! Along the rows: variances from moments, and the next scale's picture.

use super::buffers::Rows;
use super::statistic::{Before, LAG, Pixels};
use super::window::{Window, two_words};
use crate::simd::Vector;

/// The window over two planes of a block, at even and at odd columns: [plane][parity].
#[inline(always)]
fn filtered<S: Vector, const SCALE: usize>(s: S, planes: [&[i16]; 2], start: [S::V; 2]) -> [[S::V; 2]; 2] {
    let [a, b] = planes;
    let mut sums = [[start[0]; 2], [start[1]; 2]];
    for i in 0..Window::<SCALE>::PAIRS {
        let even = s.splat32(Window::<SCALE>::EVEN[i]);
        let odd = s.splat32(Window::<SCALE>::ODD[i]);
        let (a, b) = (s.load(a, 2 * i), s.load(b, 2 * i));
        sums[0][0] = s.dot(sums[0][0], a, even);
        sums[0][1] = s.dot(sums[0][1], a, odd);
        sums[1][0] = s.dot(sums[1][0], b, even);
        sums[1][1] = s.dot(sums[1][1], b, odd);
    }
    if let Some(half) = Window::<SCALE>::HALF_CENTRE {
        let (even, odd) = (s.splat32(two_words(half, 0)), s.splat32(two_words(0, half)));
        for (sums, window) in sums.iter_mut().zip([a, b]) {
            let centre = s.load(window, 2 * Window::<SCALE>::REACH);
            sums[0] = s.dot(sums[0], centre, even);
            sums[1] = s.dot(sums[1], centre, odd);
        }
    }
    sums
}

/// Finishes the moments of one of the four rows, and shares its pixels out.
#[inline(always)]
pub fn horizontal<S: Vector, const SCALE: usize>(
    s: S,
    rows: &Rows,
    row: usize,
    width: usize,
    gain_limit: f64,
    pixels: &mut Pixels,
) {
    let reach = 2 * Window::<SCALE>::REACH;
    let rows = rows.windows::<8>(8 * row, reach);
    let blocks = width.div_ceil(S::WORDS);
    for block in 0..blocks {
        // All memory is checked here; what follows is free of branches.
        let planes = rows.at(block * S::WORDS, S::WORDS + 2 * reach);
        let (moments, mut before) = pixels.turn::<S>(block);
        turn::<S, SCALE>(s, planes, moments, &mut before, gain_limit);
    }
    pixels.flatten_beyond::<S>(width);
    for block in blocks..blocks + LAG {
        let (_, mut before) = pixels.turn::<S>(block);
        for quarter in 0..4 {
            before.share(s, quarter, gain_limit);
        }
    }
}

/// Variances and covariance of a block. Meanwhile an earlier block is shared out: that work is
/// independent, and other units of the processor do it.
#[inline(always)]
fn turn<S: Vector, const SCALE: usize>(
    s: S,
    planes: [&[i16]; 8],
    out: &mut [i32],
    before: &mut Before<'_>,
    gain_limit: f64,
) {
    // All planes are biased by -2^15, and taps sum to 2^16.
    let bias = s.splat32(i32::MIN);
    let rounded = s.splat32(i32::MIN + (1 << 15));
    let [m0, m1, r0, r1, d0, d1, p0, p1] = planes;
    let [mean_ref, mean_dis] = filtered::<S, SCALE>(s, [m0, m1], [bias, bias]);
    before.share(s, 0, gain_limit);
    let square = filtered::<S, SCALE>(s, [r0, r1], [bias, rounded]);
    store_central(s, square, mean_ref, mean_ref, &mut out[..S::WORDS]);
    before.share(s, 1, gain_limit);
    let square = filtered::<S, SCALE>(s, [d0, d1], [bias, rounded]);
    store_central(s, square, mean_dis, mean_dis, &mut out[S::WORDS..2 * S::WORDS]);
    before.share(s, 2, gain_limit);
    let product = filtered::<S, SCALE>(s, [p0, p1], [bias, rounded]);
    store_central(s, product, mean_ref, mean_dis, &mut out[2 * S::WORDS..3 * S::WORDS]);
    before.share(s, 3, gain_limit);
}

/// A central moment: the high and low words of a product's mean, less the product of the means.
#[inline(always)]
fn store_central<S: Vector>(s: S, words: [[S::V; 2]; 2], a: [S::V; 2], b: [S::V; 2], out: &mut [i32]) {
    for parity in 0..2 {
        let moment = s.add32(words[0][parity], s.shr32(words[1][parity], 16));
        s.store(out, parity * S::LANES, s.sub32(moment, s.mul_scaled32(a[parity], b[parity])));
    }
}

/// Filters a row for the next scale and keeps its even columns.
#[inline(always)]
pub fn thin<S: Vector, const NEXT: usize>(s: S, rows: &Rows, row: usize, blocks: usize, out: &mut [u16]) {
    let reach = 2 * Window::<NEXT>::REACH;
    let rows = rows.windows::<1>(row, reach);
    for block in 0..blocks {
        let [window] = rows.at(block * S::WORDS, S::WORDS + 2 * reach);
        let mut sum = s.splat32(i32::MIN + (1 << 15));
        for i in 0..Window::<NEXT>::PAIRS {
            sum = s.dot(sum, s.load(window, 2 * i), s.splat32(Window::<NEXT>::EVEN[i]));
        }
        if let Some(half) = Window::<NEXT>::HALF_CENTRE {
            sum = s.dot(sum, s.load(window, reach), s.splat32(two_words(half, 0)));
        }
        s.store_words(out, block * S::LANES, s.shr32(sum, 16));
    }
}
