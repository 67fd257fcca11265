//! The first scale, in 16-bit lanes.
//!
//! # What is computed
//!
//! Per row of coefficients, what libvmaf's `adm_dwt2_8` (or `_16`), `adm_decouple`, `adm_csf`, `adm_csf_den_scale` and
//! `adm_cm` compute over whole pictures, one after the other:
//!
//! | here | libvmaf | what |
//! |---|---|---|
//! | [`down`], [`along`] | `adm_dwt2` | the wavelet: four taps down the columns, then along the row, every second output |
//! | [`restore`] | `adm_decouple` | the restored image `r`; the additive one is `a = t - r` |
//! | [`add_cubes`] | `adm_csf_den_scale` | Σ \|o\|³, the denominator |
//! | [`csf`](super::csf) | `adm_csf` | coefficients after the CSF, as 16-bit sizes |
//! | [`thresholds`] | `csf_f` and `adm_cm` | a thirtieth of those for the eight neighbours, a fifteenth for the centre |
//! | [`contrast_masked_row`] | `adm_cm` | Σ max(size - threshold, 0)³ |
//!
//! `o` is a coefficient of the reference and `t` of the distorted picture, as in libvmaf.
//!
//! # Why it is exact
//!
//! *Filters.* A dot product of words (`pmaddwd`) is exact in 32 bits: the taps' sizes add up to 54822, so that four
//! 16-bit samples stay below 2^31. Samples of more than 8 bits are words less 2^15; what that takes from a low-pass sum,
//! 46342 · 2^15, is in the start value.
//!
//! *Decoupling.* By definition `r` is `t / o` in units of 2^-15, held between nothing and the whole, times `o`, both
//! steps rounded, with ⌊2^30 / |o|⌋ for the division. Below |o| = 2^14 the cut of the reciprocal costs the quotient less than
//! a half and its rounding a half at most; less than a whole unit, times |o| · 2^-15, is less than a half, so the second
//! rounding gives back `t`. Hence `r` is `t` held between 0 and `o`: no division. In the same direction, `o` may grow by
//! the gain limit first. Larger coefficients, which only extreme contrast has, go through the scalar kernel
//! ([`restore_largest`]).
//!
//! *Direction.* The two pictures have the same direction if (o·t)² ≥ cos²(1°) · |o|² · |t|². The comparison is made in
//! single precision with a margin of 2^-20, wider than its errors of 2^-22; what falls within it is compared again in
//! double precision, as libvmaf does ([`same_direction_exactly`]).
//!
//! *CSF and thresholds.* `(4369 x + 2^11) >> 12` is `(34952 x + 2^14) >> 15`. As a signed word 34952 is -30584, which lacks
//! 2^16: that makes `2 x` after the shift. So one `pmulhrsw` and two additions are enough; 8738 and the weights from 2^15
//! on go the same way. Sizes up to [`LARGEST_USUAL`] have sums over the three bands that are words, so that only the sums
//! become double words. Larger ones do each by itself ([`large_thresholds`](super::csf)), and the one size that a signed word does not
//! hold, 2^15, is left to the scalar kernel ([`exact_thresholds`](super::csf)).
//!
//! *The reference's cubes.* `s² = 2^15 h + l`, where `h` is rounded (`pmulhrsw`) and `l` from -2^14 to 2^14. Two dot products
//! of words sum up `s h` and `s l`; with sizes up to [`LARGEST_USUAL`] it takes [`CUBES`] steps until 32 bits could be too
//! few. Larger sizes are added as 64-bit products ([`add_large_cubes`]).
//!
//! *Cubes above the threshold.* Squares and cubes are 64-bit products of 32-bit lanes, even and odd ones apart, and wrap where libvmaf's do.
//! AVX2 has no arithmetic shift of 64-bit numbers: a bias of 2^63 makes them unsigned, and [`unbiased`] takes it off the
//! sum again.
//!
//! # Layout and registers
//!
//! Whatever is 32 bits wide stands in two rows: columns at even places from the first column with detail on, and columns at
//! odd places. Words then become lanes by a mask and a shift, without changing places. Scratch rows are longer than what is
//! read of them, and columns behind the last are masked out of the sums.
//!
//! [`decouple_row`] holds six bands, three pairs of sums of cubes and the taps, 16 registers, before decoupling needs any; on AVX2
//! the compiler reads taps and constants from memory instead, which costs nothing next to `pmaddwd`. What is decided for a
//! whole run (the kind of gain limit, whether AIM is computed) is a constant of the function, so that no register or branch
//! is spent on it.

