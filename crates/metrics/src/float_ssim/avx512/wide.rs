//! Both filters with sums in `f64`, as they are defined: for any samples.
//!
//! Most of the time goes into bringing weighted samples from `f32` to `f64`. The window is symmetric, so a sample with
//! the weight of one tap also serves the opposite tap, of another window: along a row it is shifted over from the
//! vector where it was made ([`terms_along`]), and down the columns the sums of eleven windows are under way at the same
//! time, each getting the same terms in the same order as by definition ([`add_row`]). Sums begin with their first term
//! instead of zero; that can change the sign of a zero, which nothing after it sees.
//!
//! Where samples are whole numbers below 256, the sums along rows are exact, in whatever order they are taken: samples,
//! squares and products are whole and below 2^16, and a weight is a whole multiple of 2^-33. So is every term, as it keeps
//! the leading bits of such a product, and the weights sum up to 1. [`sum_in_pairs`] may then add them as a tree.
//!
//! An addition may be a fused multiply-add by 1, which rounds the same sum once ([`OnMultipliers`]): two in five go to the
//! adders, which the conversions need as well, the others to the multipliers.
//!
//! [`filter_down`] has ten sums, six weighted samples, the row and the factor 1 in registers, 18 of 32; the rest is left to
//! what happens meanwhile. [`filter_along`] has four weighted vectors of three neighbours and four of the first tap, and two
//! sums: about 20. Two windows at a time hide how long an addition takes; three would spill.

use std::arch::x86_64::*;

use super::{Cell, Meanwhile, SAMPLES, STEP, STRETCH, UNFINISHED, Under, WEIGHTS};
use crate::float_ssim::scalar::{TAPS, WINDOW};
use crate::float_ssim::window::BATCH;
use crate::simd::{OnMultipliers, x86};

/// Pixels of a vector; a cell has two of them.
const LANES: usize = 8;

/// Eight samples from `at` on with the weight of a tap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted(samples: &[f32; SAMPLES], at: usize, tap: usize) -> __m512d {
    wide(_mm256_castsi256_ps(x86::load256(samples, at + tap)), tap)
}

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

/// The window along a row. What taps 0 to 4 have made of the vectors after this one is kept for them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_along<const WHOLE: bool>(
    one: OnMultipliers,
    samples: &[f32; SAMPLES],
    out: &mut [Cell],
    signal: usize,
) {
    let first_tap = |at: usize| weighted(samples, at, 0);
    let made = |at: usize| [1, 2, 3, 4].map(|tap| weighted(samples, at, tap));
    let (mut now, mut firsts) = (made(0), [first_tap(0), first_tap(LANES)]);
    for (cell, out) in out.iter_mut().enumerate() {
        let at = 2 * cell * LANES;
        let middle = made(at + LANES);
        let next = made(at + 2 * LANES);
        let [zero, one_on] = firsts;
        let two_on = first_tap(at + 2 * LANES);
        let three_on = first_tap(at + 3 * LANES);
        let centre = weighted(samples, at, 5);
        let first = terms_along([zero, one_on, two_on], &now, centre, &middle);
        let centre = weighted(samples, at + LANES, 5);
        let second = terms_along([one_on, two_on, three_on], &middle, centre, &next);
        let (first, second) = sum_both::<WHOLE>(one, first, second);
        x86::store256(&mut out.0[signal], 0, _mm256_castps_si256(_mm512_cvtpd_ps(first)));
        x86::store256(&mut out.0[signal], LANES, _mm256_castps_si256(_mm512_cvtpd_ps(second)));
        (now, firsts) = (next, [two_on, three_on]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn terms_along(
    first_tap: [__m512d; 3],
    now: &[__m512d; 4],
    centre: __m512d,
    next: &[__m512d; 4],
) -> [__m512d; TAPS] {
    [
        first_tap[0],
        now[0],
        now[1],
        now[2],
        now[3],
        centre,
        x86::shifted512::<2>(now[3], next[3]),
        x86::shifted512::<4>(now[2], next[2]),
        x86::shifted512::<6>(now[1], next[1]),
        next[0],
        x86::shifted512::<2>(first_tap[1], first_tap[2]),
    ]
}

/// The sums of two windows, side by side. In the order of the taps, unless the order does not matter.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_both<const WHOLE: bool>(
    one: OnMultipliers,
    first: [__m512d; TAPS],
    second: [__m512d; TAPS],
) -> (__m512d, __m512d) {
    if WHOLE {
        return (sum_in_pairs(one, first), sum_in_pairs(one, second));
    }
    let mut sums = (first[0], second[0]);
    for tap in 1..TAPS {
        sums = (sum(one, tap, sums.0, first[tap]), sum(one, tap, sums.1, second[tap]));
    }
    sums
}

/// Pairs, then pairs of those: fewer sums wait for each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_in_pairs(one: OnMultipliers, terms: [__m512d; TAPS]) -> __m512d {
    let [a, b, c, d, e, f, g, h, i, j, k] = terms;
    let (ab, cd, ef, gh, ij) =
        (sum(one, 0, a, b), sum(one, 1, c, d), sum(one, 1, e, f), sum(one, 1, g, h), sum(one, 0, i, j));
    let (abcd, efgh, ijk) = (sum(one, 1, ab, cd), sum(one, 0, ef, gh), sum(one, 1, ij, k));
    sum(one, 0, sum(one, 1, abcd, efgh), ijk)
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
