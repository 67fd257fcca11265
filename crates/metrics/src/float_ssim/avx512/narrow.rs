//! Both filters in `f32` alone, where samples lie in a [`RANGE`]: sixteen pixels at a time, and nothing is converted.
//!
//! # Why it is exact
//!
//! A term, which is rounded to `f32`, is split at a fixed place into a multiple of a unit and the rest, at most half a unit.
//! Both parts are summed by themselves, and no sum is ever rounded:
//!
//! - Terms of the pictures sum up to less than 2^9, those of squares and products to less than 2^17 (the weights sum up to
//!   1.000002, and the range ends at 360). The units are 2^-15 and 2^-7: multiples of them up to there have 24 bits.
//! - The range begins at 6, so that a product is at least 36 and the smallest term of one 0.03, above 2^-5: the rest of a
//!   term is a multiple of 2^-28. Eleven rests of at most 2^-8 stay below 2^-4: 24 bits again. For the pictures themselves
//!   rests are multiples of 2^-31 and their sums stay below 2^-12.
//!
//! So the sum of the two sums is rounded once, from the exact value. The `f64` sum of the definition is exact, too (multiples
//! of 2^-31 below 2^17), and is rounded once to `f32`. What the first filter makes of a row lies in the range of that row,
//! up to a rounding for which the bounds above leave room, so that the second filter needs no look at its own samples.
//!
//! # Work
//!
//! A term costs three operations: a product, one of its parts, and the difference. It serves two windows, as in
//! [`wide`](super::wide). For sixteen pixels that makes 39 operations down the columns and 49 along rows, where ten shift terms over;
//! with `f64` it is 60 and 68.
//!
//! Which part comes first depends on the processor ([`Fractions`](crate::simd::avx512::Fractions)): either way the whole part is the multiple of the unit next
//! to the term, even ones where two are as near, and the difference is exact.
//!
//! Zen 4 multiplies on one pair of pipes, and adds and rounds on the other, 512 bits a cycle each. So wholes are summed on the
//! adders and rests on the multipliers, as a product with 1 and a sum ([`OnMultipliers`]), and differences are shared out.
//! On Intel both are done in the same places.
//!
//! [`filter_down`] has twenty sums, six weights and the parts of one or two terms in registers. That is all there are, and
//! the compiler would rather begin with the next rows and write terms to memory: [`weighted`], [`add`] and
//! [`shifted`] are assembly, which keeps its order. It would also make slower permutations of the shifts.

use std::arch::x86_64::*;

use super::{Cell, LANES, Meanwhile, SAMPLES, STEP, STRETCH, UNFINISHED, Under, WEIGHTS};
use crate::float_ssim::scalar::WINDOW;
use crate::float_ssim::source::Row;
use crate::float_ssim::window::BATCH;
use crate::simd::{OnMultipliers, x86};

/// The least and the largest sample.
const RANGE: (f32, f32) = (6.0, 360.0);

/// Where terms of the pictures are split: as many bits behind the point, in the form that `vreduceps` takes it.
pub const PICTURE: i32 = 15 << 4;
/// Where terms of squares and products are split.
pub const PRODUCT: i32 = 7 << 4;

/// How far a sample is from the least one, such that those beyond the range are further than those within it: positive numbers
/// have the order of their bits, and all others are beyond.
#[inline(always)]
pub fn beyond_least(sample: f32) -> u32 {
    sample.to_bits().wrapping_sub(RANGE.0.to_bits())
}

/// Whether samples are in the range of which none is further from the least one.
#[inline(always)]
pub fn is_within(largest: u32) -> bool {
    largest <= RANGE.1.to_bits() - RANGE.0.to_bits()
}

/// Whether the samples of a row from column `from` on lie in the range, as many as [`SAMPLES`].
#[inline(always)]
pub fn is_in_range(row: Row<'_>, from: usize) -> bool {
    is_within(match row {
        Row::U8(row, factor) => largest(&row[from..], factor),
        Row::U16(row, factor) => largest(&row[from..], factor),
        Row::Floats(row) => largest(&row[from..], 1.0),
    })
}

#[inline(always)]
fn largest<T: Copy + Into<f32>>(row: &[T], factor: f32) -> u32 {
    let row = &row[..row.len().min(SAMPLES)];
    row.iter().fold(0, |largest, sample| largest.max(beyond_least((*sample).into() * factor)))
}

/// A term, or a sum of terms, in its two parts.
#[derive(Clone, Copy, Debug)]
struct Parts {
    whole: __m512,
    rest: __m512,
}

/// The factor of an addition on the multipliers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn splat(one: OnMultipliers) -> __m512 {
    _mm512_set1_ps(one.one() as f32)
}

