//! Sums over blocks of bytes, as vector kernels: spatial and temporal activity and squared errors in one pass.
//!
//! A block is cut into strips as wide as a vector. Each is gone through from top to bottom for some rows, then the one to its
//! right: sums stay in registers, a row of the source is loaded once for all that is made of it, and no row is stored. Processors
//! do not foresee such an order, which costs twice the time; so while some rows are worked on, those below them are asked for in
//! the order in which they lie in memory. They go to the second level of the caches: the first would lose them before their turn,
//! and what is in use with them. And they are asked for after the loads of a row: before them, it all took a quarter longer.
//!
//! Strips at the left and right edge of the picture have neighbours on one side only. Their spatial activity is taken of columns
//! one further in, which are all that count there, and masked; a strip's own columns are loaded once more for the rest.
//!
//! *Spatial activity.* The high-pass `12 -2 -1` is 16 times a sample less a smoothing by 1, 2, 1 in both directions. Along a row,
//! `left + 2 sample` is one multiplication of pairs of bytes (`vpmaddubsw`), once from the vector that begins a column earlier
//! and once from the strip's own, which gives even and odd columns apart; `right` is the upper byte of a pair one column
//! further. Down the columns, `above + sample` of a row is `sample + below` of the row before. All of these are at most
//! 16 * 255 and fit 16 bits; absolute values, at most 12 * 255, are summed up in 16 bits for
//! [`ROWS_AT_ONCE`] rows.
//!
//! *Temporal activity.* First differences are sums of absolute differences of bytes (`vpsadbw`), second ones at most 510, in 16
//! bits for as many rows.
//!
//! *Squared errors.* A difference up to 127 is both a signed and an unsigned byte, so its square is a product of bytes
//! (`vpdpbusd`, `vpmaddubsw`: a sum of two squares fits 16 bits). Whether there was a larger one is seen at the end of a
//! strip, from all differences or'ed together; its errors are then summed up again, in words.
//!
//! All of it is whole numbers, so the order makes no difference.

use std::ops::Range;

use visus_video::Plane;

use super::bytes::{Bytes, WIDEST};
use super::vectors::{Luma, Sums};
use crate::simd::{Column, prefetch_l2};

/// Rows that a strip has before the next one has its turn.
pub const ROWS_AT_ONCE: usize = 16;
const _: () = assert!(ROWS_AT_ONCE * 12 * 255 <= u16::MAX as usize);

/// The same for squared errors alone. Processors foresee few rows at a time.
const ERROR_ROWS: usize = 2;

/// How many rows further on those are that are asked for meanwhile.
const ERROR_ROWS_AHEAD: usize = 6;

/// Strips that are summed side by side, so that rows are read from end to end.
const STRIPS_AT_ONCE: usize = 64;

/// A line of the cache.
const LINE: usize = 64;

/// A vector's columns, as far as they are one block's.
#[derive(Clone, Debug)]
pub struct Strip {
    at: usize,
    /// Where the columns begin that spatial activity is taken of: beside the strip's own if these reach the picture's edge.
    inner: usize,
    /// The block's number in its row.
    block: usize,
    /// Whether all of its columns count.
    full: bool,
    /// Whether they do for everything.
    whole: bool,
    /// Ones where a byte counts.
    counted: [u8; WIDEST],
    /// Ones where a word of an even or odd column has a spatial activity, from `inner` on.
    active: [[u16; WIDEST / 2]; 2],
}

impl Strip {
    /// The strips of blocks with these columns, of which the second have a spatial activity. Rows of `width` samples are
    /// `lanes` long at least.
    pub fn cut(blocks: &[[Range<usize>; 2]], width: usize, lanes: usize) -> Vec<Self> {
        let cut = |(block, [across, active]): (usize, &[Range<usize>; 2])| {
            let (end, active) = (across.end, active.clone());
            let parts = across.clone().step_by(lanes).map(move |first| first..end.min(first + lanes));
            parts.map(move |counted| Self::new(counted, &active, block, width, lanes)).collect::<Vec<_>>()
        };
        blocks.iter().enumerate().flat_map(cut).collect()
    }

    fn new(counted: Range<usize>, active: &Range<usize>, block: usize, width: usize, lanes: usize) -> Self {
        let at = counted.start.min(width - lanes);
        let inner = at.min((width - lanes).saturating_sub(1)).max(1);
        let mut strip = Self {
            at,
            inner,
            block,
            full: true,
            whole: at == inner,
            counted: [0; WIDEST],
            active: [[0; WIDEST / 2]; 2],
        };
        for lane in 0..lanes {
            let counts = counted.contains(&(at + lane));
            let is_active = counted.contains(&(inner + lane)) && active.contains(&(inner + lane));
            strip.counted[lane] = if counts { u8::MAX } else { 0 };
            strip.active[lane % 2][lane / 2] = if is_active { u16::MAX } else { 0 };
            strip.full &= counts;
            strip.whole &= counts && is_active;
        }
        strip
    }
}

