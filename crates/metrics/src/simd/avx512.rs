//! AVX-512: vectors of 16 lanes.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

pub mod parts;

use std::arch::x86_64::*;

use super::{Number, Splats, Vector, operations, x86};
use crate::Level;

/// Proof that this machine has the features of [`Level::Avx512`].
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    pub fn new(level: Level) -> Option<Self> {
        (level == Level::Avx512 && Level::available().contains(&level)).then_some(Self(()))
    }
}

/// How floats are split at a fixed place fastest. The parts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fractions {
    /// The lower part by `vreduceps`: one operation on Intel's processors, where `vrndscaleps` is two.
    Reduced,
    /// The upper part by `vrndscaleps`: on AMD's Zen 4 `vreduceps` takes twice as long.
    Rounded,
}

impl Fractions {
    /// By the maker of this machine's processor. Takes microseconds: for an extractor, not for a frame.
    pub fn of_machine(_proof: Avx512) -> Self {
        #[allow(unused_unsafe, reason = "it was unsafe in the oldest Rust that may build this")]
        // SAFETY: every processor with AVX-512 has the instruction, and its leaf 0.
        let vendor = unsafe { __cpuid(0) };
        // "GenuineIntel", by the registers in which it comes.
        let is_intel = [vendor.ebx, vendor.edx, vendor.ecx] == [0x756e_6547, 0x4965_6e69, 0x6c65_746e];
        if is_intel { Self::Reduced } else { Self::Rounded }
    }
}

impl Vector for Avx512 {
    type Int = __m512i;
    type Doubles = __m512d;
    type Mask = __mmask16;
    type Float = __m512;
    type Table = __m512;

    const LANES: usize = 16;
    const ENTRIES: usize = 16;

