//! Kinds of samples: how a pair of rows becomes planes of words, and how filtered planes become moments again.
//!
//! Two consecutive rows are put into one lane per column, so that a dot product filters down the columns. The planes
//! are chosen so that all arithmetic stays in 16-bit products and 32-bit sums, and so that the sums lead back to the
//! exact moments. They are linear in each other:
//!
//! - Bytes: x² = x(x - 256) + 256·x. The product is between -2^14 and 0, so that the two rows at the same distance from the
//!   window's centre can be added before they are multiplied. x less 128 is kept as multiples of 128, for which there is room as
//!   well; with taps that are doubled, its sum is the 256·x that squares need, and its high word is the mean. xy has no bit to
//!   spare: less 2^15 it is filtered pair by pair, which takes as many operations, and nothing has to be put together.
//! - 9 to 14 bits: with x' = x - c, x² = x'(x' + 1) + (2c - 1)·x' + c², and xy = (x' + 1)·y' + c·x' + (c - 1)·y' + c². The
//!   products x'(x' + 1) and (x' + 1)·y' need one bit less than x'² and x'y' do, again for the sake of adding two rows first.
//! - 16 bits: words, and products as two words, less 2^15 each.

use super::vertical::{folded, plain, symmetric, thinned};
use crate::simd::{Vector, Words};
use crate::vif::SCALES;

/// Planes of the kind that has most: means and products as two words each.
pub const MAX_PLANES: usize = 8;

/// The sums of four rows.
pub type Four<S> = [<S as Vector>::Int; 4];

/// A block of row pairs, from the first to the last that the four rows in hand look at.
pub type Pairs<'a> = [&'a [i16]; 10];

/// What products are too large by after the filter down the columns: the rounding of the means, which are a part of them. The
/// filter along the rows takes it off.
pub const SURPLUS: i32 = 1 << 15;

pub trait Kind: Copy + Sync {
    type Sample: Words;
    const PLANES: usize;

    /// Bits that no word may have; zero where all words are samples.
    fn forbidden(self) -> i16 {
        0
    }

    /// The planes of a pair of rows.
    fn expand<S: Vector>(self, s: S, reference: S::Int, distorted: S::Int) -> [S::Int; MAX_PLANES];

    /// The sums from which the means of plane 0 or 1 are taken, rounding included; and, unless this is the last scale, the sums of
    /// the first and the third row for the next one.
    fn mean<S: Vector, const SCALE: usize, const NEXT: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
    ) -> (Four<S>, [S::Int; 2]);

    /// The means of the even and the odd columns in their order, less 2^15.
    fn mean_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int;

    /// The start value of a sum over plane 0 or 1 for the next scale, rounding included.
    fn thin_start<S: Vector>(self, s: S) -> S::Int;

    /// The next scale's words from such sums of the even and the odd columns, less 2^15.
    fn thin_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int;

    /// One of the products (reference squared, distorted squared, both), less 2^31 and plus [`SURPLUS`]. `at` is the block's
    /// first word; `means` are the sums from which the means of both factors are taken.
    fn product<S: Vector, const SCALE: usize, const WHICH: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
        means: [&Four<S>; 2],
    ) -> Four<S>;
}

/// The lanes of the even and the odd columns, shifted down by less than 16, as words in their order.
#[inline(always)]
fn shifted_words<S: Vector>(s: S, even: S::Int, odd: S::Int, shift: u32) -> S::Int {
    s.pick_words(s.shr32(even, shift), s.shl32(odd, 16 - shift))
}

/// 8 bits: products fit one word.
#[derive(Clone, Copy, Debug)]
pub struct Bytes;

impl Kind for Bytes {
    type Sample = u8;
    const PLANES: usize = 5;

    #[inline(always)]
    fn expand<S: Vector>(self, s: S, reference: S::Int, distorted: S::Int) -> [S::Int; MAX_PLANES] {
        let (x, y) = (reference, distorted);
        let (centre, range, bias) = (s.splat16(1 << 14), s.splat16(256), s.splat16(i16::MIN));
        let none = s.zero();
        [
            s.sub16(s.shl16(x, 7), centre),
            s.sub16(s.shl16(y, 7), centre),
            s.mul_low16(x, s.sub16(x, range)),
            s.mul_low16(y, s.sub16(y, range)),
            s.xor(s.mul_low16(x, y), bias),
            none,
            none,
            none,
        ]
    }

    #[inline(always)]
    fn mean<S: Vector, const SCALE: usize, const NEXT: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
    ) -> (Four<S>, [S::Int; 2]) {
        folded::<S, 2, true>(s, pairs, at, [s.splat32(1 << 15); 4], [self.thin_start(s); 2])
    }

    #[inline(always)]
    fn mean_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        s.transpose_words([even, odd])[1]
    }

    #[inline(always)]
    fn thin_start<S: Vector>(self, s: S) -> S::Int {
        s.splat32(1 << 14)
    }

    #[inline(always)]
    fn thin_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        shifted_words(s, even, odd, 15)
    }

    #[inline(always)]
    fn product<S: Vector, const SCALE: usize, const WHICH: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
        means: [&Four<S>; 2],
    ) -> Four<S> {
        let plane = at + (2 + WHICH) * S::WORDS;
        if WHICH == 2 {
            let [sums] = plain::<S, SCALE, 1>(s, pairs, [plane], [s.splat32(SURPLUS)]);
            return sums;
        }
        symmetric::<S, 1>(s, pairs, plane, *means[0])
    }
}

/// 9 to 14 bits: products as two words of half their bits.
#[derive(Clone, Copy, Debug)]
pub struct Deep {
    pub depth: u32,
}