/// Adds the sums of a row of blocks of luma, or of some of its rows: `down`, of which `active` have a spatial activity.
#[inline(always)]
pub fn add_luma<S: Bytes>(
    s: S,
    pictures: &Luma<'_>,
    strips: &[Strip],
    (down, active): (Range<usize>, Range<usize>),
    out: &mut [Sums],
) {
    for strips in strips.chunks(STRIPS_AT_ONCE) {
        let mut running = [Running::new(s.zero()); STRIPS_AT_ONCE];
        let running = &mut running[..strips.len()];
        for first in down.clone().step_by(ROWS_AT_ONCE) {
            let rows = first..down.end.min(first + ROWS_AT_ONCE);
            match pictures.earlier {
                None => add_band::<_, false>(s, pictures, strips, rows, &active, running),
                Some(_) => add_band::<_, true>(s, pictures, strips, rows, &active, running),
            }
        }
        for (strip, running) in strips.iter().zip(&*running) {
            let out = &mut out[strip.block];
            out.spatial += s.total_of_doubles(running.spatial);
            out.temporal += match pictures.earlier {
                None => s.total_of_quads(running.temporal),
                Some(_) => s.total_of_doubles(running.temporal),
            };
            let pair = [pictures.source, pictures.distorted];
            out.error += running.total_error(s, pair, strip, &down);
        }
    }
}

/// Adds a few rows of all strips; `SECOND` is whether change is measured by second differences.
#[inline(always)]
fn add_band<S: Bytes, const SECOND: bool>(
    s: S,
    pictures: &Luma<'_>,
    strips: &[Strip],
    rows: Range<usize>,
    active: &Range<usize>,
    running: &mut [Running<S::Vector>],
) {
    let start = rows.start.max(active.start);
    let active = start..rows.end.min(active.end).max(start);
    // Rows without spatial activity are the picture's first and last.
    for y in (rows.start..active.start).chain(active.end..rows.end) {
        let band = Band::<_, SECOND>::new(s, pictures, y..y + 1, y..y + 1, rows.end);
        for (strip, running) in strips.iter().zip(&mut *running) {
            band.add_edge(running, strip);
        }
    }
    if active.is_empty() {
        return;
    }
    let band =
        Band::<_, SECOND>::new(s, pictures, active.clone(), active.start - 1..active.end + 1, rows.end);
    for (index, (strip, running)) in strips.iter().zip(running).enumerate() {
        if strip.whole {
            band.add_rows::<true>(running, strip, index);
        } else {
            band.add_rows::<false>(running, strip, index);
        }
    }
}

/// A strip's sums in the making.
#[derive(Clone, Copy)]
struct Running<V> {
    spatial: V,
    temporal: V,
    error: V,
    /// All differences or'ed together.
    differences: V,
}

impl<V: Copy> Running<V> {
    #[inline(always)]
    fn new(zero: V) -> Self {
        Self { spatial: zero, temporal: zero, error: zero, differences: zero }
    }

    #[inline(always)]
    fn add_error<S: Bytes<Vector = V>>(&mut self, s: S, now: V, distorted: V) {
        let difference = s.distance(now, distorted);
        self.differences = s.or(self.differences, difference);
        self.error = s.add_squares(self.error, difference);
    }

    #[inline(always)]
    fn total_error<S: Bytes<Vector = V>>(
        &self,
        s: S,
        pair: [Plane<'_, u8>; 2],
        strip: &Strip,
        down: &Range<usize>,
    ) -> u64 {
        if s.any_large(self.differences) {
            return wide_errors(s, pair, strip, down);
        }
        s.total_of_doubles(self.error)
    }
}

/// A few rows of the pictures.
struct Band<'a, S: Bytes, const SECOND: bool> {
    s: S,
    rows: usize,
    /// The source's, with a row more above and below if there is spatial activity.
    around: Column<'a>,
    source: Column<'a>,
    distorted: Column<'a>,
    before: Column<'a>,
    /// The picture before that one; `before` again where change is measured by first differences.
    earlier: Column<'a>,
    /// What follows in the source, in the distorted picture and in the picture before.
    soon: [&'a [u8]; 3],
}

impl<'a, S: Bytes, const SECOND: bool> Band<'a, S, SECOND> {
    #[inline(always)]
    fn new(s: S, pictures: &Luma<'a>, rows: Range<usize>, around: Range<usize>, next: usize) -> Self {
        let columns = |plane: Plane<'a, u8>, rows| Column::new(plane, rows, 0, plane.width());
        let soon = |plane: Plane<'a, u8>| plane.data().get(next * plane.stride()..).unwrap_or_default();
        Self {
            s,
            rows: rows.len(),
            around: columns(pictures.source, around),
            source: columns(pictures.source, rows.clone()),
            distorted: columns(pictures.distorted, rows.clone()),
            before: columns(pictures.before, rows.clone()),
            earlier: columns(pictures.earlier.unwrap_or(pictures.before), rows),
            soon: [pictures.source, pictures.distorted, pictures.before].map(soon),
        }
    }

