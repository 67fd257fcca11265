//! The operations that integer kernels are written in, once for all vector widths.
//!
//! A kernel is a generic function over a [`Vector`]; each CPU level brings its own implementation. The value that
//! implements it is a proof: it can only be made where the level was detected, so its methods are safe to call. They
//! are inlined into whatever calls them and must end up inside a `#[target_feature]` function of their level: each
//! metric's `avx512.rs`, `avx2.rs` and `neon.rs` hold those.
//!
//! One register type serves words (16 bits) and lanes (32 bits); the name of an operation says what it sees.

use std::fmt::Debug;

use super::Number;

/// Numbers for [`Vector::dot_splat`], each as often as an instruction without a splat of its own reads it.
#[derive(Debug)]
#[repr(align(32))]
pub struct Splats<const COUNT: usize>([[i32; 8]; COUNT]);

impl<const COUNT: usize> Splats<COUNT> {
    pub const fn new(numbers: [i32; COUNT]) -> Self {
        let mut splats = [[0; 8]; COUNT];
        let mut index = 0;
        while index < COUNT {
            splats[index] = [numbers[index]; 8];
            index += 1;
        }
        Self(splats)
    }

    /// The number `index`.
    #[cfg(test)]
    pub const fn number(&self, index: usize) -> i32 {
        self.0[index][0]
    }
}

