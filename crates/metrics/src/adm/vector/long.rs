//! The later scales, in 32-bit lanes.
//!
//! # What is computed
//!
//! The same as in `short`, on 32-bit coefficients: libvmaf's `adm_dwt2_s123_combined`, `adm_decouple_s123`,
//! `i4_adm_csf`, `adm_csf_den_s123` and `i4_adm_cm`.
//!
//! # Why it is exact
//!
//! *Filters.* There is no cheap 32-bit dot product, but a 16-bit one. A number is kept as its upper word `u` and its lower
//! word less 2^15, `l`, in rows of their own: `x = 2^16 u + l + 2^15`. Each is filtered alone:
//!
//! ```text
//! Σ tap·x = 2^16 · Σ tap·u + Σ tap·l + 2^15 · Σ tap
//! ```
//!
//! The taps' sizes add up to 54822, so the sum over `l` fits 32 bits, and the one over `u` does as long as the approximation
//! of the first scale is at most `LARGEST` (see `short`; samples of the announced depth never exceed it, and frames
//! that do are left to the scalar kernel). The last term is 2^16 · 23171 for the low-pass and nothing for the high-pass;
//! it is the start value of the upper sum. Of the whole, 15 or 16 bits are dropped, rounded: as the upper sum is a multiple of
//! 2^16, only the lower sum has to be rounded and shifted. No bit of the 48-bit sum is lost.
//!
//! *Decoupling.* libvmaf divides by the leading 15 bits of |o|, with the reciprocal rounded down
//! (`div_lookup[..]`). [`AdmVector::reciprocal`] has that reciprocal in single precision, cut off where the table's entry
//! is; [`AdmVector::share`] multiplies in double precision, which holds both products exactly, and rounds halves up as
//! libvmaf's shifts do. Products outside 0 to 1 need not be exact, because [`between_zero_and`] holds the result there.
//!
//! *Direction.* As in `short`, in single precision with a margin: all rounding errors together are below 2^-19, and what
//! is closer than 2^-18 is compared again exactly.
//!
//! *CSF.* A weight times a coefficient is a 64-bit product of even lanes; odd lanes are moved there first. Only the upper
//! half counts of what becomes a threshold, so that the sums over bands are taken in 32 bits. With AVX-512 they are sums of
//! doubles instead: libvmaf's `(f·s - 2^31) >> 32` is `f·s / 2^32` rounded to the nearest, less 1, and as `f` is odd and `s`
//! below 2^31, it never is a half ([`AdmVector::rounded_sums`]).
//!
//! # Registers
//!
//! [`decouple_row`] needs six bands of two dot products each, three sums and the taps. The bands of one picture are
//! computed after those of the other, which keeps the peak below the 32 registers of AVX-512 and NEON; AVX2 spills a few of
//! its constants. The CSF has a loop of its own ([`csf_row`]): processors look a few hundred operations ahead, and in one loop
//! with the division, whose chain is long, they would not see the next columns.

use super::short::{add_rounded_cubes, dots, taps, unbiased};
use super::{AdmVector, HUNDRED, MAX_WORDS, NONE, OTHER};
use crate::adm::decouple::{Decoupling, Gain};
use crate::adm::geometry::Axis;
use crate::adm::masking::{Long, Rounding};
use crate::adm::plan::Plan;
use crate::adm::scale::{self, LowPlane, LowRows, Masked};
use crate::adm::wavelet::{HIGH, LOW, LOW_SUM, TAIL};
use crate::simd::Lines;

/// What a number lacks after its lower word was made signed, in units of the upper sum.
const LOW_START: i32 = LOW_SUM / 2;
const HIGH_START: i32 = 0;

/// Upper words, and lower words less 2^15.
#[derive(Debug)]
pub struct SplitPlane {
    upper: LowPlane<i16>,
    lower: LowPlane<i16>,
}

impl SplitPlane {
    pub fn new((width, height): (usize, usize), padding: usize) -> Self {
        // Not a copy, which would touch all pages here.
        let plane = || LowPlane::new(width, height, padding);
        Self { upper: plane(), lower: plane() }
    }

    /// All rows, to be written.
    pub fn rows_mut(&mut self) -> SplitRows<'_> {
        SplitRows { upper: self.upper.rows_mut(), lower: self.lower.rows_mut() }
    }
}