    /// Adds a row without spatial activity.
    #[inline(always)]
    fn add_edge(&self, running: &mut Running<S::Vector>, strip: &Strip) {
        let s = self.s;
        let now = s.load(self.source.row(0), strip.at);
        let others = Others::new(self, strip.at);
        let mut short = [s.zero(); 2];
        self.add_differences::<false>(running, &mut short, strip, now, &others, 0);
        running.temporal = self.widen(running.temporal, short);
    }

    /// Adds rows of strip number `index`.
    #[inline(always)]
    fn add_rows<const WHOLE: bool>(&self, out: &mut Running<S::Vector>, strip: &Strip, index: usize) {
        let s = self.s;
        let mut running = *out;
        let (mut even, mut odd) = (s.zero(), s.zero());
        let mut short_temporal = [s.zero(); 2];
        let around = self.around.part(if WHOLE { strip.at } else { strip.inner } - 1, S::LANES + 2);
        let source = self.source.part(strip.at, S::LANES);
        let others = Others::new(self, strip.at);
        let (_, first_even, first_odd) = self.along(around.row(0));
        let (mut now, mut along_even, mut along_odd) = self.along(around.row(1));
        // Sums of a row and the one above it.
        let mut pair_even = s.add_words(first_even, along_even);
        let mut pair_odd = s.add_words(first_odd, along_odd);
        for row in 0..self.rows {
            let (below, below_even, below_odd) = self.along(around.row(row + 2));
            let next_even = s.add_words(along_even, below_even);
            let next_odd = s.add_words(along_odd, below_odd);
            let sixteen = s.weigh_pairs::<16, 0>(now);
            let value = s.abs_words(s.sub_words(s.sub_words(sixteen, pair_even), next_even));
            even = s.add_words(even, self.active::<WHOLE>(value, strip, 0));
            let sixteen = s.weigh_pairs::<0, 16>(now);
            let value = s.abs_words(s.sub_words(s.sub_words(sixteen, pair_odd), next_odd));
            odd = s.add_words(odd, self.active::<WHOLE>(value, strip, 1));
            let own = if WHOLE { now } else { s.load(source.row(row), 0) };
            self.add_differences::<WHOLE>(&mut running, &mut short_temporal, strip, own, &others, row);
            self.prefetch(index * ROWS_AT_ONCE + row);
            (now, along_even, along_odd) = (below, below_even, below_odd);
            (pair_even, pair_odd) = (next_even, next_odd);
        }
        running.spatial = s.widen(s.widen(running.spatial, even), odd);
        running.temporal = self.widen(running.temporal, short_temporal);
        *out = running;
    }

    #[inline(always)]
    fn widen(&self, temporal: S::Vector, short: [S::Vector; 2]) -> S::Vector {
        if SECOND { self.s.widen(self.s.widen(temporal, short[0]), short[1]) } else { temporal }
    }

    /// Those of the words that have a spatial activity.
    #[inline(always)]
    fn active<const WHOLE: bool>(&self, words: S::Vector, strip: &Strip, odd: usize) -> S::Vector {
        if WHOLE { words } else { self.s.and(words, self.s.load(&strip.active[odd], 0)) }
    }

    /// Those of the bytes that count.
    #[inline(always)]
    fn counted<const WHOLE: bool>(&self, bytes: S::Vector, strip: &Strip) -> S::Vector {
        if WHOLE { bytes } else { self.s.and(bytes, self.s.load(&strip.counted, 0)) }
    }

    /// Asks for what comes after these rows, in the order in which it lies in memory: as many bytes as are worked on.
    #[inline(always)]
    fn prefetch(&self, number: usize) {
        let offset = number * S::LANES;
        if offset.is_multiple_of(LINE) {
            for soon in self.soon {
                prefetch_l2(soon, offset);
            }
        }
    }

