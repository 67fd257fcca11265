//! The kernel in vectors of any width.
//!
//! # What is computed
//!
//! libvmaf's `motion_score`: Σ |blur(earlier - current)|, the SAD of two blurred frames. The blur is linear, so the frames
//! are subtracted first and blurred once. Five taps down the columns, rounded and
//! shifted by the bit depth, then five along the row, rounded and shifted by 16.
//!
//! # How
//!
//! Two rows of differences are interleaved into one lane per column, so that a dot product takes two rows (or two columns,
//! along a row) at a time. The window of an even row covers three pairs with a zero at the end, that of an odd row three with
//! a zero in front; so the same three pairs make two rows.
//!
//! # Why it is exact
//!
//! Differences of samples below 16 bits are signed words, and taps sum to 2^16, so that sums fit 32 bits. A blurred column
//! fits 16 bits unless the picture changes by half of its range; a row with such a change is seen by its bits
//! ([`Extent`]) and left to the plain kernel, as are rows without any change, which add nothing. A lane's sum of absolute
//! values over a row gets two numbers below 2^16 per block: 32 bits suffice for rows of 2^18 columns.
//!
//! Words with more bits than the depth says are no samples; they are seen by the OR of all words, and the frame is left to
//! the plain kernel.

use std::ops::Range;

use visus_video::Plane;

use super::scalar::{self, Row, TAPS, mirrored};
use crate::simd::{Lines, Vector, Words, load_words};

/// Pictures with a shorter side than this are left to the plain kernel.
pub const SMALLEST_SIDE: usize = 16;

/// Columns in front of a row: room for those that are mirrored, and a whole cache line.
const MARGIN: usize = 32;
const RADIUS: usize = 2;

/// Everything a frame needs, allocated once.
#[derive(Debug)]
pub struct Scratch {
    /// Three pairs of rows that follow each other, interleaved.
    pairs: [Lines<i16>; 3],
    /// The two rows that the middle pair becomes, blurred down the columns.
    rows: [Lines<i16>; 2],
    /// For rows that are left to the plain kernel.
    pub plain: Row,
}

impl Scratch {
    /// For rows of `width` and vectors of `words`.
    pub fn new(width: usize, words: usize) -> Self {
        let blocks = width.next_multiple_of(words);
        Self {
            pairs: std::array::from_fn(|_| Lines::new(2 * blocks)),
            rows: std::array::from_fn(|_| Lines::new(MARGIN + blocks + MARGIN)),
            plain: Row::new(width),
        }
    }
}

/// Taps for two words each: for an output at an even place, and for the one after it.
const EVEN: [i32; 3] = [two(TAPS[0], TAPS[1]), two(TAPS[2], TAPS[3]), two(TAPS[4], 0)];
const ODD: [i32; 3] = [two(0, TAPS[0]), two(TAPS[1], TAPS[2]), two(TAPS[3], TAPS[4])];

const fn two(low: i32, high: i32) -> i32 {
    low | high << 16
}

/// What came out of blurring a row down its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Fits words.
    Small,
    Large,
}

/// See [`scalar::blurred_difference`]; the first row must be an even one, and the last as well unless it is the picture's
/// last. `None` if a sample has more bits than the depth, which must be below 16.
#[inline(always)]
pub fn blurred_difference<S: Vector, T: Words>(
    s: S,
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    of: Range<usize>,
    depth: u32,
    scratch: &mut Scratch,
) -> Option<u64> {
    let depth = if size_of::<T>() == 1 { 8 } else { depth };
    let Scratch { pairs, rows, plain } = scratch;
    let height = current.height();
    let pair = |number: isize| {
        let at = |row| mirrored(0, row, height);
        [at(2 * number), at(2 * number + 1)].map(|y| [earlier.row(y), current.row(y)])
    };
    let first = of.start as isize / 2;
    let mut seen = s.zero();
    for (number, out) in (first - 1..).zip(&mut pairs[1..]) {
        let fresh = Fresh { rows: pair(number), soon: pair(number + 1) };
        for (block, out) in out.chunks_exact_mut(2 * S::WORDS).enumerate() {
            seen = s.or(seen, fresh.expand(s, block * S::WORDS, out).1);
        }
    }
    let mut sum = 0;
    for number in of.start / 2..of.end.div_ceil(2) {
        pairs.rotate_left(1);
        let fresh = Fresh { rows: pair(number as isize + 1), soon: pair(number as isize + 2) };
        let (samples, changes) = vertical(s, pairs, &fresh, depth, rows);
        seen = s.or(seen, samples);
        for (second, change) in changes.into_iter().enumerate() {
            let y = 2 * number + second;
            sum += match change {
                _ if y == height => 0,
                Change::None => 0,
                Change::Small => horizontal(s, &mut rows[second], current.width()),
                Change::Large => scalar::blurred_row(earlier, current, y, depth, plain),
            };
        }
    }
    let forbidden = if size_of::<T>() == 1 { 0 } else { -1 << depth };
    (!s.any(s.and(seen, s.splat16(forbidden)))).then_some(sum)
}

/// The rows of a pair, each of the earlier and of the current picture.
type Rows<'a, T> = [[&'a [T]; 2]; 2];

/// A pair of rows that is read, and the one after it.
struct Fresh<'a, T> {
    rows: Rows<'a, T>,
    soon: Rows<'a, T>,
}