/// Rows of such a plane that are written.
#[derive(Debug)]
pub struct SplitRows<'a> {
    upper: LowRows<'a, i16>,
    lower: LowRows<'a, i16>,
}

impl SplitRows<'_> {
    /// Takes the rows before `end` out.
    pub fn take(&mut self, end: usize) -> Self {
        Self { upper: self.upper.take(end), lower: self.lower.take(end) }
    }
}

/// A row of numbers in the same form.
#[derive(Clone, Debug)]
struct SplitRow {
    upper: Lines<i16>,
    lower: Lines<i16>,
}

impl SplitRow {
    fn new(len: usize) -> Self {
        Self { upper: Lines::new(len), lower: Lines::new(len) }
    }

    fn cut(&self, start: usize, len: usize) -> [&[i16]; 2] {
        [&self.upper[start..start + len], &self.lower[start..start + len]]
    }

    fn cut_mut(&mut self, start: usize, len: usize) -> [&mut [i16]; 2] {
        [&mut self.upper[start..start + len], &mut self.lower[start..start + len]]
    }
}

/// Writes numbers, given by their order in `interleave`, as split words.
#[inline(always)]
fn store_split<V: AdmVector>(v: V, row: &mut [&mut [i16]; 2], at: usize, numbers: [V::Int; 2]) {
    v.store(row[0], at, v.join_high(numbers));
    v.store(row[1], at, v.xor(v.join_low(numbers), v.splat16(i16::MIN)));
}

/// What a scale transforms: the approximation of the scale before.
pub trait Input {
    /// Filters down the columns from `start` on, for the length of `low`, which is a multiple of a register's.
    fn down<V: AdmVector, const DETAIL: bool>(
        &self,
        v: V,
        rows: [usize; 4],
        start: usize,
        low: [&mut [i16]; 2],
        high: [&mut [i16]; 2],
    );
}

impl Input for LowPlane<i16> {
    /// Words; nothing is dropped.
    #[inline(always)]
    fn down<V: AdmVector, const DETAIL: bool>(
        &self,
        v: V,
        rows: [usize; 4],
        start: usize,
        mut low: [&mut [i16]; 2],
        mut high: [&mut [i16]; 2],
    ) {
        let len = low[0].len();
        let rows = four!(|i| &self.padded_row(rows[i])[start..start + len]);
        let (low_taps, high_taps, zero) = (taps(v, LOW), taps(v, HIGH), v.splat32(0));
        let mut at = 0;
        while at < len {
            let upper = v.interleave(v.load(rows[0], at), v.load(rows[1], at));
            let lower = v.interleave(v.load(rows[2], at), v.load(rows[3], at));
            store_split(v, &mut low, at, two!(|i| dots(v, zero, upper[i], lower[i], low_taps)));
            if DETAIL {
                store_split(v, &mut high, at, two!(|i| dots(v, zero, upper[i], lower[i], high_taps)));
            }
            at += V::WORDS;
        }
    }
}

impl Input for SplitPlane {
    /// Double words; 16 bits are dropped.
    #[inline(always)]
    fn down<V: AdmVector, const DETAIL: bool>(
        &self,
        v: V,
        rows: [usize; 4],
        start: usize,
        mut low: [&mut [i16]; 2],
        mut high: [&mut [i16]; 2],
    ) {
        let len = low[0].len();
        let upper = four!(|i| &self.upper.padded_row(rows[i])[start..start + len]);
        let lower = four!(|i| &self.lower.padded_row(rows[i])[start..start + len]);
        let (low_taps, high_taps) = (taps(v, LOW), taps(v, HIGH));
        let mut at = 0;
        while at < len {
            let (upper, lower) = (row_pairs(v, upper, at), row_pairs(v, lower, at));
            store_split(
                v,
                &mut low,
                at,
                two!(|i| dropped::<V, 16>(v, upper[i], lower[i], LOW_START, low_taps)),
            );
            if DETAIL {
                let numbers = two!(|i| dropped::<V, 16>(v, upper[i], lower[i], HIGH_START, high_taps));
                store_split(v, &mut high, at, numbers);
            }
            at += V::WORDS;
        }
    }
}

/// The words of four rows as two pairs, for both halves of a register.
#[inline(always)]
fn row_pairs<V: AdmVector>(v: V, rows: [&[i16]; 4], at: usize) -> [[V::Int; 2]; 2] {
    let first = v.interleave(v.load(rows[0], at), v.load(rows[1], at));
    let second = v.interleave(v.load(rows[2], at), v.load(rows[3], at));
    [[first[0], second[0]], [first[1], second[1]]]
}

