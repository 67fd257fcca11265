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
//! Roots, divisions and the running sums of a picture are chains in which each operation waits for the one before. They are
//! spread over the filtering of the next cell ([`Meanwhile`]): every step of five rows also makes the terms of one row of the
//! cell before and adds eight terms of the batch before, in the order of the pixels.
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
use super::window::{Luminance, Sums};
use crate::simd::avx512::Avx512;
use crate::simd::{Number, OnMultipliers, x86};

/// Rows that a batch adds, and rows of windows that it completes.
const BATCH: usize = 4 * STEP;
/// Rows that a signal is filtered down at a time. Over all signals of a cell there are as many steps as rows, and eight
/// times as many pixels: each step also computes a row of terms and adds the terms of [`LANES`] pixels.
const STEP: usize = SIGNALS;
/// Windows that a batch leaves unfinished.
const UNFINISHED: usize = TAPS - 1;
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
    terms: TermRows,
    /// Those of the batch before, which are summed meanwhile.
    before: TermRows,
}

/// The terms of all windows of a batch, row by row; zeros beyond the picture.
#[derive(Debug)]
struct TermRows {
    stride: usize,
    contrast: Vec<f64>,
    structure: Vec<f64>,
    luminance: Vec<f64>,
}

impl TermRows {
    fn new(stride: usize) -> Self {
        let terms = || vec![0.0; BATCH * stride];
        Self { stride, contrast: terms(), structure: terms(), luminance: terms() }
    }

    /// Sets the contrast and the structure of eight pixels.
    #[inline(always)]
    fn set(&mut self, at: usize, variances: &Variances, deviations: &Lane<f32>) {
        let (contrast, structure) = variances.contrast_structure(deviations);
        self.contrast[at..][..LANES].copy_from_slice(&contrast);
        self.structure[at..][..LANES].copy_from_slice(&structure);
    }

    #[inline(always)]
    fn set_luminance(&mut self, at: usize, moments: &Cell) {
        self.luminance[at..][..LANES].copy_from_slice(&scalar::luminance(moments));
    }

    /// Makes zeros of what lies beyond the picture.
    fn cut(&mut self, columns: usize) {
        for row in 0..BATCH {
            let beyond = row * self.stride + columns..(row + 1) * self.stride;
            self.contrast[beyond.clone()].fill(0.0);
            self.structure[beyond].fill(0.0);
        }
    }

    /// Adds what needs luminance: itself, and its product with the others.
    fn add_luminance(&self, rows: Range<usize>, columns: usize, sums: &mut Sums) {
        for at in rows.flat_map(|row| row * self.stride..row * self.stride + columns) {
            sums.ssim += self.luminance[at] * self.contrast[at] * self.structure[at];
            sums.luminance += self.luminance[at];
        }
    }
}

/// Terms that are still to be added, in the order of the pixels. A sum waits for the one before it, so the additions are
/// spread over other work.
struct Pending<'a> {
    contrast: &'a [f64],
    structure: &'a [f64],
    sums: Sums,
}

impl<'a> Pending<'a> {
    /// The terms of these rows, on top of the sums so far.
    fn new(terms: &'a TermRows, rows: Range<usize>, sums: Sums) -> Self {
        let all = rows.start * terms.stride..rows.end * terms.stride;
        Self { contrast: &terms.contrast[all.clone()], structure: &terms.structure[all], sums }
    }

    /// The next terms of contrast and structure; zeros, which change no sum, if there are not that many.
    #[inline(always)]
    fn take(&mut self) -> (&'a Lane<f64>, &'a Lane<f64>) {
        let next = (self.contrast.split_first_chunk(), self.structure.split_first_chunk());
        let (Some((contrast, contrast_rest)), Some((structure, structure_rest))) = next else {
            return (&[0.0; LANES], &[0.0; LANES]);
        };
        (self.contrast, self.structure) = (contrast_rest, structure_rest);
        (contrast, structure)
    }

    #[inline(always)]
    fn add_next(&mut self) {
        let (contrast, structure) = self.take();
        for lane in 0..LANES {
            self.sums.contrast += contrast[lane];
            self.sums.structure += structure[lane];
        }
    }

    fn finish(mut self) -> Sums {
        for (contrast, structure) in self.contrast.iter().zip(self.structure) {
            self.sums.contrast += contrast;
            self.sums.structure += structure;
        }
        self.sums
    }
}

/// What is spread over the filtering of a cell: roots, divisions and sums wait for each other.
struct Meanwhile<'a> {
    pending: Pending<'a>,
    terms: &'a mut TermRows,
    luminance: Luminance,
    /// The column of the cell before, of which terms are still to be made.
    at: usize,
    variances: [Variances; BATCH],
    /// The row before, whose roots are taken, and where its terms go.
    rooted: (Variances, Lane<f32>),
    rooted_at: usize,
}

