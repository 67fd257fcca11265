//! [`AdmVector`] of 256 bits: AVX2 and FMA, with AVX-VNNI and without.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::vector::{AdmVector, TO_INTEGER, TO_SHARE};
use crate::simd::avx2::Ymm;
use crate::simd::{Vector, operations};

/// Upper words, moved down. Packing takes turns every four double words, as `unpack` does.
#[inline]
#[target_feature(enable = "avx2")]
fn pack_high(a: __m256i, b: __m256i) -> __m256i {
    _mm256_packs_epi32(_mm256_srai_epi32::<16>(a), _mm256_srai_epi32::<16>(b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn pack_low(a: __m256i, b: __m256i) -> __m256i {
    let low = _mm256_set1_epi32(0xffff);
    _mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low))
}

/// From the order of `pack` to that of lanes that follow each other.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order(packed: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(packed)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn reciprocal(o: __m256i) -> __m256 {
    let size = _mm256_abs_epi32(o);
    // Conversion rounds to 24 bits, but must not change the first 16. The 17th is cleared so that nothing is carried
    // over it.
    let upper = _mm256_andnot_si256(_mm256_srli_epi32::<16>(size), size);
    let bits = _mm256_castps_si256(_mm256_cvtepi32_ps(upper));
    // 15 of 24 bits are kept; half a unit of the last one is added before.
    let rounded =
        _mm256_and_si256(_mm256_add_epi32(bits, _mm256_set1_epi32(1 << 8)), _mm256_set1_epi32(!0x1ff));
    let (rounded, one) = (_mm256_castsi256_ps(rounded), _mm256_set1_ps(1.0));
    let quotient = _mm256_castps_si256(_mm256_div_ps(one, rounded));
    let cut = _mm256_and_si256(quotient, _mm256_set1_epi32(!0xff));
    // Division may have rounded up to a number of 16 bits, which is then too large.
    let rest = _mm256_fnmadd_ps(_mm256_castsi256_ps(cut), rounded, one);
    let too_large = _mm256_srli_epi32::<31>(_mm256_castps_si256(rest));
    let cut = _mm256_sub_epi32(cut, _mm256_slli_epi32::<8>(too_large));
    let large = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(16383));
    let sign = _mm256_and_si256(o, _mm256_set1_epi32(i32::MIN));
    _mm256_castsi256_ps(_mm256_or_si256(_mm256_blendv_epi8(quotient, cut, large), sign))
}

