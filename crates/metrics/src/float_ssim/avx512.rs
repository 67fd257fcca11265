//! The windowed statistic with AVX-512.
//!
//! # What is computed
//!
//! libvmaf's `iqa_ssim`: five signals (x, y, x², y², xy), each filtered with the 11-tap Gaussian along rows and then down
//! columns (`iqa_convolve`), then the luminance, contrast and structure of every window and their sums over the picture.
//!
//! By definition a filter's term is an `f32` sample times an `f32` weight, rounded to `f32`, then widened; the eleven terms
//! are added in `f64` in the order of the taps, and the sum is rounded to `f32`. The sums over the picture are `f64`, pixel
//! after pixel. Every one of these roundings is kept, or shown not to happen.
//!
//! # Why it is exact
//!
//! Most of the time goes into bringing weighted samples from `f32` to `f64`. The window is symmetric, so a sample with
//! the weight of one tap also serves the opposite tap, of another window: along a row it is shifted over from the
//! vector where it was made ([`terms_along`]), and down the columns the sums of eleven windows are under way at the same
//! time, each getting the same terms in the same order as by definition ([`add_row`]). Sums begin with their first term
//! instead of zero; that can change the sign of a zero, which nothing after it sees.
//!
//! Where samples are whole numbers below 256, the sums along rows are exact, in whatever order they are taken: samples,
//! squares and products are whole and below 2^16, and a weight is a whole multiple of 2^-33. So is every term, as it keeps
//! the leading bits of such a product, and the weights sum up to 1. [`sum_in_pairs`] may then add them as a tree.
//!
//! An addition may be a fused multiply-add by 1, which rounds the same sum once ([`OnMultipliers`]): two in five go to the
//! adders, which the conversions need as well, the others to the multipliers.
//!
//! # Order of work
//!
//! Rows are taken in batches of 20, columns in stretches of 24 cells of eight pixels, such that what is filtered along rows
//! stays in a near cache until it is filtered down the columns. The sums of the ten windows that a batch leaves
//! unfinished are kept for the next one.
//!
//! Roots and divisions take their time and wait for each other. They are spread over the filtering of the next cell
//! ([`Meanwhile`]): every step of five rows also makes the terms of one row of the cell before. The terms of a batch are added
//! up at its end, many at a time ([`ordered`](crate::ordered)).
//!
//! # Registers
//!
//! [`filter_down`] has ten sums, six weighted samples, the row and the factor 1 in registers, 18 of 32; the rest is left to
//! what happens meanwhile. [`filter_along`] has four weighted vectors of three neighbours and four of the first tap, and two
//! sums: about 20. Two windows at a time hide how long an addition takes; three would spill.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;
use std::ops::Range;

use super::scalar::{self, Cell, LANES, Lane, SIGNALS, TAPS, Variances, WINDOW};
use super::source::{Row, Source};
use super::sums::{Luminance, Sums, TermRows};
use super::window::{BATCH, Comparison, OVERHANG};
use crate::simd::avx512::Avx512;
use crate::simd::{Number, OnMultipliers, x86};

/// Rows that a signal is filtered down at a time. Over all signals of a cell there are as many steps as rows: each step also
/// computes a row of terms.
const STEP: usize = SIGNALS;
/// Windows that a batch leaves unfinished.
const UNFINISHED: usize = OVERHANG;
/// Cells of a stretch.
const STRETCH: usize = 24;
/// Samples under the windows of a stretch, and what vectors read beyond them.
const SAMPLES: usize = (LANES * (STRETCH + 2) + TAPS).next_multiple_of(32);

/// So many rows ahead, samples are asked for: the part of a row under a stretch is too short for the processor to see.
const AHEAD: usize = 4;

/// The signals of a part of a row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Signals([[f32; SAMPLES]; SIGNALS]);

/// The sums of a cell's unfinished windows, the one that began last at the start.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Unfinished([[Lane<f64>; UNFINISHED]; SIGNALS]);

/// Memory for pictures up to a width.
#[derive(Debug)]
pub struct Batches {
    _proof: Avx512,
    /// Of a row and of the next one: what was written just now is slow to read.
    signals: [Signals; 2],
    /// A stretch, filtered along its rows.
    along: Box<[[Cell; STRETCH]; BATCH]>,
    /// What the batch before has left of every cell.
    unfinished: Vec<Unfinished>,
}

