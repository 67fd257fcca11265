//! The vectors of bytes of AVX-512.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::bytes::Bytes;
use super::simd_passes::luma_pass;
use crate::simd::avx512::Avx512;
use crate::simd::{Number, operations, x86};

impl Bytes for Avx512 {
    type Vector = __m512i;

    const LANES: usize = 64;

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> __m512i {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::load512(values, at) }
    }

    #[inline(always)]
    fn weigh_pairs<const LOWER: i8, const UPPER: i8>(self, bytes: __m512i) -> __m512i {
        let weights = i16::from_le_bytes([LOWER as u8, UPPER as u8]);
        // SAFETY: the features were detected before `self` was made.
        unsafe { _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(weights)) }
    }

    operations! {
        zero() -> __m512i { _mm512_setzero_si512() }
        and(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
        or(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        upper(bytes: __m512i) -> __m512i { _mm512_srli_epi16::<8>(bytes) }
        add_words(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi16(a, b) }
        sub_words(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi16(a, b) }
        abs_words(words: __m512i) -> __m512i { _mm512_abs_epi16(words) }
        widen(sums: __m512i, words: __m512i) -> __m512i {{
            let low = _mm512_and_si512(words, _mm512_set1_epi32(0xffff));
            _mm512_add_epi32(sums, _mm512_add_epi32(low, _mm512_srli_epi32::<16>(words)))
        }}
        distance(a: __m512i, b: __m512i) -> __m512i {
            _mm512_sub_epi8(_mm512_max_epu8(a, b), _mm512_min_epu8(a, b))
        }
        add_distances(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
            _mm512_add_epi64(sums, _mm512_sad_epu8(a, b))
        }
        add_squares(sums: __m512i, bytes: __m512i) -> __m512i { _mm512_dpbusd_epi32(sums, bytes, bytes) }
        add_word_squares(sums: __m512i, words: __m512i) -> __m512i { _mm512_dpwssd_epi32(sums, words, words) }
        any_large(bytes: __m512i) -> bool { _mm512_movepi8_mask(bytes) != 0 }
        total_of_doubles(sums: __m512i) -> u64 {{
            let even = _mm512_and_si512(sums, _mm512_set1_epi64(0xffff_ffff));
            _mm512_reduce_add_epi64(_mm512_add_epi64(even, _mm512_srli_epi64::<32>(sums))) as u64
        }}
        total_of_quads(sums: __m512i) -> u64 { _mm512_reduce_add_epi64(sums) as u64 }
    }
}

luma_pass!(Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi1,bmi2,popcnt");