/// Quad words whose lower halves are the results.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn half_share(t: __m128i, reciprocal: __m128, o: __m128i) -> __m256 {
    let (t, o) = (_mm256_cvtepi32_pd(t), _mm256_cvtepi32_pd(o));
    let magic = _mm256_set1_pd(TO_SHARE.0);
    let exact = _mm256_fmadd_pd(t, _mm256_cvtps_pd(reciprocal), _mm256_set1_pd(TO_SHARE.1));
    let share = _mm256_sub_pd(_mm256_add_pd(exact, magic), magic);
    let product = _mm256_fmadd_pd(share, o, _mm256_set1_pd(TO_INTEGER.1));
    _mm256_castpd_ps(_mm256_add_pd(product, _mm256_set1_pd(TO_INTEGER.0)))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn share(t: __m256i, reciprocal: __m256, o: __m256i) -> __m256i {
    let low =
        half_share(_mm256_castsi256_si128(t), _mm256_castps256_ps128(reciprocal), _mm256_castsi256_si128(o));
    let high = half_share(
        _mm256_extracti128_si256::<1>(t),
        _mm256_extractf128_ps::<1>(reciprocal),
        _mm256_extracti128_si256::<1>(o),
    );
    in_order(_mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn half_grown(a: __m128i, gain: f64) -> __m128i {
    let limit = f64::from(i32::MAX);
    let grown = _mm256_mul_pd(_mm256_cvtepi32_pd(a), _mm256_set1_pd(gain));
    let held = _mm256_max_pd(_mm256_min_pd(grown, _mm256_set1_pd(limit)), _mm256_set1_pd(-limit));
    _mm256_cvttpd_epi32(held)
}

#[inline]
#[target_feature(enable = "avx2")]
fn grown(a: __m256i, gain: f64) -> __m256i {
    let (low, high) = (_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(half_grown(low, gain)), half_grown(high, gain))
}

impl<const VNNI: bool> AdmVector for Ymm<VNNI> {
    const SHIFT_BIAS: i64 = i64::MIN;
    const DOTS: bool = false;
    const ROUNDS_SUMS: bool = false;

    operations! {
        splat64(value: i64) -> __m256i { _mm256_set1_epi64x(value) }
        choose(mask: __m256i, a: __m256i, b: __m256i) -> __m256i { _mm256_blendv_epi8(b, a, mask) }
        add_saturating16(a: __m256i, b: __m256i) -> __m256i { _mm256_adds_epi16(a, b) }
        abs16(a: __m256i) -> __m256i { _mm256_abs_epi16(a) }
        min16(a: __m256i, b: __m256i) -> __m256i { _mm256_min_epi16(a, b) }
        max16(a: __m256i, b: __m256i) -> __m256i { _mm256_max_epi16(a, b) }
        mul_round16(a: __m256i, b: __m256i) -> __m256i { _mm256_mulhrs_epi16(a, b) }
        halve16(a: __m256i) -> __m256i { _mm256_srai_epi16::<1>(a) }
        any_negative16(a: __m256i) -> bool { _mm256_movemask_epi8(a) as u32 & 0xaaaa_aaaa != 0 }
        mul32(a: __m256i, b: __m256i) -> __m256i { _mm256_mullo_epi32(a, b) }
        products(a: __m256i, b: __m256i) -> __m256i { _mm256_madd_epi16(a, b) }
        join_low(halves: [__m256i; 2]) -> __m256i { pack_low(halves[0], halves[1]) }
        join_high(halves: [__m256i; 2]) -> __m256i { pack_high(halves[0], halves[1]) }
        concat_low(first: __m256i, second: __m256i) -> __m256i { in_order(pack_low(first, second)) }
        concat_high(first: __m256i, second: __m256i) -> __m256i { in_order(pack_high(first, second)) }
        add64(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi64(a, b) }
        mul_even(a: __m256i, b: __m256i) -> __m256i { _mm256_mul_epi32(a, b) }
        mul_even_unsigned(a: __m256i, b: __m256i) -> __m256i { _mm256_mul_epu32(a, b) }
        shr64(a: __m256i, count: u32) -> __m256i {
            _mm256_srlv_epi64(a, _mm256_set1_epi64x(i64::from(count)))
        }
        shift64(a: __m256i, count: u32) -> __m256i {
            _mm256_srlv_epi64(a, _mm256_set1_epi64x(i64::from(count)))
        }
        abs_even(a: __m256i) -> __m256i { _mm256_abs_epi32(a) }
        odd(a: __m256i) -> __m256i { _mm256_shuffle_epi32::<0b11_11_01_01>(a) }
        merge_low(even: __m256i, odd: __m256i) -> __m256i {
            _mm256_blend_epi32::<0b10101010>(even, _mm256_shuffle_epi32::<0b10_10_00_00>(odd))
        }
        merge_high(even: __m256i, odd: __m256i) -> __m256i {
            _mm256_blend_epi32::<0b10101010>(_mm256_shuffle_epi32::<0b11_11_01_01>(even), odd)
        }
        to_float(a: __m256i) -> __m256 { _mm256_cvtepi32_ps(a) }
        mul_float(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        fused_sub(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fnmadd_ps(a, b, c) }
        abs_float(a: __m256) -> __m256 { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
        at_least(a: __m256, b: __m256) -> __m256i { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(a, b)) }
        less(a: __m256, b: __m256) -> __m256i { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
        either(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        choose32(mask: __m256i, a: __m256i, b: __m256i) -> __m256i { _mm256_blendv_epi8(b, a, mask) }
        reciprocal(o: __m256i) -> __m256 { reciprocal(o) }
        share(t: __m256i, reciprocal: __m256, o: __m256i) -> __m256i { share(t, reciprocal, o) }
        grown(a: __m256i, gain: f64) -> __m256i { grown(a, gain) }
    }

    #[inline(always)]
    fn add_products(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        if VNNI { self.dot(sum, a, b) } else { self.add32(sum, self.products(a, b)) }
    }

    #[inline(always)]
    fn mask_bits(self, mask: __m256i) -> __m256i {
        mask
    }

    #[inline(always)]
    fn mask_of(self, bits: __m256i) -> __m256i {
        bits
    }
}
