//! What the kernels need of a level's vectors of bytes.

use crate::simd::Number;

/// The widest vector, in bytes.
pub const WIDEST: usize = 64;

/// What a level does with vectors of bytes; *words* are their pairs, *double words* and *quad words* so on.
pub trait Bytes: Copy {
    type Vector: Copy;

    /// Bytes of a vector.
    const LANES: usize;

    fn zero(self) -> Self::Vector;
    fn load<T: Number>(self, values: &[T], at: usize) -> Self::Vector;
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Words of the sum of both bytes, each multiplied by a weight.
    fn weigh_pairs<const LOWER: i8, const UPPER: i8>(self, bytes: Self::Vector) -> Self::Vector;
    /// Words of the upper bytes.
    fn upper(self, bytes: Self::Vector) -> Self::Vector;
    fn add_words(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub_words(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn abs_words(self, words: Self::Vector) -> Self::Vector;
    /// Adds words to sums of double words.
    fn widen(self, sums: Self::Vector, words: Self::Vector) -> Self::Vector;
    /// Absolute differences of bytes.
    fn distance(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Adds absolute differences of bytes to sums of quad words.
    fn add_distances(self, sums: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Adds the squares of bytes up to 127 to sums of double words.
    fn add_squares(self, sums: Self::Vector, bytes: Self::Vector) -> Self::Vector;
    /// Adds the squares of words, which are signed, to sums of double words.
    fn add_word_squares(self, sums: Self::Vector, words: Self::Vector) -> Self::Vector;
    /// Whether a byte is above 127.
    fn any_large(self, bytes: Self::Vector) -> bool;
    fn total_of_doubles(self, sums: Self::Vector) -> u64;
    fn total_of_quads(self, sums: Self::Vector) -> u64;
}
