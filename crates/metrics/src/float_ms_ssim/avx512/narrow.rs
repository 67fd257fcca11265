//! Halving in `f32` alone, where samples lie in a [`RANGE`]: sixteen outputs at a time, and nothing is converted.
//!
//! # Why it is exact
//!
//! As in the filters of [`float_ssim`](crate::float_ssim), a weighted sample, which is rounded to `f32`, is split into a multiple
//! of 2^-15 and the rest, at most 2^-16. Both parts are summed by themselves, and no sum is ever rounded:
//!
//! - The weights above zero sum up to less than 1.46, those below it to less than 0.46, and the range ends at 350: whatever terms
//!   a sum is of, it stays below 2^9. Multiples of 2^-15 up to there have 24 bits.
//! - The smallest weight is 0.000283 and the range begins at 3.5, so that a term is at least 2^-10 and a multiple of 2^-33, and
//!   so is its rest. 81 rests stay below 2^-9: 24 bits again.
//!
//! So the sum of the two sums is rounded once, from the exact value, as the sum in `f64` is, which is exact as well.
//!
//! # Work
//!
//! For sixteen outputs there are 21 products with three operations each, 96 additions in both parts, 8 shifts and the sum of the
//! parts: 168 operations, of which Zen 4 can do two in a cycle. In `f64` there are 95 for eight outputs, 21 of them conversions,
//! which take longer.
//!
//! How terms are split depends on the processor ([`Fractions`](crate::simd::avx512::Fractions)); additions are shared out among the
//! adders and the multipliers, in pairs of two of a kind: see the filters of `float_ssim`. All of a row pair is one piece of
//! assembly: even columns need 30 registers, and the compiler, which reorders, would write sums to memory.

use std::arch::x86_64::*;

use super::{CELL, UNDER_WAY, UnderWay};
use crate::float_ms_ssim::scalar::{QUARTER, STEPS};
use crate::simd::x86;

/// The least and the largest sample.
pub const RANGE: (f32, f32) = (3.5, 350.0);

/// Where terms are split: as many bits behind the point, in the form that `vrndscaleps` and `vreduceps` take it.
pub const PLACE: i32 = 15 << 4;

/// A term, or a sum of terms, in its two parts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parts {
    whole: __m512,
    rest: __m512,
}

impl Parts {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub fn zero() -> Self {
        Self { whole: _mm512_setzero_ps(), rest: _mm512_setzero_ps() }
    }
}

