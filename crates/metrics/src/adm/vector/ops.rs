//! What ADM's kernels need beyond [`Vector`]. A CPU level provides it (`avx512`, `avx2`, `neon`); what it means to combine
//! the operations is said once, in `short` and `long`.

use crate::simd::Vector;

/// How a level without rounding modes rounds halves up, as [`AdmVector::share`] wants it: a small term is added, which
/// lifts halves above the middle and changes nothing else, and then the large term, whose last bit is the one rounded to.
///
/// First to multiples of 2^-15: a quotient of at most 24 bits times an integer has no bits below 2^-47.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub const TO_SHARE: (f64, f64) = ((3u64 << 36) as f64, 1.0 / (1u64 << 48) as f64);
/// Then to integers, which are the lower half of the sum's bits: a share times an integer has no bits below 2^-15.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub const TO_INTEGER: (f64, f64) = ((3u64 << 51) as f64, 1.0 / (1u64 << 17) as f64);

/// A CPU level's registers, for ADM.
pub trait AdmVector: Vector {
    /// What [`shift64`](Self::shift64) wants added before: nothing, or 2^63 where the level can only shift unsigned
    /// numbers. The results are then larger by that bias, shifted.
    const SHIFT_BIAS: i64;
    /// Whether magnitudes are weighted and compared by [`add_products`](Self::add_products). With AVX-VNNI that is one operation as well, but
    /// slower by a hundredth than products of 32 bits.
    const DOTS: bool;
    /// Whether [`rounded_sums`](Self::rounded_sums) is defined.
    const ROUNDS_SUMS: bool;

    fn splat64(self, value: i64) -> Self::Int;
    /// `a` where the mask's bits are set, else `b`.
    fn choose(self, mask: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;

    // Words.
    fn add_saturating16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn abs16(self, a: Self::Int) -> Self::Int;
    fn min16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `(a * b + 2^14) >> 15`. Not both may be -32768.
    fn mul_round16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn halve16(self, a: Self::Int) -> Self::Int;
    /// Whether a word is negative.
    fn any_negative16(self, a: Self::Int) -> bool;

    // Lanes.
    fn mul32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The sum of the products of the two words of each lane. Not all four may be -32768.
    fn products(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same as [`dot`](Vector::dot), but on AVX2 without VNNI the compiler is free to arrange it: ADM's filters are short, so that it
    /// can fold their loads into the multiplications.
    fn add_products(self, sum: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;

    // Between words and lanes.
    /// The lower words of [`split`](Vector::split) alone.
    fn join_low(self, halves: [Self::Int; 2]) -> Self::Int;
    /// The upper words of [`split`](Vector::split) alone.
    fn join_high(self, halves: [Self::Int; 2]) -> Self::Int;
    /// The lower words of two vectors that follow each other.
    fn concat_low(self, first: Self::Int, second: Self::Int) -> Self::Int;
    /// The upper words of two vectors that follow each other.
    fn concat_high(self, first: Self::Int, second: Self::Int) -> Self::Int;

    // Pairs of lanes as 64-bit numbers, whose lower halves are the "even" lanes.
    fn add64(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Products of the even lanes, signed.
    fn mul_even(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same, unsigned.
    fn mul_even_unsigned(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Zeros from above.
    fn shr64(self, a: Self::Int, count: u32) -> Self::Int;
    /// Signs from above, but see [`SHIFT_BIAS`](Self::SHIFT_BIAS).
    fn shift64(self, a: Self::Int, count: u32) -> Self::Int;
    /// The odd lanes in the place of the even ones; what is left in their own place is undefined.
    fn odd(self, a: Self::Int) -> Self::Int;
    /// The even lanes of two vectors, the second in the odd places.
    fn merge_low(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    /// The odd lanes of two vectors, the first in the even places.
    fn merge_high(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    /// The sizes of the even lanes. Those of odd lanes are undefined, but zero if the level
    /// [`ROUNDS_SUMS`](Self::ROUNDS_SUMS).
    fn abs_even(self, a: Self::Int) -> Self::Int;

    // Single precision.
    fn to_float(self, a: Self::Int) -> Self::Float;
    fn mul_float(self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `c - a * b`, rounded once.
    fn fused_sub(self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    fn abs_float(self, a: Self::Float) -> Self::Float;
    fn at_least(self, a: Self::Float, b: Self::Float) -> Self::Mask;
    fn less(self, a: Self::Float, b: Self::Float) -> Self::Mask;

    // Truth values.
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// All bits of a lane where it is true, none where not.
    fn mask_bits(self, mask: Self::Mask) -> Self::Int;
    /// The inverse of `mask_bits`.
    fn mask_of(self, bits: Self::Int) -> Self::Mask;
    fn choose32(self, mask: Self::Mask, a: Self::Int, b: Self::Int) -> Self::Int;

    // The steps of the division in `decouple`, which have no common form.
    /// One over the size of `o`, rounded to 15 bits; the quotient is cut off after 16 bits if the size is at least 2^14,
    /// and is good to 23 bits below that. It has the sign of `o`; that of zero is undefined.
    fn reciprocal(self, o: Self::Int) -> Self::Float;
    /// `t * reciprocal`, rounded to 15 bits after the point, times `o`, rounded to an integer; halves are rounded up. Exact
    /// if the first product is from 0 to 1; beyond that something on the same side of 0 or `o`. `|t|` and `|o|` must be
    /// at most 2^31 - 2^16. Undefined where `o` is zero.
    fn share(self, t: Self::Int, reciprocal: Self::Float, o: Self::Int) -> Self::Int;
    /// `start` and the products of `factor`, in units of 2^-32, with the even lanes of three bands, each rounded to the
    /// nearest integer: for both places, merged. Lanes are unsigned and below 2^31, odd lanes zero, and the factor is odd,
    /// so that there are no halves.
    fn rounded_sums(self, sizes: [[Self::Int; 2]; 3], factor: u32, start: i32) -> Self::Int {
        let _ = (sizes, factor, start);
        self.splat32(0)
    }
    /// `a * gain` in double precision, cut off to an integer of at most 2^31 - 1 in size.
    fn grown(self, a: Self::Int, gain: f64) -> Self::Int;
}
