//! Down the columns: four rows of moments, and two rows of the next scale's picture, per step.
//!
//! # What is computed
//!
//! The vertical half of libvmaf's `vif_statistic_8` and `vif_statistic_16`: for every column the window-weighted sums of
//! x, y, x², y² and xy over 17, 9, 5 or 3 rows (its `mu1`, `mu2`, `ref`, `dis`, `ref_dis`), rounded and shifted as there.
//! And the vertical half of `vif_subsample_rd`, the next scale's window over every second row, from the same samples while
//! they are in registers.
//!
//! # How
//!
//! Rows come in pairs: a column's words of rows 2p and 2p + 1 are put into one 32-bit lane, and a dot product of words
//! (`pmaddwd`, `vpdpwssd`) filters two rows at once. Even columns make one vector, odd ones another ([`Vector::transpose_words`]).
//! What is paired are not the samples but planes of words made of them, once per row pair ([`expand_block`]), and kept in a ring
//! as long as some window reaches them: 5 planes for bytes, 8 for deeper samples. [`Kind`](super::kind) says which, and why the
//! sums lead back to the exact moments.
//!
//! A step makes four rows. With an even number of rows per pair, the window of row 2p begins with a whole pair, that of row
//! 2p + 1 in the middle of one; the taps are arranged once for each ([`Window`]), with a zero where a pair sticks out.
//!
//! For the finest scale, whose window is the longest, [`symmetric`] halves the multiplications: rows at the same distance
//! from the centre have the same tap and are added first. For a pair of rows to meet its mirror image, the latter must be in
//! reverse order, (2p + 2, 2p + 1): a blend of two neighbouring pairs gives it. Four rows of one plane then take 20 dot
//! products, 16 additions and 9 blends instead of 36 dot products. The next scale's window lies around the same centres, so
//! that the same sums of rows serve it: three dot products per row, and nothing else.
//!
//! # Why it is exact
//!
//! The additions before the multiplication must not overflow a word: two of the planes' words fit together, see
//! [`kind`](super::kind). Words that cannot be added safely (products of bytes of two pictures, 16-bit samples) take [`plain`],
//! pair by pair. All sums are 32-bit integers; taps add up to 2^16, so that a weighted sum of signed words fits, and so does
//! one of words of 15 bits with doubled taps.
//!
//! Samples with more bits than the depth says would break these bounds. All words that are read are combined with OR, and
//! a bit that must not be there makes the caller leave the frame to the scalar kernels.
//!
//! # Registers
//!
//! [`folded`] goes from the ends of the window to its centre. At a time it has six pairs, four reversed ones, and six sums: as
//! many as AVX2 has registers, whose taps are therefore read by the multiplications ([`Vector::dot_splat`]). The compiler would
//! like to load the next plane's pairs early and run out of registers; [`Vector::in_order`] keeps planes one after the other.
//! AVX2's `dot` is two instructions in fixed order, since adding products to each other first needs registers too.
//!
//! Each block of columns is finished before the next begins, and its place in the ring is one run of memory per row pair, so
//! that ten streams are read and at most 36 rows written. [`Cells`] checks their bounds once per block.

use super::buffers::{MAX_WORDS, Ring, Rows};
use super::kind::{Four, Kind, Pairs};
use super::window::{FOLDED, FOLDED_PAIRS, FOLDED_THIN, MAX_PAIRS, Window, two_words};
use crate::simd::{Cells, Grid, Splats, Vector, Words};
use crate::vif::SCALES;

/// Rows 2p and 2p + 1 of both pictures.
#[derive(Clone, Copy, Debug)]
pub struct RowPair<'a, T> {
    pub reference: [&'a [T]; 2],
    pub distorted: [&'a [T]; 2],
}

impl<T> RowPair<'_, T> {
    /// How many blocks lie wholly inside the rows.
    fn whole(&self, words: usize) -> usize {
        self.reference[0].len() / words
    }
}

/// The rows of some pairs: four each, those of the reference first.
type PairRows<'a, T, const ROWS: usize> = [&'a [T]; ROWS];