/// What is spread over the filtering of a cell: roots and divisions, which wait for each other.
struct Meanwhile<'a> {
    terms: &'a mut TermRows,
    /// The first row of the batch.
    first: usize,
    /// The column of the cell before, of which terms are still to be made.
    column: usize,
    variances: [Variances; BATCH],
    /// The row before, whose roots are taken, and where its terms go.
    rooted: (Variances, Lane<f32>),
    rooted_at: usize,
}

impl<'a> Meanwhile<'a> {
    /// Before the first cell is finished, what belongs to no cell is written to its place.
    fn new(terms: &'a mut TermRows, first: usize) -> Self {
        Self {
            rooted_at: terms.place(first, 0),
            terms,
            first,
            column: 0,
            variances: [Variances::ZERO; BATCH],
            rooted: (Variances::ZERO, [0.0; LANES]),
        }
    }

    /// The roots of this row, and the quotients of the row before.
    #[inline(always)]
    fn make_terms(&mut self, row: usize) {
        self.divide();
        self.rooted = (self.variances[row], self.variances[row].deviations());
        self.rooted_at = self.terms.place(self.first + row, self.column);
    }

    #[inline(always)]
    fn divide(&mut self) {
        let (contrast, structure) = self.rooted.0.contrast_structure(&self.rooted.1);
        self.terms.set(self.rooted_at, &contrast, &structure);
    }

    /// Goes on to the cell at a column, after every row of the one before.
    #[inline(always)]
    fn next_cell(&mut self, column: usize, moments: &[Cell; BATCH]) {
        self.column = column;
        for (row, (variances, moments)) in self.variances.iter_mut().zip(moments).enumerate() {
            *variances = Variances::of(moments);
            if self.terms.luminance_too() == Luminance::Wanted {
                let place = self.terms.place(self.first + row, column);
                self.terms.set_luminance(place, &scalar::luminance(moments));
            }
        }
    }

    /// Makes the terms of the last cell.
    #[inline(always)]
    fn finish(mut self, columns: usize) {
        for row in 0..BATCH {
            self.make_terms(row);
        }
        self.divide();
        self.terms.finish(self.first..self.first + BATCH, columns);
    }
}

impl Batches {
    pub fn new(proof: Avx512, width: usize) -> Self {
        let stretches = width.div_ceil(LANES * STRETCH);
        Self {
            _proof: proof,
            signals: [Signals([[0.0; SAMPLES]; SIGNALS]); 2],
            along: Box::new([[Cell::ZERO; STRETCH]; BATCH]),
            unfinished: vec![Unfinished([[[0.0; LANES]; UNFINISHED]; SIGNALS]); stretches * STRETCH],
        }
    }

    /// Adds all windows to the sums. Both pictures have the same size and a window fits; `terms` is scratch.
    pub fn sums(&mut self, comparison: &Comparison<'_>, terms: &mut TermRows, sums: &mut Sums) {
        let height = comparison.reference.height();
        terms.set_size(BATCH, stride(comparison), comparison.luminance);
        for top in (0..height).step_by(BATCH) {
            let bottom = height.min(top + BATCH);
            // The first window that a batch completes begins ten rows above it.
            let completed = UNFINISHED.saturating_sub(top)..bottom - top;
            // SAFETY: the features were detected before the proof was made.
            unsafe {
                self.measure(comparison, top..bottom, terms, 0);
                add_rows(sums, terms, completed);
            }
        }
    }

    /// Leaves the terms of some rows of windows, and says in which rows they are.
    pub fn terms(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
    ) -> Range<usize> {
        let under = rows.start..rows.end + UNFINISHED;
        terms.set_size(under.len().next_multiple_of(BATCH), stride(comparison), comparison.luminance);
        for top in under.clone().step_by(BATCH) {
            let bottom = under.end.min(top + BATCH);
            // SAFETY: the features were detected before the proof was made.
            unsafe { self.measure(comparison, top..bottom, terms, top - under.start) };
        }
        // Windows that began above the first row are no whole ones.
        UNFINISHED..under.len()
    }
}