impl Deep {
    /// Products are shifted by this much after the vertical filter.
    fn shift(self) -> u32 {
        2 * (self.depth - 8)
    }
}

impl Kind for Deep {
    type Sample = u16;
    const PLANES: usize = 8;

    fn forbidden(self) -> i16 {
        -1 << self.depth
    }

    #[inline(always)]
    fn expand<S: Vector>(self, s: S, reference: S::Int, distorted: S::Int) -> [S::Int; MAX_PLANES] {
        let half = self.depth - 1;
        let (centre, one) = (s.splat16(1 << half), s.splat16(1));
        let (x, y) = (s.sub16(reference, centre), s.sub16(distorted, centre));
        let (x1, y1) = (s.add16(x, one), s.add16(y, one));
        // Shifted by 16 - half in all, a product's high word is the product shifted down by half.
        let up = |v| s.shl16(v, 16 - self.depth);
        let (x_up, y_up) = (up(x), up(y));
        let (x1_up, y1_up) = (s.add16(x1, x1), s.add16(y1, y1));
        let low = s.splat16((1 << half) - 1);
        [
            x,
            y,
            s.mul_high16(x_up, x1_up),
            s.and(s.mul_low16(x, x1), low),
            s.mul_high16(y_up, y1_up),
            s.and(s.mul_low16(y, y1), low),
            s.mul_high16(y_up, x1_up),
            s.and(s.mul_low16(y, x1), low),
        ]
    }

    #[inline(always)]
    fn mean<S: Vector, const SCALE: usize, const NEXT: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
    ) -> (Four<S>, [S::Int; 2]) {
        let start = self.thin_start(s);
        folded::<S, 1, true>(s, pairs, at, [start; 4], [start; 2])
    }

    #[inline(always)]
    fn mean_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        shifted_words(s, even, odd, self.depth)
    }

    #[inline(always)]
    fn thin_start<S: Vector>(self, s: S) -> S::Int {
        s.splat32(1 << (self.depth - 1))
    }

    #[inline(always)]
    fn thin_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        self.mean_words(s, even, odd)
    }

    #[inline(always)]
    fn product<S: Vector, const SCALE: usize, const WHICH: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
        means: [&Four<S>; 2],
    ) -> Four<S> {
        let up = 15 - self.depth;
        // c² and the 2^31 that is taken off; what the means' rounding adds is the surplus. All of it passes through the shift.
        let high_start = s.splat32(((1 << 30) + i32::MIN) >> up);
        let low_start = s.splat32((1 << (self.depth - 1)) + (1 << (self.shift() - 1)));
        let plane = at + (2 + 2 * WHICH) * S::WORDS;
        let high = symmetric::<S, 1>(s, pairs, plane, [high_start; 4]);
        let low = symmetric::<S, 1>(s, pairs, plane + S::WORDS, [low_start; 4]);
        let mut sums = high;
        for row in 0..4 {
            let (x, y) = (means[0][row], means[1][row]);
            let upper = s.shl32(s.add32(high[row], s.add32(x, y)), up);
            sums[row] = s.add32(upper, s.sra32(s.sub32(low[row], y), self.shift()));
        }
        sums
    }
}

/// 16 bits, and the pictures of the coarser scales: products as high and low word.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Kind for Full {
    type Sample = u16;
    const PLANES: usize = 8;

    #[inline(always)]
    fn expand<S: Vector>(self, s: S, reference: S::Int, distorted: S::Int) -> [S::Int; MAX_PLANES] {
        let (x, y) = (reference, distorted);
        let bias = s.splat16(i16::MIN);
        [
            s.xor(x, bias),
            s.xor(y, bias),
            s.xor(s.mul_high_u16(x, x), bias),
            s.xor(s.mul_low16(x, x), bias),
            s.xor(s.mul_high_u16(y, y), bias),
            s.xor(s.mul_low16(y, y), bias),
            s.xor(s.mul_high_u16(x, y), bias),
            s.xor(s.mul_low16(x, y), bias),
        ]
    }

    #[inline(always)]
    fn mean<S: Vector, const SCALE: usize, const NEXT: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
    ) -> (Four<S>, [S::Int; 2]) {
        let start = self.thin_start(s);
        let [sums] = plain::<S, SCALE, 1>(s, pairs, [at], [start]);
        let thin = if NEXT < SCALES { thinned::<S, SCALE, NEXT>(s, pairs, at, start) } else { [start; 2] };
        (sums, thin)
    }

    #[inline(always)]
    fn mean_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        s.transpose_words([even, odd])[1]
    }

    #[inline(always)]
    fn thin_start<S: Vector>(self, s: S) -> S::Int {
        s.splat32(1 << 15)
    }

    #[inline(always)]
    fn thin_words<S: Vector>(self, s: S, even: S::Int, odd: S::Int) -> S::Int {
        self.mean_words(s, even, odd)
    }

    #[inline(always)]
    fn product<S: Vector, const SCALE: usize, const WHICH: usize>(
        self,
        s: S,
        pairs: &Pairs<'_>,
        at: usize,
        _means: [&Four<S>; 2],
    ) -> Four<S> {
        let plane = at + (2 + 2 * WHICH) * S::WORDS;
        // The low words' bias is put back, and half is added: what is left above them is a carry into the high words.
        let start = [s.splat32(SURPLUS), s.splat32(i32::MIN + (1 << 15))];
        let [high, low] = plain::<S, SCALE, 2>(s, pairs, [plane, plane + S::WORDS], start);
        let mut sums = high;
        for row in 0..4 {
            sums[row] = s.add32(high[row], s.shr32(low[row], 16));
        }
        sums
    }
}