    operations! {
        zero() -> __m512i { _mm512_setzero_si512() }
        splat16(value: i16) -> __m512i { _mm512_set1_epi16(value) }
        splat32(value: i32) -> __m512i { _mm512_set1_epi32(value) }
        load_bytes(values: &[u8], at: usize) -> __m512i { _mm512_cvtepu8_epi16(x86::load256(values, at)) }
        store_words(values: &mut [u16], at: usize, lanes: __m512i) -> () {
            x86::store256(values, at, _mm512_cvtepi32_epi16(lanes))
        }

        interleave(low: __m512i, high: __m512i) -> [__m512i; 2] {
            [_mm512_unpacklo_epi16(low, high), _mm512_unpackhi_epi16(low, high)]
        }
        join(halves: [__m512i; 2]) -> __m512i { _mm512_packs_epi32(halves[0], halves[1]) }
        pick_words(low: __m512i, high: __m512i) -> __m512i { _mm512_mask_blend_epi16(0xaaaa_aaaa, low, high) }

        and(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
        or(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        xor(a: __m512i, b: __m512i) -> __m512i { _mm512_xor_si512(a, b) }

        add16(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi16(a, b) }
        sub16(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi16(a, b) }
        shl16(a: __m512i, count: u32) -> __m512i { _mm512_sll_epi16(a, _mm_cvtsi32_si128(count as i32)) }
        mul_low16(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi16(a, b) }
        mul_high16(a: __m512i, b: __m512i) -> __m512i { _mm512_mulhi_epi16(a, b) }
        mul_high_u16(a: __m512i, b: __m512i) -> __m512i { _mm512_mulhi_epu16(a, b) }
        dot(sum: __m512i, a: __m512i, b: __m512i) -> __m512i { dot(sum, a, b) }
        dot_pinned(sum: __m512i, a: __m512i, b: __m512i) -> __m512i { dot_pinned(sum, a, b) }
        pin(a: __m512i) -> __m512i { pin(a) }
        pin_doubles(a: __m512d) -> __m512d { pin_doubles(a) }

        add32(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        sub32(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi32(a, b) }
        max32(a: __m512i, b: __m512i) -> __m512i { _mm512_max_epi32(a, b) }
        min32(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epi32(a, b) }
        abs32(a: __m512i) -> __m512i { _mm512_abs_epi32(a) }
        shl32(a: __m512i, count: u32) -> __m512i { _mm512_sllv_epi32(a, _mm512_set1_epi32(count as i32)) }
        shr32(a: __m512i, count: u32) -> __m512i { _mm512_srl_epi32(a, _mm_cvtsi32_si128(count as i32)) }
        sra32(a: __m512i, count: u32) -> __m512i { _mm512_sra_epi32(a, _mm_cvtsi32_si128(count as i32)) }
        mul_scaled32(a: __m512i, b: __m512i) -> __m512i {{
            let half = _mm512_set1_epi64(1 << 31);
            let even = _mm512_add_epi64(_mm512_mul_epu32(a, b), half);
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            let odd = _mm512_add_epi64(odd, half);
            _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(even), odd)
        }}

        greater32(a: __m512i, b: __m512i) -> __mmask16 { _mm512_cmpgt_epi32_mask(a, b) }
        add_where(a: __m512i, mask: __mmask16, b: __m512i) -> __m512i { _mm512_mask_add_epi32(a, mask, a, b) }
        any(a: __m512i) -> bool { _mm512_test_epi32_mask(a, a) != 0 }
        keep(mask: __mmask16, a: __m512i) -> __m512i { _mm512_maskz_mov_epi32(mask, a) }

        sum32(a: __m512i) -> i64 {{
            let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(a));
            let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(a));
            _mm512_reduce_add_epi64(_mm512_add_epi64(low, high))
        }}
        add_wide(sums: __m512i, lanes: __m512i) -> __m512i {{
            let even = _mm512_and_si512(lanes, _mm512_set1_epi64(0xffff_ffff));
            _mm512_add_epi64(sums, _mm512_add_epi64(even, _mm512_srli_epi64::<32>(lanes)))
        }}
        sum64(sums: __m512i) -> i64 { _mm512_reduce_add_epi64(sums) }

        leading_bits(a: __m512i) -> __m512i {
            _mm512_castps_si512(_mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a))
        }
        table(values: &[f32]) -> __m512 { _mm512_castsi512_ps(x86::load512(values, 0)) }
        look_up(table: __m512, index: __m512i) -> __m512 { _mm512_permutexvar_ps(index, table) }
        float(bits: __m512i) -> __m512 { _mm512_castsi512_ps(bits) }
        bits(float: __m512) -> __m512i { _mm512_castps_si512(float) }
        splat_float(value: f32) -> __m512 { _mm512_set1_ps(value) }
        fused(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }

        load_doubles(values: &[i32], at: usize) -> __m512d { load_doubles(values, at) }
        store_doubles(values: &mut [i32], at: usize, doubles: [__m512d; 2]) -> () {{
            let (low, high) = (integer_parts(doubles[0]), integer_parts(doubles[1]));
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            x86::store512(values, at, _mm512_permutex2var_epi32(low, even, high))
        }}
        regress(variance: __m512d, other: __m512d, covariance: __m512d, epsilon: f64, limit: f64)
            -> [__m512d; 2] {{
            let gain = _mm512_div_pd(covariance, _mm512_add_pd(variance, _mm512_set1_pd(epsilon)));
            let noise = _mm512_sub_pd(other, _mm512_mul_pd(gain, covariance));
            let gain = _mm512_min_pd(gain, _mm512_set1_pd(limit));
            [noise, _mm512_mul_pd(_mm512_mul_pd(gain, gain), variance)]
        }}
    }

    #[inline(always)]
    fn run<R>(self, kernel: impl FnOnce() -> R) -> R {
        // SAFETY: the features were detected before `self` was made.
        unsafe { run(kernel) }
    }

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> __m512i {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::load512(values, at) }
    }

    #[inline(always)]
    fn store<T: Number>(self, values: &mut [T], at: usize, vector: __m512i) {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::store512(values, at, vector) }
    }

    #[inline(always)]
    fn dot_splat<const INDEX: usize, const COUNT: usize>(
        self,
        sum: __m512i,
        a: __m512i,
        table: &Splats<COUNT>,
    ) -> __m512i {
        // SAFETY: the features were detected before `self` was made.
        unsafe { dot_splat::<INDEX, COUNT>(sum, a, table) }
    }

    #[inline(always)]
    fn in_order(self) {
        // SAFETY: the assembly is empty. That it might touch memory, which keeps loads in place, is a claim, not a fact.
        unsafe { std::arch::asm!("", options(nostack, preserves_flags)) }
    }

    #[inline(always)]
    fn prefetch<T: Number>(self, values: &[T], at: usize) {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::prefetch(values, at) }
    }

    #[inline(always)]
    fn is_any(self, mask: __mmask16) -> bool {
        mask != 0
    }

    #[inline(always)]
    fn both(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
}

