//! AVX2 with FMA: vectors of 8 lanes, in two kinds.
//!
//! AVX-VNNI has a dot product of words as one instruction instead of two. Most processors that have it lack AVX-512, such as Intel's
//! Core since 2021, so it belongs to this level; kernels that are made of dot products are compiled for both kinds.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod vnni;

use std::arch::x86_64::*;

use super::{Number, Splats, Vector, operations, x86};
use crate::Level;

/// Vectors of [`Level::Avx2`], with AVX-VNNI or without.
#[derive(Clone, Copy, Debug)]
pub struct Ymm<const VNNI: bool>(());

/// Proof that this machine has the features of [`Level::Avx2`].
pub type Avx2 = Ymm<false>;

/// Proof that it has AVX-VNNI as well.
pub type AvxVnni = Ymm<true>;

impl Avx2 {
    pub fn new(level: Level) -> Option<Self> {
        (level == Level::Avx2 && Level::available().contains(&level)).then_some(Self(()))
    }
}

impl AvxVnni {
    pub fn new(level: Level) -> Option<Self> {
        Avx2::new(level).filter(|_| is_x86_feature_detected!("avxvnni")).map(|_| Self(()))
    }
}

impl<const VNNI: bool> Vector for Ymm<VNNI> {
    type Int = __m256i;
    type Doubles = __m256d;
    type Mask = __m256i;
    type Float = __m256;
    type Table = __m256;

    const LANES: usize = 8;
    const ENTRIES: usize = 8;
    const MANY_REGISTERS: bool = false;

    operations! {
        zero() -> __m256i { _mm256_setzero_si256() }
        splat16(value: i16) -> __m256i { _mm256_set1_epi16(value) }
        splat32(value: i32) -> __m256i { _mm256_set1_epi32(value) }
        load_bytes(values: &[u8], at: usize) -> __m256i { _mm256_cvtepu8_epi16(x86::load128(values, at)) }
        store_words(values: &mut [u16], at: usize, lanes: __m256i) -> () {{
            let words = _mm256_packus_epi32(lanes, lanes);
            x86::store128(values, at, _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(words)))
        }}

        interleave(low: __m256i, high: __m256i) -> [__m256i; 2] {
            [_mm256_unpacklo_epi16(low, high), _mm256_unpackhi_epi16(low, high)]
        }
        join(halves: [__m256i; 2]) -> __m256i { _mm256_packs_epi32(halves[0], halves[1]) }
        pick_words(low: __m256i, high: __m256i) -> __m256i { _mm256_blend_epi16::<0xaa>(low, high) }

