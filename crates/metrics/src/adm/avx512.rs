//! [`AdmVector`] of 512 bits: AVX-512 F, BW, DQ, VL and VNNI.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::vector::AdmVector;
use crate::simd::avx512::Avx512;
use crate::simd::{Vector, operations, x86};

const NEAREST_BELOW: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
const TOWARD_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// Which words make up a register: those at odd places of two registers (or at even ones), for lanes that follow each
/// other and for lanes in the order of `unpack`, which takes turns every four double words.
const fn words(first: i16, unpacked: bool) -> [i16; 32] {
    let mut index = [0; 32];
    let mut i = 0;
    while i < 32 {
        let source = if unpacked { (i / 8) * 4 + i % 4 + (i / 4 % 2) * 16 } else { i };
        // The second register's words begin at 32.
        index[i as usize] = first + 2 * source;
        i += 1;
    }
    index
}

static UNPACKED_LOW: [i16; 32] = words(0, true);
static UNPACKED_HIGH: [i16; 32] = words(1, true);
static LOW: [i16; 32] = words(0, false);
static HIGH: [i16; 32] = words(1, false);

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn permute(index: &[i16; 32], a: __m512i, b: __m512i) -> __m512i {
    _mm512_permutex2var_epi16(a, x86::load512(index, 0), b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn upper_half(a: __m512i) -> __m256i {
    _mm512_extracti64x4_epi64::<1>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn reciprocal(o: __m512i) -> __m512 {
    let size = _mm512_cvt_roundepi32_ps::<TOWARD_ZERO>(_mm512_abs_epi32(o));
    // 15 of 24 bits are kept; half a unit of the last one is added before.
    let rounded = _mm512_add_epi32(_mm512_castps_si512(size), _mm512_set1_epi32(1 << 8));
    let rounded = _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(!0x1ff)));
    let quotient = _mm512_div_round_ps::<TOWARD_ZERO>(_mm512_set1_ps(1.0), rounded);
    let large = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(rounded, _mm512_set1_ps(16384.0));
    let bits = _mm512_castps_si512(quotient);
    let cut = _mm512_mask_and_epi32(bits, large, bits, _mm512_set1_epi32(!0xff));
    // a | (b & c)
    _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xf8>(cut, o, _mm512_set1_epi32(i32::MIN)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn half_share(t: __m256i, reciprocal: __m256, o: __m256i) -> __m256i {
    let (t, o) = (_mm512_cvtepi32_pd(t), _mm512_cvtepi32_pd(o));
    let exact = _mm512_fmadd_pd(t, _mm512_cvtps_pd(reciprocal), _mm512_set1_pd(1.0 / 65536.0));
    // Down to a multiple of 2^-15.
    let share = _mm512_roundscale_pd::<{ (15 << 4) | _MM_FROUND_TO_NEG_INF }>(exact);
    _mm512_cvt_roundpd_epi32::<NEAREST_BELOW>(_mm512_fmadd_pd(share, o, _mm512_set1_pd(0.5)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn share(t: __m512i, reciprocal: __m512, o: __m512i) -> __m512i {
    let low =
        half_share(_mm512_castsi512_si256(t), _mm512_castps512_ps256(reciprocal), _mm512_castsi512_si256(o));
    let high = half_share(upper_half(t), _mm512_extractf32x8_ps::<1>(reciprocal), upper_half(o));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn half_grown(a: __m256i, gain: f64) -> __m256i {
    let limit = f64::from(i32::MAX);
    let grown = _mm512_mul_pd(_mm512_cvtepi32_pd(a), _mm512_set1_pd(gain));
    let held = _mm512_max_pd(_mm512_min_pd(grown, _mm512_set1_pd(limit)), _mm512_set1_pd(-limit));
    _mm512_cvttpd_epi32(held)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn grown(a: __m512i, gain: f64) -> __m512i {
    let (low, high) = (half_grown(_mm512_castsi512_si256(a), gain), half_grown(upper_half(a), gain));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// The sum is kept in the lower bits of a number between 2^52 and 2^53, whose last bit is worth one: adding a product to it
/// rounds the product.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn rounded_sums(sizes: [[__m512i; 2]; 3], factor: u32, start: i32) -> __m512i {
    let factor = _mm512_set1_pd(f64::from(factor) / 4_294_967_296.0);
    let mut sums = [_mm512_set1_pd((3u64 << 51) as f64 + f64::from(start)); 2];
    for band in sizes {
        for place in 0..2 {
            sums[place] = _mm512_fmadd_pd(_mm512_cvtepi64_pd(band[place]), factor, sums[place]);
        }
    }
    let [even, odd] = [_mm512_castpd_si512(sums[0]), _mm512_castpd_si512(sums[1])];
    _mm512_mask_shuffle_epi32::<0b10_10_00_00>(even, 0xaaaa, odd)
}

impl AdmVector for Avx512 {
    const SHIFT_BIAS: i64 = 0;
    const DOTS: bool = true;
    const ROUNDS_SUMS: bool = true;

    operations! {
        splat64(value: i64) -> __m512i { _mm512_set1_epi64(value) }
        choose(mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
            _mm512_ternarylogic_epi32::<0xca>(mask, a, b)
        }
        add_saturating16(a: __m512i, b: __m512i) -> __m512i { _mm512_adds_epi16(a, b) }
        abs16(a: __m512i) -> __m512i { _mm512_abs_epi16(a) }
        min16(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epi16(a, b) }
        max16(a: __m512i, b: __m512i) -> __m512i { _mm512_max_epi16(a, b) }
        mul_round16(a: __m512i, b: __m512i) -> __m512i { _mm512_mulhrs_epi16(a, b) }
        halve16(a: __m512i) -> __m512i { _mm512_srai_epi16::<1>(a) }
        any_negative16(a: __m512i) -> bool { _mm512_movepi16_mask(a) != 0 }
        mul32(a: __m512i, b: __m512i) -> __m512i { _mm512_mullo_epi32(a, b) }
        products(a: __m512i, b: __m512i) -> __m512i { _mm512_madd_epi16(a, b) }
        join_low(halves: [__m512i; 2]) -> __m512i { permute(&UNPACKED_LOW, halves[0], halves[1]) }
        join_high(halves: [__m512i; 2]) -> __m512i { permute(&UNPACKED_HIGH, halves[0], halves[1]) }
        concat_low(first: __m512i, second: __m512i) -> __m512i { permute(&LOW, first, second) }
        concat_high(first: __m512i, second: __m512i) -> __m512i { permute(&HIGH, first, second) }
        add64(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi64(a, b) }
        mul_even(a: __m512i, b: __m512i) -> __m512i { _mm512_mul_epi32(a, b) }
        mul_even_unsigned(a: __m512i, b: __m512i) -> __m512i { _mm512_mul_epu32(a, b) }
        shr64(a: __m512i, count: u32) -> __m512i { _mm512_srlv_epi64(a, _mm512_set1_epi64(i64::from(count))) }
        shift64(a: __m512i, count: u32) -> __m512i {
            _mm512_srav_epi64(a, _mm512_set1_epi64(i64::from(count)))
        }
        odd(a: __m512i) -> __m512i { _mm512_shuffle_epi32::<0b11_11_01_01>(a) }
        merge_low(even: __m512i, odd: __m512i) -> __m512i {
            _mm512_mask_shuffle_epi32::<0b10_10_00_00>(even, 0xaaaa, odd)
        }
        merge_high(even: __m512i, odd: __m512i) -> __m512i {
            _mm512_mask_shuffle_epi32::<0b11_11_01_01>(odd, 0x5555, even)
        }
        abs_even(a: __m512i) -> __m512i { _mm512_maskz_abs_epi32(0x5555, a) }
        rounded_sums(sizes: [[__m512i; 2]; 3], factor: u32, start: i32) -> __m512i {
            rounded_sums(sizes, factor, start)
        }
        to_float(a: __m512i) -> __m512 { _mm512_cvtepi32_ps(a) }
        mul_float(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fused_sub(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fnmadd_ps(a, b, c) }
        abs_float(a: __m512) -> __m512 { _mm512_abs_ps(a) }
        at_least(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b) }
        less(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
        mask_bits(mask: __mmask16) -> __m512i { _mm512_movm_epi32(mask) }
        mask_of(bits: __m512i) -> __mmask16 { _mm512_movepi32_mask(bits) }
        choose32(mask: __mmask16, a: __m512i, b: __m512i) -> __m512i { _mm512_mask_blend_epi32(mask, b, a) }
        reciprocal(o: __m512i) -> __m512 { reciprocal(o) }
        share(t: __m512i, reciprocal: __m512, o: __m512i) -> __m512i { share(t, reciprocal, o) }
        grown(a: __m512i, gain: f64) -> __m512i { grown(a, gain) }
    }

    #[inline(always)]
    fn add_products(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        self.dot(sum, a, b)
    }

    #[inline(always)]
    fn either(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
}