/// A product in its two parts, by three instructions.
macro_rules! product_in_parts {
    ($samples:ident, $tap:ident, $place:ident, [$($instruction:literal),*] $(, $one:ident)?) => {{
        let (whole, rest): (__m512, __m512);
        // SAFETY: the instructions belong to the features of this function; they read and write these registers only.
        unsafe {
            std::arch::asm!(
                $($instruction,)*
                place = const $place,
                samples = in(zmm_reg) $samples,
                weight = in(zmm_reg) _mm512_set1_ps(WINDOW[$tap]),
                $(one = in(zmm_reg) $one,)?
                whole = out(zmm_reg) whole,
                rest = out(zmm_reg) rest,
                options(nomem, nostack, preserves_flags),
            );
        }
        Parts { whole, rest }
    }};
}

/// Samples with the weight of a tap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted<const PLACE: i32, const ROUND: bool>(one: __m512, samples: __m512, tap: usize) -> Parts {
    if !ROUND {
        product_in_parts!(
            samples,
            tap,
            PLACE,
            [
                "vmulps {whole}, {samples}, {weight}",
                "vreduceps {rest}, {whole}, {place}",
                "vsubps {whole}, {whole}, {rest}"
            ]
        )
    } else if tap.is_multiple_of(2) {
        product_in_parts!(
            samples,
            tap,
            PLACE,
            [
                "vmulps {rest}, {samples}, {weight}",
                "vrndscaleps {whole}, {rest}, {place}",
                "vfnmadd231ps {rest}, {whole}, {one}"
            ],
            one
        )
    } else {
        product_in_parts!(
            samples,
            tap,
            PLACE,
            [
                "vmulps {rest}, {samples}, {weight}",
                "vrndscaleps {whole}, {rest}, {place}",
                "vsubps {rest}, {rest}, {whole}"
            ]
        )
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add(one: __m512, sum: Parts, term: Parts) -> Parts {
    let Parts { mut whole, mut rest } = sum;
    // SAFETY: the instructions belong to the features of this function; they read and write these registers only.
    unsafe {
        std::arch::asm!(
            "vaddps {whole}, {whole}, {term}",
            "vfmadd231ps {rest}, {term_rest}, {one}",
            whole = inout(zmm_reg) whole,
            rest = inout(zmm_reg) rest,
            term = in(zmm_reg) term.whole,
            term_rest = in(zmm_reg) term.rest,
            one = in(zmm_reg) one,
            options(nomem, nostack, preserves_flags),
        );
    }
    Parts { whole, rest }
}

/// The terms from number `BY` of the first vector on, those beyond it from the second.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn shifted<const BY: i32>(now: Parts, next: Parts) -> Parts {
    let (whole, rest): (__m512, __m512);
    // SAFETY: the instructions belong to the features of this function; they read and write these registers only.
    unsafe {
        std::arch::asm!(
            "valignd {whole}, {next}, {now}, {by}",
            "valignd {rest}, {next_rest}, {now_rest}, {by}",
            by = const BY,
            now = in(zmm_reg) now.whole,
            next = in(zmm_reg) next.whole,
            now_rest = in(zmm_reg) now.rest,
            next_rest = in(zmm_reg) next.rest,
            whole = out(zmm_reg) whole,
            rest = out(zmm_reg) rest,
            options(nomem, nostack, preserves_flags),
        );
    }
    Parts { whole, rest }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn joined(sum: Parts) -> __m512 {
    _mm512_add_ps(sum.whole, sum.rest)
}

/// The window along a row: the terms of taps 0 to 4 also are those of taps 10 to 6, of windows before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_along<const PLACE: i32, const ROUND: bool>(
    one: __m512,
    samples: &[f32; SAMPLES],
    out: &mut [Cell],
    signal: usize,
) {
    let mut now = side_terms::<PLACE, ROUND>(one, samples, 0);
    for (cell, out) in out.iter_mut().enumerate() {
        let next = side_terms::<PLACE, ROUND>(one, samples, LANES * (cell + 1));
        let centre = term_at::<PLACE, ROUND>(one, samples, LANES * cell, 5);
        let outer = add(one, shifted::<10>(now[0], next[0]), now[0]);
        let second = add(one, shifted::<8>(now[1], next[1]), now[1]);
        let outer = add(one, outer, second);
        let third = add(one, shifted::<6>(now[2], next[2]), now[2]);
        let fourth = add(one, shifted::<4>(now[3], next[3]), now[3]);
        let middle = add(one, third, fourth);
        let inner = add(one, shifted::<2>(now[4], next[4]), now[4]);
        let inner = add(one, inner, centre);
        let sum = add(one, add(one, middle, outer), inner);
        x86::store512(&mut out.0[signal], 0, _mm512_castps_si512(joined(sum)));
        now = next;
    }
}

/// The terms of sixteen samples from `at` on for a tap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn term_at<const PLACE: i32, const ROUND: bool>(
    one: __m512,
    samples: &[f32; SAMPLES],
    at: usize,
    tap: usize,
) -> Parts {
    weighted::<PLACE, ROUND>(one, _mm512_castsi512_ps(x86::load512(samples, at + tap)), tap)
}

