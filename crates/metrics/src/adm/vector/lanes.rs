//! The operations that the vector kernels are written in. A CPU level provides them (`avx512`, `avx2`, `neon`); what it
//! means to combine them is said once, in `short` and `long`.
//!
//! A value of an implementing type is proof that the processor has the instructions, so the operations are safe. They are
//! fast only where they are inlined into [`Lanes::run`].

use std::fmt::Debug;

use crate::simd::Number;

/// How a level without rounding modes rounds halves up, as [`Lanes::share`] wants it: a small term is added, which lifts
/// halves above the middle and changes nothing else, and then the large term, whose last bit is the one rounded to.
///
/// First to multiples of 2^-15: a quotient of at most 24 bits times an integer has no bits below 2^-47.
#[allow(dead_code)]
pub const TO_SHARE: (f64, f64) = ((3u64 << 36) as f64, 1.0 / (1u64 << 48) as f64);
/// Then to integers, which are the lower half of the sum's bits: a share times an integer has no bits below 2^-15.
#[allow(dead_code)]
pub const TO_INTEGER: (f64, f64) = ((3u64 << 51) as f64, 1.0 / (1u64 << 17) as f64);

/// A CPU level's registers. Words have 16 bits, double words 32, quad words 64; operations name the width of the lanes
/// they work on and wrap unless they say otherwise.
pub trait Lanes: Copy + Debug + Send + 'static {
    /// A register of integers.
    type Int: Copy;
    /// A register of single-precision numbers, as many as double words.
    type Float: Copy;
    /// A truth value for each double word.
    type Mask: Copy;

    /// Words in a register.
    const WORDS: usize;
    /// Double words in a register.
    const DOUBLES: usize = Self::WORDS / 2;
    /// What [`Lanes::shift64`] wants added before: nothing, or 2^63 where the level can only shift unsigned numbers. The
    /// results are then larger by that bias, shifted.
    const SHIFT_BIAS: i64;

    /// Runs a kernel, compiled for this level if it is inlined.
    fn run<R>(self, kernel: impl FnOnce() -> R) -> R;

    // Memory.
    fn load<T: Number>(self, row: &[T], at: usize) -> Self::Int;
    fn store<T: Number>(self, row: &mut [T], at: usize, value: Self::Int);
    /// Bytes as words.
    fn load_bytes(self, row: &[u8], at: usize) -> Self::Int;

    // Constants.
    fn splat16(self, value: i16) -> Self::Int;
    fn splat32(self, value: i32) -> Self::Int;
    fn splat64(self, value: i64) -> Self::Int;
    fn splat_float(self, value: f32) -> Self::Float;

    // Bits.
    fn and(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn or(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn xor(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `a` where the mask's bits are set, else `b`.
    fn choose(self, mask: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;

    // Words.
    fn add16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn add_saturating16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn abs16(self, a: Self::Int) -> Self::Int;
    fn min16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn mul16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `a * b >> 16`. Not both may be -32768.
    fn mul_high16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `(a * b + 2^14) >> 15`. Not both may be -32768.
    fn mul_round16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn halve16(self, a: Self::Int) -> Self::Int;
    /// Whether a word is negative.
    fn any_negative16(self, a: Self::Int) -> bool;

    // Double words.
    fn add32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn abs32(self, a: Self::Int) -> Self::Int;
    fn min32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn mul32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn shl32<const BITS: u32>(self, a: Self::Int) -> Self::Int;
    /// Signed.
    fn sar32<const BITS: u32>(self, a: Self::Int) -> Self::Int;
    /// Unsigned.
    fn shr32<const BITS: u32>(self, a: Self::Int) -> Self::Int;
    /// By a number of bits that is known late.
    fn shl32_by(self, a: Self::Int, bits: u32) -> Self::Int;
    /// The sum of the products of the two words of each double word. Not all four may be -32768.
    fn products(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same, added to `sum`.
    fn dot(self, sum: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;

    // Between words and double words.
    /// Words of `a` in the lower halves of double words, those of `b` in the upper ones, in an order of the level's own.
    fn interleave(self, a: Self::Int, b: Self::Int) -> [Self::Int; 2];
    /// Double words that fit a word, as words; undoes the order of `interleave`.
    fn join(self, halves: [Self::Int; 2]) -> Self::Int;
    /// The lower words; undoes the order of `interleave`.
    fn join_low(self, halves: [Self::Int; 2]) -> Self::Int;
    /// The upper words; undoes the order of `interleave`.
    fn join_high(self, halves: [Self::Int; 2]) -> Self::Int;
    /// The lower words of two registers that follow each other.
    fn concat_low(self, first: Self::Int, second: Self::Int) -> Self::Int;
    /// The upper words of two registers that follow each other.
    fn concat_high(self, first: Self::Int, second: Self::Int) -> Self::Int;

    // Quad words. "Even" double words are their lower halves.
    fn add64(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Products of the even double words, signed.
    fn mul_even(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same, unsigned.
    fn mul_even_unsigned(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn shr64<const BITS: u32>(self, a: Self::Int) -> Self::Int;
    /// Unsigned, by a number of bits that is known late.
    fn shr64_by(self, a: Self::Int, bits: u32) -> Self::Int;
    /// Signed, but see [`Lanes::SHIFT_BIAS`].
    fn shift64(self, a: Self::Int, bits: u32) -> Self::Int;
    /// The odd double words in the place of the even ones; what is left in their own place is undefined.
    fn odd(self, a: Self::Int) -> Self::Int;
    /// The even double words of two registers, the second in the odd places.
    fn merge_low(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    /// The odd double words of two registers, the first in the even places.
    fn merge_high(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    fn sum64(self, a: Self::Int) -> i64;

    // Single precision.
    fn to_float(self, a: Self::Int) -> Self::Float;
    fn mul_float(self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`, rounded at least once.
    fn mul_add(self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// `c - a * b`, rounded at least once.
    fn mul_sub(self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    fn abs_float(self, a: Self::Float) -> Self::Float;
    fn at_least(self, a: Self::Float, b: Self::Float) -> Self::Mask;
    fn less(self, a: Self::Float, b: Self::Float) -> Self::Mask;

    // Truth values.
    fn any(self, mask: Self::Mask) -> bool;
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// All bits of a double word where it is true, none where not.
    fn bits(self, mask: Self::Mask) -> Self::Int;
    /// The inverse of `bits`.
    fn mask_of(self, bits: Self::Int) -> Self::Mask;
    fn choose32(self, mask: Self::Mask, a: Self::Int, b: Self::Int) -> Self::Int;

    // What kernels need that has no common form.
    /// One over the size of `o`, rounded to 15 bits; the quotient is cut off after 16 bits if the size is at least 2^14,
    /// and is good to 23 bits below that. It has the sign of `o`; that of zero is undefined.
    fn reciprocal(self, o: Self::Int) -> Self::Float;
    /// `t * reciprocal`, rounded to 15 bits after the point, times `o`, rounded to an integer; halves are rounded up. Exact
    /// if the first product is from 0 to 1; beyond that something on the same side of 0 or `o`. `|t|` and `|o|` must be
    /// at most 2^31 - 2^16. Undefined where `o` is zero.
    fn share(self, t: Self::Int, reciprocal: Self::Float, o: Self::Int) -> Self::Int;
    /// `a * gain` in double precision, cut off to an integer of at most 2^31 - 1 in size.
    fn grown(self, a: Self::Int, gain: f64) -> Self::Int;
}