use visus_video::{Plane, Sample};

use super::csf::thresholds;
use super::{AdmVector, HUNDRED, MAX_WORDS, NONE, OTHER};
use crate::adm::decouple::{Decoupling, Gain};
use crate::adm::geometry::Axis;
use crate::adm::masking::{LIFT, Rounding, Short};
use crate::adm::plan::Plan;
use crate::adm::scale::{self, LowRows, Masked};
use crate::adm::wavelet::{HIGH, LOW, LOW_SUM, TAIL};
use crate::simd::{Lines, Number};

/// What samples are to the kernels.
pub trait Source: Sample + Number {
    /// What is subtracted from samples to make them signed words.
    const OFFSET: i32;
    /// Whether samples can be larger than the bit depth says.
    const MAY_EXCEED: bool;

    fn words<V: AdmVector>(v: V, row: &[Self], at: usize) -> V::Int;

    /// Sums of the pass down the columns, dropped by the bit depth, as words.
    fn drop_depth<V: AdmVector>(v: V, sums: [V::Int; 2], bits: u32) -> V::Int;
}

impl Source for u8 {
    const OFFSET: i32 = 0;
    const MAY_EXCEED: bool = false;

    #[inline(always)]
    fn words<V: AdmVector>(v: V, row: &[Self], at: usize) -> V::Int {
        v.load_bytes(row, at)
    }

    #[inline(always)]
    fn drop_depth<V: AdmVector>(v: V, sums: [V::Int; 2], _bits: u32) -> V::Int {
        v.join(two!(|i| v.sra32(sums[i], 8)))
    }
}

impl Source for u16 {
    const OFFSET: i32 = 1 << 15;
    const MAY_EXCEED: bool = true;

    #[inline(always)]
    fn words<V: AdmVector>(v: V, row: &[Self], at: usize) -> V::Int {
        v.xor(v.load(row, at), v.splat16(i16::MIN))
    }

    /// Samples larger than the depth allows may not fit a word; their upper bits are lost.
    #[inline(always)]
    fn drop_depth<V: AdmVector>(v: V, sums: [V::Int; 2], bits: u32) -> V::Int {
        v.join_high(two!(|i| v.shl32(sums[i], 16 - bits)))
    }
}

/// A row of a picture between the two passes.
#[derive(Clone, Debug)]
struct Columns {
    low: Lines<i16>,
    high: Lines<i16>,
}

/// A decoupled image after the CSF: as the signal that is masked, and as the mask of the other image.
#[derive(Clone, Debug)]
struct CsfRows {
    /// The last two rows: sizes of coefficients, by band.
    sizes: [[Lines<i16>; 3]; 2],
    /// The last three rows, at even and at odd places. Thresholds are negative, and lifted to the format of magnitudes, so
    /// that they only have to be added.
    spread: [[Lines<i32>; 2]; 3],
    /// The last two rows, at even and at odd places.
    centre: [[Lines<i32>; 2]; 2],
}

impl CsfRows {
    fn new(len: usize) -> Self {
        let halves = || std::array::from_fn(|_| Lines::new(len / 2));
        Self {
            sizes: std::array::from_fn(|_| std::array::from_fn(|_| Lines::new(len))),
            spread: std::array::from_fn(|_| halves()),
            centre: std::array::from_fn(|_| halves()),
        }
    }
}

/// Scratch rows.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: [Columns; 2],
    /// Where the first sample of a row stands in `columns`, so that the first one that detail needs starts a line.
    origin: usize,
    restored: CsfRows,
    additive: CsfRows,
    /// All bits of columns that are scored, counted like those with detail.
    scored: Lines<i16>,
    /// The same counted from the first that is scored, at even and at odd places.
    inside: [Lines<i32>; 2],
}

impl Rows {
    pub fn new(columns: &Axis, words: usize) -> Self {
        let first = 2 * columns.detail.start;
        let origin = 1 + first.next_multiple_of(MAX_WORDS) - first;
        let row = Lines::new(origin + columns.input + TAIL + 3 * words);
        let columns_row = Columns { low: row.clone(), high: row };
        // A scale that is left out has no details, but its columns are counted all the same.
        let len = columns.detail.len().max(columns.scored.len()).next_multiple_of(words) + 2 * words;
        let mut rows = Self {
            columns: [columns_row.clone(), columns_row],
            origin,
            restored: CsfRows::new(len),
            additive: CsfRows::new(len),
            scored: Lines::new(len),
            inside: std::array::from_fn(|_| Lines::new(len / 2)),
        };
        for column in 0..columns.scored.len() {
            rows.scored[column + 1] = -1;
            rows.inside[column % 2][column / 2] = -1;
        }
        rows
    }
}