/// A filter over split words, of which `BITS` (15 or 16) are dropped, rounded.
#[inline(always)]
fn dropped<V: AdmVector, const BITS: u32>(
    v: V,
    upper: [V::Int; 2],
    lower: [V::Int; 2],
    start: i32,
    taps: [V::Int; 2],
) -> V::Int {
    let upper = dots(v, v.splat32(start), upper[0], upper[1], taps);
    let lower = dots(v, v.splat32(1 << (BITS - 1)), lower[0], lower[1], taps);
    let upper = if BITS == 15 { v.add32(upper, upper) } else { upper };
    v.add32(upper, v.sra32(lower, BITS))
}

/// A filter along a row of split words, for as many outputs as there are double words.
#[inline(always)]
fn along<V: AdmVector, const BITS: u32>(
    v: V,
    row: [&[i16]; 2],
    at: usize,
    start: i32,
    taps: [V::Int; 2],
) -> V::Int {
    let upper = [v.load(row[0], at), v.load(row[0], at + 2)];
    let lower = [v.load(row[1], at), v.load(row[1], at + 2)];
    dropped::<V, BITS>(v, upper, lower, start, taps)
}

/// A decoupled image after the CSF: as the signal that is masked, and as the mask of the other image.
#[derive(Clone, Debug)]
struct CsfRows {
    /// The last two rows, by band.
    magnitudes: [[Lines<i32>; 3]; 2],
    /// The last three rows, with a neighbour on each side of what is scored.
    spread: [Lines<i32>; 3],
    /// The last two rows.
    centre: [Lines<i32>; 2],
}

impl CsfRows {
    fn new(len: usize) -> Self {
        Self {
            magnitudes: std::array::from_fn(|_| std::array::from_fn(|_| Lines::new(len))),
            spread: std::array::from_fn(|_| Lines::new(len)),
            centre: std::array::from_fn(|_| Lines::new(len)),
        }
    }
}

/// A row of a picture between the two passes.
#[derive(Clone, Debug)]
struct Columns {
    low: SplitRow,
    high: SplitRow,
}

/// Scratch rows, for the widest scale.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: [Columns; 2],
    /// The restored and the additive image of the last row, by band.
    images: [[Lines<i32>; 3]; 2],
    restored: CsfRows,
    additive: CsfRows,
}

/// Where the first sample of a row stands in [`Columns`].
const ORIGIN: usize = MAX_WORDS;

impl Rows {
    pub fn new(columns: &Axis, words: usize) -> Self {
        let row = SplitRow::new(ORIGIN + columns.input + TAIL + 3 * words);
        let columns_row = Columns { low: row.clone(), high: row };
        let len = columns.output + 3 * words;
        Self {
            columns: [columns_row.clone(), columns_row],
            images: std::array::from_fn(|_| std::array::from_fn(|_| Lines::new(len))),
            restored: CsfRows::new(len),
            additive: CsfRows::new(len),
        }
    }
}

/// What belongs to a scale and does not change from frame to frame.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// All bits of columns that are scored, counted like those with detail.
    scored: Lines<i32>,
}

impl Fixed {
    pub fn new(columns: &Axis, words: usize) -> Self {
        let mut scored = Lines::new(columns.output + 3 * words);
        let inset = columns.scored.start - columns.detail.start;
        scored[inset..inset + columns.scored.len()].fill(-1);
        Self { scored }
    }
}

/// A scale of a pair of pictures, or some of its rows. `BITS` are dropped by the pass along the row.
#[derive(Debug)]
pub struct Steps<'a, V, I, const BITS: u32> {
    lanes: V,
    columns: &'a Axis,
    down: &'a Axis,
    decoupling: &'a Decoupling,
    masking: &'a Long,
    aim: bool,
    fixed: &'a Fixed,
    inputs: &'a [I; 2],
    lows: Option<[SplitRows<'a>; 2]>,
    rows: &'a mut Rows,
}

