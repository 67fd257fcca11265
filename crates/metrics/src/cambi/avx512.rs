//! Kernels for AVX-512, whose masks say with a bit for each lane what plain code says with a vector.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::scalar::contrast::USUAL;
use super::scalar::histogram::Counts;
use crate::simd::avx512::Avx512;
use crate::simd::x86::load512;

/// At which columns of a tile a level occurs that is at least a step of this size away from the one in the middle: a bit for
/// each. See [`any_beside`](super::scalar::contrast) for why lines are looked at twice.
#[inline(always)]
pub fn occupied_columns(_: Avx512, around: &[Counts; USUAL], least: usize) -> u32 {
    const MIDDLE: usize = USUAL / 2;
    // SAFETY: the features were detected before the proof was made.
    unsafe {
        let mut any = _mm512_or_si512(load512(&around[0].0, 0), load512(&around[2 * MIDDLE].0, 0));
        for step in 1..MIDDLE {
            let step = step.max(least).min(MIDDLE);
            let (below, above) = (load512(&around[MIDDLE - step].0, 0), load512(&around[MIDDLE + step].0, 0));
            any = _mm512_ternarylogic_epi32::<0xfe>(any, below, above);
        }
        _mm512_test_epi16_mask(any, any)
    }
}
