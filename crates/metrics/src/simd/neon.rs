//! Loads and stores of aarch64 vectors: `load_u16(values, at)` takes as many values as fill the vector, from `at` on,
//! and panics if the slice ends before. No alignment is asked for.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

macro_rules! access {
    ($load:ident, $store:ident, $number:ty, $vector:ty, $lanes:literal, $vld:ident, $vst:ident) => {
        #[inline]
        #[target_feature(enable = "neon")]
        pub fn $load(values: &[$number], at: usize) -> $vector {
            let values = &values[at..at + $lanes];
            // SAFETY: the slice covers the vector's lanes exactly.
            unsafe { $vld(values.as_ptr()) }
        }

        #[inline]
        #[target_feature(enable = "neon")]
        pub fn $store(values: &mut [$number], at: usize, vector: $vector) {
            let values = &mut values[at..at + $lanes];
            // SAFETY: the slice covers the vector's lanes exactly.
            unsafe { $vst(values.as_mut_ptr(), vector) }
        }
    };
}

access!(load_u8, store_u8, u8, uint8x16_t, 16, vld1q_u8, vst1q_u8);
access!(load_i16, store_i16, i16, int16x8_t, 8, vld1q_s16, vst1q_s16);
access!(load_u16, store_u16, u16, uint16x8_t, 8, vld1q_u16, vst1q_u16);
access!(load_i32, store_i32, i32, int32x4_t, 4, vld1q_s32, vst1q_s32);
access!(load_u32, store_u32, u32, uint32x4_t, 4, vld1q_u32, vst1q_u32);
access!(load_i64, store_i64, i64, int64x2_t, 2, vld1q_s64, vst1q_s64);
access!(load_u64, store_u64, u64, uint64x2_t, 2, vld1q_u64, vst1q_u64);
access!(load_f32, store_f32, f32, float32x4_t, 4, vld1q_f32, vst1q_f32);
access!(load_f64, store_f64, f64, float64x2_t, 2, vld1q_f64, vst1q_f64);
// Half vectors.
access!(load_half_u8, store_half_u8, u8, uint8x8_t, 8, vld1_u8, vst1_u8);
access!(load_half_u16, store_half_u16, u16, uint16x4_t, 4, vld1_u16, vst1_u16);
access!(load_half_i16, store_half_i16, i16, int16x4_t, 4, vld1_s16, vst1_s16);