impl<'a, V: AdmVector, I: Input, const BITS: u32> Steps<'a, V, I, BITS> {
    pub fn new(
        lanes: V,
        plan: &'a Plan,
        scale: usize,
        fixed: &'a Fixed,
        inputs: &'a [I; 2],
        lows: Option<[SplitRows<'a>; 2]>,
        rows: &'a mut Rows,
    ) -> Self {
        Self {
            lanes,
            columns: &plan.columns[scale],
            down: &plan.rows[scale],
            decoupling: &plan.decoupling,
            masking: &plan.long[scale - 1],
            aim: plan.aim,
            fixed,
            inputs,
            lows,
            rows,
        }
    }

    fn filter_down(&mut self, picture: usize, y: usize, detail: bool) {
        let read = self.columns.read();
        let (start, len) = (ORIGIN + read.start, read.len().next_multiple_of(V::WORDS));
        let Columns { low, high } = &mut self.rows.columns[picture];
        let (low, high) = (low.cut_mut(start, len), high.cut_mut(start, len));
        let (v, taps, input) = (self.lanes, self.down.taps(y), &self.inputs[picture]);
        if detail {
            v.run(
                #[inline(always)]
                || input.down::<V, true>(v, taps, read.start, low, high),
            );
        } else {
            v.run(
                #[inline(always)]
                || input.down::<V, false>(v, taps, read.start, low, high),
            );
        }
        self.mirror(picture);
    }

    /// Fills the samples before and behind a row.
    fn mirror(&mut self, picture: usize) {
        let (first, len) = (ORIGIN, self.columns.input);
        let Columns { low, high } = &mut self.rows.columns[picture];
        for row in [&mut low.upper, &mut low.lower, &mut high.upper, &mut high.lower] {
            row[first - 1] = row[first + 1];
            row[first + len] = row[first + len - 1];
            row[first + len + 1] = row[first + len - 2];
        }
    }

    fn approximation(&mut self, picture: usize, y: usize) {
        let Some(lows) = &mut self.lows else { return };
        let (span, v) = (self.columns.low, self.lanes);
        let len = span.len().next_multiple_of(V::WORDS);
        let row = self.rows.columns[picture].low.cut(ORIGIN + 2 * span.start - 1, 2 * len + V::LANES);
        let SplitRows { upper, lower } = &mut lows[picture];
        let end = span.start + len;
        let out =
            [&mut upper.padded_row_mut(y)[span.start..end], &mut lower.padded_row_mut(y)[span.start..end]];
        v.run(
            #[inline(always)]
            || approximation::<V, BITS>(v, row, out),
        );
    }

    fn decouple_row<const GAIN: u8, const AIM: bool>(&mut self, y: usize) -> [u64; 3] {
        let (v, span) = (self.lanes, self.columns.detail);
        let len = span.len().next_multiple_of(V::LANES);
        let front = usize::from(self.columns.touches_edges());
        let first = ORIGIN + 2 * span.start - 1;
        let columns = two!(|i| {
            let Columns { low, high } = &self.rows.columns[i];
            [low.cut(first, 2 * len + V::LANES), high.cut(first, 2 * len + V::LANES)]
        });
        let restored = CsfRow::new(&mut self.rows.restored, y, front, len);
        let additive = CsfRow::new(&mut self.rows.additive, y, front, len);
        let (decoupling, masking, scored) = (self.decoupling, self.masking, &self.fixed.scored[..len]);
        let images = self.rows.images.each_mut().map(|image| image.each_mut().map(|row| &mut row[..len]));
        let csf_den = v.run(
            #[inline(always)]
            || decouple_row::<V, BITS, GAIN>(v, decoupling, masking, columns, scored, images),
        );
        let images = two!(|i| self.rows.images[i].each_ref().map(|row| &row[..len]));
        v.run(
            #[inline(always)]
            || csf_row::<V, AIM>(v, masking, images, restored, additive),
        );
        self.finish(y);
        csf_den
    }

    /// Clears what was written behind the scored columns, and mirrors neighbours.
    fn finish(&mut self, y: usize) {
        let (len, front) = (self.columns.detail.len(), self.columns.touches_edges());
        let behind = self.inset() + self.columns.scored.len();
        for csf in [&mut self.rows.restored, &mut self.rows.additive] {
            for row in &mut csf.magnitudes[y % 2] {
                row[behind..behind + V::LANES].fill(0);
            }
            if front {
                let spread = &mut csf.spread[y % 3];
                spread[0] = spread[2];
                spread[len + 1] = spread[len];
            }
        }
    }

    /// How far the scored columns begin after those with detail.
    fn inset(&self) -> usize {
        self.columns.scored.start - self.columns.detail.start
    }
}

impl<V: AdmVector, I: Input, const BITS: u32> scale::Steps for Steps<'_, V, I, BITS> {
    fn transform(&mut self, y: usize, low: bool, detail: bool) {
        for picture in 0..2 {
            self.filter_down(picture, y, detail);
            if low {
                self.approximation(picture, y);
            }
        }
    }

