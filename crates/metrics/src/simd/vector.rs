//! The operations that integer kernels are written in, once for all vector widths.
//!
//! A kernel is a generic function over a [`Vector`]; each CPU level brings its own implementation. The value that
//! implements it is a proof: it can only be made where the level was detected, so its methods are safe to call. They
//! are inlined into whatever calls them and must end up inside a `#[target_feature]` function of their level: each
//! metric's `avx512.rs`, `avx2.rs` and `neon.rs` hold those.
//!
//! One register type serves words (16 bits) and lanes (32 bits); the name of an operation says what it sees.

use super::Number;

/// Vectors of one CPU level. `WORDS` is twice `LANES`.
///
/// Where words are widened to lanes, they are zipped: of two vectors of words, [`zip_low`](Vector::zip_low) and
/// [`zip_high`](Vector::zip_high) make two vectors of word pairs whose order inside the vectors is the level's own
/// business; [`narrow`](Vector::narrow) and [`split`](Vector::split) undo it.
pub trait Vector: Copy + Send + 'static {
    /// A register of integers.
    type V: Copy;
    /// Half a register of integers.
    type Half: Copy;
    /// One truth value per lane.
    type Mask: Copy;
    /// A register of 32-bit floats.
    type F: Copy;
    /// A table of `ENTRIES` floats that one instruction can look up.
    type Table: Copy;

    const LANES: usize;
    const WORDS: usize = 2 * Self::LANES;
    /// 8 or 16.
    const ENTRIES: usize;
    /// 32 of them, not 16.
    const MANY_REGISTERS: bool = true;

    fn zero(self) -> Self::V;
    fn splat16(self, value: i16) -> Self::V;
    fn splat32(self, value: i32) -> Self::V;

    /// A vector's worth of numbers, from `at` on.
    fn load<T: Number>(self, values: &[T], at: usize) -> Self::V;
    fn store<T: Number>(self, values: &mut [T], at: usize, vector: Self::V);
    /// `WORDS` bytes as words.
    fn load_bytes(self, values: &[u8], at: usize) -> Self::V;
    /// The low words of all lanes, which fit 16 bits.
    fn store_words(self, values: &mut [u16], at: usize, lanes: Self::V);
    /// Asks for the cache line of a number that will be read soon.
    fn prefetch<T: Number>(self, values: &[T], at: usize);

    /// Keeps the compiler from moving loads across: a kernel that does one thing after the other needs fewer registers
    /// than one that does both at the same time.
    fn in_order(self);

    fn zip_low(self, low: Self::V, high: Self::V) -> Self::V;
    fn zip_high(self, low: Self::V, high: Self::V) -> Self::V;
    /// Lanes that fit `i16`, from zipped order to a vector of words.
    fn narrow(self, low: Self::V, high: Self::V) -> Self::V;
    /// All low words and all high words, from zipped order.
    fn split(self, low: Self::V, high: Self::V) -> (Self::V, Self::V);
    /// In each lane, the low word of `low` and the high word of `high`.
    fn pick_words(self, low: Self::V, high: Self::V) -> Self::V;

    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;

    fn add16(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub16(self, a: Self::V, b: Self::V) -> Self::V;
    fn shl16(self, a: Self::V, count: u32) -> Self::V;
    /// The low words of the products.
    fn mul_low16(self, a: Self::V, b: Self::V) -> Self::V;
    /// The high words of the signed products.
    fn mul_high16(self, a: Self::V, b: Self::V) -> Self::V;
    /// The high words of the unsigned products.
    fn mul_high_u16(self, a: Self::V, b: Self::V) -> Self::V;
    /// `sum` plus, in each lane, the signed products of the two low and of the two high words. Wraps.
    fn dot(self, sum: Self::V, a: Self::V, b: Self::V) -> Self::V;

    fn add32(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub32(self, a: Self::V, b: Self::V) -> Self::V;
    fn max32(self, a: Self::V, b: Self::V) -> Self::V;
    fn min32(self, a: Self::V, b: Self::V) -> Self::V;
    fn abs32(self, a: Self::V) -> Self::V;
    fn shl32(self, a: Self::V, count: u32) -> Self::V;
    /// Zeros from above.
    fn shr32(self, a: Self::V, count: u32) -> Self::V;
    /// Signs from above.
    fn sra32(self, a: Self::V, count: u32) -> Self::V;
    /// The unsigned product, divided by 2^32 and rounded.
    fn mul_scaled32(self, a: Self::V, b: Self::V) -> Self::V;

    fn greater32(self, a: Self::V, b: Self::V) -> Self::Mask;
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether the mask is set anywhere.
    fn is_any(self, mask: Self::Mask) -> bool;
    /// `a`, plus `b` where the mask is set.
    fn add_where(self, a: Self::V, mask: Self::Mask, b: Self::V) -> Self::V;
    /// Whether any bit is set.
    fn any(self, a: Self::V) -> bool;
    /// Lanes where the mask is set; zero elsewhere.
    fn keep(self, mask: Self::Mask, a: Self::V) -> Self::V;

    /// The sum of all lanes.
    fn sum32(self, a: Self::V) -> i64;
    /// Adds unsigned lanes to a register of 64-bit sums.
    fn add_wide(self, sums: Self::V, lanes: Self::V) -> Self::V;
    fn sum64(self, sums: Self::V) -> u64;

    /// Non-negative lanes as floats whose bits are exact down to the 15th below the leading one; what follows may be
    /// cut or rounded, but never upwards into those.
    fn leading_bits(self, a: Self::V) -> Self::V;
    fn table(self, values: &[f32]) -> Self::Table;
    /// The entries at the lanes' lowest bits (as many as the table needs; higher ones are ignored).
    fn look_up(self, table: Self::Table, index: Self::V) -> Self::F;
    fn float(self, bits: Self::V) -> Self::F;
    fn bits(self, float: Self::F) -> Self::V;
    fn splat_float(self, value: f32) -> Self::F;
    fn add_float(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a·b + c`, rounded once.
    fn fused(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;

    /// `LANES / 2` integers, from `at` on.
    fn load_half(self, values: &[i32], at: usize) -> Self::Half;
    fn store_half(self, values: &mut [i32], at: usize, half: Self::Half);
    /// In double precision, each step rounded on its own: with the gain `g = covariance / (variance + epsilon)`, the
    /// integer parts of `max(other, 0) - g·covariance` and of `min(g, limit)²·variance`. Lanes whose results do not fit
    /// `i32` are undefined.
    fn regress(
        self,
        variance: Self::Half,
        other: Self::Half,
        covariance: Self::Half,
        epsilon: f64,
        limit: f64,
    ) -> (Self::Half, Self::Half);
}