impl<'a> Meanwhile<'a> {
    /// Before the first cell is finished, what belongs to no cell is written to its place.
    fn new(pending: Pending<'a>, terms: &'a mut TermRows, luminance: Luminance) -> Self {
        Self {
            pending,
            terms,
            luminance,
            at: 0,
            variances: [Variances::ZERO; BATCH],
            rooted: (Variances::ZERO, [0.0; LANES]),
            rooted_at: 0,
        }
    }

    #[inline(always)]
    fn step(&mut self, row: usize) {
        self.make_terms(row);
        self.pending.add_next();
    }

    /// The roots of this row, and the quotients of the row before.
    #[inline(always)]
    fn make_terms(&mut self, row: usize) {
        self.terms.set(self.rooted_at, &self.rooted.0, &self.rooted.1);
        self.rooted = (self.variances[row], self.variances[row].deviations());
        self.rooted_at = row * self.terms.stride + self.at;
    }

    /// Goes on to the cell at a column, after every row of the one before.
    #[inline(always)]
    fn next_cell(&mut self, at: usize, moments: &[Cell; BATCH]) {
        self.at = at;
        for (row, (variances, moments)) in self.variances.iter_mut().zip(moments).enumerate() {
            *variances = Variances::of(moments);
            if self.luminance == Luminance::Wanted {
                self.terms.set_luminance(row * self.terms.stride + at, moments);
            }
        }
    }

    /// Makes the terms of the last cell, and the sums that are left.
    #[inline(always)]
    fn finish(mut self, columns: usize) -> Sums {
        for row in 0..BATCH {
            self.make_terms(row);
        }
        self.terms.set(self.rooted_at, &self.rooted.0, &self.rooted.1);
        self.terms.cut(columns);
        self.pending.finish()
    }
}

impl Batches {
    pub fn new(proof: Avx512, width: usize) -> Self {
        let stretches = width.div_ceil(LANES * STRETCH);
        let stride = stretches * STRETCH * LANES;
        Self {
            _proof: proof,
            signals: [Signals([[0.0; SAMPLES]; SIGNALS]); 2],
            along: Box::new([[Cell::ZERO; STRETCH]; BATCH]),
            unfinished: vec![Unfinished([[[0.0; LANES]; UNFINISHED]; SIGNALS]); stretches * STRETCH],
            terms: TermRows::new(stride),
            before: TermRows::new(stride),
        }
    }

    /// The sums over all windows, in the order of the pixels. Both pictures have the same size and a window fits.
    pub fn sums(&mut self, reference: Source<'_>, distorted: Source<'_>, luminance: Luminance) -> Sums {
        let columns = reference.width() - TAPS + 1;
        self.terms.stride = columns.next_multiple_of(LANES);
        self.before.stride = self.terms.stride;
        let mut sums = Sums::default();
        let mut waiting = 0..0;
        for top in (0..reference.height()).step_by(BATCH) {
            let pair = (reference, distorted);
            // SAFETY: the features were detected before the proof was made.
            sums = unsafe {
                if reference.is_whole() {
                    self.measure::<true>(pair, top, luminance, waiting, sums)
                } else {
                    self.measure::<false>(pair, top, luminance, waiting, sums)
                }
            };
            // The first window that a batch completes begins ten rows above it.
            waiting = UNFINISHED.saturating_sub(top)..BATCH.min(reference.height() - top);
            std::mem::swap(&mut self.terms, &mut self.before);
            if luminance == Luminance::Wanted {
                self.before.add_luminance(waiting.clone(), columns, &mut sums);
            }
        }
        Pending::new(&self.before, waiting, sums).finish()
    }
}

/// Weights of a window, of which the last five are the first five again.
const WEIGHTS: usize = TAPS / 2 + 1;

impl Batches {
    /// The terms of all windows that end in the rows from `top` on; meanwhile, those that wait are added to the sums.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn measure<const WHOLE: bool>(
        &mut self,
        (reference, distorted): (Source<'_>, Source<'_>),
        top: usize,
        luminance: Luminance,
        waiting: Range<usize>,
        sums: Sums,
    ) -> Sums {
        let one = OnMultipliers::new();
        let columns = reference.width() - TAPS + 1;
        let Self { signals, along, unfinished, terms, before, .. } = self;
        let pending = Pending::new(before, waiting, sums);
        let mut moments = [Cell::ZERO; BATCH];
        let mut meanwhile = Meanwhile::new(pending, terms, luminance);
        let bottom = reference.height().min(top + BATCH);
        let stretches = unfinished.as_chunks_mut::<STRETCH>().0.iter_mut().enumerate();
        for (number, unfinished) in stretches.take(columns.div_ceil(LANES * STRETCH)) {
            let from = number * STRETCH * LANES;
            let cells = (columns - from).div_ceil(LANES).min(STRETCH);
            fill_signals(&mut signals[top % 2], reference, distorted, top, from);
            for (along, y) in along.iter_mut().zip(top..bottom) {
                let next = (y + 1).min(bottom - 1);
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
        meanwhile.finish(columns)
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
        meanwhile.step(signal * (BATCH / STEP) + step);
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