/// One instruction, and kept as one: the compiler would split the intrinsic into a multiplication and an addition, which
/// is a shorter chain but twice the work, and the kernels have enough chains side by side.
macro_rules! dot {
    ($sum:ident, $a:ident, $b:ident, $($option:ident),*) => {
        std::arch::asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) $sum,
            a = in(zmm_reg) $a,
            b = in(zmm_reg) $b,
            options($($option),*),
        )
    };
}

#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the instruction belongs to the features of this function; it reads and writes these registers only.
    unsafe { dot!(sum, a, b, pure, nomem, nostack, preserves_flags) };
    sum
}

/// The same without `pure`: it stays where it stands among other assembly.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_pinned(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe { dot!(sum, a, b, nomem, nostack, preserves_flags) };
    sum
}

/// The number `INDEX` of the table in all lanes of the second factor.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot_splat<const INDEX: usize, const COUNT: usize>(
    mut sum: __m512i,
    a: __m512i,
    table: &Splats<COUNT>,
) -> __m512i {
    const { assert!(INDEX < COUNT && size_of::<Splats<1>>() == 32) };
    // SAFETY: as above, and it reads four bytes of the table, which has that many entries.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {sum}, {a}, dword ptr [{table} + {offset}]{{1to16}}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            table = in(reg) table,
            offset = const 32 * INDEX,
            options(readonly, nostack, preserves_flags),
        );
    }
    sum
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pin(mut a: __m512i) -> __m512i {
    // SAFETY: the assembly is empty. That it might change the register is a claim, not a fact.
    unsafe { std::arch::asm!("/* {a} */", a = inout(zmm_reg) a, options(nomem, nostack, preserves_flags)) }
    a
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pin_doubles(mut a: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { std::arch::asm!("/* {a} */", a = inout(zmm_reg) a, options(nomem, nostack, preserves_flags)) }
    a
}

/// One instruction that reads memory itself: conversion from a register is two operations on Intel's processors.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_doubles(values: &[i32], at: usize) -> __m512d {
    let values = &values[at..at + 8];
    let doubles;
    // SAFETY: the instruction belongs to the features of this function and reads eight integers, which the slice has.
    unsafe {
        std::arch::asm!(
            "vcvtdq2pd {doubles}, ymmword ptr [{values}]",
            doubles = out(zmm_reg) doubles,
            values = in(reg) values.as_ptr(),
            options(readonly, nostack, preserves_flags),
        );
    }
    doubles
}

/// The largest integers that are not above doubles, modulo 2^32 in the lower halves of lanes. Beside 1.5 · 2^52 there is no room for
/// a fraction, and what is cut off the sum lies above the integer, whatever the double's sign. That is one operation;
/// a conversion is two on Intel's processors.
#[inline]
#[target_feature(enable = "avx512f")]
fn integer_parts(doubles: __m512d) -> __m512i {
    let shift = _mm512_set1_pd((3_u64 << 51) as f64);
    const CUT: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    _mm512_castpd_si512(_mm512_add_round_pd::<CUT>(doubles, shift))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,bmi2,fma")]
fn run<R>(kernel: impl FnOnce() -> R) -> R {
    kernel()
}
