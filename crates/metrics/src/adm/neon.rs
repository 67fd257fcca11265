//! [`AdmVector`] of 128 bits: NEON.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::aarch64::*;

use super::vector::{AdmVector, TO_INTEGER, TO_SHARE};
use crate::simd::neon::{Neon, from_words, products, words};
use crate::simd::operations;

type Int = int32x4_t;

#[inline]
#[target_feature(enable = "neon")]
fn quads(a: Int) -> int64x2_t {
    vreinterpretq_s64_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn from_quads(a: int64x2_t) -> Int {
    vreinterpretq_s32_s64(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn unsigned_quads(a: Int) -> uint64x2_t {
    vreinterpretq_u64_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn from_unsigned_quads(a: uint64x2_t) -> Int {
    vreinterpretq_s32_u64(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn reciprocal(o: Int) -> float32x4_t {
    let size = vreinterpretq_u32_s32(vabsq_s32(o));
    // Conversion rounds to 24 bits, but must not change the first 16. The 17th is cleared so that nothing is carried
    // over it.
    let upper = vbicq_u32(size, vshrq_n_u32::<16>(size));
    let bits = vreinterpretq_u32_f32(vcvtq_f32_u32(upper));
    // 15 of 24 bits are kept; half a unit of the last one is added before.
    let rounded = vandq_u32(vaddq_u32(bits, vdupq_n_u32(1 << 8)), vdupq_n_u32(!0x1ff));
    let (rounded, one) = (vreinterpretq_f32_u32(rounded), vdupq_n_f32(1.0));
    let quotient = vreinterpretq_u32_f32(vdivq_f32(one, rounded));
    let cut = vandq_u32(quotient, vdupq_n_u32(!0xff));
    // Division may have rounded up to a number of 16 bits, which is then too large.
    let rest = vfmsq_f32(one, vreinterpretq_f32_u32(cut), rounded);
    let too_large = vshrq_n_u32::<31>(vreinterpretq_u32_f32(rest));
    let cut = vsubq_u32(cut, vshlq_n_u32::<8>(too_large));
    let large = vcgtq_u32(size, vdupq_n_u32(16383));
    let sign = vandq_u32(vreinterpretq_u32_s32(o), vdupq_n_u32(1 << 31));
    vreinterpretq_f32_u32(vorrq_u32(vbslq_u32(large, cut, quotient), sign))
}

#[inline]
#[target_feature(enable = "neon")]
fn half_share(t: int32x2_t, reciprocal: float32x2_t, o: int32x2_t) -> int64x2_t {
    let (t, o) = (vcvtq_f64_s64(vmovl_s32(t)), vcvtq_f64_s64(vmovl_s32(o)));
    let magic = vdupq_n_f64(TO_SHARE.0);
    let exact = vfmaq_f64(vdupq_n_f64(TO_SHARE.1), t, vcvt_f64_f32(reciprocal));
    let share = vsubq_f64(vaddq_f64(exact, magic), magic);
    let product = vfmaq_f64(vdupq_n_f64(TO_INTEGER.1), share, o);
    vreinterpretq_s64_f64(vaddq_f64(product, vdupq_n_f64(TO_INTEGER.0)))
}

#[inline]
#[target_feature(enable = "neon")]
fn share(t: Int, reciprocal: float32x4_t, o: Int) -> Int {
    let low = half_share(vget_low_s32(t), vget_low_f32(reciprocal), vget_low_s32(o));
    let high = half_share(vget_high_s32(t), vget_high_f32(reciprocal), vget_high_s32(o));
    vuzp1q_s32(from_quads(low), from_quads(high))
}

#[inline]
#[target_feature(enable = "neon")]
fn half_grown(a: int32x2_t, gain: f64) -> int32x2_t {
    let limit = f64::from(i32::MAX);
    let grown = vmulq_f64(vcvtq_f64_s64(vmovl_s32(a)), vdupq_n_f64(gain));
    let held = vmaxq_f64(vminq_f64(grown, vdupq_n_f64(limit)), vdupq_n_f64(-limit));
    vmovn_s64(vcvtq_s64_f64(held))
}

#[inline]
#[target_feature(enable = "neon")]
fn grown(a: Int, gain: f64) -> Int {
    vcombine_s32(half_grown(vget_low_s32(a), gain), half_grown(vget_high_s32(a), gain))
}

impl AdmVector for Neon {
    const SHIFT_BIAS: i64 = 0;
    const DOTS: bool = false;
    const ROUNDS_SUMS: bool = false;

    operations! {
        splat64(value: i64) -> Int { from_quads(vdupq_n_s64(value)) }
        choose(mask: Int, a: Int, b: Int) -> Int { vbslq_s32(vreinterpretq_u32_s32(mask), a, b) }
        add_saturating16(a: Int, b: Int) -> Int { from_words(vqaddq_s16(words(a), words(b))) }
        abs16(a: Int) -> Int { from_words(vabsq_s16(words(a))) }
        min16(a: Int, b: Int) -> Int { from_words(vminq_s16(words(a), words(b))) }
        max16(a: Int, b: Int) -> Int { from_words(vmaxq_s16(words(a), words(b))) }
        mul_round16(a: Int, b: Int) -> Int { from_words(vqrdmulhq_s16(words(a), words(b))) }
        halve16(a: Int) -> Int { from_words(vshrq_n_s16::<1>(words(a))) }
        any_negative16(a: Int) -> bool { vminvq_s16(words(a)) < 0 }
        mul32(a: Int, b: Int) -> Int { vmulq_s32(a, b) }
        products(a: Int, b: Int) -> Int { products(a, b) }
        add_products(sum: Int, a: Int, b: Int) -> Int { vaddq_s32(sum, products(a, b)) }
        join_low(halves: [Int; 2]) -> Int { from_words(vuzp1q_s16(words(halves[0]), words(halves[1]))) }
        join_high(halves: [Int; 2]) -> Int { from_words(vuzp2q_s16(words(halves[0]), words(halves[1]))) }
        concat_low(first: Int, second: Int) -> Int { from_words(vuzp1q_s16(words(first), words(second))) }
        concat_high(first: Int, second: Int) -> Int { from_words(vuzp2q_s16(words(first), words(second))) }
        add64(a: Int, b: Int) -> Int { from_quads(vaddq_s64(quads(a), quads(b))) }
        mul_even(a: Int, b: Int) -> Int { from_quads(vmull_s32(vmovn_s64(quads(a)), vmovn_s64(quads(b)))) }
        mul_even_unsigned(a: Int, b: Int) -> Int {
            from_unsigned_quads(vmull_u32(vmovn_u64(unsigned_quads(a)), vmovn_u64(unsigned_quads(b))))
        }
        shr64(a: Int, count: u32) -> Int {
            from_unsigned_quads(vshlq_u64(unsigned_quads(a), vdupq_n_s64(-i64::from(count))))
        }
        shift64(a: Int, count: u32) -> Int { from_quads(vshlq_s64(quads(a), vdupq_n_s64(-i64::from(count)))) }
        abs_even(a: Int) -> Int { vabsq_s32(a) }
        odd(a: Int) -> Int { vrev64q_s32(a) }
        merge_low(even: Int, odd: Int) -> Int { vtrn1q_s32(even, odd) }
        merge_high(even: Int, odd: Int) -> Int { vtrn2q_s32(even, odd) }
        to_float(a: Int) -> float32x4_t { vcvtq_f32_s32(a) }
        mul_float(a: float32x4_t, b: float32x4_t) -> float32x4_t { vmulq_f32(a, b) }
        fused_sub(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t { vfmsq_f32(c, a, b) }
        abs_float(a: float32x4_t) -> float32x4_t { vabsq_f32(a) }
        at_least(a: float32x4_t, b: float32x4_t) -> uint32x4_t { vcgeq_f32(a, b) }
        less(a: float32x4_t, b: float32x4_t) -> uint32x4_t { vcltq_f32(a, b) }
        either(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vorrq_u32(a, b) }
        mask_bits(mask: uint32x4_t) -> Int { vreinterpretq_s32_u32(mask) }
        mask_of(bits: Int) -> uint32x4_t { vreinterpretq_u32_s32(bits) }
        choose32(mask: uint32x4_t, a: Int, b: Int) -> Int { vbslq_s32(mask, a, b) }
        reciprocal(o: Int) -> float32x4_t { reciprocal(o) }
        share(t: Int, reciprocal: float32x4_t, o: Int) -> Int { share(t, reciprocal, o) }
        grown(a: Int, gain: f64) -> Int { grown(a, gain) }
    }
}