    /// A row's samples, and their sums along the row by 1, 2, 1, in even and odd columns.
    #[inline(always)]
    fn along(&self, row: &[u8]) -> (S::Vector, S::Vector, S::Vector) {
        let s = self.s;
        let (left, middle, right) = (s.load(row, 0), s.load(row, 1), s.load(row, 2));
        let even = s.add_words(s.weigh_pairs::<1, 2>(left), s.upper(middle));
        let odd = s.add_words(s.weigh_pairs::<1, 2>(middle), s.upper(right));
        (middle, even, odd)
    }

    #[inline(always)]
    fn add_differences<const WHOLE: bool>(
        &self,
        running: &mut Running<S::Vector>,
        short: &mut [S::Vector; 2],
        strip: &Strip,
        now: S::Vector,
        others: &Others<'_>,
        index: usize,
    ) {
        let s = self.s;
        let now = self.counted::<WHOLE>(now, strip);
        let distorted = self.counted::<WHOLE>(s.load(others.distorted.row(index), 0), strip);
        let before = self.counted::<WHOLE>(s.load(others.before.row(index), 0), strip);
        running.add_error(s, now, distorted);
        if SECOND {
            let earlier = self.counted::<WHOLE>(s.load(others.earlier.row(index), 0), strip);
            let outer = s.add_words(s.weigh_pairs::<1, 0>(now), s.weigh_pairs::<1, 0>(earlier));
            let even = s.abs_words(s.sub_words(outer, s.weigh_pairs::<2, 0>(before)));
            let outer = s.add_words(s.upper(now), s.upper(earlier));
            let odd = s.abs_words(s.sub_words(outer, s.weigh_pairs::<0, 2>(before)));
            *short = [s.add_words(short[0], even), s.add_words(short[1], odd)];
        } else {
            running.temporal = s.add_distances(running.temporal, now, before);
        }
    }
}

/// A strip of the pictures that the source is compared with.
struct Others<'a> {
    distorted: Column<'a>,
    before: Column<'a>,
    /// The picture before that one; `before` again where change is measured by first differences.
    earlier: Column<'a>,
}

impl<'a> Others<'a> {
    #[inline(always)]
    fn new<S: Bytes, const SECOND: bool>(band: &Band<'a, S, SECOND>, at: usize) -> Self {
        let [distorted, before, earlier] =
            [band.distorted, band.before, band.earlier].map(|plane| plane.part(at, S::LANES));
        Self { distorted, before, earlier }
    }
}

/// Adds the squared errors of a row of blocks of any plane, or of some of its rows.
#[inline(always)]
pub fn add_errors<S: Bytes>(
    s: S,
    pair: [Plane<'_, u8>; 2],
    strips: &[Strip],
    down: Range<usize>,
    out: &mut [u64],
) {
    for strips in strips.chunks(STRIPS_AT_ONCE) {
        let mut all = [Running::new(s.zero()); STRIPS_AT_ONCE];
        for first in down.clone().step_by(ERROR_ROWS) {
            let rows = first..down.end.min(first + ERROR_ROWS);
            for (number, (strip, out)) in strips.iter().zip(&mut all).enumerate() {
                let mut running = *out;
                let source = Column::new(pair[0], rows.clone(), strip.at, S::LANES);
                let distorted = Column::new(pair[1], rows.clone(), strip.at, S::LANES);
                for index in 0..rows.len() {
                    let offset = (number * ERROR_ROWS + index) * S::LANES;
                    if offset.is_multiple_of(LINE) {
                        for plane in pair {
                            prefetch_l2(
                                plane.data(),
                                (rows.end + ERROR_ROWS_AHEAD) * plane.stride() + offset,
                            );
                        }
                    }
                    let (now, distorted) = (s.load(source.row(index), 0), s.load(distorted.row(index), 0));
                    if strip.full {
                        running.add_error(s, now, distorted);
                    } else {
                        let counted = s.load(&strip.counted, 0);
                        running.add_error(s, s.and(now, counted), s.and(distorted, counted));
                    }
                }
                *out = running;
            }
        }
        for (strip, running) in strips.iter().zip(&all) {
            out[strip.block] += running.total_error(s, pair, strip, &down);
        }
    }
}

/// The squared errors of a strip, however large they are.
#[inline(always)]
fn wide_errors<S: Bytes>(s: S, pair: [Plane<'_, u8>; 2], strip: &Strip, down: &Range<usize>) -> u64 {
    let mut sums = s.zero();
    for y in down.clone() {
        let (now, distorted) = (s.load(pair[0].row(y), strip.at), s.load(pair[1].row(y), strip.at));
        let difference = s.and(s.distance(now, distorted), s.load(&strip.counted, 0));
        sums = s.add_word_squares(sums, s.weigh_pairs::<1, 0>(difference));
        sums = s.add_word_squares(sums, s.upper(difference));
    }
    s.total_of_doubles(sums)
}