    fn decouple(&mut self, y: usize, _scored: bool) -> [u64; 3] {
        by_gain!(self.decoupling.gain(), self.aim, self.decouple_row(y))
    }

    fn contrast_mask(&mut self, rows: [usize; 3]) -> Masked {
        let len = self.columns.scored.len().next_multiple_of(V::LANES);
        let (v, cubes, inset) = (self.lanes, self.masking.cubes(), self.inset());
        let (restored, additive) = (&self.rows.restored, &self.rows.additive);
        let scored = &self.fixed.scored[inset..inset + len];
        let mask = |signal, mask| {
            v.run(
                #[inline(always)]
                || contrast_masked_row(v, cubes, signal, mask, scored, rows, inset),
            )
        };
        Masked {
            restored: mask(restored, additive),
            additive: if self.aim { mask(additive, restored) } else { [0; 3] },
        }
    }
}

#[inline(always)]
fn approximation<V: AdmVector, const BITS: u32>(v: V, row: [&[i16]; 2], [upper, lower]: [&mut [i16]; 2]) {
    let taps = taps(v, LOW);
    let mut at = 0;
    while at < upper.len() {
        let first = along::<V, BITS>(v, row, 2 * at, LOW_START, taps);
        let second = along::<V, BITS>(v, row, 2 * at + V::WORDS, LOW_START, taps);
        v.store(upper, at, v.concat_high(first, second));
        v.store(lower, at, v.xor(v.concat_low(first, second), v.splat16(i16::MIN)));
        at += V::WORDS;
    }
}

/// The row of [`CsfRows`] that is written.
struct CsfRow<'a> {
    magnitudes: [&'a mut [i32]; 3],
    spread: &'a mut [i32],
    centre: &'a mut [i32],
}

impl<'a> CsfRow<'a> {
    /// `front` is how many neighbours are in front of the first column.
    fn new(csf: &'a mut CsfRows, y: usize, front: usize, len: usize) -> Self {
        Self {
            magnitudes: csf.magnitudes[y % 2].each_mut().map(|row| &mut row[..len]),
            spread: &mut csf.spread[y % 3][front..front + len],
            centre: &mut csf.centre[y % 2][..len],
        }
    }

    #[inline(always)]
    fn store<V: AdmVector>(
        &mut self,
        v: V,
        weights: [V::Int; 3],
        are_small: bool,
        bands: [V::Int; 3],
        as_signal: bool,
        as_mask: bool,
        at: usize,
    ) {
        let csf = three!(|band| csf(v, bands[band], weights[band]));
        if as_signal {
            for band in 0..3 {
                v.store(self.magnitudes[band], at, v.merge_low(csf[band][0], csf[band][1]));
            }
        }
        if as_mask {
            let [spread, own] = thresholds(v, csf, are_small);
            v.store(self.spread, at, spread);
            v.store(self.centre, at, v.sub32(own, spread));
        }
    }
}

/// Decouples a row. The sums of cubes are the reference's, over the scored columns.
#[inline(always)]
fn decouple_row<V: AdmVector, const BITS: u32, const GAIN: u8>(
    v: V,
    decoupling: &Decoupling,
    masking: &Long,
    columns: [[[&[i16]; 2]; 2]; 2],
    scored: &[i32],
    [restored, additive]: [[&mut [i32]; 3]; 2],
) -> [u64; 3] {
    let rounding = masking.csf_den_rounding();
    let mut csf_den = [v.splat64(0); 3];
    let mut at = 0;
    while at < scored.len() {
        let o = bands::<V, BITS>(v, columns[0], 2 * at);
        let t = bands::<V, BITS>(v, columns[1], 2 * at);
        let mask = v.load(scored, at);
        csf_den = three!(|band| add_csf_den(v, csf_den[band], v.and(v.abs32(o[band]), mask), rounding));
        let rest = restore::<V, GAIN>(v, decoupling, o, t);
        for band in 0..3 {
            v.store(restored[band], at, rest[band]);
            v.store(additive[band], at, v.sub32(t[band], rest[band]));
        }
        at += V::LANES;
    }
    three!(|band| v.sum64(csf_den[band]) as u64)
}

