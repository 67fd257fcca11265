//! Halving a picture with AVX-512: the sums of [`scalar`], with fewer weighted samples.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::pyramid::Band;
use super::scalar::{self, FILTER, LANES, STEPS, SplitRow, TAPS, split_len};
use crate::float_ssim::{Row, Source};
use crate::simd::avx512::Avx512;
use crate::simd::{OnMultipliers, x86};

/// Cells whose sums are taken side by side, where each sum waits for the one before it.
const SIDE: usize = 2;
/// Row pairs that are taken at a time.
const BATCH: usize = 8;
/// Outputs under way while rows go by: those that a row pair does not finish.
const UNDER_WAY: usize = TAPS / 2;

/// The sums of outputs under way, the one that began last at the start, for `N` columns of the filter.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct UnderWay<const N: usize>([[[f64; LANES]; UNDER_WAY]; N]);

impl<const N: usize> UnderWay<N> {
    const ZERO: Self = Self([[[0.0; LANES]; UNDER_WAY]; N]);

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn load(&self) -> [[__m512d; UNDER_WAY]; N] {
        let mut sums = [[_mm512_setzero_pd(); UNDER_WAY]; N];
        for (sum, kept) in sums.as_flattened_mut().iter_mut().zip(self.0.as_flattened()) {
            *sum = _mm512_castsi512_pd(x86::load512(kept, 0));
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn store(&mut self, sums: [[__m512d; UNDER_WAY]; N]) {
        for (sum, kept) in sums.as_flattened().iter().zip(self.0.as_flattened_mut()) {
            x86::store512(kept, 0, _mm512_castpd_si512(*sum));
        }
    }
}

/// Halves pictures. Rows go by once, in pairs, and add to all outputs that they are under: the filter is symmetric, so
/// that a weighted sample serves several of them.
#[derive(Debug)]
pub struct Pairs {
    _proof: Avx512,
    even: Vec<f32>,
    odd: Vec<f32>,
    /// Length of a split row.
    stride: usize,
    /// Columns 0, 2, 4 of the filter, which are also 8, 6, 4, for every cell.
    even_sums: Vec<UnderWay<3>>,
    /// Columns 1 and 3, which are also 7 and 5.
    odd_sums: Vec<UnderWay<2>>,
    /// All columns, of cells side by side.
    sums: Vec<UnderWay<SIDE>>,
}

impl Pairs {
    pub fn new(proof: Avx512, width: usize) -> Self {
        let stride = split_len(width.div_ceil(2).next_multiple_of(SIDE * LANES));
        let rows = || vec![0.0; 2 * BATCH * stride];
        let cells = stride / LANES;
        Self {
            _proof: proof,
            even: rows(),
            odd: rows(),
            stride,
            even_sums: vec![UnderWay::ZERO; cells],
            odd_sums: vec![UnderWay::ZERO; cells],
            sums: vec![UnderWay::ZERO; cells.div_ceil(SIDE)],
        }
    }

    /// Makes some rows of half the size. Row pairs begin four rows above the picture; output `y` ends with the first row of
    /// pair `y + 4`.
    #[inline(always)]
    pub fn halve(&mut self, from: Source<'_>, mut to: Band<'_>) {
        let pairs = to.rows.start..to.rows.end + UNDER_WAY;
        let exact = to.sums_are_exact(from);
        for first in pairs.clone().step_by(BATCH) {
            let count = BATCH.min(pairs.end - first);
            for row in 0..2 * count {
                self.split(from.row(scalar::mirrored(2 * first + row, from.height())), row);
            }
            // SAFETY: the features were detected before the proof was made.
            unsafe {
                if exact {
                    self.filter_exact(first, count, &mut to);
                } else {
                    self.filter_in_order(first, count, &mut to);
                }
            }
        }
    }

    #[inline(always)]
    fn split(&mut self, row: Row<'_>, number: usize) {
        let start = number * self.stride;
        let (even, odd) = (&mut self.even[start..][..self.stride], &mut self.odd[start..][..self.stride]);
        scalar::split_row(row, even, odd);
    }

    /// As [`halve_row`](scalar::halve_row).
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn filter_in_order(&mut self, first: usize, count: usize, to: &mut Band<'_>) {
        let one = OnMultipliers::new();
        let cells = to.width.div_ceil(SIDE * LANES);
        for (at, under_way) in (0..).step_by(SIDE * LANES).zip(&mut self.sums[..cells]) {
            let mut sums = under_way.load();
            for pair in 0..count {
                let row = |number: usize| {
                    let at = number * self.stride + at;
                    SplitRow { even: &self.even[at..], odd: &self.odd[at..] }
                };
                let done = add_in_order(one, row(2 * pair), row(2 * pair + 1), &mut sums);
                // The first pairs finish nothing.
                if let Some(y) = (first + pair).checked_sub(UNDER_WAY).filter(|y| *y >= to.rows.start) {
                    for (cell, done) in done.into_iter().enumerate() {
                        store(to.padded_row_mut(y), at + cell * LANES, done);
                    }
                }
            }
            under_way.store(sums);
        }
    }

    /// As [`halve_row`](scalar::ColumnSums::halve_row): sums of columns serve several outputs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn filter_exact(&mut self, first: usize, count: usize, to: &mut Band<'_>) {
        let one = OnMultipliers::new();
        let cells = to.width.div_ceil(LANES);
        let mut steps = [[[_mm512_setzero_pd(); STEPS]; BATCH]; 2];
        for cell in 0..=cells {
            self.sum_columns(one, cell, &mut steps[cell % 2][..count]);
            let Some(before) = cell.checked_sub(1) else { continue };
            // The first pairs finish nothing.
            for pair in (to.rows.start + UNDER_WAY).saturating_sub(first)..count {
                let sum = sum_steps(&steps[before % 2][pair], &steps[cell % 2][pair]);
                store(to.padded_row_mut(first + pair - UNDER_WAY), before * LANES, sum);
            }
        }
    }

    /// The steps of a cell for every row pair; see [`ColumnSums`](super::scalar::ColumnSums).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn sum_columns(&mut self, one: OnMultipliers, cell: usize, steps: &mut [[__m512d; STEPS]]) {
        let row = |rows: &[f32], number: usize| {
            _mm256_castsi256_ps(x86::load256(rows, number * self.stride + cell * LANES))
        };
        let mut sums = self.even_sums[cell].load();
        for (pair, steps) in steps.iter_mut().enumerate() {
            let done = add_even(one, row(&self.even, 2 * pair), row(&self.even, 2 * pair + 1), &mut sums);
            steps[..3].copy_from_slice(&done);
        }
        self.even_sums[cell].store(sums);
        let mut sums = self.odd_sums[cell].load();
        for (pair, steps) in steps.iter_mut().enumerate() {
            let odd = add_odd(one, row(&self.odd, 2 * pair), row(&self.odd, 2 * pair + 1), &mut sums);
            *steps = join([steps[0], steps[1], steps[2]], odd);
        }
        self.odd_sums[cell].store(sums);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted(samples: &[f32], at: usize, weight: f32) -> __m512d {
    wide(_mm256_castsi256_ps(x86::load256(samples, at)), weight)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn wide(samples: __m256, weight: f32) -> __m512d {
    _mm512_cvtps_pd(_mm256_mul_ps(samples, _mm256_set1_ps(weight)))
}

/// A third of the sums by the adders, which also convert; the others on the multipliers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add(one: OnMultipliers, number: usize, sum: __m512d, term: __m512d) -> __m512d {
    if number.is_multiple_of(3) {
        _mm512_add_pd(sum, term)
    } else {
        _mm512_fmadd_pd(term, _mm512_set1_pd(one.one()), sum)
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn store(out: &mut [f32], at: usize, sums: __m512d) {
    x86::store256(out, at, _mm256_castps_si256(_mm512_cvtpd_ps(sums)));
}

/// Adds a row pair to the outputs under way: the first row is tap 0, 2, 4, 6, 8 of five outputs, the second tap 1, 3, 5,
/// 7 of four. Gives the one that this finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_in_order(
    one: OnMultipliers,
    first: SplitRow<'_>,
    second: SplitRow<'_>,
    sums: &mut [[__m512d; UNDER_WAY]; SIDE],
) -> [__m512d; SIDE] {
    let sum = |number: usize| sums.map(|sums| sums[number]);
    let [done, tap_0] = add_row(one, first, 0, [sum(3), [_mm512_setzero_pd(); SIDE]]);
    let [tap_6, tap_2] = add_row(one, first, 2, [sum(2), sum(0)]);
    let [tap_4] = add_row(one, first, 4, [sum(1)]);
    let [tap_1, tap_7] = add_row(one, second, 1, [tap_0, tap_6]);
    let [tap_3, tap_5] = add_row(one, second, 3, [tap_2, tap_4]);
    for (cell, sums) in sums.iter_mut().enumerate() {
        *sums = [tap_1, tap_3, tap_5, tap_7].map(|sum| sum[cell]);
    }
    done
}

/// Adds a row of the filter to those outputs for which it has these weights, in the order of the columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_row<const N: usize>(
    one: OnMultipliers,
    row: SplitRow<'_>,
    number: usize,
    mut sums: [[__m512d; SIDE]; N],
) -> [[__m512d; SIDE]; N] {
    let (even, odd) = (&row.even[..(SIDE + 1) * LANES], &row.odd[..(SIDE + 1) * LANES]);
    for (tap, weight) in FILTER[number].iter().enumerate() {
        let side = if tap.is_multiple_of(2) { even } else { odd };
        for cell in 0..SIDE {
            let term = weighted(side, cell * LANES + tap / 2, *weight);
            for sums in &mut sums {
                sums[cell] = add(one, tap, sums[cell], term);
            }
        }
    }
    sums
}

/// The steps that columns make.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn join([far, middle, centre]: [__m512d; 3], [outer, inner]: [__m512d; 2]) -> [__m512d; STEPS] {
    [
        _mm512_add_pd(far, outer),
        _mm512_add_pd(middle, inner),
        _mm512_add_pd(centre, inner),
        _mm512_add_pd(middle, outer),
        far,
    ]
}

/// Adds a row pair to the even columns of the filter, and gives the sums that this finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_even(
    one: OnMultipliers,
    first: __m256,
    second: __m256,
    sums: &mut [[__m512d; UNDER_WAY]; 3],
) -> [__m512d; 3] {
    let [t00, t02, t04, t22, t24, t44] = [(0, 0), (0, 2), (0, 4), (2, 2), (2, 4), (4, 4)]
        .map(|(row, column)| wide(first, FILTER[row][column]));
    let [t10, t12, t14, t30, t32, t34] = [(1, 0), (1, 2), (1, 4), (3, 0), (3, 2), (3, 4)]
        .map(|(row, column)| wide(second, FILTER[row][column]));
    [
        add_column(one, [t00, t02, t04], [t10, t30], &mut sums[0]),
        add_column(one, [t02, t22, t24], [t12, t32], &mut sums[1]),
        add_column(one, [t04, t24, t44], [t14, t34], &mut sums[2]),
    ]
}

