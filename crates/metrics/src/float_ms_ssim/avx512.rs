//! Halving a picture with AVX-512: the sums of [`scalar`](super::scalar), arranged so that few additions wait for each
//! other.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::scalar::{FILTER, LANES, STEPS, SplitRow, TAPS};
use crate::simd::avx512::Avx512;
use crate::simd::{OnMultipliers, x86};

/// Vectors of outputs whose sums are taken side by side: a sum of 81 terms in their order is one long wait.
const SIDE: usize = 4;

/// As [`halve_row`](super::scalar::halve_row).
pub fn halve_row(_proof: Avx512, rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { halve_cells(rows, out) }
}

/// As [`halve_samples`](super::scalar::ColumnSums::halve_samples).
pub fn halve_samples(_proof: Avx512, rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { sum_columns(rows, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn halve_cells(rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    let one = OnMultipliers::new();
    let whole = out.len() / (SIDE * LANES) * SIDE * LANES;
    for at in (0..whole).step_by(SIDE * LANES) {
        sum_cells::<SIDE>(one, rows, at, out);
    }
    for at in (whole..out.len()).step_by(LANES) {
        sum_cells::<1>(one, rows, at, out);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_cells<const N: usize>(one: OnMultipliers, rows: &[SplitRow<'_>; TAPS], at: usize, out: &mut [f32]) {
    let mut sums = [_mm512_setzero_pd(); N];
    for (row, weights) in rows.iter().zip(&FILTER) {
        let (even, odd) = (&row.even[at..][..N * LANES + LANES], &row.odd[at..][..N * LANES + LANES]);
        for (tap, weight) in weights.iter().enumerate() {
            let side = if tap.is_multiple_of(2) { even } else { odd };
            for (cell, sum) in sums.iter_mut().enumerate() {
                *sum = add(one, tap, *sum, weighted(side, cell * LANES + tap / 2, *weight));
            }
        }
    }
    for (cell, sum) in sums.into_iter().enumerate() {
        store(out, at + cell * LANES, sum);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted(samples: &[f32], at: usize, weight: f32) -> __m512d {
    let samples = _mm256_castsi256_ps(x86::load256(samples, at));
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

/// Sums of columns serve several outputs. Those that lie in the next vector are shifted over.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_columns(rows: &[SplitRow<'_>; TAPS], out: &mut [f32]) {
    let one = OnMultipliers::new();
    let mut now = steps_at(one, rows, 0);
    for at in (0..out.len()).step_by(LANES) {
        let next = steps_at(one, rows, at + LANES);
        let first = _mm512_add_pd(now[0], shifted::<1>(now[1], next[1]));
        let second = _mm512_add_pd(shifted::<2>(now[2], next[2]), shifted::<3>(now[3], next[3]));
        let last = _mm512_add_pd(shifted::<4>(now[4], next[4]), first);
        store(out, at, _mm512_add_pd(second, last));
        now = next;
    }
}

/// Columns `2 k` and `2 k + 1` of the filter; see [`ColumnSums`](super::scalar::ColumnSums).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn steps_at(one: OnMultipliers, rows: &[SplitRow<'_>; TAPS], at: usize) -> [__m512d; STEPS] {
    let (mut even, mut odd) = ([_mm512_setzero_pd(); 3], [_mm512_setzero_pd(); 2]);
    for (number, (row, weights)) in rows.iter().zip(&FILTER).enumerate() {
        for (column, sum) in even.iter_mut().enumerate() {
            *sum = add(one, number, *sum, weighted(row.even, at, weights[2 * column]));
        }
        for (column, sum) in odd.iter_mut().enumerate() {
            *sum = add(one, number, *sum, weighted(row.odd, at, weights[2 * column + 1]));
        }
    }
    let [far, middle, centre] = even;
    let both = |even, odd| _mm512_add_pd(even, odd);
    [both(far, odd[0]), both(middle, odd[1]), both(centre, odd[1]), both(middle, odd[0]), far]
}

/// Eight numbers from number `BY` of the first vector on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn shifted<const BY: i32>(now: __m512d, next: __m512d) -> __m512d {
    _mm512_castsi512_pd(_mm512_alignr_epi64::<BY>(_mm512_castpd_si512(next), _mm512_castpd_si512(now)))
}