        and(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        or(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        xor(a: __m256i, b: __m256i) -> __m256i { _mm256_xor_si256(a, b) }

        add16(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi16(a, b) }
        sub16(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi16(a, b) }
        shl16(a: __m256i, count: u32) -> __m256i { _mm256_sll_epi16(a, _mm_cvtsi32_si128(count as i32)) }
        mul_low16(a: __m256i, b: __m256i) -> __m256i { _mm256_mullo_epi16(a, b) }
        mul_high16(a: __m256i, b: __m256i) -> __m256i { _mm256_mulhi_epi16(a, b) }
        mul_high_u16(a: __m256i, b: __m256i) -> __m256i { _mm256_mulhi_epu16(a, b) }
        dot(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
            if VNNI { vnni::dot(sum, a, b) } else { dot(sum, a, b) }
        }
        first_dot(a: __m256i, b: __m256i) -> __m256i { _mm256_madd_epi16(a, b) }

        add32(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        sub32(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
        max32(a: __m256i, b: __m256i) -> __m256i { _mm256_max_epi32(a, b) }
        min32(a: __m256i, b: __m256i) -> __m256i { _mm256_min_epi32(a, b) }
        abs32(a: __m256i) -> __m256i { _mm256_abs_epi32(a) }
        shl32(a: __m256i, count: u32) -> __m256i { _mm256_sllv_epi32(a, _mm256_set1_epi32(count as i32)) }
        shr32(a: __m256i, count: u32) -> __m256i { _mm256_srl_epi32(a, _mm_cvtsi32_si128(count as i32)) }
        sra32(a: __m256i, count: u32) -> __m256i { _mm256_sra_epi32(a, _mm_cvtsi32_si128(count as i32)) }
        mul_scaled32(a: __m256i, b: __m256i) -> __m256i { mul_scaled32_less(a, b, 0) }
        mul_scaled32_less(a: __m256i, b: __m256i, less: i32) -> __m256i { mul_scaled32_less(a, b, less) }

        greater32(a: __m256i, b: __m256i) -> __m256i { _mm256_cmpgt_epi32(a, b) }
        is_any(mask: __m256i) -> bool { _mm256_testz_si256(mask, mask) == 0 }
        both(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        add_where(a: __m256i, mask: __m256i, b: __m256i) -> __m256i {
            _mm256_add_epi32(a, _mm256_and_si256(mask, b))
        }
        any(a: __m256i) -> bool { _mm256_testz_si256(a, a) == 0 }
        keep(mask: __m256i, a: __m256i) -> __m256i { _mm256_and_si256(mask, a) }

        sum32(a: __m256i) -> i64 {{
            let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(a));
            let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(a));
            sum_quads(_mm256_add_epi64(low, high))
        }}
        add_wide(sums: __m256i, lanes: __m256i) -> __m256i {{
            let even = _mm256_and_si256(lanes, _mm256_set1_epi64x(0xffff_ffff));
            _mm256_add_epi64(sums, _mm256_add_epi64(even, _mm256_srli_epi64::<32>(lanes)))
        }}
        sum64(sums: __m256i) -> i64 { sum_quads(sums) }

        leading_bits(a: __m256i) -> __m256i {{
            // The bit 16 places below the leading one is cleared, so that rounding cannot carry beyond it.
            let cut = _mm256_andnot_si256(_mm256_srli_epi32::<16>(a), a);
            _mm256_castps_si256(_mm256_cvtepi32_ps(cut))
        }}
        table(values: &[f32]) -> __m256 { _mm256_castsi256_ps(x86::load256(values, 0)) }
        look_up(table: __m256, index: __m256i) -> __m256 { _mm256_permutevar8x32_ps(table, index) }
        float(bits: __m256i) -> __m256 { _mm256_castsi256_ps(bits) }
        bits(float: __m256) -> __m256i { _mm256_castps_si256(float) }
        splat_float(value: f32) -> __m256 { _mm256_set1_ps(value) }
        fused(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }

        load_doubles(values: &[i32], at: usize) -> __m256d { _mm256_cvtepi32_pd(x86::load128(values, at)) }
        store_doubles(values: &mut [i32], at: usize, doubles: [__m256d; 2]) -> () {{
            x86::store128(values, at, _mm256_cvttpd_epi32(doubles[0]));
            x86::store128(values, at + 4, _mm256_cvttpd_epi32(doubles[1]));
        }}
        regress(variance: __m256d, other: __m256d, covariance: __m256d, epsilon: f64, limit: f64)
            -> [__m256d; 2] {{
            let gain = _mm256_div_pd(covariance, _mm256_add_pd(variance, _mm256_set1_pd(epsilon)));
            let noise = _mm256_sub_pd(other, _mm256_mul_pd(gain, covariance));
            let gain = _mm256_min_pd(gain, _mm256_set1_pd(limit));
            [noise, _mm256_mul_pd(_mm256_mul_pd(gain, gain), variance)]
        }}
    }

    #[inline(always)]
    fn run<R>(self, kernel: impl FnOnce() -> R) -> R {
        // SAFETY: the features were detected before `self` was made.
        unsafe { run(kernel) }
    }

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> __m256i {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::load256(values, at) }
    }

    #[inline(always)]
    fn store<T: Number>(self, values: &mut [T], at: usize, vector: __m256i) {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::store256(values, at, vector) }
    }

    #[inline(always)]
    fn dot_splat<const INDEX: usize, const COUNT: usize>(
        self,
        sum: __m256i,
        a: __m256i,
        table: &Splats<COUNT>,
    ) -> __m256i {
        // SAFETY: the features were detected before `self` was made, those of AVX-VNNI too if that is what it stands for.
        unsafe {
            if VNNI {
                vnni::dot_splat::<INDEX, COUNT>(sum, a, table)
            } else {
                dot_splat::<INDEX, COUNT>(sum, a, table)
            }
        }
    }

