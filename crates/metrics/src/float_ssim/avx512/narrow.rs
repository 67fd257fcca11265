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
//! [`wide`](super::wide). For sixteen pixels that makes 39 operations, with `f64` 60. Along rows ten more vectors are taken than
//! windows begin in; as their first ten end no window and their last ten begin none ([`begin`], [`end`]), that makes 41
//! operations for runs of 30.
//!
//! Which part comes first depends on the processor ([`Fractions`](crate::simd::avx512::Fractions)): either way the whole part is the multiple of the unit next
//! to the term, even ones where two are as near, and the difference is exact.
//!
//! Zen 4 multiplies on one pair of pipes, and adds and rounds on the other, 512 bits a cycle each. So wholes are summed on the
//! adders and rests on the multipliers, as a product with 1 and a sum ([`OnMultipliers`]), and differences are shared out.
//! It also hands operations to its pipes in pairs: two additions, then two multiplications keep all pipes busy, but by turns
//! they take up to a quarter longer. Hence [`two_weighted`] and [`add_two`]. On Intel both are done in the same places.
//!
//! A row has twenty sums, the samples, the factor 1 and the parts of two terms in registers, 26 of 32. The compiler would
//! rather begin with the next rows and write terms to memory: [`weighted`], [`add`] and their pairs are assembly, which
//! keeps its order.

use std::arch::x86_64::*;

use super::{Cell, Meanwhile, STEP, STRETCH, Samples, UNFINISHED, Under};
use crate::float_ssim::scalar::{TAPS, WINDOW};
use crate::float_ssim::window::BATCH;
use crate::simd::avx512::parts;
use crate::simd::{OnMultipliers, x86};

/// The least and the largest sample.
const RANGE: (f32, f32) = (6.0, 360.0);

/// Where terms of the pictures are split: as many bits behind the point, in the form that `vreduceps` takes it.
pub const PICTURE: i32 = 15 << 4;
/// Where terms of squares and products are split.
pub const PRODUCT: i32 = 7 << 4;

/// How far samples are from the least one, such that those beyond the range are further than those within it: positive numbers
/// have the order of their bits, and all others are beyond.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn beyond_least(samples: __m512) -> __m512i {
    _mm512_sub_epi32(_mm512_castps_si512(samples), _mm512_set1_epi32(RANGE.0.to_bits() as i32))
}

/// Whether samples are in the range of which none is further from the least one.
#[inline(always)]
pub fn is_within(largest: u32) -> bool {
    largest <= RANGE.1.to_bits() - RANGE.0.to_bits()
}

/// Whether bytes are in the range of which these are the least ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn are_within(least: __m512i) -> bool {
    const { assert!(RANGE.1 >= 255.0) };
    _mm512_cmplt_epu8_mask(least, _mm512_set1_epi8(RANGE.0 as i8)) == 0
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

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn joined(sum: Parts) -> __m512 {
    _mm512_add_ps(sum.whole, sum.rest)
}

/// The window along a row: vector `n` is tap `k` of the window that begins `k` vectors before it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn filter_along<const PLACE: i32, const ROUND: bool, const SIGNAL: usize>(
    one: __m512,
    samples: &Samples,
    out: &mut [Cell],
) {
    let mut sums = [Parts { whole: _mm512_setzero_ps(), rest: _mm512_setzero_ps() }; UNFINISHED];
    macro_rules! first {
        ($($at:literal)*) => {
            $(begin::<PLACE, ROUND, $at>(one, samples.signal::<SIGNAL>($at), &mut sums);)*
        };
    }
    first!(0 1 2 3 4 5 6 7 8 9);
    let Some(whole) = out.len().checked_sub(UNFINISHED) else {
        for (at, out) in out.iter_mut().enumerate() {
            let done = add_row::<PLACE, ROUND>(one, samples.signal::<SIGNAL>(at + UNFINISHED), &mut sums);
            x86::store512(&mut out.0[SIGNAL], 0, _mm512_castps_si512(joined(done)));
        }
        return;
    };
    for (at, out) in out[..whole].iter_mut().enumerate() {
        let done = add_row::<PLACE, ROUND>(one, samples.signal::<SIGNAL>(at + UNFINISHED), &mut sums);
        x86::store512(&mut out.0[SIGNAL], 0, _mm512_castps_si512(joined(done)));
    }
    macro_rules! last {
        ($($at:literal)*) => {
            $(
                let vector = samples.signal::<SIGNAL>(out.len() + $at);
                let done = end::<PLACE, ROUND, $at>(one, vector, &mut sums);
                x86::store512(&mut out[whole + $at].0[SIGNAL], 0, _mm512_castps_si512(joined(done)));
            )*
        };
    }
    last!(0 1 2 3 4 5 6 7 8 9);
}