/// Vectors of one CPU level. `WORDS` is twice `LANES`.
///
/// Where words are widened to lanes, they are interleaved: [`interleave`](Vector::interleave) makes two vectors of word
/// pairs of two vectors of words. Their order inside the vectors is the level's own business; [`join`](Vector::join)
/// undoes it. [`transpose_words`](Vector::transpose_words) has the same order at every level.
///
/// Operations wrap unless they say otherwise, and the name of an operation says what lanes it sees: `16`, `32` or `64`.
/// What a single metric needs stands in a trait of its own that builds on this one, such as ADM's.
pub trait Vector: Copy + Debug + Send + 'static {
    /// A register of integers.
    type Int: Copy;
    /// A register of 64-bit floats, half as many as there are lanes.
    type Doubles: Copy;
    /// One truth value per lane.
    type Mask: Copy;
    /// A register of 32-bit floats.
    type Float: Copy;
    /// A table of `ENTRIES` floats that one instruction can look up.
    type Table: Copy;

    const LANES: usize;
    const WORDS: usize = 2 * Self::LANES;
    /// 8 or 16.
    const ENTRIES: usize;
    /// 32 of them, not 16.
    const MANY_REGISTERS: bool = true;

    /// Runs a kernel, compiled for this level if it is inlined.
    fn run<R>(self, kernel: impl FnOnce() -> R) -> R;

    fn zero(self) -> Self::Int;
    fn splat16(self, value: i16) -> Self::Int;
    fn splat32(self, value: i32) -> Self::Int;

    /// A vector's worth of numbers, from `at` on.
    fn load<T: Number>(self, values: &[T], at: usize) -> Self::Int;
    fn store<T: Number>(self, values: &mut [T], at: usize, vector: Self::Int);
    /// `WORDS` bytes as words.
    fn load_bytes(self, values: &[u8], at: usize) -> Self::Int;
    /// The low words of all lanes, which fit 16 bits.
    fn store_words(self, values: &mut [u16], at: usize, lanes: Self::Int);
    /// Asks for the cache line of a number that will be read soon.
    fn prefetch<T: Number>(self, values: &[T], at: usize);

    /// Keeps the compiler from moving loads across: a kernel that does one thing after the other needs fewer registers
    /// than one that does both at the same time.
    fn in_order(self);

    /// Words of `low` in the lower halves of lanes, those of `high` in the upper ones, in an order of the level's own.
    fn interleave(self, low: Self::Int, high: Self::Int) -> [Self::Int; 2];
    /// Lanes that fit `i16` as words; undoes the order of `interleave`. What does not fit is undefined.
    fn join(self, halves: [Self::Int; 2]) -> Self::Int;
    /// In each lane, the low word of `low` and the high word of `high`.
    fn pick_words(self, low: Self::Int, high: Self::Int) -> Self::Int;
    /// The low words of both in the first, the high words of both in the second: words of two rows become lanes of two rows,
    /// those of the even columns and those of the odd ones. The same again undoes it.
    #[inline(always)]
    fn transpose_words(self, [first, second]: [Self::Int; 2]) -> [Self::Int; 2] {
        [self.pick_words(first, self.shl32(second, 16)), self.pick_words(self.shr32(first, 16), second)]
    }

    fn and(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn or(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn xor(self, a: Self::Int, b: Self::Int) -> Self::Int;

    fn add16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn shl16(self, a: Self::Int, count: u32) -> Self::Int;
    /// The low words of the products.
    fn mul_low16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The high words of the signed products.
    fn mul_high16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The high words of the unsigned products.
    fn mul_high_u16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `sum` plus, in each lane, the signed products of the two low and of the two high words. Wraps.
    fn dot(self, sum: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same, but kept in its place among [`pin`](Vector::pin) and [`pin_doubles`](Vector::pin_doubles). With these a kernel says in
    /// what order two independent computations are interleaved; the compiler would finish one before the other.
    #[inline(always)]
    fn dot_pinned(self, sum: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int {
        self.dot(sum, a, b)
    }
    /// The same as [`dot_pinned`](Vector::dot_pinned) with a number of a table in all lanes. The instruction itself reads it
    /// where it can: with AVX2 no register is needed for it, and on Zen 4 splatting it before would take as long as an addition.
    #[inline(always)]
    fn dot_splat<const INDEX: usize, const COUNT: usize>(
        self,
        sum: Self::Int,
        a: Self::Int,
        table: &Splats<COUNT>,
    ) -> Self::Int {
        self.dot_pinned(sum, a, self.splat32(table.0[INDEX][0]))
    }
    /// [`dot`](Vector::dot) with nothing to add to.
    #[inline(always)]
    fn first_dot(self, a: Self::Int, b: Self::Int) -> Self::Int {
        self.dot(self.zero(), a, b)
    }
    /// One turn of a filter along rows: words from `2 * INDEX` on of four planes, with a number of each table for the first and the
    /// second sum of a plane.
    #[inline(always)]
    fn dot_planes<const INDEX: usize, const COUNT: usize>(
        self,
        sums: &mut [[Self::Int; 2]; 4],
        planes: [&[i16]; 4],
        taps: [&Splats<COUNT>; 2],
    ) {
        for plane in 0..4 {
            let words = self.load(planes[plane], 2 * INDEX);
            for parity in 0..2 {
                sums[plane][parity] =
                    self.dot_splat::<INDEX, COUNT>(sums[plane][parity], words, taps[parity]);
            }
        }
    }
    /// Has `a` computed here, neither earlier nor later. Levels that do not implement it leave the order to the compiler.
    #[inline(always)]
    fn pin(self, a: Self::Int) -> Self::Int {
        a
    }
    #[inline(always)]
    fn pin_doubles(self, a: Self::Doubles) -> Self::Doubles {
        a
    }

    fn add32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn min32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn abs32(self, a: Self::Int) -> Self::Int;
    fn shl32(self, a: Self::Int, count: u32) -> Self::Int;
    /// Zeros from above.
    fn shr32(self, a: Self::Int, count: u32) -> Self::Int;
    /// Signs from above.
    fn sra32(self, a: Self::Int, count: u32) -> Self::Int;
    /// The unsigned product, divided by 2^32 and rounded.
    fn mul_scaled32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same less a number.
    #[inline(always)]
    fn mul_scaled32_less(self, a: Self::Int, b: Self::Int, less: i32) -> Self::Int {
        self.sub32(self.mul_scaled32(a, b), self.splat32(less))
    }

    fn greater32(self, a: Self::Int, b: Self::Int) -> Self::Mask;
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether the mask is set anywhere.
    fn is_any(self, mask: Self::Mask) -> bool;
    /// `a`, plus `b` where the mask is set.
    fn add_where(self, a: Self::Int, mask: Self::Mask, b: Self::Int) -> Self::Int;
    /// Whether any bit is set.
    fn any(self, a: Self::Int) -> bool;
    /// Lanes where the mask is set; zero elsewhere.
    fn keep(self, mask: Self::Mask, a: Self::Int) -> Self::Int;

    /// The sum of all lanes.
    fn sum32(self, a: Self::Int) -> i64;
    /// Adds unsigned lanes to a register of 64-bit sums.
    fn add_wide(self, sums: Self::Int, lanes: Self::Int) -> Self::Int;
    fn sum64(self, sums: Self::Int) -> i64;

    /// Non-negative lanes as floats whose bits are exact down to the 15th below the leading one; what follows may be
    /// cut or rounded, but never upwards into those.
    fn leading_bits(self, a: Self::Int) -> Self::Int;
    fn table(self, values: &[f32]) -> Self::Table;
    /// The entries at the lanes' lowest bits (as many as the table needs; higher ones are ignored).
    fn look_up(self, table: Self::Table, index: Self::Int) -> Self::Float;
    fn float(self, bits: Self::Int) -> Self::Float;
    fn bits(self, float: Self::Float) -> Self::Int;
    fn splat_float(self, value: f32) -> Self::Float;
    /// `a·b + c`, rounded once.
    fn fused(self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;

    /// `LANES / 2` integers from `at` on as doubles, pinned as [`pin_doubles`](Vector::pin_doubles) does it.
    fn load_doubles(self, values: &[i32], at: usize) -> Self::Doubles;
    /// The integer parts of two registers of doubles, one behind the other. A negative number may become the integer above or
    /// below it, and one that does not fit `i32` any integer.
    fn store_doubles(self, values: &mut [i32], at: usize, doubles: [Self::Doubles; 2]);
    /// Each step rounded on its own: with the gain `g = covariance / (variance + epsilon)`, `other - g·covariance` and
    /// `min(g, limit)²·variance`.
    fn regress(
        self,
        variance: Self::Doubles,
        other: Self::Doubles,
        covariance: Self::Doubles,
        epsilon: f64,
        limit: f64,
    ) -> [Self::Doubles; 2];
}