/// Room for a row of terms.
fn stride(comparison: &Comparison<'_>) -> usize {
    (comparison.reference.width() - UNFINISHED).next_multiple_of(LANES)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_rows(sums: &mut Sums, terms: &TermRows, rows: Range<usize>) {
    sums.add_rows(terms, rows);
}

/// Weights of a window, of which the last five are the first five again.
const WEIGHTS: usize = TAPS / 2 + 1;

impl Batches {
    /// The terms of all windows that end in some rows of the pictures, at most a batch.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn measure(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
        first: usize,
    ) {
        if comparison.reference.is_whole() {
            self.measure_signals::<true>(comparison, rows, terms, first);
        } else {
            self.measure_signals::<false>(comparison, rows, terms, first);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn measure_signals<const WHOLE: bool>(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
        first: usize,
    ) {
        let one = OnMultipliers::new();
        let Comparison { reference, distorted, .. } = *comparison;
        let columns = reference.width() - UNFINISHED;
        let Self { signals, along, unfinished, .. } = self;
        let mut moments = [Cell::ZERO; BATCH];
        let mut meanwhile = Meanwhile::new(terms, first);
        let stretches = unfinished.as_chunks_mut::<STRETCH>().0.iter_mut().enumerate();
        for (number, unfinished) in stretches.take(columns.div_ceil(LANES * STRETCH)) {
            let from = number * STRETCH * LANES;
            let cells = (columns - from).div_ceil(LANES).min(STRETCH);
            fill_signals(&mut signals[rows.start % 2], reference, distorted, rows.start, from);
            for (along, y) in along.iter_mut().zip(rows.clone()) {
                let next = (y + 1).min(rows.end - 1);
                fill_signals(&mut signals[(y + 1) % 2], reference, distorted, next, from);
                for (signal, samples) in signals[y % 2].0.iter().enumerate() {
                    filter_along::<WHOLE>(one, samples, &mut along[..cells.next_multiple_of(2)], signal);
                }
            }
            for (cell, unfinished) in unfinished.iter_mut().enumerate().take(cells) {
                for (signal, sums) in unfinished.0.iter_mut().enumerate() {
                    filter_down(one, along, (cell, signal), sums, &mut moments, &mut meanwhile);
                }
                meanwhile.next_cell(from + cell * LANES, &moments);
            }
        }
        meanwhile.finish(columns);
    }
}

/// The signals of row `y` from column `from` on, as many as there are and fit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn fill_signals(signals: &mut Signals, reference: Source<'_>, distorted: Source<'_>, y: usize, from: usize) {
    for source in [reference, distorted] {
        match source.row((y + AHEAD).min(source.height() - 1)) {
            Row::U8(row, _) => ask_for(row, from),
            Row::U16(row, _) => ask_for(row, from),
            Row::Floats(row) => ask_for(row, from),
        }
    }
    let [plain, other, ..] = &mut signals.0;
    reference.row(y).read(from, plain);
    distorted.row(y).read(from, other);
    // Whatever lies beyond the picture: a length that the compiler knows is faster.
    scalar::multiply_rows(signals.0.each_mut().map(|row| &mut row[..]));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn ask_for<T: Number>(row: &[T], from: usize) {
    for at in (from..from + SAMPLES).step_by(64 / size_of::<T>()) {
        x86::prefetch(row, at);
    }
}

/// Eight samples from `at` on with the weight of a tap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted(samples: &[f32; SAMPLES], at: usize, tap: usize) -> __m512d {
    wide(_mm256_castsi256_ps(x86::load256(samples, at + tap)), tap)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn wide(samples: __m256, tap: usize) -> __m512d {
    _mm512_cvtps_pd(_mm256_mul_ps(samples, _mm256_set1_ps(WINDOW[tap])))
}

/// Two sums in five by the adders, which also convert; the others on the multipliers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum(one: OnMultipliers, tap: usize, sum: __m512d, term: __m512d) -> __m512d {
    if matches!(tap, 0 | 2 | 5 | 8 | 10) {
        _mm512_add_pd(sum, term)
    } else {
        _mm512_fmadd_pd(term, _mm512_set1_pd(one.one()), sum)
    }
}

/// The window along a row. What taps 0 to 4 have made of the vectors after this one is kept for them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn filter_along<const WHOLE: bool>(
    one: OnMultipliers,
    samples: &[f32; SAMPLES],
    out: &mut [Cell],
    signal: usize,
) {
    let first_tap = |at: usize| weighted(samples, at, 0);
    let made = |at: usize| [1, 2, 3, 4].map(|tap| weighted(samples, at, tap));
    let (mut now, mut firsts) = (made(0), [first_tap(0), first_tap(LANES)]);
    for (pair, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let at = 2 * pair * LANES;
        let middle = made(at + LANES);
        let next = made(at + 2 * LANES);
        let [zero, one_on] = firsts;
        let two_on = first_tap(at + 2 * LANES);
        let three_on = first_tap(at + 3 * LANES);
        let centre = weighted(samples, at, 5);
        let first = terms_along([zero, one_on, two_on], &now, centre, &middle);
        let centre = weighted(samples, at + LANES, 5);
        let second = terms_along([one_on, two_on, three_on], &middle, centre, &next);
        let (first, second) = sum_both::<WHOLE>(one, first, second);
        x86::store256(&mut out[0].0[signal], 0, _mm256_castps_si256(_mm512_cvtpd_ps(first)));
        x86::store256(&mut out[1].0[signal], 0, _mm256_castps_si256(_mm512_cvtpd_ps(second)));
        (now, firsts) = (next, [two_on, three_on]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn terms_along(
    first_tap: [__m512d; 3],
    now: &[__m512d; 4],
    centre: __m512d,
    next: &[__m512d; 4],
) -> [__m512d; TAPS] {
    [
        first_tap[0],
        now[0],
        now[1],
        now[2],
        now[3],
        centre,
        x86::shifted512::<2>(now[3], next[3]),
        x86::shifted512::<4>(now[2], next[2]),
        x86::shifted512::<6>(now[1], next[1]),
        next[0],
        x86::shifted512::<2>(first_tap[1], first_tap[2]),
    ]
}

/// The sums of two windows, side by side. In the order of the taps, unless the order does not matter.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_both<const WHOLE: bool>(
    one: OnMultipliers,
    first: [__m512d; TAPS],
    second: [__m512d; TAPS],
) -> (__m512d, __m512d) {
    if WHOLE {
        return (sum_in_pairs(one, first), sum_in_pairs(one, second));
    }
    let mut sums = (first[0], second[0]);
    for tap in 1..TAPS {
        sums = (sum(one, tap, sums.0, first[tap]), sum(one, tap, sums.1, second[tap]));
    }
    sums
}

/// Pairs, then pairs of those: fewer sums wait for each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_in_pairs(one: OnMultipliers, terms: [__m512d; TAPS]) -> __m512d {
    let [a, b, c, d, e, f, g, h, i, j, k] = terms;
    let (ab, cd, ef, gh, ij) =
        (sum(one, 0, a, b), sum(one, 1, c, d), sum(one, 1, e, f), sum(one, 1, g, h), sum(one, 0, i, j));
    let (abcd, efgh, ijk) = (sum(one, 1, ab, cd), sum(one, 0, ef, gh), sum(one, 1, ij, k));
    sum(one, 0, sum(one, 1, abcd, efgh), ijk)
}

/// The window down the columns: row `n` is tap `k` of the window that begins `k` rows above it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn filter_down(
    one: OnMultipliers,
    rows: &[[Cell; STRETCH]; BATCH],
    (cell, signal): (usize, usize),
    unfinished: &mut [Lane<f64>; UNFINISHED],
    out: &mut [Cell; BATCH],
    meanwhile: &mut Meanwhile<'_>,
) {
    let mut sums = [_mm512_setzero_pd(); UNFINISHED];
    for (sum, before) in sums.iter_mut().zip(&*unfinished) {
        *sum = _mm512_castsi512_pd(x86::load512(before, 0));
    }
    let steps = rows.as_chunks::<STEP>().0.iter().zip(out.as_chunks_mut::<STEP>().0).enumerate();
    for (step, (rows, out)) in steps {
        for (row, out) in rows.iter().zip(out) {
            let samples = _mm256_castsi256_ps(x86::load256(&row[cell].0[signal], 0));
            let done = _mm512_cvtpd_ps(add_row(one, samples, &mut sums));
            x86::store256(&mut out.0[signal], 0, _mm256_castps_si256(done));
        }
        meanwhile.make_terms(signal * (BATCH / STEP) + step);
    }
    for (sum, after) in sums.iter().zip(unfinished) {
        x86::store512(after, 0, _mm512_castpd_si512(*sum));
    }
}

/// Adds a row to all windows under way, of which one is then finished and another one begun.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_row(one: OnMultipliers, samples: __m256, sums: &mut [__m512d; UNFINISHED]) -> __m512d {
    let mut terms = [_mm512_setzero_pd(); WEIGHTS];
    for (tap, term) in terms.iter_mut().enumerate() {
        *term = wide(samples, tap);
    }
    let done = sum(one, UNFINISHED, sums[UNFINISHED - 1], terms[0]);
    for tap in (1..UNFINISHED).rev() {
        sums[tap] = sum(one, tap, sums[tap - 1], terms[tap.min(TAPS - 1 - tap)]);
    }
    sums[0] = terms[0];
    done
}
