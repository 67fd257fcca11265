//! Both filters with sums in `f64`, as they are defined: for any samples.
//!
//! Most of the time goes into bringing weighted samples from `f32` to `f64`. The window is symmetric, so a sample with
//! the weight of one tap also serves the opposite tap, of another window: the sums of eleven windows are under way at the
//! same time, each getting the same terms in the same order as by definition ([`add_row`]). Sums begin with their first term
//! instead of zero; that can change the sign of a zero, which nothing after it sees.
//!
//! An addition may be a fused multiply-add by 1, which rounds the same sum once ([`OnMultipliers`]): two in five go to the
//! adders, which the conversions need as well, the others to the multipliers.
//!
//! There are ten sums, six weighted samples, the row and the factor 1 in registers, 18 of 32; the rest is left to what happens
//! meanwhile.

use std::arch::x86_64::*;

use super::{Cell, Meanwhile, STEP, STRETCH, Samples, UNFINISHED, Under, WEIGHTS};
use crate::float_ssim::scalar::{TAPS, WINDOW};
use crate::float_ssim::window::BATCH;
use crate::simd::{OnMultipliers, x86};

/// Pixels of a vector; a cell has two of them.
const LANES: usize = 8;

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn wide(samples: __m256, tap: usize) -> __m512d {
    _mm512_cvtps_pd(_mm256_mul_ps(samples, _mm256_set1_ps(WINDOW[tap])))
}

/// Two sums in five by the adders, which also convert; the others on the multipliers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum(one: OnMultipliers, tap: usize, sum: __m512d, term: __m512d) -> __m512d {
    if matches!(tap, 0 | 2 | 5 | 8 | 10) {
        _mm512_add_pd(sum, term)
    } else {
        _mm512_fmadd_pd(term, _mm512_set1_pd(one.one()), sum)
    }
}

/// The window along a row: vector `n` is tap `k` of the window that begins `k` vectors before it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_along<const SIGNAL: usize>(one: OnMultipliers, samples: &Samples, out: &mut [Cell]) {
    for half in 0..2 {
        let eight = |at: usize| {
            let both = _mm512_castps_pd(samples.signal::<SIGNAL>(at));
            let eight =
                if half == 0 { _mm512_castpd512_pd256(both) } else { _mm512_extractf64x4_pd::<1>(both) };
            _mm256_castpd_ps(eight)
        };
        let mut sums = [_mm512_setzero_pd(); UNFINISHED];
        for at in 0..UNFINISHED {
            add_row(one, eight(at), &mut sums);
        }
        for (at, out) in out.iter_mut().enumerate() {
            let done = _mm512_cvtpd_ps(add_row(one, eight(at + UNFINISHED), &mut sums));
            x86::store256(&mut out.0[SIGNAL], half * LANES, _mm256_castps_si256(done));
        }
    }
}

/// The window down the columns: row `n` is tap `k` of the window that begins `k` rows above it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_down(
    one: OnMultipliers,
    rows: &[[Cell; STRETCH]; BATCH],
    (cell, signal): (usize, usize),
    under: &mut Under,
    out: &mut [Cell; BATCH],
    meanwhile: &mut Meanwhile<'_>,
) {
    for (half, under) in under.iter_mut().enumerate() {
        let mut sums = [_mm512_setzero_pd(); UNFINISHED];
        for (sum, before) in sums.iter_mut().zip(&*under) {
            *sum = _mm512_castsi512_pd(x86::load512(before, 0));
        }
        let steps = rows.as_chunks::<STEP>().0.iter().zip(out.as_chunks_mut::<STEP>().0).enumerate();
        for (step, (rows, out)) in steps {
            for (row, out) in rows.iter().zip(out) {
                let samples = _mm256_castsi256_ps(x86::load256(&row[cell].0[signal], half * LANES));
                let done = _mm512_cvtpd_ps(add_row(one, samples, &mut sums));
                x86::store256(&mut out.0[signal], half * LANES, _mm256_castps_si256(done));
            }
            if half == 0 {
                meanwhile.make_terms(signal * (BATCH / STEP) + step);
            }
        }
        for (sum, after) in sums.iter().zip(under) {
            x86::store512(after, 0, _mm512_castpd_si512(*sum));
        }
    }
}

/// Adds a row to all windows under way, of which one is then finished and another one begun.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_row(one: OnMultipliers, samples: __m256, sums: &mut [__m512d; UNFINISHED]) -> __m512d {
    let mut terms = [_mm512_setzero_pd(); WEIGHTS];
    for (tap, term) in terms.iter_mut().enumerate() {
        *term = wide(samples, tap);
    }
    let done = sum(one, UNFINISHED, sums[UNFINISHED - 1], terms[0]);
    for tap in (1..UNFINISHED).rev() {
        sums[tap] = sum(one, tap, sums[tap - 1], terms[tap.min(TAPS - 1 - tap)]);
    }
    sums[0] = terms[0];
    done
}