/// As [`add_row`], for vector number `AT`: no window began before the first.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn begin<const PLACE: i32, const ROUND: bool, const AT: usize>(
    one: __m512,
    samples: __m512,
    sums: &mut [Parts; UNFINISHED],
) {
    let before = *sums;
    if AT >= 5 {
        let [outer, centre] = two_weighted::<PLACE, ROUND, 0, 5>(one, samples);
        (sums[0], sums[5]) = (outer, add(one, before[4], centre));
    } else {
        sums[0] = weighted::<PLACE, ROUND>(one, samples, 0);
    }
    if AT >= 2 {
        let [first, second] = two_weighted::<PLACE, ROUND, 1, 2>(one, samples);
        [sums[1], sums[2]] = add_two(one, [before[0], before[1]], [first, second]);
        if AT >= 9 {
            [sums[9], sums[8]] = add_two(one, [before[8], before[7]], [first, second]);
        } else if AT >= 8 {
            sums[8] = add(one, before[7], second);
        }
    } else if AT >= 1 {
        sums[1] = add(one, before[0], weighted::<PLACE, ROUND>(one, samples, 1));
    }
    if AT >= 4 {
        let [third, fourth] = two_weighted::<PLACE, ROUND, 3, 4>(one, samples);
        [sums[3], sums[4]] = add_two(one, [before[2], before[3]], [third, fourth]);
        if AT >= 7 {
            [sums[7], sums[6]] = add_two(one, [before[6], before[5]], [third, fourth]);
        } else if AT >= 6 {
            sums[6] = add(one, before[5], fourth);
        }
    } else if AT >= 3 {
        sums[3] = add(one, before[2], weighted::<PLACE, ROUND>(one, samples, 3));
    }
}

/// As [`add_row`], for number `AT` of the last vectors, in which no window begins.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn end<const PLACE: i32, const ROUND: bool, const AT: usize>(
    one: __m512,
    samples: __m512,
    sums: &mut [Parts; UNFINISHED],
) -> Parts {
    let before = *sums;
    let done = if AT < 5 {
        let outer = two_weighted::<PLACE, ROUND, 0, 5>(one, samples);
        let [done, fifth] = add_two(one, [before[9], before[4]], outer);
        sums[5] = fifth;
        done
    } else {
        add(one, before[9], weighted::<PLACE, ROUND>(one, samples, 0))
    };
    if AT < 8 {
        let [first, second] = two_weighted::<PLACE, ROUND, 1, 2>(one, samples);
        [sums[9], sums[8]] = add_two(one, [before[8], before[7]], [first, second]);
        if AT < 1 {
            [sums[1], sums[2]] = add_two(one, [before[0], before[1]], [first, second]);
        } else if AT < 2 {
            sums[2] = add(one, before[1], second);
        }
    } else if AT < 9 {
        sums[9] = add(one, before[8], weighted::<PLACE, ROUND>(one, samples, 1));
    }
    if AT < 6 {
        let [third, fourth] = two_weighted::<PLACE, ROUND, 3, 4>(one, samples);
        [sums[7], sums[6]] = add_two(one, [before[6], before[5]], [third, fourth]);
        if AT < 3 {
            [sums[3], sums[4]] = add_two(one, [before[2], before[3]], [third, fourth]);
        } else if AT < 4 {
            sums[4] = add(one, before[3], fourth);
        }
    } else if AT < 7 {
        sums[7] = add(one, before[6], weighted::<PLACE, ROUND>(one, samples, 3));
    }
    done
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
    let [outer, centre] = two_weighted::<PLACE, ROUND, 0, 5>(one, samples);
    let [done, fifth] = add_two(one, [before[9], before[4]], [outer, centre]);
    (sums[0], sums[5]) = (outer, fifth);
    let [first, second] = two_weighted::<PLACE, ROUND, 1, 2>(one, samples);
    [sums[1], sums[9]] = add_two(one, [before[0], before[8]], [first, first]);
    [sums[2], sums[8]] = add_two(one, [before[1], before[7]], [second, second]);
    let [third, fourth] = two_weighted::<PLACE, ROUND, 3, 4>(one, samples);
    [sums[3], sums[7]] = add_two(one, [before[2], before[6]], [third, third]);
    [sums[4], sums[6]] = add_two(one, [before[3], before[5]], [fourth, fourth]);
    done
}