    #[inline(always)]
    fn dot_planes<const INDEX: usize, const COUNT: usize>(
        self,
        sums: &mut [[__m256i; 2]; 4],
        planes: [&[i16]; 4],
        taps: [&Splats<COUNT>; 2],
    ) {
        // SAFETY: as above.
        unsafe {
            if VNNI {
                vnni::dot_planes::<INDEX, COUNT>(sums, planes, taps);
            } else {
                dot_planes::<INDEX, COUNT>(sums, planes, taps);
            }
        }
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
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_quads(sums: __m256i) -> i64 {
    let pair = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    _mm_extract_epi64::<0>(pair).wrapping_add(_mm_extract_epi64::<1>(pair))
}

/// The upper halves of 64-bit products. Rounding and the number that is taken off are one addition.
#[inline]
#[target_feature(enable = "avx2")]
fn mul_scaled32_less(a: __m256i, b: __m256i, less: i32) -> __m256i {
    let addend = _mm256_set1_epi64x((1 << 31) - (i64::from(less) << 32));
    let even = _mm256_add_epi64(_mm256_mul_epu32(a, b), addend);
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
    let odd = _mm256_add_epi64(odd, addend);
    _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(even), odd)
}

/// Two instructions, kept in their order: the compiler would add products to each other first, which needs more registers
/// than there are.
#[inline]
#[target_feature(enable = "avx2")]
fn dot(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    let result;
    // SAFETY: the instructions belong to the features of this function; they read and write these registers only.
    unsafe {
        std::arch::asm!(
            "vpmaddwd {products}, {a}, {b}",
            "vpaddd {result}, {sum}, {products}",
            products = out(ymm_reg) _,
            result = lateout(ymm_reg) result,
            sum = in(ymm_reg) sum,
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    result
}

/// The second factor is read by the instruction: it needs no register.
#[inline]
#[target_feature(enable = "avx2")]
fn dot_splat<const INDEX: usize, const COUNT: usize>(
    sum: __m256i,
    a: __m256i,
    table: &Splats<COUNT>,
) -> __m256i {
    const { assert!(INDEX < COUNT && size_of::<Splats<1>>() == 32) };
    let result;
    // SAFETY: as above, and they read 32 bytes of the table, which has that many entries.
    unsafe {
        std::arch::asm!(
            "vpmaddwd {products}, {a}, ymmword ptr [{table} + {offset}]",
            "vpaddd {result}, {sum}, {products}",
            products = out(ymm_reg) _,
            result = lateout(ymm_reg) result,
            sum = in(ymm_reg) sum,
            a = in(ymm_reg) a,
            table = in(reg) table,
            offset = const 32 * INDEX,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    result
}

#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn run<R>(kernel: impl FnOnce() -> R) -> R {
    kernel()
}

/// Two products follow each other, then their two sums: on Zen 4 VIF's pass along the rows takes a thirtieth less than with
/// products and sums by turns. It needs twelve registers.
#[inline]
#[target_feature(enable = "avx2")]
fn dot_planes<const INDEX: usize, const COUNT: usize>(
    sums: &mut [[__m256i; 2]; 4],
    planes: [&[i16]; 4],
    taps: [&Splats<COUNT>; 2],
) {
    const { assert!(INDEX < COUNT && size_of::<Splats<1>>() == 32) };
    let [a, b, c, d] = planes;
    assert!(a.len().min(b.len()).min(c.len()).min(d.len()) >= 2 * INDEX + 16);
    let [[a_even, a_odd], [b_even, b_odd], [c_even, c_odd], [d_even, d_odd]] = sums;
    // SAFETY: the instructions belong to the features of this function. They read 16 words of each plane, which are there, and 32
    // bytes of each table, which has that many entries; they write registers only.
    unsafe {
        std::arch::asm!(
            "vmovdqa {even}, ymmword ptr [{evens} + {offset}]",
            "vmovdqa {odd}, ymmword ptr [{odds} + {offset}]",
            "vmovdqu {second}, ymmword ptr [{a} + {at}]",
            "vpmaddwd {first}, {second}, {even}",
            "vpmaddwd {second}, {second}, {odd}",
            "vpaddd {a_even}, {a_even}, {first}",
            "vpaddd {a_odd}, {a_odd}, {second}",
            "vmovdqu {second}, ymmword ptr [{b} + {at}]",
            "vpmaddwd {first}, {second}, {even}",
            "vpmaddwd {second}, {second}, {odd}",
            "vpaddd {b_even}, {b_even}, {first}",
            "vpaddd {b_odd}, {b_odd}, {second}",
            "vmovdqu {second}, ymmword ptr [{c} + {at}]",
            "vpmaddwd {first}, {second}, {even}",
            "vpmaddwd {second}, {second}, {odd}",
            "vpaddd {c_even}, {c_even}, {first}",
            "vpaddd {c_odd}, {c_odd}, {second}",
            "vmovdqu {second}, ymmword ptr [{d} + {at}]",
            "vpmaddwd {first}, {second}, {even}",
            "vpmaddwd {second}, {second}, {odd}",
            "vpaddd {d_even}, {d_even}, {first}",
            "vpaddd {d_odd}, {d_odd}, {second}",
            a = in(reg) a.as_ptr(),
            b = in(reg) b.as_ptr(),
            c = in(reg) c.as_ptr(),
            d = in(reg) d.as_ptr(),
            evens = in(reg) taps[0],
            odds = in(reg) taps[1],
            at = const 4 * INDEX,
            offset = const 32 * INDEX,
            a_even = inout(ymm_reg) *a_even,
            a_odd = inout(ymm_reg) *a_odd,
            b_even = inout(ymm_reg) *b_even,
            b_odd = inout(ymm_reg) *b_odd,
            c_even = inout(ymm_reg) *c_even,
            c_odd = inout(ymm_reg) *c_odd,
            d_even = inout(ymm_reg) *d_even,
            d_odd = inout(ymm_reg) *d_odd,
            even = out(ymm_reg) _,
            odd = out(ymm_reg) _,
            first = out(ymm_reg) _,
            second = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
}
