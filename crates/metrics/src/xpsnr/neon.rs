//! The vectors of bytes of NEON.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::aarch64::*;

use super::bytes::Bytes;
use super::simd_passes::{error_pass, luma_pass};
use crate::simd::neon::{self, Neon, from_words, words};
use crate::simd::{Number, operations};

type Vector = int32x4_t;

#[inline]
#[target_feature(enable = "neon")]
fn bytes(a: Vector) -> uint8x16_t {
    vreinterpretq_u8_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn from_bytes(a: uint8x16_t) -> Vector {
    vreinterpretq_s32_u8(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn doubles(a: Vector) -> uint32x4_t {
    vreinterpretq_u32_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn from_doubles(a: uint32x4_t) -> Vector {
    vreinterpretq_s32_u32(a)
}

impl Bytes for Neon {
    type Vector = Vector;

    const LANES: usize = 16;

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> Vector {
        // SAFETY: the features were detected before `self` was made.
        unsafe { neon::load(values, at) }
    }

    #[inline(always)]
    fn weigh_pairs<const LOWER: i8, const UPPER: i8>(self, bytes: Vector) -> Vector {
        // SAFETY: the features were detected before `self` was made.
        unsafe {
            let lower = vandq_s16(words(bytes), vdupq_n_s16(0xff));
            let upper = words(self.upper(bytes));
            from_words(vmlaq_n_s16(vmulq_n_s16(lower, i16::from(LOWER)), upper, i16::from(UPPER)))
        }
    }

    operations! {
        zero() -> Vector { vdupq_n_s32(0) }
        and(a: Vector, b: Vector) -> Vector { vandq_s32(a, b) }
        or(a: Vector, b: Vector) -> Vector { vorrq_s32(a, b) }
        upper(bytes: Vector) -> Vector {
            vreinterpretq_s32_u16(vshrq_n_u16::<8>(vreinterpretq_u16_s32(bytes)))
        }
        add_words(a: Vector, b: Vector) -> Vector { from_words(vaddq_s16(words(a), words(b))) }
        sub_words(a: Vector, b: Vector) -> Vector { from_words(vsubq_s16(words(a), words(b))) }
        abs_words(a: Vector) -> Vector { from_words(vabsq_s16(words(a))) }
        widen(sums: Vector, words: Vector) -> Vector {
            from_doubles(vpadalq_u16(doubles(sums), vreinterpretq_u16_s32(words)))
        }
        distance(a: Vector, b: Vector) -> Vector { from_bytes(vabdq_u8(bytes(a), bytes(b))) }
        add_distances(sums: Vector, a: Vector, b: Vector) -> Vector {{
            let distances = vpaddlq_u16(vpaddlq_u8(vabdq_u8(bytes(a), bytes(b))));
            vreinterpretq_s32_u64(vpadalq_u32(vreinterpretq_u64_s32(sums), distances))
        }}
        add_squares(sums: Vector, values: Vector) -> Vector {{
            let values = bytes(values);
            let low = vmull_u8(vget_low_u8(values), vget_low_u8(values));
            from_doubles(vpadalq_u16(vpadalq_u16(doubles(sums), low), vmull_high_u8(values, values)))
        }}
        add_word_squares(sums: Vector, values: Vector) -> Vector {{
            let values = words(values);
            let low = vget_low_s16(values);
            vmlal_high_s16(vmlal_s16(sums, low, low), values, values)
        }}
        any_large(values: Vector) -> bool { vmaxvq_u8(bytes(values)) > 127 }
        total_of_doubles(sums: Vector) -> u64 { vaddlvq_u32(doubles(sums)) }
        total_of_quads(sums: Vector) -> u64 { vaddvq_u64(vreinterpretq_u64_s32(sums)) }
    }
}

luma_pass!(Neon, "neon");
error_pass!(Neon, "neon");