fn rows_of<'a, T, const ROWS: usize>(pairs: &[RowPair<'a, T>]) -> PairRows<'a, T, ROWS> {
    std::array::from_fn(|row| {
        let pair = &pairs[row / 4];
        if row % 4 < 2 { pair.reference[row % 2] } else { pair.distorted[row % 2] }
    })
}

/// The ends of rows that are no multiple of a block, followed by zeros. The loop over blocks looks at them as at any other
/// block; copying them there would cost registers.
struct Ends<T, const ROWS: usize>([[T; MAX_WORDS]; ROWS]);

impl<T: Words, const ROWS: usize> Ends<T, ROWS> {
    fn new(rows: &PairRows<'_, T, ROWS>, words: usize) -> Self {
        let mut ends = [[T::default(); MAX_WORDS]; ROWS];
        for (end, row) in ends.iter_mut().zip(rows) {
            let rest = &row[row.len() / words * words..];
            end[..rest.len()].copy_from_slice(rest);
        }
        Self(ends)
    }

    fn grid(&self) -> Grid<'_, T, ROWS> {
        Grid::of(self.0.each_ref().map(|end| &end[..]))
    }
}

/// Writes the planes of one block of a row pair; returns all bits that its words have.
#[inline(always)]
fn expand_block<S: Vector, K: Kind>(s: S, kind: K, pair: [&[K::Sample]; 4], out: &mut [i16]) -> S::Int {
    let x = [K::Sample::load(s, pair[0], 0), K::Sample::load(s, pair[1], 0)];
    let y = [K::Sample::load(s, pair[2], 0), K::Sample::load(s, pair[3], 0)];
    let (x, y) = (s.transpose_words(x), s.transpose_words(y));
    let low = kind.expand(s, x[0], y[0]);
    let high = kind.expand(s, x[1], y[1]);
    for plane in 0..K::PLANES {
        s.store(out, plane * S::WORDS, low[plane]);
        s.store(out, (K::PLANES + plane) * S::WORDS, high[plane]);
    }
    s.or(s.or(x[0], x[1]), s.or(y[0], y[1]))
}

/// Writes a row pair to its slot of the ring. Says whether all words were samples.
#[inline(always)]
pub fn expand<S: Vector, K: Kind>(
    s: S,
    kind: K,
    pair: &RowPair<'_, K::Sample>,
    number: isize,
    ring: &mut Ring,
) -> bool {
    let length = 2 * K::PLANES * S::WORDS;
    let mut seen = s.zero();
    let blocks = ring.blocks;
    let mut slot = ring.pairs::<1>(number);
    let rows = rows_of::<_, 4>(&[*pair]);
    let ends = Ends::new(&rows, S::WORDS);
    let (rows, ends) = (Grid::of(rows), ends.grid());
    let whole = pair.whole(S::WORDS);
    for block in 0..blocks {
        let mut cell = slot.at(block * length, length);
        let (rows, at) = if block < whole { (&rows, block * S::WORDS) } else { (&ends, 0) };
        seen = s.or(seen, expand_block(s, kind, rows.at(at, S::WORDS), cell.get_mut(0)));
    }
    !s.any(s.and(seen, s.splat16(kind.forbidden())))
}

/// The finest scale's window over four rows, at one plane of a block. Taps are multiplied by `FACTOR`, 1 or 2.
#[inline(always)]
pub fn symmetric<S: Vector, const FACTOR: usize>(
    s: S,
    pairs: &Pairs<'_>,
    at: usize,
    start: Four<S>,
) -> Four<S> {
    folded::<S, FACTOR, false>(s, pairs, at, start, [start[0]; 2]).0
}