/// Samples with the weights of two taps, side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn two_weighted<const PLACE: i32, const ROUND: bool, const TAP: usize, const OTHER: usize>(
    one: __m512,
    samples: __m512,
) -> [Parts; 2] {
    if !ROUND {
        return [weighted::<PLACE, ROUND>(one, samples, TAP), weighted::<PLACE, ROUND>(one, samples, OTHER)];
    }
    let (whole, rest, other_whole, other_rest): (__m512, __m512, __m512, __m512);
    macro_rules! assembly {
        ([$($difference:literal),*] $(, $one:ident)?) => {
            // SAFETY: the instructions belong to the features of this function; they write these registers only, and
            // read them and two weights of the window, which has more than either number.
            unsafe {
                std::arch::asm!(
                    "vmulps {rest}, {samples}, dword ptr [{weights} + 4 * {tap}]{{1to16}}",
                    "vmulps {other_rest}, {samples}, dword ptr [{weights} + 4 * {other}]{{1to16}}",
                    "vrndscaleps {whole}, {rest}, {place}",
                    "vrndscaleps {other_whole}, {other_rest}, {place}",
                    $($difference,)*
                    place = const PLACE,
                    tap = const TAP,
                    other = const OTHER,
                    weights = in(reg) WINDOW.as_ptr(),
                    samples = in(zmm_reg) samples,
                    $(one = in(zmm_reg) $one,)?
                    whole = out(zmm_reg) whole,
                    rest = out(zmm_reg) rest,
                    other_whole = out(zmm_reg) other_whole,
                    other_rest = out(zmm_reg) other_rest,
                    options(readonly, nostack, preserves_flags),
                );
            }
        };
    }
    const { assert!(TAP < TAPS && OTHER < TAPS) };
    // Two of three pairs on the multipliers.
    if TAP < 3 {
        assembly!(
            ["vfnmadd231ps {rest}, {whole}, {one}", "vfnmadd231ps {other_rest}, {other_whole}, {one}"],
            one
        );
    } else {
        assembly!(["vsubps {rest}, {rest}, {whole}", "vsubps {other_rest}, {other_rest}, {other_whole}"]);
    }
    [Parts { whole, rest }, Parts { whole: other_whole, rest: other_rest }]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_two(one: __m512, [sum, other]: [Parts; 2], [term, other_term]: [Parts; 2]) -> [Parts; 2] {
    let (Parts { mut whole, mut rest }, Parts { whole: mut other_whole, rest: mut other_rest }) =
        (sum, other);
    // SAFETY: the instructions belong to the features of this function; they read and write these registers only.
    unsafe {
        std::arch::asm!(
            "vaddps {whole}, {whole}, {term}",
            "vaddps {other_whole}, {other_whole}, {other_term}",
            "vfmadd231ps {rest}, {term_rest}, {one}",
            "vfmadd231ps {other_rest}, {other_term_rest}, {one}",
            whole = inout(zmm_reg) whole,
            rest = inout(zmm_reg) rest,
            other_whole = inout(zmm_reg) other_whole,
            other_rest = inout(zmm_reg) other_rest,
            term = in(zmm_reg) term.whole,
            term_rest = in(zmm_reg) term.rest,
            other_term = in(zmm_reg) other_term.whole,
            other_term_rest = in(zmm_reg) other_term.rest,
            one = in(zmm_reg) one,
            options(nomem, nostack, preserves_flags),
        );
    }
    [Parts { whole, rest }, Parts { whole: other_whole, rest: other_rest }]
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
    for (window, sum) in load(under).into_iter().enumerate() {
        for (sum, under) in parts::widen([sum.whole, sum.rest]).into_iter().zip(&mut *under) {
            x86::store512(&mut under[window], 0, _mm512_castpd_si512(sum));
        }
    }
}

/// Splits sums in `f64` into two parts. Their terms must be those of samples in the range.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn narrow<const PLACE: i32>(under: &mut Under) {
    for window in 0..UNFINISHED {
        let sum = under.each_ref().map(|half| _mm512_castsi512_pd(x86::load512(&half[window], 0)));
        for (part, under) in parts::narrow::<PLACE>(sum).into_iter().zip(&mut *under) {
            x86::store512(&mut under[window], 0, _mm512_castps_si512(part));
        }
    }
}