/// Applies the CSF to both images.
#[inline(always)]
fn csf_row<V: AdmVector, const AIM: bool>(
    v: V,
    masking: &Long,
    images: [[&[i32]; 3]; 2],
    mut restored: CsfRow,
    mut additive: CsfRow,
) {
    let weights = masking.weights();
    let weights = three!(|band| v.splat32(weights[band]));
    let are_small = masking.sizes_fit();
    let (len, mut at) = (restored.centre.len(), 0);
    while at < len {
        let [rest, more] = two!(|i| three!(|band| v.load(images[i][band], at)));
        restored.store(v, weights, are_small, rest, true, AIM, at);
        additive.store(v, weights, are_small, more, AIM, true, at);
        at += V::LANES;
    }
}

/// The three detail bands of a picture from the samples at `at` on.
#[inline(always)]
fn bands<V: AdmVector, const BITS: u32>(v: V, [low, high]: [[&[i16]; 2]; 2], at: usize) -> [V::Int; 3] {
    let (low_taps, high_taps) = (taps(v, LOW), taps(v, HIGH));
    [
        along::<V, BITS>(v, high, at, LOW_START, low_taps),
        along::<V, BITS>(v, low, at, HIGH_START, high_taps),
        along::<V, BITS>(v, high, at, HIGH_START, high_taps),
    ]
}

/// Adds cubes. The square's rounding term is a whole unit, not a half.
#[inline(always)]
fn add_csf_den<V: AdmVector>(v: V, sum: V::Int, sizes: V::Int, rounding: Rounding) -> V::Int {
    let (square_round, cube_round) = (v.splat64(1 << rounding.square), v.splat64(1 << (rounding.cube - 1)));
    let mut sum = sum;
    for sizes in [sizes, v.odd(sizes)] {
        let squared = v.add64(v.mul_even_unsigned(sizes, sizes), square_round);
        let squared = v.shr64(squared, rounding.square);
        let cubed = v.add64(v.mul_even_unsigned(squared, sizes), cube_round);
        sum = v.add64(sum, v.shr64(cubed, rounding.cube));
    }
    sum
}

/// The restored image: what is left of the reference's coefficients.
#[inline(always)]
fn restore<V: AdmVector, const GAIN: u8>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
) -> [V::Int; 3] {
    let rest = three!(|band| {
        let share = v.share(t[band], v.reciprocal(o[band]), o[band]);
        between_zero_and(v, o[band], share)
    });
    let same = same_direction(v, decoupling, o, t);
    if !v.is_any(same) {
        return rest;
    }
    three!(|band| {
        let grown = between_zero_and(v, grown::<V, GAIN>(v, rest[band], decoupling), t[band]);
        v.choose32(same, grown, rest[band])
    })
}

/// `value`, held between zero and a limit of either sign.
#[inline(always)]
fn between_zero_and<V: AdmVector>(v: V, limit: V::Int, value: V::Int) -> V::Int {
    let zero = v.splat32(0);
    v.max32(v.min32(value, v.max32(limit, zero)), v.min32(limit, zero))
}

/// Coefficients times the gain limit. What is larger than any coefficient may be anything that is. Without a gain there is
/// still a limit: rounding may have made `rest` larger than the coefficient that it was taken from.
#[inline(always)]
fn grown<V: AdmVector, const GAIN: u8>(v: V, rest: V::Int, decoupling: &Decoupling) -> V::Int {
    if GAIN == NONE {
        return rest;
    }
    if GAIN == HUNDRED {
        let limit = i32::MAX / 100;
        let held = v.min32(v.max32(rest, v.splat32(-limit)), v.splat32(limit));
        return v.mul32(held, v.splat32(100));
    }
    v.grown(rest, decoupling.gain_limit())
}

