//! NEON: vectors of 4 lanes, and the loads and stores of aarch64 vectors.
//!
//! `load(values, at)` takes as many values as fill the vector, from `at` on, and panics if the slice ends before. No
//! alignment is asked for.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::aarch64::*;

use super::{Number, Vector, operations};
use crate::Level;

/// Numbers that fill a vector.
#[inline]
#[target_feature(enable = "neon")]
pub fn load<T: Number>(values: &[T], at: usize) -> int32x4_t {
    let values = &values[at..at + 16 / size_of::<T>()];
    // SAFETY: the slice covers the vector's bytes exactly, and numbers have no padding.
    vreinterpretq_s32_u8(unsafe { vld1q_u8(values.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "neon")]
pub fn store<T: Number>(values: &mut [T], at: usize, vector: int32x4_t) {
    let values = &mut values[at..at + 16 / size_of::<T>()];
    // SAFETY: the slice covers the vector's bytes exactly, and every bit pattern is a number.
    unsafe { vst1q_u8(values.as_mut_ptr().cast(), vreinterpretq_u8_s32(vector)) }
}

/// Numbers that fill half a vector.
#[inline]
#[target_feature(enable = "neon")]
pub fn load_half<T: Number>(values: &[T], at: usize) -> uint8x8_t {
    let values = &values[at..at + 8 / size_of::<T>()];
    // SAFETY: the slice covers the half's bytes exactly, and numbers have no padding.
    unsafe { vld1_u8(values.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store_half<T: Number>(values: &mut [T], at: usize, half: uint8x8_t) {
    let values = &mut values[at..at + 8 / size_of::<T>()];
    // SAFETY: the slice covers the half's bytes exactly, and every bit pattern is a number.
    unsafe { vst1_u8(values.as_mut_ptr().cast(), half) }
}

/// Proof that this machine has the features of [`Level::Neon`].
#[derive(Clone, Copy, Debug)]
pub struct Neon(());

impl Neon {
    pub fn new(level: Level) -> Option<Self> {
        (level == Level::Neon && Level::available().contains(&level)).then_some(Self(()))
    }
}

type Int = int32x4_t;

#[inline]
#[target_feature(enable = "neon")]
pub fn words(a: Int) -> int16x8_t {
    vreinterpretq_s16_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
pub fn from_words(a: int16x8_t) -> Int {
    vreinterpretq_s32_s16(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn unsigned(a: Int) -> uint32x4_t {
    vreinterpretq_u32_s32(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn from_unsigned(a: uint32x4_t) -> Int {
    vreinterpretq_s32_u32(a)
}

/// The high words of the signed products.
#[inline]
#[target_feature(enable = "neon")]
fn mul_high(a: int16x8_t, b: int16x8_t) -> Int {
    let low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
    from_words(vuzp2q_s16(words(low), words(vmull_high_s16(a, b))))
}

/// The high words of the unsigned products.
#[inline]
#[target_feature(enable = "neon")]
fn mul_high_unsigned(a: uint16x8_t, b: uint16x8_t) -> Int {
    let low = vreinterpretq_s16_u32(vmull_u16(vget_low_u16(a), vget_low_u16(b)));
    from_words(vuzp2q_s16(low, vreinterpretq_s16_u32(vmull_high_u16(a, b))))
}

/// In each lane, the signed products of the two low and of the two high words, added. Wraps.
#[inline]
#[target_feature(enable = "neon")]
pub fn products(a: Int, b: Int) -> Int {
    let (a, b) = (words(a), words(b));
    vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b))
}

/// Entries of a table of eight floats, byte by byte.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(table: uint8x16x2_t, index: uint32x4_t) -> float32x4_t {
    let entry = vmulq_u32(vandq_u32(index, vdupq_n_u32(7)), vdupq_n_u32(0x0404_0404));
    let bytes = vaddq_u32(entry, vdupq_n_u32(0x0302_0100));
    vreinterpretq_f32_u8(vqtbl2q_u8(table, vreinterpretq_u8_u32(bytes)))
}

#[inline]
#[target_feature(enable = "neon")]
fn double(a: int32x2_t) -> float64x2_t {
    vcvtq_f64_s64(vmovl_s32(a))
}

impl Vector for Neon {
    type Int = int32x4_t;
    type Doubles = float64x2_t;
    type Mask = uint32x4_t;
    type Float = float32x4_t;
    type Table = uint8x16x2_t;

    const LANES: usize = 4;
    const ENTRIES: usize = 8;

    operations! {
        zero() -> Int { vdupq_n_s32(0) }
        splat16(value: i16) -> Int { from_words(vdupq_n_s16(value)) }
        splat32(value: i32) -> Int { vdupq_n_s32(value) }
        load_bytes(values: &[u8], at: usize) -> Int {
            vreinterpretq_s32_u16(vmovl_u8(load_half(values, at)))
        }
        store_words(values: &mut [u16], at: usize, lanes: Int) -> () {
            store_half(values, at, vreinterpret_u8_u16(vmovn_u32(unsigned(lanes))))
        }

        interleave(low: Int, high: Int) -> [Int; 2] {
            [from_words(vzip1q_s16(words(low), words(high))), from_words(vzip2q_s16(words(low), words(high)))]
        }
        join(halves: [Int; 2]) -> Int { from_words(vuzp1q_s16(words(halves[0]), words(halves[1]))) }
        transpose_words(rows: [Int; 2]) -> [Int; 2] {{
            let [first, second] = [words(rows[0]), words(rows[1])];
            [from_words(vtrn1q_s16(first, second)), from_words(vtrn2q_s16(first, second))]
        }}
        pick_words(low: Int, high: Int) -> Int { vbslq_s32(vdupq_n_u32(0xffff), low, high) }

        and(a: Int, b: Int) -> Int { vandq_s32(a, b) }
        or(a: Int, b: Int) -> Int { vorrq_s32(a, b) }
        xor(a: Int, b: Int) -> Int { veorq_s32(a, b) }

        add16(a: Int, b: Int) -> Int { from_words(vaddq_s16(words(a), words(b))) }
        sub16(a: Int, b: Int) -> Int { from_words(vsubq_s16(words(a), words(b))) }
        shl16(a: Int, count: u32) -> Int { from_words(vshlq_s16(words(a), vdupq_n_s16(count as i16))) }
        mul_low16(a: Int, b: Int) -> Int { from_words(vmulq_s16(words(a), words(b))) }
        mul_high16(a: Int, b: Int) -> Int { mul_high(words(a), words(b)) }
        mul_high_u16(a: Int, b: Int) -> Int {
            mul_high_unsigned(vreinterpretq_u16_s32(a), vreinterpretq_u16_s32(b))
        }
        dot(sum: Int, a: Int, b: Int) -> Int { vaddq_s32(sum, products(a, b)) }

        add32(a: Int, b: Int) -> Int { vaddq_s32(a, b) }
        sub32(a: Int, b: Int) -> Int { vsubq_s32(a, b) }
        max32(a: Int, b: Int) -> Int { vmaxq_s32(a, b) }
        min32(a: Int, b: Int) -> Int { vminq_s32(a, b) }
        abs32(a: Int) -> Int { vabsq_s32(a) }
        shl32(a: Int, count: u32) -> Int { vshlq_s32(a, vdupq_n_s32(count as i32)) }
        shr32(a: Int, count: u32) -> Int {
            from_unsigned(vshlq_u32(unsigned(a), vdupq_n_s32(-(count as i32))))
        }
        sra32(a: Int, count: u32) -> Int { vshlq_s32(a, vdupq_n_s32(-(count as i32))) }
        mul_scaled32(a: Int, b: Int) -> Int {{
            let (a, b) = (unsigned(a), unsigned(b));
            // Narrowing with a rounding shift is just what is asked for.
            let low = vrshrn_n_u64::<32>(vmull_u32(vget_low_u32(a), vget_low_u32(b)));
            from_unsigned(vcombine_u32(low, vrshrn_n_u64::<32>(vmull_high_u32(a, b))))
        }}

        greater32(a: Int, b: Int) -> uint32x4_t { vcgtq_s32(a, b) }
        is_any(mask: uint32x4_t) -> bool { vmaxvq_u32(mask) != 0 }
        both(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vandq_u32(a, b) }
        add_where(a: Int, mask: uint32x4_t, b: Int) -> Int {
            vaddq_s32(a, from_unsigned(vandq_u32(mask, unsigned(b))))
        }
        any(a: Int) -> bool { vmaxvq_u32(unsigned(a)) != 0 }
        keep(mask: uint32x4_t, a: Int) -> Int { from_unsigned(vandq_u32(mask, unsigned(a))) }

        sum32(a: Int) -> i64 { vaddlvq_s32(a) }
        add_wide(sums: Int, lanes: Int) -> Int {
            vreinterpretq_s32_u64(vpadalq_u32(vreinterpretq_u64_s32(sums), unsigned(lanes)))
        }
        sum64(sums: Int) -> i64 { vaddvq_s64(vreinterpretq_s64_s32(sums)) }

        leading_bits(a: Int) -> Int {{
            // The bit 16 places below the leading one is cleared, so that rounding cannot carry beyond it.
            let cut = vbicq_u32(unsigned(a), vshrq_n_u32::<16>(unsigned(a)));
            vreinterpretq_s32_f32(vcvtq_f32_u32(cut))
        }}
        table(values: &[f32]) -> uint8x16x2_t {{
            let half = |at| vreinterpretq_u8_s32(load(values, at));
            uint8x16x2_t(half(0), half(4))
        }}
        look_up(table: uint8x16x2_t, index: Int) -> float32x4_t { look_up(table, unsigned(index)) }
        float(bits: Int) -> float32x4_t { vreinterpretq_f32_s32(bits) }
        bits(float: float32x4_t) -> Int { vreinterpretq_s32_f32(float) }
        splat_float(value: f32) -> float32x4_t { vdupq_n_f32(value) }
        fused(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t { vfmaq_f32(c, a, b) }

        load_doubles(values: &[i32], at: usize) -> float64x2_t {
            double(vreinterpret_s32_u8(load_half(values, at)))
        }
        store_doubles(values: &mut [i32], at: usize, doubles: [float64x2_t; 2]) -> () {{
            store_half(values, at, vreinterpret_u8_s32(vmovn_s64(vcvtq_s64_f64(doubles[0]))));
            store_half(values, at + 2, vreinterpret_u8_s32(vmovn_s64(vcvtq_s64_f64(doubles[1]))));
        }}
        regress(variance: float64x2_t, other: float64x2_t, covariance: float64x2_t, epsilon: f64, limit: f64)
            -> [float64x2_t; 2] {{
            let gain = vdivq_f64(covariance, vaddq_f64(variance, vdupq_n_f64(epsilon)));
            let noise = vsubq_f64(other, vmulq_f64(gain, covariance));
            let gain = vminq_f64(gain, vdupq_n_f64(limit));
            [noise, vmulq_f64(vmulq_f64(gain, gain), variance)]
        }}
    }

    #[inline(always)]
    fn run<R>(self, kernel: impl FnOnce() -> R) -> R {
        // SAFETY: the features were detected before `self` was made.
        unsafe { run(kernel) }
    }

    #[inline(always)]
    fn load<T: Number>(self, values: &[T], at: usize) -> Int {
        // SAFETY: the features were detected before `self` was made.
        unsafe { load(values, at) }
    }

    #[inline(always)]
    fn store<T: Number>(self, values: &mut [T], at: usize, vector: Int) {
        // SAFETY: the features were detected before `self` was made.
        unsafe { store(values, at, vector) }
    }

    #[inline(always)]
    fn in_order(self) {
        // SAFETY: the assembly is empty. That it might touch memory, which keeps loads in place, is a claim, not a fact.
        unsafe { std::arch::asm!("", options(nostack, preserves_flags)) }
    }

    #[inline(always)]
    fn prefetch<T: Number>(self, values: &[T], at: usize) {
        let address = values.as_ptr().wrapping_add(at);
        // SAFETY: a hint; an address that cannot be read is ignored.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(readonly, nostack, preserves_flags))
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn run<R>(kernel: impl FnOnce() -> R) -> R {
    kernel()
}