/// The same and, with `THIN`, the next scale's window over the first and the third row. Rows at equal distances from the centre
/// share their tap and are added first; for that, pairs are also needed in reverse order: (2p + 2, 2p + 1).
#[inline(always)]
pub fn folded<S: Vector, const FACTOR: usize, const THIN: bool>(
    s: S,
    pairs: &Pairs<'_>,
    at: usize,
    mut sums: Four<S>,
    mut thin: [S::Int; 2],
) -> (Four<S>, [S::Int; 2]) {
    s.in_order();
    let pair = |i: usize| s.load(pairs[i], at);
    let (taps, thin_taps) = (&FOLDED[FACTOR - 1], &FOLDED_THIN);
    // Of what is left of the window.
    let (mut first, mut second, mut before_last, mut last) = (pair(0), pair(1), pair(8), pair(9));
    let (mut first_reversed, mut last_reversed) =
        (s.pick_words(second, first), s.pick_words(last, before_last));
    macro_rules! turns {
        ($($t:literal)*) => {$(
            let (third, third_last) = (pair($t + 2), pair(7 - $t));
            let second_reversed = s.pick_words(third, second);
            let before_last_reversed = s.pick_words(before_last, third_last);
            let rows = [
                s.add16(first, before_last_reversed),
                s.add16(first_reversed, before_last),
                s.add16(second, last_reversed),
                s.add16(second_reversed, last),
            ];
            for row in [0, 2] {
                sums[row] = s.dot_splat::<{ 2 * $t }, FOLDED_PAIRS>(sums[row], rows[row], taps);
                sums[row + 1] = s.dot_splat::<{ 2 * $t + 1 }, FOLDED_PAIRS>(sums[row + 1], rows[row + 1], taps);
            }
            if THIN && $t >= 2 {
                for row in [0, 1] {
                    thin[row] = s.dot_splat::<{ 2 * $t }, FOLDED_PAIRS>(thin[row], rows[2 * row], thin_taps);
                }
            }
            (first, second, first_reversed) = (second, third, second_reversed);
            (last, before_last, last_reversed) = (before_last, third_last, before_last_reversed);
        )*};
    }
    turns!(0 1 2 3);
    let _ = (first_reversed, before_last, last, last_reversed);
    for (row, centre) in [first, second].into_iter().enumerate() {
        sums[2 * row] = s.dot_splat::<8, FOLDED_PAIRS>(sums[2 * row], centre, taps);
        sums[2 * row + 1] = s.dot_splat::<9, FOLDED_PAIRS>(sums[2 * row + 1], centre, taps);
        if THIN {
            thin[row] = s.dot_splat::<8, FOLDED_PAIRS>(thin[row], centre, thin_taps);
        }
    }
    (sums, thin)
}

/// Any scale's window over four rows, pair by pair, at some planes of a block: they share what is loaded of the taps, and have
/// more sums under way than one alone.
#[inline(always)]
pub fn plain<S: Vector, const SCALE: usize, const PLANES: usize>(
    s: S,
    pairs: &Pairs<'_>,
    at: [usize; PLANES],
    start: [S::Int; PLANES],
) -> [Four<S>; PLANES] {
    let mut sums = [[start[0]; 4]; PLANES];
    for plane in 0..PLANES {
        sums[plane] = [start[plane]; 4];
    }
    let (even, odd) = const { (&Splats::new(Window::<SCALE>::EVEN), &Splats::new(Window::<SCALE>::ODD)) };
    // The first pair is none of the third and the fourth row's, the last none of the first and the second's.
    macro_rules! unrolled {
        ($($i:literal)*) => {$(
            if $i < Window::<SCALE>::PAIRS + 1 {
                for plane in 0..PLANES {
                    let pair = s.load(pairs[$i], at[plane]);
                    let sums = &mut sums[plane];
                    if $i < Window::<SCALE>::PAIRS {
                        sums[0] = s.dot_splat::<{ within($i) }, MAX_PAIRS>(sums[0], pair, even);
                        sums[1] = s.dot_splat::<{ within($i) }, MAX_PAIRS>(sums[1], pair, odd);
                    }
                    if $i > 0 {
                        sums[2] = s.dot_splat::<{ before($i) }, MAX_PAIRS>(sums[2], pair, even);
                        sums[3] = s.dot_splat::<{ before($i) }, MAX_PAIRS>(sums[3], pair, odd);
                    }
                }
            }
        )*};
    }
    // What is compiled but never runs must have a tap too.
    const fn within(pair: usize) -> usize {
        if pair < MAX_PAIRS { pair } else { 0 }
    }
    const fn before(pair: usize) -> usize {
        if pair > 0 { pair - 1 } else { 0 }
    }
    unrolled!(0 1 2 3 4 5 6 7 8 9);
    for plane in 0..PLANES {
        let sums = &mut sums[plane];
        if let Some(half) = Window::<SCALE>::HALF_CENTRE {
            for second in 0..2 {
                let pair = s.load(pairs[Window::<SCALE>::REACH + second], at[plane]);
                sums[2 * second] = s.dot(sums[2 * second], pair, s.splat32(two_words(half, 0)));
                sums[2 * second + 1] = s.dot(sums[2 * second + 1], pair, s.splat32(two_words(0, half)));
            }
        }
    }
    sums
}