/// Where the two pictures have the same direction (libvmaf's `angle_flag`). It is looked for in single precision, which decides nearly always; what
/// is closer than that (all rounding errors together are below 2^-19) is computed again.
#[inline(always)]
fn same_direction<V: AdmVector>(v: V, decoupling: &Decoupling, o: [V::Int; 3], t: [V::Int; 3]) -> V::Mask {
    let of = two!(|band| v.to_float(o[band]));
    let tf = two!(|band| v.to_float(t[band]));
    let both = v.fused(of[0], tf[0], v.mul_float(of[1], tf[1]));
    let alone = v.fused(of[0], of[0], v.mul_float(of[1], of[1]));
    let other = v.fused(tf[0], tf[0], v.mul_float(tf[1], tf[1]));
    // Negative if `both` is.
    let square = v.mul_float(both, v.abs_float(both));
    let bound = v.mul_float(alone, other);
    let difference = v.fused_sub(bound, v.splat_float(decoupling.bound()), square);
    let doubt = v.mul_float(bound, v.splat_float(1.0 / 262_144.0));
    if v.is_any(v.less(v.abs_float(difference), doubt)) {
        return same_direction_exactly(v, decoupling, o, t);
    }
    v.at_least(difference, v.splat_float(0.0))
}

#[cold]
#[inline(never)]
fn same_direction_exactly<V: AdmVector>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
) -> V::Mask {
    let mut values = [[[0; MAX_WORDS / 2]; 2]; 2];
    for band in 0..2 {
        v.store(&mut values[0][band], 0, o[band]);
        v.store(&mut values[1][band], 0, t[band]);
    }
    let mut same = [0; MAX_WORDS / 2];
    for i in 0..V::LANES {
        let pair = |bands: &[[i32; MAX_WORDS / 2]; 2]| [bands[0][i], bands[1][i]];
        same[i] = -i32::from(decoupling.same_direction_long(pair(&values[0]), pair(&values[1])));
    }
    v.mask_of(v.load(&same, 0))
}

/// `(weight * value + 2^27) >> 28` as a double word, its size: of values at even and at odd places.
#[inline(always)]
fn csf<V: AdmVector>(v: V, values: V::Int, weight: V::Int) -> [V::Int; 2] {
    let places = [values, v.odd(values)];
    two!(|i| v.abs_even(v.shr64(v.add64(v.mul_even(places[i], weight), v.splat64(1 << 27)), 28)))
}

/// A thirtieth and a fifteenth of sizes, summed over the bands.
#[inline(always)]
fn thresholds<V: AdmVector>(v: V, sizes: [[V::Int; 2]; 3], are_small: bool) -> [V::Int; 2] {
    const FRACTIONS: [u32; 2] = [143_165_577, 286_331_153];
    if V::ROUNDS_SUMS && are_small {
        return two!(|i| v.rounded_sums(sizes, FRACTIONS[i], -3));
    }
    let half = v.splat64(-(1 << 31));
    let fractions = two!(|i| v.splat32(FRACTIONS[i] as i32));
    two!(|i| {
        // Each product's upper half counts; what the lower halves do is of no consequence.
        let sums = two!(|place| {
            let parts = three!(|band| v.add64(v.mul_even(sizes[band][place], fractions[i]), half));
            v.add32(v.add32(parts[0], parts[1]), parts[2])
        });
        v.merge_high(sums[0], sums[1])
    })
}

/// The sums of cubes above the threshold of a row that has all its neighbours.
#[inline(always)]
fn contrast_masked_row<V: AdmVector>(
    v: V,
    rounding: Rounding,
    signal: &CsfRows,
    mask: &CsfRows,
    scored: &[i32],
    rows: [usize; 3],
    inset: usize,
) -> [i64; 3] {
    let len = scored.len();
    let spread = three!(|row| &mask.spread[rows[row] % 3][..len + V::LANES]);
    let centre = &mask.centre[rows[1] % 2][inset..inset + len];
    let magnitudes = three!(|band| &signal.magnitudes[rows[1] % 2][band][inset..inset + len]);
    let mut sums = [v.splat64(0); 3];
    let mut at = 0;
    while at < len {
        let columns = three!(|i| column(v, spread, at + i));
        let neighbours = v.add32(v.add32(columns[0], columns[1]), columns[2]);
        let threshold = v.and(v.add32(neighbours, v.load(centre, at)), v.load(scored, at));
        for band in 0..3 {
            let above = v.sub32(v.load(magnitudes[band], at), threshold);
            sums[band] = add_rounded_cubes(v, sums[band], v.max32(above, v.splat32(0)), rounding);
        }
        at += V::LANES;
    }
    three!(|band| unbiased::<V>(v.sum64(sums[band]), rounding.cube, len))
}

/// Sums over three rows.
#[inline(always)]
fn column<V: AdmVector>(v: V, rows: [&[i32]; 3], at: usize) -> V::Int {
    v.add32(v.add32(v.load(rows[0], at), v.load(rows[1], at)), v.load(rows[2], at))
}