/// Those of all taps that serve twice. Written out: closures would stay calls.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn side_terms<const PLACE: i32, const ROUND: bool>(
    one: __m512,
    samples: &[f32; SAMPLES],
    at: usize,
) -> [Parts; WEIGHTS - 1] {
    [
        term_at::<PLACE, ROUND>(one, samples, at, 0),
        term_at::<PLACE, ROUND>(one, samples, at, 1),
        term_at::<PLACE, ROUND>(one, samples, at, 2),
        term_at::<PLACE, ROUND>(one, samples, at, 3),
        term_at::<PLACE, ROUND>(one, samples, at, 4),
    ]
}

/// The window down the columns: row `n` is tap `k` of the window that begins `k` rows above it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_down<const PLACE: i32, const ROUND: bool>(
    one: __m512,
    rows: &[[Cell; STRETCH]; BATCH],
    (cell, signal): (usize, usize),
    under: &mut Under,
    out: &mut [Cell; BATCH],
    meanwhile: &mut Meanwhile<'_>,
) {
    let mut sums = load(under);
    let steps = rows.as_chunks::<STEP>().0.iter().zip(out.as_chunks_mut::<STEP>().0).enumerate();
    for (step, (rows, out)) in steps {
        for (row, out) in rows.iter().zip(out) {
            let samples = _mm512_castsi512_ps(x86::load512(&row[cell].0[signal], 0));
            let done = add_row::<PLACE, ROUND>(one, samples, &mut sums);
            x86::store512(&mut out.0[signal], 0, _mm512_castps_si512(joined(done)));
        }
        meanwhile.make_terms(signal * (BATCH / STEP) + step);
    }
    store(under, &sums);
}

/// Adds a row to all windows under way, of which one is then finished and another one begun.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_row<const PLACE: i32, const ROUND: bool>(
    one: __m512,
    samples: __m512,
    sums: &mut [Parts; UNFINISHED],
) -> Parts {
    let before = *sums;
    sums[0] = weighted::<PLACE, ROUND>(one, samples, 0);
    let done = add(one, before[UNFINISHED - 1], sums[0]);
    for tap in 1..UNFINISHED / 2 {
        let term = weighted::<PLACE, ROUND>(one, samples, tap);
        sums[tap] = add(one, before[tap - 1], term);
        sums[UNFINISHED - tap] = add(one, before[UNFINISHED - tap - 1], term);
    }
    let centre = weighted::<PLACE, ROUND>(one, samples, UNFINISHED / 2);
    sums[UNFINISHED / 2] = add(one, before[UNFINISHED / 2 - 1], centre);
    done
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn load([wholes, rests]: &Under) -> [Parts; UNFINISHED] {
    let load = |part: &[f32; 16]| _mm512_castsi512_ps(x86::load512(part, 0));
    std::array::from_fn(|window| Parts { whole: load(&wholes[window]), rest: load(&rests[window]) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn store([wholes, rests]: &mut Under, sums: &[Parts; UNFINISHED]) {
    for (window, sum) in sums.iter().enumerate() {
        x86::store512(&mut wholes[window], 0, _mm512_castps_si512(sum.whole));
        x86::store512(&mut rests[window], 0, _mm512_castps_si512(sum.rest));
    }
}

/// Makes the sums in `f64` of those in two parts.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn widen(under: &mut Under) {
    let half = |part: __m512, upper: bool| {
        let part = _mm512_castps_pd(part);
        let half = if upper { _mm512_extractf64x4_pd::<1>(part) } else { _mm512_castpd512_pd256(part) };
        _mm512_cvtps_pd(_mm256_castpd_ps(half))
    };
    for (window, sum) in load(under).into_iter().enumerate() {
        for (upper, under) in [false, true].into_iter().zip(&mut *under) {
            let sum = _mm512_add_pd(half(sum.whole, upper), half(sum.rest, upper));
            x86::store512(&mut under[window], 0, _mm512_castpd_si512(sum));
        }
    }
}

/// Splits sums in `f64` into two parts. Their terms must be those of samples in the range.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn narrow<const PLACE: i32>(under: &mut Under) {
    let join = |low: __m512d, high: __m512d| {
        let (low, high) = (_mm512_cvtpd_ps(low), _mm512_cvtpd_ps(high));
        let low = _mm512_castpd256_pd512(_mm256_castps_pd(low));
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
    };
    for window in 0..UNFINISHED {
        let [low, high] = under.each_ref().map(|half| _mm512_castsi512_pd(x86::load512(&half[window], 0)));
        let (low_rest, high_rest) = (_mm512_reduce_pd::<PLACE>(low), _mm512_reduce_pd::<PLACE>(high));
        let whole = join(_mm512_sub_pd(low, low_rest), _mm512_sub_pd(high, high_rest));
        let rest = join(low_rest, high_rest);
        x86::store512(&mut under[0][window], 0, _mm512_castps_si512(whole));
        x86::store512(&mut under[1][window], 0, _mm512_castps_si512(rest));
    }
}