/// Constants of the row kernels.
#[derive(Debug)]
struct Kernel<'a> {
    decoupling: &'a Decoupling,
    masking: &'a Short,
    bits: u32,
    /// Whether the additive image is scored as well (AIM).
    aim: bool,
}

/// The first scale of a pair of pictures, or some of its rows.
#[derive(Debug)]
pub struct Steps<'a, V, S> {
    lanes: V,
    columns: &'a Axis,
    down: &'a Axis,
    kernel: Kernel<'a>,
    inputs: [Plane<'a, S>; 2],
    lows: [LowRows<'a, i16>; 2],
    rows: &'a mut Rows,
    exceeds: bool,
}

impl<'a, V: AdmVector, S: Source> Steps<'a, V, S> {
    pub fn new(
        lanes: V,
        plan: &'a Plan,
        inputs: [Plane<'a, S>; 2],
        lows: [LowRows<'a, i16>; 2],
        rows: &'a mut Rows,
    ) -> Self {
        let kernel = Kernel {
            decoupling: &plan.decoupling,
            masking: &plan.short,
            bits: u32::from(plan.bits),
            aim: plan.aim,
        };
        Self {
            lanes,
            columns: &plan.columns[0],
            down: &plan.rows[0],
            kernel,
            inputs,
            lows,
            rows,
            exceeds: false,
        }
    }

    fn filter_down(&mut self, picture: usize, y: usize, detail: bool) {
        let read = self.columns.read();
        let input = self.inputs[picture];
        let row = |tap: usize| &input.row(tap)[read.start..read.end];
        let taps = self.down.taps(y).map(row);
        // The next row brings two new ones.
        let soon = [4, 5].map(|ahead| row((2 * y + ahead - 1).min(self.down.input - 1)));
        let columns = &mut self.rows.columns[picture];
        let span = self.rows.origin + read.start..self.rows.origin + read.end;
        let low = &mut columns.low[span.clone()];
        let (v, bits) = (self.lanes, self.kernel.bits);
        if detail {
            let high = &mut columns.high[span];
            v.run(
                #[inline(always)]
                || down::<V, S, true>(v, taps, soon, bits, low, high),
            );
        } else {
            v.run(
                #[inline(always)]
                || down::<V, S, false>(v, taps, soon, bits, low, &mut []),
            );
        }
        self.mirror(picture);
    }

    /// Fills the samples before and behind a row.
    fn mirror(&mut self, picture: usize) {
        let (first, len) = (self.rows.origin, self.columns.input);
        let Columns { low, high } = &mut self.rows.columns[picture];
        for row in [low, high] {
            row[first - 1] = row[first + 1];
            row[first + len] = row[first + len - 1];
            row[first + len + 1] = row[first + len - 2];
        }
    }

    fn decouple_row<const GAIN: u8, const AIM: bool>(&mut self, y: usize) -> [u64; 3] {
        let len = self.columns.detail.len().next_multiple_of(V::WORDS);
        let (v, kernel, rows) = (self.lanes, &self.kernel, &mut *self.rows);
        let first = rows.origin + 2 * self.columns.detail.start - 1;
        let csf_den = v.run(
            #[inline(always)]
            || decouple_row::<V, GAIN, AIM>(v, kernel, first, len, y, rows),
        );
        let behind = self.columns.scored.len() + 1;
        for sizes in rows.restored.sizes[y % 2].iter_mut().chain(&mut rows.additive.sizes[y % 2]) {
            sizes[behind..behind + V::WORDS].fill(0);
        }
        csf_den
    }

    fn approximation(&mut self, picture: usize, y: usize) {
        let span = self.columns.low;
        let row = &self.rows.columns[picture].low[self.rows.origin + 2 * span.start - 1..];
        let out = &mut self.lows[picture].padded_row_mut(y)[span.start..];
        let v = self.lanes;
        self.exceeds |= v.run(
            #[inline(always)]
            || approximation::<V, S>(v, row, &mut out[..span.len().next_multiple_of(V::WORDS)]),
        );
    }

    /// Whether an approximation was larger than [`LARGEST`].
    pub fn exceeds(&self) -> bool {
        self.exceeds
    }
}

impl<V: AdmVector, S: Source> scale::Steps for Steps<'_, V, S> {
    fn transform(&mut self, y: usize, low: bool, detail: bool) {
        for picture in 0..2 {
            self.filter_down(picture, y, detail);
            if low {
                self.approximation(picture, y);
            }
        }
    }

    fn decouple(&mut self, y: usize, _scored: bool) -> [u64; 3] {
        by_gain!(self.kernel.decoupling.gain(), self.kernel.aim, self.decouple_row(y))
    }

    fn contrast_mask(&mut self, rows: [usize; 3]) -> Masked {
        let len = self.columns.scored.len().next_multiple_of(V::WORDS);
        let (v, kernel, rows_of) = (self.lanes, &self.kernel, &self.rows);
        let (restored, additive, inside) = (&rows_of.restored, &rows_of.additive, &rows_of.inside);
        let is_narrow = kernel.masking.weights()[0] < 1 << 15;
        let mask = |signal, mask| {
            if V::DOTS && is_narrow {
                return v.run(
                    #[inline(always)]
                    || contrast_masked_row::<V, true>(v, kernel, signal, mask, inside, rows, len),
                );
            }
            v.run(
                #[inline(always)]
                || contrast_masked_row::<V, false>(v, kernel, signal, mask, inside, rows, len),
            )
        };
        Masked {
            restored: mask(restored, additive),
            additive: if kernel.aim { mask(additive, restored) } else { [0; 3] },
        }
    }
}

/// A filter's four taps as two pairs of words.
#[inline(always)]
pub fn taps<V: AdmVector>(v: V, taps: [i32; 4]) -> [V::Int; 2] {
    two!(|i| v.splat32(taps[2 * i] & 0xffff | taps[2 * i + 1] << 16))
}

/// Both pairs of a filter's taps.
#[inline(always)]
pub fn dots<V: AdmVector>(v: V, start: V::Int, first: V::Int, second: V::Int, taps: [V::Int; 2]) -> V::Int {
    v.add_products(v.add_products(start, first, taps[0]), second, taps[1])
}

#[inline(always)]
fn down<V: AdmVector, S: Source, const DETAIL: bool>(
    v: V,
    rows: [&[S]; 4],
    soon: [&[S]; 2],
    bits: u32,
    low: &mut [i16],
    high: &mut [i16],
) {
    let half = 1i32 << (bits - 1);
    let centred = LOW_SUM.wrapping_mul(S::OFFSET.wrapping_sub(half));
    let (low_start, high_start) = (v.splat32(half.wrapping_add(centred)), v.splat32(half));
    let (low_taps, high_taps) = (taps(v, LOW), taps(v, HIGH));
    let mut at = 0;
    loop {
        v.prefetch(soon[0], at);
        v.prefetch(soon[1], at);
        let upper = v.interleave(S::words(v, rows[0], at), S::words(v, rows[1], at));
        let lower = v.interleave(S::words(v, rows[2], at), S::words(v, rows[3], at));
        let sums = two!(|i| dots(v, low_start, upper[i], lower[i], low_taps));
        v.store(low, at, S::drop_depth(v, sums, bits));
        if DETAIL {
            let sums = two!(|i| dots(v, high_start, upper[i], lower[i], high_taps));
            v.store(high, at, S::drop_depth(v, sums, bits));
        }
        if at + V::WORDS == low.len() {
            break;
        }
        // The last register overlaps the one before: nothing may be read behind the row.
        at = (at + V::WORDS).min(low.len() - V::WORDS);
    }
}

/// A filter along a row, for as many outputs as there are words, the first of them centred one behind `at`.
#[inline(always)]
fn along<V: AdmVector>(v: V, row: &[i16], at: usize, taps: [V::Int; 2]) -> V::Int {
    let round = v.splat32(1 << 15);
    let first = dots(v, round, v.load(row, at), v.load(row, at + 2), taps);
    let second = dots(v, round, v.load(row, at + V::WORDS), v.load(row, at + V::WORDS + 2), taps);
    v.concat_high(first, second)
}

/// The largest approximation with which the kernels of the later scales do not overflow. Samples of the announced depth
/// give at most 22931.
const LARGEST: i16 = 23412;

/// Whether one is larger than [`LARGEST`].
#[inline(always)]
fn approximation<V: AdmVector, S: Source>(v: V, row: &[i16], out: &mut [i16]) -> bool {
    let taps = taps(v, LOW);
    let mut exceeding = v.splat16(0);
    let mut at = 0;
    while at < out.len() {
        let low = along(v, row, 2 * at, taps);
        v.store(out, at, low);
        if S::MAY_EXCEED {
            exceeding = v.or(exceeding, v.add16(v.abs16(low), v.splat16(i16::MAX - LARGEST)));
        }
        at += V::WORDS;
    }
    v.any_negative16(exceeding)
}

/// Decouples a row and applies the CSF; the bands' first samples stand at `first`. The sums of cubes are the reference's, over the scored columns.
#[inline(always)]
fn decouple_row<V: AdmVector, const GAIN: u8, const AIM: bool>(
    v: V,
    kernel: &Kernel,
    first: usize,
    len: usize,
    y: usize,
    rows: &mut Rows,
) -> [u64; 3] {
    let samples = first..first + 2 * len + V::LANES;
    let columns = two!(|i| [&rows.columns[i].low[samples.clone()], &rows.columns[i].high[samples.clone()]]);
    let scored = &rows.scored[..len];
    let mut restored = CsfRow::new(&mut rows.restored, y, len);
    let mut additive = CsfRow::new(&mut rows.additive, y, len);
    let mut csf_den = [v.splat64(0); 3];
    let mut cubes = [[v.splat32(0); 2]; 3];
    let mut at = 0;
    while at < len {
        let (o, t) = (bands(v, columns[0], 2 * at), bands(v, columns[1], 2 * at));
        let sizes = three!(|band| v.abs16(o[band]));
        let mask = v.load(scored, at);
        let scored = three!(|band| v.and(sizes[band], mask));
        let largest = v.max16(v.max16(sizes[0], sizes[1]), sizes[2]);
        let rest = if v.any_negative16(v.add16(largest, v.splat16(i16::MAX - LARGEST_USUAL))) {
            add_large_cubes(v, &mut csf_den, scored);
            restore_large::<V, GAIN>(v, kernel.decoupling, o, t, largest)
        } else {
            cubes = three!(|band| add_cubes(v, cubes[band], scored[band]));
            restore::<V, GAIN>(v, kernel.decoupling, o, t)
        };
        let more = three!(|band| v.sub16(t[band], rest[band]));
        restored.store_sizes(v, rest, at);
        additive.store_thresholds(v, kernel.masking, more, at);
        if AIM {
            additive.store_sizes(v, more, at);
            restored.store_thresholds(v, kernel.masking, rest, at);
        }
        at += V::WORDS;
        if at % (CUBES * V::WORDS) == 0 {
            csf_den = three!(|band| add_sums_of_cubes(v, csf_den[band], cubes[band]));
            cubes = [[v.splat32(0); 2]; 3];
        }
    }
    three!(|band| v.sum64(add_sums_of_cubes(v, csf_den[band], cubes[band])) as u64)
}

/// The row of [`CsfRows`] that is written.
struct CsfRow<'a> {
    sizes: [&'a mut [i16]; 3],
    spread: [&'a mut [i32]; 2],
    centre: [&'a mut [i32]; 2],
}

impl<'a> CsfRow<'a> {
    fn new(csf: &'a mut CsfRows, y: usize, len: usize) -> Self {
        Self {
            sizes: csf.sizes[y % 2].each_mut().map(|row| &mut row[..len]),
            spread: csf.spread[y % 3].each_mut().map(|row| &mut row[..len / 2]),
            centre: csf.centre[y % 2].each_mut().map(|row| &mut row[..len / 2]),
        }
    }

    #[inline(always)]
    fn store_sizes<V: AdmVector>(&mut self, v: V, bands: [V::Int; 3], at: usize) {
        for band in 0..3 {
            v.store(self.sizes[band], at, v.abs16(bands[band]));
        }
    }

    /// What coefficients add to the masking threshold of their neighbours and to their own.
    #[inline(always)]
    fn store_thresholds<V: AdmVector>(&mut self, v: V, masking: &Short, bands: [V::Int; 3], at: usize) {
        let [spread, centre] = thresholds(v, masking, bands);
        for place in 0..2 {
            v.store(self.spread[place], at / 2, spread[place]);
            v.store(self.centre[place], at / 2, centre[place]);
        }
    }
}

/// The three detail bands of a picture from the samples at `at` on.
#[inline(always)]
fn bands<V: AdmVector>(v: V, [low, high]: [&[i16]; 2], at: usize) -> [V::Int; 3] {
    let (low_taps, high_taps) = (taps(v, LOW), taps(v, HIGH));
    [along(v, high, at, low_taps), along(v, low, at, high_taps), along(v, high, at, high_taps)]
}

/// The largest size of a usual coefficient. Up to it sums of three thresholds are words, and those of [`CUBES`] cubes are
/// double words.
pub const LARGEST_USUAL: i16 = 8191;

/// How many cubes are added up in [`add_cubes`]: products are at most 2^13 · 2^14, and two of them make a lane.
const CUBES: usize = 8;

/// Adds the cubes of words up to [`LARGEST_USUAL`]: of the squares, their multiples of 2^15 and what is left, which may be
/// negative, times the words.
#[inline(always)]
fn add_cubes<V: AdmVector>(v: V, [upper, lower]: [V::Int; 2], sizes: V::Int) -> [V::Int; 2] {
    let squares = v.mul_low16(sizes, sizes);
    let rest = v.halve16(v.add16(squares, squares));
    [v.add_products(upper, sizes, v.mul_round16(sizes, sizes)), v.add_products(lower, sizes, rest)]
}

/// Adds what [`add_cubes`] has summed up.
#[inline(always)]
fn add_sums_of_cubes<V: AdmVector>(v: V, sum: V::Int, [upper, lower]: [V::Int; 2]) -> V::Int {
    let (unit, whole) = (v.splat32(1), v.splat32(1 << 15));
    let mut sum = sum;
    for [upper, lower] in [[upper, lower], [v.odd(upper), v.odd(lower)]] {
        sum = v.add64(sum, v.add64(v.mul_even(upper, whole), v.mul_even(lower, unit)));
    }
    sum
}

/// Adds the cubes of all words.
#[cold]
#[inline(never)]
fn add_large_cubes<V: AdmVector>(v: V, sums: &mut [V::Int; 3], sizes: [V::Int; 3]) {
    v.run(
        #[inline(always)]
        || {
            for (sum, sizes) in sums.iter_mut().zip(sizes) {
                for sizes in even_and_odd(v, sizes) {
                    let squares = v.products(sizes, sizes);
                    *sum = v.add64(*sum, v.mul_even_unsigned(squares, sizes));
                    *sum = v.add64(*sum, v.mul_even_unsigned(v.odd(squares), v.odd(sizes)));
                }
            }
        },
    );
}

/// Unsigned words at even and at odd places.
#[inline(always)]
fn even_and_odd<V: AdmVector>(v: V, words: V::Int) -> [V::Int; 2] {
    [v.and(words, v.splat32(0xffff)), v.shr32(words, 16)]
}

/// The restored image: what is left of the reference's coefficients.
#[inline(always)]
fn restore<V: AdmVector, const GAIN: u8>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
) -> [V::Int; 3] {
    let limits = if GAIN == NONE {
        o
    } else {
        let same = same_direction(v, decoupling, o, t);
        three!(|band| v.choose(same, grown::<V, GAIN>(v, o[band], decoupling), o[band]))
    };
    let zero = v.splat16(0);
    three!(|band| {
        let (low, high) = (v.min16(limits[band], zero), v.max16(limits[band], zero));
        v.max16(v.min16(t[band], high), low)
    })
}

/// Coefficients times the gain limit, saturated.
#[inline(always)]
fn grown<V: AdmVector, const GAIN: u8>(v: V, o: V::Int, decoupling: &Decoupling) -> V::Int {
    if GAIN == HUNDRED {
        // 328 * 100 is the first product that is too large.
        let held = v.min16(v.max16(o, v.splat16(-328)), v.splat16(328));
        let half = v.mul_low16(held, v.splat16(50));
        return v.add_saturating16(half, half);
    }
    let limit = v.splat32(i32::from(i16::MAX));
    let places = [v.sra32(v.shl32(o, 16), 16), v.sra32(o, 16)];
    let grown = two!(|i| {
        let grown = v.grown(places[i], decoupling.gain_limit());
        v.max32(v.min32(grown, limit), v.sub32(v.splat32(0), limit))
    });
    v.or(v.and(grown[0], v.splat32(0xffff)), v.shl32(grown[1], 16))
}

/// All bits of words where the two pictures have the same direction (libvmaf's `angle_flag`). It is looked for in single precision, which decides
/// nearly always; what is closer than that (the comparison's rounding errors are below 2^-22) is computed again.
#[inline(always)]
fn same_direction<V: AdmVector>(v: V, decoupling: &Decoupling, o: [V::Int; 3], t: [V::Int; 3]) -> V::Int {
    let (o_pairs, t_pairs) = (v.interleave(o[0], o[1]), v.interleave(t[0], t[1]));
    let limit = v.splat_float(decoupling.bound());
    let decided = two!(|i| {
        let both = v.to_float(v.products(o_pairs[i], t_pairs[i]));
        let alone = v.to_float(v.products(o_pairs[i], o_pairs[i]));
        let other = v.to_float(v.products(t_pairs[i], t_pairs[i]));
        // Negative if `both` is.
        let square = v.mul_float(both, v.abs_float(both));
        let bound = v.mul_float(alone, other);
        let difference = v.fused_sub(bound, limit, square);
        let doubt = v.less(v.abs_float(difference), v.mul_float(bound, v.splat_float(1.0 / 1_048_576.0)));
        (v.at_least(difference, v.splat_float(0.0)), doubt)
    });
    if v.is_any(v.either(decided[0].1, decided[1].1)) {
        return same_direction_exactly(v, decoupling, o, t);
    }
    v.join(two!(|i| v.mask_bits(decided[i].0)))
}

pub type Block = [i16; MAX_WORDS];

#[inline(always)]
pub fn unload<V: AdmVector>(v: V, words: V::Int) -> Block {
    let mut block = [0; MAX_WORDS];
    v.store(&mut block, 0, words);
    block
}

#[cold]
#[inline(never)]
fn same_direction_exactly<V: AdmVector>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
) -> V::Int {
    let (o, t) = (o.map(|band| unload(v, band)), t.map(|band| unload(v, band)));
    let mut same = [0; MAX_WORDS];
    for i in 0..V::WORDS {
        let pair = |bands: &[Block; 3]| [i32::from(bands[0][i]), i32::from(bands[1][i])];
        same[i] = -i16::from(decoupling.same_direction_short(pair(&o), pair(&t)));
    }
    v.load(&same, 0)
}

/// The restored image where coefficients are larger than [`LARGEST_USUAL`].
#[cold]
#[inline(never)]
fn restore_large<V: AdmVector, const GAIN: u8>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
    largest: V::Int,
) -> [V::Int; 3] {
    v.run(
        #[inline(always)]
        || {
            if v.any_negative16(v.add16(largest, largest)) {
                return restore_largest(v, decoupling, o, t);
            }
            restore::<V, GAIN>(v, decoupling, o, t)
        },
    )
}

/// The same from 2^14 on.
#[cold]
#[inline(never)]
fn restore_largest<V: AdmVector>(
    v: V,
    decoupling: &Decoupling,
    o: [V::Int; 3],
    t: [V::Int; 3],
) -> [V::Int; 3] {
    let wide = |bands: [V::Int; 3]| bands.map(|band| unload(v, band).map(i32::from));
    let (o, t) = (wide(o), wide(t));
    let (mut restored, mut additive) = ([[0; MAX_WORDS]; 3], [[0; MAX_WORDS]; 3]);
    decoupling.decouple_short(
        o.each_ref().map(|band| &band[..]),
        t.each_ref().map(|band| &band[..]),
        restored.each_mut().map(|band| &mut band[..]),
        additive.each_mut().map(|band| &mut band[..]),
    );
    restored.map(|band| v.load(&band.map(|value| value as i16), 0))
}

/// The sums of cubes above the threshold of a row that has all its neighbours. `NARROW`: straight weights are signed words.
#[inline(always)]
fn contrast_masked_row<V: AdmVector, const NARROW: bool>(
    v: V,
    kernel: &Kernel,
    signal: &CsfRows,
    mask: &CsfRows,
    inside: &[Lines<i32>; 2],
    rows: [usize; 3],
    len: usize,
) -> [i64; 3] {
    // One register more, for the neighbours.
    let half = len / 2 + V::LANES;
    let spread = three!(|row| two!(|place| &mask.spread[rows[row] % 3][place][..half]));
    let centre = two!(|place| &mask.centre[rows[1] % 2][place][..half]);
    let inside = two!(|place| &inside[place][..half]);
    let sizes = three!(|band| &signal.sizes[rows[1] % 2][band][..len + V::WORDS]);
    let weights = kernel.masking.weights();
    let rounding = kernel.masking.cubes();
    let mut sums = [v.splat64(0); 3];
    let mut at = 0;
    while at < len {
        let straight = row_thresholds(v, spread, centre, inside, at / 2);
        let diagonal = two!(|place| v.shl32(straight[place], LIFT[2] - LIFT[0]));
        sums = three!(|band| {
            let thresholds = if band == 2 { diagonal } else { straight };
            let is_narrow = NARROW && band < 2;
            let [even, odd] =
                magnitudes_less(v, v.load(sizes[band], at + 1), weights[band], is_narrow, thresholds);
            let (even, odd) = (v.max32(even, v.splat32(0)), v.max32(odd, v.splat32(0)));
            let sum = add_rounded_cubes(v, sums[band], even, rounding[band]);
            add_rounded_cubes(v, sum, odd, rounding[band])
        });
        at += V::WORDS;
    }
    three!(|band| unbiased::<V>(v.sum64(sums[band]), rounding[band].cube, len))
}

/// The magnitudes of sizes at even and at odd places, with (negative) thresholds added.
#[inline(always)]
fn magnitudes_less<V: AdmVector>(
    v: V,
    sizes: V::Int,
    weight: u16,
    is_narrow: bool,
    thresholds: [V::Int; 2],
) -> [V::Int; 2] {
    if V::DOTS && is_narrow {
        let weight = i32::from(weight);
        return two!(|place| v.add_products(thresholds[place], sizes, v.splat32(weight << (16 * place))));
    }
    if V::DOTS {
        // The weight is an unsigned word, factors are signed ones.
        let [half, rest] = [weight / 2, weight.div_ceil(2)].map(i32::from);
        return two!(|place| {
            let part = v.add_products(thresholds[place], sizes, v.splat32(half << (16 * place)));
            v.add_products(part, sizes, v.splat32(rest << (16 * place)))
        });
    }
    let (sizes, weight) = (even_and_odd(v, sizes), v.splat32(i32::from(weight)));
    two!(|place| v.add32(v.mul32(sizes[place], weight), thresholds[place]))
}

/// The thresholds of scored columns at even and at odd places; the first of them has place 1 among those with detail.
#[inline(always)]
fn row_thresholds<V: AdmVector>(
    v: V,
    spread: [[&[i32]; 2]; 3],
    centre: [&[i32]; 2],
    inside: [&[i32]; 2],
    at: usize,
) -> [V::Int; 2] {
    let columns = two!(|place| column(v, spread, place, at));
    let next = two!(|place| column(v, spread, place, at + 1));
    let shared = v.add32(columns[1], next[0]);
    let even = v.add32(v.add32(shared, columns[0]), v.load(centre[1], at));
    let odd = v.add32(v.add32(shared, next[1]), v.load(centre[0], at + 1));
    [v.and(even, v.load(inside[0], at)), v.and(odd, v.load(inside[1], at))]
}

/// Sums over three rows.
#[inline(always)]
fn column<V: AdmVector>(v: V, rows: [[&[i32]; 2]; 3], place: usize, at: usize) -> V::Int {
    let [above, here, below] = three!(|row| v.load(rows[row][place], at));
    v.add32(v.add32(above, here), below)
}

/// Adds cubes of numbers that are not negative; squares and cubes are rounded after a shift. A square that does not fit a
/// double word wraps.
#[inline(always)]
pub fn add_rounded_cubes<V: AdmVector>(v: V, sum: V::Int, above: V::Int, rounding: Rounding) -> V::Int {
    let square_round = v.splat64(1 << (rounding.square - 1));
    let cube_round = v.splat64(V::SHIFT_BIAS.wrapping_add(1 << (rounding.cube - 1)));
    let mut sum = sum;
    for above in [above, v.odd(above)] {
        let squared = v.add64(v.mul_even_unsigned(above, above), square_round);
        let squared = v.shr64(squared, rounding.square);
        sum = v.add64(sum, v.shift64(v.add64(v.mul_even(squared, above), cube_round), rounding.cube));
    }
    sum
}

/// Takes back what the bias of a level's shifts has added to a sum of `count` numbers.
#[inline(always)]
pub fn unbiased<V: AdmVector>(sum: i64, shift: u32, count: usize) -> i64 {
    let bias = (V::SHIFT_BIAS as u64 >> shift) as i64;
    sum.wrapping_sub(bias.wrapping_mul(count as i64))
}