/// The next scale's window over the first and the third of the four rows.
#[inline(always)]
pub fn thinned<S: Vector, const SCALE: usize, const NEXT: usize>(
    s: S,
    pairs: &Pairs<'_>,
    at: usize,
    start: S::Int,
) -> [S::Int; 2] {
    let mut sums = [start; 2];
    let first = Window::<SCALE>::REACH - Window::<NEXT>::REACH;
    for i in 0..Window::<NEXT>::PAIRS {
        let taps = s.splat32(Window::<NEXT>::EVEN[i]);
        for second in 0..2 {
            sums[second] = s.dot(sums[second], s.load(pairs[first + second + i], at), taps);
        }
    }
    if let Some(half) = Window::<NEXT>::HALF_CENTRE {
        for second in 0..2 {
            let pair = s.load(pairs[Window::<SCALE>::REACH + second], at);
            sums[second] = s.dot(sums[second], pair, s.splat32(two_words(half, 0)));
        }
    }
    sums
}

/// What one step reads.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a, T> {
    /// The first of the four rows is row `4 * index`.
    pub index: isize,
    /// The two row pairs that come into the window's reach.
    pub fresh: [RowPair<'a, T>; 2],
    /// The pairs of the next step.
    pub soon: [RowPair<'a, T>; 2],
}

/// Reads two new row pairs into the ring and filters four rows. With `MOMENTS`, their eight planes go to `rows`; unless
/// this is the last scale, two rows of both pictures for the next scale go to `thin`. Says whether all words were
/// samples.
#[inline(always)]
pub fn vertical<S: Vector, K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
    s: S,
    kind: K,
    step: &Step<'_, K::Sample>,
    ring: &mut Ring,
    rows: &mut Rows,
    thin: &mut Rows,
) -> bool {
    let length = 2 * K::PLANES * S::WORDS;
    let reach = Window::<SCALE>::REACH;
    let blocks = ring.blocks;
    let mut ring = ring.pairs::<10>(2 * step.index - reach as isize);
    let mut rows = rows.all::<32>();
    let mut thin = thin.all::<4>();
    let mut seen = s.zero();
    let fresh = rows_of::<_, 8>(&step.fresh);
    let ends = Ends::new(&fresh, S::WORDS);
    let (fresh, ends) = (Grid::of(fresh), ends.grid());
    let soon = rows_of::<_, 8>(&step.soon);
    let whole = step.fresh[0].whole(S::WORDS);
    for block in 0..blocks {
        let (fresh, at) = if block < whole { (&fresh, block * S::WORDS) } else { (&ends, 0) };
        let [a, b, c, d, e, f, g, h] = fresh.at(at, S::WORDS);
        let mut ring = ring.at(block * length, length);
        let mut rows = rows.at(block * S::WORDS, S::WORDS);
        let mut thin = thin.at(block * S::WORDS, S::WORDS);
        seen = s.or(seen, expand_block(s, kind, [a, b, c, d], ring.get_mut(2 * reach)));
        seen = s.or(seen, expand_block(s, kind, [e, f, g, h], ring.get_mut(2 * reach + 1)));
        prefetch(s, &soon, block);
        let mut pairs: Pairs<'_> = [&[]; 10];
        for (place, pair) in pairs.iter_mut().enumerate() {
            *pair = ring.get(place);
        }
        if MOMENTS {
            let reference = means::<S, K, SCALE, NEXT, 0>(s, kind, &pairs, &mut rows, &mut thin);
            product::<S, K, SCALE, 0>(s, kind, &pairs, [&reference; 2], &mut rows);
            let distorted = means::<S, K, SCALE, NEXT, 1>(s, kind, &pairs, &mut rows, &mut thin);
            product::<S, K, SCALE, 1>(s, kind, &pairs, [&distorted; 2], &mut rows);
            product::<S, K, SCALE, 2>(s, kind, &pairs, [&reference, &distorted], &mut rows);
        } else if NEXT < SCALES {
            for picture in 0..2 {
                let sums = |at| thinned::<S, SCALE, NEXT>(s, &pairs, at * S::WORDS, kind.thin_start(s));
                store_thin(s, kind, picture, [sums(picture), sums(K::PLANES + picture)], &mut thin);
            }
        }
    }
    !s.any(s.and(seen, s.splat16(kind.forbidden())))
}