impl<T: Words> Fresh<'_, T> {
    /// Interleaves the differences of a block of columns; returns them, and all bits that samples have. The rows that come next are
    /// asked for: they most likely lie in main memory.
    #[inline(always)]
    fn expand<S: Vector>(&self, s: S, at: usize, out: &mut [i16]) -> ([S::Int; 2], S::Int) {
        let [[earlier, current], [next_earlier, next_current]] = self.rows;
        if (at * size_of::<T>()).is_multiple_of(64) {
            s.prefetch(self.soon[0][0], at);
            s.prefetch(self.soon[0][1], at);
            s.prefetch(self.soon[1][0], at);
            s.prefetch(self.soon[1][1], at);
        }
        let (a, b) = (load_words(s, earlier, at), load_words(s, current, at));
        let (c, d) = (load_words(s, next_earlier, at), load_words(s, next_current, at));
        let (first, second) = (s.sub16(a, b), s.sub16(c, d));
        let [low, high] = s.interleave(first, second);
        s.store(out, 0, low);
        s.store(out, S::WORDS, high);
        let seen = if size_of::<T>() > 1 { s.or(s.or(a, b), s.or(c, d)) } else { s.zero() };
        ([low, high], seen)
    }
}

/// The window over three vectors of pairs.
#[inline(always)]
fn filtered<S: Vector>(s: S, start: S::Int, pairs: [S::Int; 3], taps: [i32; 3]) -> S::Int {
    let first = s.dot(start, pairs[0], s.splat32(taps[0]));
    s.dot(s.dot(first, pairs[1], s.splat32(taps[1])), pairs[2], s.splat32(taps[2]))
}

/// Reads the last pair and blurs the two rows of the middle one down their columns. Returns all bits that samples have, too.
#[inline(always)]
fn vertical<S: Vector, T: Words>(
    s: S,
    pairs: &mut [Lines<i16>; 3],
    fresh: &Fresh<'_, T>,
    depth: u32,
    rows: &mut [Lines<i16>; 2],
) -> (S::Int, [Change; 2]) {
    let [above, here, below] = pairs;
    let pairs = above.chunks_exact(2 * S::WORDS).zip(here.chunks_exact(2 * S::WORDS));
    let below = below.chunks_exact_mut(2 * S::WORDS);
    let [even, odd] = rows.each_mut().map(|row| row[MARGIN..].chunks_exact_mut(S::WORDS));
    let mut extents = [Extent::new(s), Extent::new(s)];
    let mut seen = s.zero();
    for (block, ((((above, here), below), even), odd)) in pairs.zip(below).zip(even).zip(odd).enumerate() {
        let (below, samples) = fresh.expand(s, block * S::WORDS, below);
        seen = s.or(seen, samples);
        let low = [s.load(above, 0), s.load(here, 0), below[0]];
        let high = [s.load(above, S::WORDS), s.load(here, S::WORDS), below[1]];
        s.store(even, 0, extents[0].blurred(s, low, high, EVEN, depth));
        s.store(odd, 0, extents[1].blurred(s, low, high, ODD, depth));
    }
    (seen, [extents[0].change(s), extents[1].change(s)])
}

/// How far the numbers of a row reach.
struct Extent<S: Vector> {
    /// All bits that there are.
    any: S::Int,
    /// The same of the numbers plus 2^15: no bits above the low word if all of them fit a word.
    lifted: S::Int,
}

impl<S: Vector> Extent<S> {
    #[inline(always)]
    fn new(s: S) -> Self {
        Self { any: s.zero(), lifted: s.zero() }
    }

    /// A block of a row; words that do not fit mean nothing.
    #[inline(always)]
    fn blurred(&mut self, s: S, low: [S::Int; 3], high: [S::Int; 3], taps: [i32; 3], depth: u32) -> S::Int {
        let start = s.splat32(1 << (depth - 1));
        let low = s.sra32(filtered(s, start, low, taps), depth);
        let high = s.sra32(filtered(s, start, high, taps), depth);
        let lift = s.splat32(1 << 15);
        self.any = s.or(self.any, s.or(low, high));
        self.lifted = s.or(self.lifted, s.or(s.add32(low, lift), s.add32(high, lift)));
        s.join([low, high])
    }

    #[inline(always)]
    fn change(&self, s: S) -> Change {
        if s.any(s.and(self.lifted, s.splat32(-1 << 16))) {
            Change::Large
        } else if s.any(self.any) {
            Change::Small
        } else {
            Change::None
        }
    }
}

/// Blurs along a row and sums the absolute values.
#[inline(always)]
fn horizontal<S: Vector>(s: S, row: &mut [i16], width: usize) -> u64 {
    for distance in 1..=RADIUS {
        row[MARGIN - distance] = row[MARGIN + distance];
        row[MARGIN + width - 1 + distance] = row[MARGIN + width - 1 - distance];
    }
    let window = &row[MARGIN - RADIUS..][..width + 2 * RADIUS];
    let blocks = width / S::WORDS;
    // A lane gets two numbers below 2^16 per block: 32 bits suffice for rows of 2^18 columns.
    let (half, mut sum) = (s.splat32(1 << 15), s.zero());
    for block in 0..blocks {
        let window = &window[block * S::WORDS..][..S::WORDS + 2 * RADIUS];
        let pairs = [s.load(window, 0), s.load(window, 2), s.load(window, 4)];
        let even = s.sra32(filtered(s, half, pairs, EVEN), 16);
        let odd = s.sra32(filtered(s, half, pairs, ODD), 16);
        sum = s.add32(sum, s.add32(s.abs32(even), s.abs32(odd)));
    }
    let rest = window[blocks * S::WORDS..].windows(TAPS.len());
    s.sum32(sum) as u64 + rest.map(blurred_pixel).sum::<u64>()
}

fn blurred_pixel(window: &[i16]) -> u64 {
    let sum: i32 = TAPS.iter().zip(window).map(|(tap, value)| tap * i32::from(*value)).sum();
    u64::from(((sum + (1 << 15)) >> 16).unsigned_abs())
}