/// As [`add_even`], for the odd columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_odd(
    one: OnMultipliers,
    first: __m256,
    second: __m256,
    sums: &mut [[__m512d; UNDER_WAY]; 2],
) -> [__m512d; 2] {
    let [t01, t21, t41, t03, t23, t43] = [(0, 1), (2, 1), (4, 1), (0, 3), (2, 3), (4, 3)]
        .map(|(row, column)| wide(first, FILTER[row][column]));
    let [t11, t13, t33] = [(1, 1), (1, 3), (3, 3)].map(|(row, column)| wide(second, FILTER[row][column]));
    [
        add_column(one, [t01, t21, t41], [t11, t13], &mut sums[0]),
        add_column(one, [t03, t23, t43], [t13, t33], &mut sums[1]),
    ]
}

/// Adds the terms of a row pair to a column: the first row is tap 0, 2, 4, 6, 8 of five outputs, the second tap 1, 3, 5,
/// 7 of four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_column(
    one: OnMultipliers,
    [outer, middle, centre]: [__m512d; 3],
    [far, near]: [__m512d; 2],
    sums: &mut [__m512d; UNDER_WAY],
) -> __m512d {
    let done = add(one, 0, sums[3], outer);
    sums[3] = add(one, 2, add(one, 1, sums[2], middle), far);
    sums[2] = add(one, 1, add(one, 0, sums[1], centre), near);
    sums[1] = add(one, 2, add(one, 1, sums[0], middle), near);
    sums[0] = add(one, 1, outer, far);
    done
}

/// An output is the sum of its steps, of which those that lie in the next vector are shifted over.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_steps(now: &[__m512d; STEPS], next: &[__m512d; STEPS]) -> __m512d {
    let first = _mm512_add_pd(now[0], x86::shifted512::<1>(now[1], next[1]));
    let second = _mm512_add_pd(x86::shifted512::<2>(now[2], next[2]), x86::shifted512::<3>(now[3], next[3]));
    _mm512_add_pd(second, _mm512_add_pd(x86::shifted512::<4>(now[4], next[4]), first))
}
