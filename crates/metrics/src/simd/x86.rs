//! Loads and stores of x86-64 vectors: `load512(values, at)` takes as many values as fill the vector, from `at` on, and
//! panics if the slice ends before. No alignment is asked for. And a shift across two vectors.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::Number;

macro_rules! access {
    ($load:ident, $store:ident, $vector:ty, $feature:literal, $loadu:ident, $storeu:ident) => {
        #[inline]
        #[target_feature(enable = $feature)]
        pub fn $load<T: Number>(values: &[T], at: usize) -> $vector {
            let values = &values[at..at + size_of::<$vector>() / size_of::<T>()];
            // SAFETY: the slice covers the vector's bytes exactly, and numbers have no padding.
            unsafe { $loadu(values.as_ptr().cast()) }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        pub fn $store<T: Number>(values: &mut [T], at: usize, vector: $vector) {
            let values = &mut values[at..at + size_of::<$vector>() / size_of::<T>()];
            // SAFETY: the slice covers the vector's bytes exactly, and every bit pattern is a number.
            unsafe { $storeu(values.as_mut_ptr().cast(), vector) }
        }
    };
}

access!(load128, store128, __m128i, "sse2", _mm_loadu_si128, _mm_storeu_si128);
access!(load256, store256, __m256i, "avx", _mm256_loadu_si256, _mm256_storeu_si256);
access!(load512, store512, __m512i, "avx512f", _mm512_loadu_si512, _mm512_storeu_si512);

/// Asks for the cache line of a value that will be read soon; beyond the end it does nothing.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch<T>(values: &[T], at: usize) {
    _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(at).cast());
}

/// The same into the second level of the caches.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch_l2<T>(values: &[T], at: usize) {
    _mm_prefetch::<_MM_HINT_T1>(values.as_ptr().wrapping_add(at).cast());
}

/// Eight numbers from number `BY` of the first vector on, those beyond it from the second.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn shifted512<const BY: i32>(now: __m512d, next: __m512d) -> __m512d {
    _mm512_castsi512_pd(_mm512_alignr_epi64::<BY>(_mm512_castpd_si512(next), _mm512_castpd_si512(now)))
}