/// A cache line holds two blocks of bytes at most.
#[inline(always)]
fn prefetch<S: Vector, T: Words>(s: S, soon: &PairRows<'_, T, 8>, block: usize) {
    if (block * S::WORDS * size_of::<T>()).is_multiple_of(64) {
        // Without an iterator, so that the compiler unrolls it.
        for row in 0..8 {
            s.prefetch(soon[row], block * S::WORDS);
        }
    }
}

/// The means of four rows of a picture, and two rows of the next scale's unless this is the last; returns the sums that the
/// means are taken from, of the even and the odd columns.
#[inline(always)]
fn means<S: Vector, K: Kind, const SCALE: usize, const NEXT: usize, const PICTURE: usize>(
    s: S,
    kind: K,
    pairs: &Pairs<'_>,
    rows: &mut Cells<'_, i16, 32>,
    thin: &mut Cells<'_, i16, 4>,
) -> [Four<S>; 2] {
    let (even, thin_even) = kind.mean::<S, SCALE, NEXT>(s, pairs, PICTURE * S::WORDS);
    let (odd, thin_odd) = kind.mean::<S, SCALE, NEXT>(s, pairs, (K::PLANES + PICTURE) * S::WORDS);
    for row in 0..4 {
        s.store(rows.get_mut(8 * row + PICTURE), 0, kind.mean_words(s, even[row], odd[row]));
    }
    if NEXT < SCALES {
        store_thin(s, kind, PICTURE, [thin_even, thin_odd], thin);
    }
    [even, odd]
}

#[inline(always)]
fn store_thin<S: Vector, K: Kind>(
    s: S,
    kind: K,
    picture: usize,
    [even, odd]: [[S::Int; 2]; 2],
    thin: &mut Cells<'_, i16, 4>,
) {
    for row in 0..2 {
        s.store(thin.get_mut(2 * row + picture), 0, kind.thin_words(s, even[row], odd[row]));
    }
}

/// One product of four rows, split into high and low words; both are biased to be signed. `means` are the sums of its two
/// factors.
#[inline(always)]
fn product<S: Vector, K: Kind, const SCALE: usize, const WHICH: usize>(
    s: S,
    kind: K,
    pairs: &Pairs<'_>,
    means: [&[Four<S>; 2]; 2],
    rows: &mut Cells<'_, i16, 32>,
) {
    let [first, second] = means;
    let even = kind.product::<S, SCALE, WHICH>(s, pairs, 0, [&first[0], &second[0]]);
    let odd = kind.product::<S, SCALE, WHICH>(s, pairs, K::PLANES * S::WORDS, [&first[1], &second[1]]);
    let bias = s.splat16(i16::MIN);
    for row in 0..4 {
        let [low_words, high_words] = s.transpose_words([even[row], odd[row]]);
        s.store(rows.get_mut(8 * row + 2 + 2 * WHICH), 0, high_words);
        s.store(rows.get_mut(8 * row + 3 + 2 * WHICH), 0, s.xor(low_words, bias));
    }
}