/// The sums under way of a column of the filter.
type Column = [Parts; UNDER_WAY];

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn load<const N: usize>(under_way: &UnderWay<N>) -> [Column; N] {
    let mut sums = [[Parts::zero(); UNDER_WAY]; N];
    for (sum, [whole, rest]) in sums.as_flattened_mut().iter_mut().zip(under_way.0.as_flattened()) {
        let load = |part: &[f32; CELL]| _mm512_castsi512_ps(x86::load512(part, 0));
        *sum = Parts { whole: load(whole), rest: load(rest) };
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn store<const N: usize>(under_way: &mut UnderWay<N>, sums: &[Column; N]) {
    for (sum, [whole, rest]) in sums.as_flattened().iter().zip(under_way.0.as_flattened_mut()) {
        x86::store512(whole, 0, _mm512_castps_si512(sum.whole));
        x86::store512(rest, 0, _mm512_castps_si512(sum.rest));
    }
}

/// The samples in `s` with a weight, given by its row and column in the quarter, in both parts: those of `x` are in registers
/// `xw` and `xr`. Both parts are the same whichever is made first; the difference is taken where it is said.
#[rustfmt::skip]
macro_rules! weigh {
    (on_multipliers, $x:literal, $row:literal $column:literal) => {
        concat!(product!($x, "r", $row $column), round!($x), on_multipliers!($x))
    };
    (reduced, $x:literal, $row:literal $column:literal) => {
        concat!(product!($x, "w", $row $column), reduce!($x), whole!($x))
    };
}

/// As [`weigh`], for two weights side by side.
#[rustfmt::skip]
macro_rules! weigh_two {
    (on_multipliers, $x:literal, $a:literal $b:literal, $y:literal, $c:literal $d:literal) => {
        concat!(
            product!($x, "r", $a $b), product!($y, "r", $c $d), round!($x), round!($y), on_multipliers!($x), on_multipliers!($y),
        )
    };
    (on_adders, $x:literal, $a:literal $b:literal, $y:literal, $c:literal $d:literal) => {
        concat!(product!($x, "r", $a $b), product!($y, "r", $c $d), round!($x), round!($y), on_adders!($x), on_adders!($y))
    };
    (reduced, $x:literal, $a:literal $b:literal, $y:literal, $c:literal $d:literal) => {
        concat!(product!($x, "w", $a $b), product!($y, "w", $c $d), reduce!($x), reduce!($y), whole!($x), whole!($y))
    };
}

#[rustfmt::skip]
macro_rules! product {
    ($x:literal, $part:literal, $row:literal $column:literal) => {
        concat!("vmulps {", $x, $part, "}, {s}, dword ptr [{weights} + 20 * ", $row, " + 4 * ", $column, "]{{1to16}}\n")
    };
}

macro_rules! round {
    ($x:literal) => {
        concat!("vrndscaleps {", $x, "w}, {", $x, "r}, {place}\n")
    };
}

macro_rules! reduce {
    ($x:literal) => {
        concat!("vreduceps {", $x, "r}, {", $x, "w}, {place}\n")
    };
}

macro_rules! on_multipliers {
    ($x:literal) => {
        concat!("vfnmadd231ps {", $x, "r}, {", $x, "w}, {one}\n")
    };
}

macro_rules! on_adders {
    ($x:literal) => {
        concat!("vsubps {", $x, "r}, {", $x, "r}, {", $x, "w}\n")
    };
}

macro_rules! whole {
    ($x:literal) => {
        concat!("vsubps {", $x, "w}, {", $x, "w}, {", $x, "r}\n")
    };
}

/// Adds `$term` to `$x` and `$other` to `$y`.
#[rustfmt::skip]
macro_rules! add_two {
    ($x:literal + $term:literal, $y:literal + $other:literal) => {
        concat!(
            "vaddps {", $x, "w}, {", $x, "w}, {", $term, "w}\n", "vaddps {", $y, "w}, {", $y, "w}, {", $other, "w}\n",
            "vfmadd231ps {", $x, "r}, {", $term, "r}, {one}\n", "vfmadd231ps {", $y, "r}, {", $other, "r}, {one}\n",
        )
    };
}

/// Keeps what is finished, as number `$number`.
#[rustfmt::skip]
macro_rules! finish {
    ($x:literal, $number:literal) => {
        concat!(
            "vmovaps zmmword ptr [{done} + 128 * ", $number, "], {", $x, "w}\n",
            "vmovaps zmmword ptr [{done} + 128 * ", $number, " + 64], {", $x, "r}\n",
        )
    };
}

/// Makes a step in `j`, of a finished odd column and the even one that was finished as number `$even`.
#[rustfmt::skip]
macro_rules! step {
    ($odd:literal + $even:literal) => {
        concat!(
            "vaddps {jw}, {", $odd, "w}, zmmword ptr [{done} + 128 * ", $even, "]\n",
            "vaddps {jr}, {", $odd, "r}, zmmword ptr [{done} + 128 * ", $even, " + 64]\n",
        )
    };
}

/// Shifts step `$number` of the cell before and that of this one, which is in `j`, into `$x`.
#[rustfmt::skip]
macro_rules! shift {
    ($x:literal, $number:literal) => {
        concat!(
            "valignd {", $x, "w}, {jw}, zmmword ptr [{steps} + 128 * ", $number, "], ", $number, "\n",
            "valignd {", $x, "r}, {jr}, zmmword ptr [{steps} + 128 * ", $number, " + 64], ", $number, "\n",
        )
    };
}

/// Keeps step `$number`, which is in `j`, for the next cell.
#[rustfmt::skip]
macro_rules! keep {
    ($number:literal) => {
        concat!(
            "vmovaps zmmword ptr [{steps} + 128 * ", $number, "], {jw}\n",
            "vmovaps zmmword ptr [{steps} + 128 * ", $number, " + 64], {jr}\n",
        )
    };
}

/// Adds the shifted step in `k` to the output in `o`.
macro_rules! add_shifted {
    () => {
        "vaddps {ow}, {ow}, {kw}\nvfmadd231ps {or}, {kr}, {one}"
    };
}

/// Adds a row pair to columns 0, 2, 4 of the filter, `a`, `b`, `c`, and gives the sums that this finishes: the first row is tap
/// 0, 2, 4, 6, 8 of five outputs, the second tap 1, 3, 5, 7 of four. So the sums of `a` become those of tap 0 and 1 (`t`), 2
/// and 3 (`a0`), 4 and 5 (`a1`), 6 and 7 (`a2`); what was in `a3` is finished, and its registers are free.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn add_even<const ROUND: bool>(
    one: __m512,
    first: &[f32; CELL],
    second: &[f32; CELL],
    sums: &mut [Column; 3],
    done: &mut [Parts; 3],
) {
    let [[mut a0, mut a1, mut a2, mut a3], [mut b0, mut b1, mut b2, b3], [mut c0, mut c1, mut c2, c3]] =
        *sums;
    let (mut t, mut u) = (Parts::zero(), Parts::zero());
    let _samples: __m512;
    macro_rules! assembly {
        ($one:ident, $other:ident) => {
            // SAFETY: the instructions belong to the features of this function. They read sixteen samples of either row and the
            // weights, and write three sums of two vectors each, all of which are borrowed here.
            unsafe {
                std::arch::asm!(
                    "vmovups {s}, zmmword ptr [{first}]",
                    weigh_two!($one, "t", 0 0, "u", 0 2),
                    add_two!("a3" + "t", "b3" + "u"),
                    finish!("a3", 0),
                    finish!("b3", 1),
                    add_two!("a2" + "u", "a0" + "u"),
                    weigh_two!($other, "a3", 0 4, "b3", 2 2),
                    add_two!("c3" + "a3", "a1" + "a3"),
                    finish!("c3", 2),
                    add_two!("b2" + "b3", "b0" + "b3"),
                    weigh_two!($one, "b3", 2 4, "c3", 4 4),
                    add_two!("b1" + "b3", "c1" + "c3"),
                    add_two!("c2" + "b3", "c0" + "b3"),
                    "vmovups {s}, zmmword ptr [{second}]",
                    weigh_two!($other, "b3", 1 0, "c3", 3 0),
                    add_two!("a2" + "b3", "a1" + "c3"),
                    add_two!("t" + "b3", "a0" + "c3"),
                    weigh_two!($one, "b3", 1 2, "c3", 3 2),
                    add_two!("b2" + "b3", "b1" + "c3"),
                    add_two!("u" + "b3", "b0" + "c3"),
                    weigh_two!($other, "b3", 1 4, "c3", 3 4),
                    add_two!("c2" + "b3", "c1" + "c3"),
                    add_two!("a3" + "b3", "c0" + "c3"),
                    a0w = inout(zmm_reg) a0.whole, a0r = inout(zmm_reg) a0.rest,
                    a1w = inout(zmm_reg) a1.whole, a1r = inout(zmm_reg) a1.rest,
                    a2w = inout(zmm_reg) a2.whole, a2r = inout(zmm_reg) a2.rest,
                    a3w = inout(zmm_reg) a3.whole, a3r = inout(zmm_reg) a3.rest,
                    b0w = inout(zmm_reg) b0.whole, b0r = inout(zmm_reg) b0.rest,
                    b1w = inout(zmm_reg) b1.whole, b1r = inout(zmm_reg) b1.rest,
                    b2w = inout(zmm_reg) b2.whole, b2r = inout(zmm_reg) b2.rest,
                    b3w = inout(zmm_reg) b3.whole => _, b3r = inout(zmm_reg) b3.rest => _,
                    c0w = inout(zmm_reg) c0.whole, c0r = inout(zmm_reg) c0.rest,
                    c1w = inout(zmm_reg) c1.whole, c1r = inout(zmm_reg) c1.rest,
                    c2w = inout(zmm_reg) c2.whole, c2r = inout(zmm_reg) c2.rest,
                    c3w = inout(zmm_reg) c3.whole => _, c3r = inout(zmm_reg) c3.rest => _,
                    tw = out(zmm_reg) t.whole, tr = out(zmm_reg) t.rest,
                    uw = out(zmm_reg) u.whole, ur = out(zmm_reg) u.rest,
                    s = out(zmm_reg) _samples,
                    one = in(zmm_reg) one,
                    place = const PLACE,
                    weights = in(reg) QUARTER.as_ptr(),
                    first = in(reg) first.as_ptr(),
                    second = in(reg) second.as_ptr(),
                    done = in(reg) done.as_mut_ptr(),
                    options(nostack, preserves_flags),
                );
            }
        };
    }
    if ROUND {
        assembly!(on_multipliers, on_adders);
    } else {
        assembly!(reduced, reduced);
    }
    // The registers of `a3` have become those of the outer weight of `c`.
    *sums = [[t, a0, a1, a2], [u, b0, b1, b2], [a3, c0, c1, c2]];
}

/// As [`add_even`], for columns 1 and 3, `p` and `q`. With the even columns, which are `done`, this also makes the steps of a
/// cell (see [`ColumnSums`](crate::float_ms_ssim::scalar::ColumnSums)). Gives the outputs of the cell before, whose steps were
/// in their place.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn add_odd<const ROUND: bool>(
    one: __m512,
    first: &[f32; CELL],
    second: &[f32; CELL],
    sums: &mut [Column; 2],
    done: &[Parts; 3],
    steps: &mut [Parts; STEPS],
) -> __m512 {
    let [[mut p0, mut p1, mut p2, p3], [mut q0, mut q1, mut q2, q3]] = *sums;
    let (mut t, mut u) = (Parts::zero(), Parts::zero());
    let (_samples, _vw, _vr, _xw, _xr): (__m512, __m512, __m512, __m512, __m512);
    let (_jw, _jr, _kw, _kr, out, _rest): (__m512, __m512, __m512, __m512, __m512, __m512);
    macro_rules! assembly {
        ($one:ident, $other:ident) => {
            // SAFETY: the instructions belong to the features of this function. They read sixteen samples of either row, the
            // weights and three sums, and read and write five steps, all of which are borrowed here.
            unsafe {
                std::arch::asm!(
                    "vmovups {s}, zmmword ptr [{first}]",
                    weigh_two!($one, "t", 0 1, "u", 0 3),
                    add_two!("p3" + "t", "q3" + "u"),
                    "vmovaps {jw}, zmmword ptr [{done}]",
                    "vmovaps {jr}, zmmword ptr [{done} + 64]",
                    shift!("o", 4),
                    keep!(4),
                    weigh_two!($other, "v", 2 1, "x", 2 3),
                    add_two!("p2" + "v", "q2" + "x"),
                    step!("q3" + 1),
                    shift!("k", 1),
                    add_shifted!(),
                    keep!(1),
                    add_two!("p0" + "v", "q0" + "x"),
                    step!("q3" + 2),
                    shift!("k", 2),
                    add_shifted!(),
                    keep!(2),
                    weigh_two!($one, "v", 4 1, "x", 4 3),
                    add_two!("p1" + "v", "q1" + "x"),
                    step!("p3" + 1),
                    shift!("k", 3),
                    add_shifted!(),
                    keep!(3),
                    "vmovups {s}, zmmword ptr [{second}]",
                    weigh_two!($other, "v", 1 1, "x", 1 3),
                    add_two!("p2" + "v", "q2" + "x"),
                    add_two!("t" + "v", "u" + "x"),
                    step!("p3" + 0),
                    "vaddps {ow}, {ow}, zmmword ptr [{steps}]",
                    "vfmadd231ps {or}, {one}, zmmword ptr [{steps} + 64]",
                    keep!(0),
                    weigh!($one, "v", 3 3),
                    add_two!("p1" + "x", "q1" + "v"),
                    add_two!("p0" + "x", "q0" + "v"),
                    "vaddps {ow}, {ow}, {or}",
                    p0w = inout(zmm_reg) p0.whole, p0r = inout(zmm_reg) p0.rest,
                    p1w = inout(zmm_reg) p1.whole, p1r = inout(zmm_reg) p1.rest,
                    p2w = inout(zmm_reg) p2.whole, p2r = inout(zmm_reg) p2.rest,
                    p3w = inout(zmm_reg) p3.whole => _, p3r = inout(zmm_reg) p3.rest => _,
                    q0w = inout(zmm_reg) q0.whole, q0r = inout(zmm_reg) q0.rest,
                    q1w = inout(zmm_reg) q1.whole, q1r = inout(zmm_reg) q1.rest,
                    q2w = inout(zmm_reg) q2.whole, q2r = inout(zmm_reg) q2.rest,
                    q3w = inout(zmm_reg) q3.whole => _, q3r = inout(zmm_reg) q3.rest => _,
                    tw = out(zmm_reg) t.whole, tr = out(zmm_reg) t.rest,
                    uw = out(zmm_reg) u.whole, ur = out(zmm_reg) u.rest,
                    vw = out(zmm_reg) _vw, vr = out(zmm_reg) _vr,
                    xw = out(zmm_reg) _xw, xr = out(zmm_reg) _xr,
                    jw = out(zmm_reg) _jw, jr = out(zmm_reg) _jr,
                    kw = out(zmm_reg) _kw, kr = out(zmm_reg) _kr,
                    ow = out(zmm_reg) out, or = out(zmm_reg) _rest,
                    s = out(zmm_reg) _samples,
                    one = in(zmm_reg) one,
                    place = const PLACE,
                    weights = in(reg) QUARTER.as_ptr(),
                    first = in(reg) first.as_ptr(),
                    second = in(reg) second.as_ptr(),
                    done = in(reg) done.as_ptr(),
                    steps = in(reg) steps.as_mut_ptr(),
                    options(nostack, preserves_flags),
                );
            }
        };
    }
    if ROUND {
        assembly!(on_multipliers, on_adders);
    } else {
        assembly!(reduced, reduced);
    }
    *sums = [[t, p0, p1, p2], [u, q0, q1, q2]];
    out
}
