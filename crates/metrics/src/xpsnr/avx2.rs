//! The vectors of bytes of AVX2.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::bytes::Bytes;
use super::simd_passes::{error_pass, luma_pass};
use crate::simd::avx2::Avx2;
use crate::simd::{Number, operations, x86};

impl Bytes for Avx2 {
    type Vector = __m256i;

    const LANES: usize = 32;

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> __m256i {
        // SAFETY: the features were detected before `self` was made.
        unsafe { x86::load256(values, at) }
    }

    #[inline(always)]
    fn weigh_pairs<const LOWER: i8, const UPPER: i8>(self, bytes: __m256i) -> __m256i {
        let weights = i16::from_le_bytes([LOWER as u8, UPPER as u8]);
        // SAFETY: the features were detected before `self` was made.
        unsafe { _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(weights)) }
    }

    operations! {
        zero() -> __m256i { _mm256_setzero_si256() }
        and(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        or(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        upper(bytes: __m256i) -> __m256i { _mm256_srli_epi16::<8>(bytes) }
        add_words(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi16(a, b) }
        sub_words(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi16(a, b) }
        abs_words(words: __m256i) -> __m256i { _mm256_abs_epi16(words) }
        widen(sums: __m256i, words: __m256i) -> __m256i {{
            let low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
            _mm256_add_epi32(sums, _mm256_add_epi32(low, _mm256_srli_epi32::<16>(words)))
        }}
        distance(a: __m256i, b: __m256i) -> __m256i {
            _mm256_sub_epi8(_mm256_max_epu8(a, b), _mm256_min_epu8(a, b))
        }
        add_distances(sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
            _mm256_add_epi64(sums, _mm256_sad_epu8(a, b))
        }
        add_squares(sums: __m256i, bytes: __m256i) -> __m256i {{
            let pairs = _mm256_maddubs_epi16(bytes, bytes);
            _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }}
        add_word_squares(sums: __m256i, words: __m256i) -> __m256i {
            _mm256_add_epi32(sums, _mm256_madd_epi16(words, words))
        }
        any_large(bytes: __m256i) -> bool { _mm256_movemask_epi8(bytes) != 0 }
        total_of_doubles(sums: __m256i) -> u64 {{
            let even = _mm256_and_si256(sums, _mm256_set1_epi64x(0xffff_ffff));
            total(_mm256_add_epi64(even, _mm256_srli_epi64::<32>(sums)))
        }}
        total_of_quads(sums: __m256i) -> u64 { total(sums) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn total(sums: __m256i) -> u64 {
    let half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    (_mm_cvtsi128_si64(half) + _mm_extract_epi64::<1>(half)) as u64
}

luma_pass!(Avx2, "avx2,fma,bmi1,bmi2,popcnt");
error_pass!(Avx2, "avx2,fma,bmi1,bmi2,popcnt");
