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
//! # How
//!
//! There are two forms of both filters, which give the same bits: [`wide`] sums as it is defined, and [`narrow`] in two sums of
//! `f32`, which is faster and exact where samples lie in a range that most pictures do not leave. It is chosen row by
//! row along the rows of a stretch, and batch by batch down its columns ([`Follower`]).
//!
//! # Order of work
//!
//! Rows are taken in batches of 20, columns in stretches of up to 480, such that what is filtered along rows stays in a near
//! cache until it is filtered down the columns. The sums of the ten windows that a batch leaves unfinished are kept for the
//! next one.
//!
//! The columns of a stretch are dealt out in sixteen runs ([`Runs`]), a lane for each: what lies beside a sample then is in
//! the same lane of the vector beside it, and rows are filtered as columns are, with nothing to shift ([`samples`]). All that
//! comes after works on each column by itself, in whatever lane that is. Only the sums over the picture have an order; where
//! it matters, terms are put back into it.
//!
//! Roots and divisions take their time and wait for each other. They are spread over the filtering of the next cell
//! ([`Meanwhile`]): every step of five rows also makes the terms of one row of the cell before. The terms of a batch are added
//! up at its end, many at a time ([`ordered`](crate::ordered)).
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod narrow;
mod samples;
mod wide;

use std::arch::x86_64::*;
use std::ops::Range;

use super::scalar::{self, SIGNALS, TAPS, Variances};
use super::sums::{LONGEST_RUN, Luminance, RUNS, Runs, Sums, TermRows};
use super::window::{BATCH, Comparison, OVERHANG};
use crate::simd::avx512::parts::{Follower, Form};
use crate::simd::avx512::{Avx512, Fractions};
use crate::simd::{OnMultipliers, x86};
use narrow::{PICTURE, PRODUCT};
use samples::Line;

/// Pixels of a cell.
const LANES: usize = RUNS;
/// Rows that a signal is filtered down at a time. Over all signals of a cell there are as many steps as rows: each step also
/// computes a row of terms.
const STEP: usize = SIGNALS;
/// Windows that a batch leaves unfinished.
const UNFINISHED: usize = OVERHANG;
/// Cells of a stretch, at most.
const STRETCH: usize = LONGEST_RUN;
/// Vectors of samples are made so many at a time.
const BLOCK: usize = 4;
/// Vectors of samples under the windows of a stretch.
const VECTORS: usize = (STRETCH + UNFINISHED).next_multiple_of(BLOCK);
/// Samples under the windows of a stretch, and what is read beyond them.
const LINE: usize = (LANES * STRETCH + UNFINISHED + BLOCK).next_multiple_of(LANES);
/// Weights of a window, of which the last five are the first five again.
const WEIGHTS: usize = TAPS / 2 + 1;

/// Samples of both pictures for a part of a row, dealt out in [`Runs`]. Each run goes on into the next one, as far as windows do.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Samples([[[f32; LANES]; VECTORS]; 2]);

impl Samples {
    const ZERO: Self = Self([[[0.0; LANES]; VECTORS]; 2]);

    /// A vector of a signal.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn signal<const SIGNAL: usize>(&self, at: usize) -> __m512 {
        let picture = |number: usize| _mm512_castsi512_ps(x86::load512(&self.0[number][at], 0));
        match SIGNAL {
            0 | 1 => picture(SIGNAL),
            2 | 3 => _mm512_mul_ps(picture(SIGNAL - 2), picture(SIGNAL - 2)),
            _ => _mm512_mul_ps(picture(0), picture(1)),
        }
    }
}

/// A vector of all signals.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Cell([[f32; LANES]; SIGNALS]);

impl Cell {
    const ZERO: Self = Self([[0.0; LANES]; SIGNALS]);
}

/// The sums of a cell's unfinished windows of one signal, the one that began last at the start: whole parts and rests, or
/// the bits of the `f64` of the first and of the second eight pixels.
type Under = [[[f32; LANES]; UNFINISHED]; 2];

/// Those of all signals.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Unfinished([Under; SIGNALS]);

/// Memory for pictures up to a width.
#[derive(Debug)]
pub struct Batches {
    _proof: Avx512,
    fractions: Fractions,
    line: Line,
    samples: Samples,
    /// A stretch, filtered along its rows.
    along: Box<[[Cell; STRETCH]; BATCH]>,
    /// What the batch before has left of every cell.
    unfinished: Vec<Unfinished>,
    stretches: Vec<Follower>,
}

/// What is spread over the filtering of a cell: roots and divisions, which wait for each other.
struct Meanwhile<'a> {
    terms: &'a mut TermRows,
    /// The first row of the batch.
    first: usize,
    /// The column of the cell before, of which terms are still to be made.
    column: usize,
    /// Of that cell and, as its last row is divided late, of the one before it, by turns.
    variances: [Variances<LANES>; 2 * BATCH],
    /// Where those of the cell before begin.
    start: usize,
    /// The row before: where its variances are, their roots, and where its terms go.
    rooted: usize,
    deviations: Deviations,
    rooted_at: usize,
}

/// A whole cache line: these are read soon after they are written.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Deviations([f32; LANES]);

impl<'a> Meanwhile<'a> {
    /// Before the first cell is finished, what belongs to no cell is written to its place.
    fn new(terms: &'a mut TermRows, first: usize) -> Self {
        Self {
            rooted_at: terms.place(first, 0),
            terms,
            first,
            column: 0,
            variances: [Variances::ZERO; 2 * BATCH],
            start: 0,
            rooted: 0,
            deviations: Deviations([0.0; LANES]),
        }
    }

    /// The roots of this row, and the quotients of the row before.
    #[inline(always)]
    fn make_terms(&mut self, row: usize) {
        self.divide();
        self.rooted = self.start + row;
        self.deviations = Deviations(self.variances[self.rooted].deviations());
        self.rooted_at = self.terms.place(self.first + row, self.column);
    }

    #[inline(always)]
    fn divide(&mut self) {
        let variances = &self.variances[self.rooted];
        let (contrast, structure) = variances.contrast_structure(&self.deviations.0);
        self.terms.set(self.rooted_at, &contrast, &structure);
    }

    /// Goes on to the cell at a column, after every row of the one before.
    #[inline(always)]
    fn next_cell(&mut self, column: usize, moments: &[Cell; BATCH]) {
        self.column = column;
        self.start = BATCH - self.start;
        let variances = &mut self.variances[self.start..][..BATCH];
        for (row, (variances, moments)) in variances.iter_mut().zip(moments).enumerate() {
            *variances = Variances::of(&moments.0);
            if self.terms.luminance_too() == Luminance::Wanted {
                let place = self.terms.place(self.first + row, column);
                self.terms.set_luminance(place, &scalar::luminance(&moments.0));
            }
        }
    }

    /// Makes the terms of the last cell.
    #[inline(always)]
    fn finish(mut self, runs: Runs, columns: usize) {
        for row in 0..BATCH {
            self.make_terms(row);
        }
        self.divide();
        self.terms.finish(self.first..self.first + BATCH, runs, columns);
    }
}

impl Batches {
    pub fn new(proof: Avx512, width: usize) -> Self {
        let stretches = width.div_ceil(LANES * STRETCH);
        Self {
            _proof: proof,
            fractions: Fractions::of_machine(proof),
            line: Line([0.0; LINE]),
            samples: Samples::ZERO,
            along: Box::new([[Cell::ZERO; STRETCH]; BATCH]),
            unfinished: vec![Unfinished([[[[0.0; LANES]; UNFINISHED]; 2]; SIGNALS]); stretches * STRETCH],
            stretches: vec![Follower::FIRST; stretches],
        }
    }

    /// Adds all windows to the sums. Both pictures have the same size and a window fits; `terms` is scratch.
    pub fn sums(&mut self, comparison: &Comparison<'_>, terms: &mut TermRows, sums: &mut Sums) {
        let height = comparison.reference.height();
        terms.set_size_in_runs(BATCH, runs(comparison), comparison.luminance);
        self.stretches.fill(Follower::FIRST);
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
        let room = under.len().next_multiple_of(BATCH);
        terms.set_size_in_runs(room, runs(comparison), comparison.luminance);
        self.stretches.fill(Follower::FIRST);
        for top in under.clone().step_by(BATCH) {
            let bottom = under.end.min(top + BATCH);
            // SAFETY: the features were detected before the proof was made.
            unsafe { self.measure(comparison, top..bottom, terms, top - under.start) };
        }
        // Windows that began above the first row are no whole ones.
        UNFINISHED..under.len()
    }
}

/// How the columns of windows are dealt out.
fn runs(comparison: &Comparison<'_>) -> Runs {
    Runs::of(comparison.reference.width() - UNFINISHED)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_rows(sums: &mut Sums, terms: &TermRows, rows: Range<usize>) {
    sums.add_rows(terms, rows);
}

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
        match self.fractions {
            Fractions::Rounded => self.measure_signals::<true>(comparison, rows, terms, first),
            Fractions::Reduced => self.measure_signals::<false>(comparison, rows, terms, first),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn measure_signals<const ROUND: bool>(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
        first: usize,
    ) {
        let one = OnMultipliers::new();
        let Comparison { reference, distorted, .. } = *comparison;
        let runs = runs(comparison);
        let Self { line, samples, along, unfinished, stretches, .. } = self;
        let mut moments = [Cell::ZERO; BATCH];
        let mut meanwhile = Meanwhile::new(terms, first);
        let all = unfinished.chunks_exact_mut(runs.length).zip(stretches).enumerate();
        for (number, (unfinished, stretch)) in all.take(runs.stretches) {
            let from = number * runs.stretch();
            let mut all_in_range = true;
            for (along, y) in along.iter_mut().zip(rows.clone()) {
                let mut in_range = true;
                for (source, samples) in [reference, distorted].into_iter().zip(&mut samples.0) {
                    in_range &= samples::read(line, source, y, from, runs.length, samples);
                }
                filter_along::<ROUND>(one, in_range, samples, &mut along[..runs.length]);
                all_in_range &= in_range;
            }
            let before = stretch.form;
            let form = stretch.follow(all_in_range);
            if form != before {
                change_form(form, unfinished);
            }
            for (cell, unfinished) in unfinished.iter_mut().enumerate() {
                filter_down::<ROUND>(one, form, along, cell, unfinished, &mut moments, &mut meanwhile);
                meanwhile.next_cell(from + cell * LANES, &moments);
            }
        }
        meanwhile.finish(runs, reference.width() - UNFINISHED);
    }
}

/// Filters a row, in the faster form if its samples are in the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn filter_along<const ROUND: bool>(one: OnMultipliers, in_range: bool, samples: &Samples, out: &mut [Cell]) {
    if in_range {
        let one = narrow::splat(one);
        narrow::filter_along::<PICTURE, ROUND, 0>(one, samples, out);
        narrow::filter_along::<PICTURE, ROUND, 1>(one, samples, out);
        narrow::filter_along::<PRODUCT, ROUND, 2>(one, samples, out);
        narrow::filter_along::<PRODUCT, ROUND, 3>(one, samples, out);
        narrow::filter_along::<PRODUCT, ROUND, 4>(one, samples, out);
    } else {
        wide::filter_along::<0>(one, samples, out);
        wide::filter_along::<1>(one, samples, out);
        wide::filter_along::<2>(one, samples, out);
        wide::filter_along::<3>(one, samples, out);
        wide::filter_along::<4>(one, samples, out);
    }
}

/// Filters a cell of all rows of a batch down its columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn filter_down<const ROUND: bool>(
    one: OnMultipliers,
    form: Form,
    rows: &[[Cell; STRETCH]; BATCH],
    cell: usize,
    unfinished: &mut Unfinished,
    out: &mut [Cell; BATCH],
    meanwhile: &mut Meanwhile<'_>,
) {
    let single = narrow::splat(one);
    for (signal, under) in unfinished.0.iter_mut().enumerate() {
        let at = (cell, signal);
        match (form, signal) {
            (Form::Narrow, 0 | 1) => {
                narrow::filter_down::<PICTURE, ROUND>(single, rows, at, under, out, meanwhile);
            }
            (Form::Narrow, _) => {
                narrow::filter_down::<PRODUCT, ROUND>(single, rows, at, under, out, meanwhile);
            }
            (Form::Wide, _) => wide::filter_down(one, rows, at, under, out, meanwhile),
        }
    }
}

/// Brings sums to the other form.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn change_form(form: Form, cells: &mut [Unfinished]) {
    for (signal, under) in cells.iter_mut().flat_map(|cell| cell.0.iter_mut().enumerate()) {
        match (form, signal) {
            (Form::Narrow, 0 | 1) => narrow::narrow::<PICTURE>(under),
            (Form::Narrow, _) => narrow::narrow::<PRODUCT>(under),
            (Form::Wide, _) => narrow::widen(under),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::float_ssim::scalar::WINDOW;
    use crate::testing::Noise;

    /// Samples of a row's signal, and both filters' results, of the parts that either processor makes.
    fn check_filters<const PLACE: i32, const ROUND: bool>(least: f32, most: f32, seed: u32) {
        let mut noise = Noise::new(seed);
        let line: [f32; LINE] = std::array::from_fn(|_| match noise.below(16) {
            0 => least,
            1 => most,
            _ => (least + (most - least) * (noise.below(1 << 16) as f32 / 65_536.0)).clamp(least, most),
        });
        let naive = |samples: &[f32]| {
            let terms = samples.iter().zip(WINDOW).map(|(sample, weight)| f64::from(sample * weight));
            terms.fold(0.0, |sum, term| sum + term) as f32
        };
        let mut along = Box::new([[Cell::ZERO; STRETCH]; BATCH]);
        let (mut samples, run) = (Samples::ZERO, 1 + noise.below(STRETCH as u32) as usize);
        let mut unfinished = [[[0.0; LANES]; UNFINISHED]; 2];
        let (mut terms, mut down) = (TermRows::default(), [Cell::ZERO; BATCH]);
        terms.set_size_in_runs(BATCH, Runs::of(LANES), Luminance::Skipped);
        // SAFETY: the caller has seen the level among those of this machine.
        unsafe {
            let one = narrow::splat(OnMultipliers::new());
            samples::deal_out(&line, run, &mut samples.0[0]);
            narrow::filter_along::<PLACE, ROUND, 0>(one, &samples, &mut along[0][..run]);
            for (column, lane) in (0..run).flat_map(|column| (0..LANES).map(move |lane| (column, lane))) {
                let expected = naive(&line[lane * run + column..][..TAPS]);
                assert_eq!(along[0][column].0[0][lane], expected, "{least} to {most}, {lane} at {column}");
            }
            for (y, row) in along.iter_mut().enumerate() {
                row[3].0[1] = std::array::from_fn(|lane| line[(7 * y + lane * lane) % LINE]);
            }
            let mut meanwhile = Meanwhile::new(&mut terms, 0);
            narrow::filter_down::<PLACE, ROUND>(
                one,
                &along,
                (3, 1),
                &mut unfinished,
                &mut down,
                &mut meanwhile,
            );
        }
        for (top, lane) in (0..BATCH - UNFINISHED).flat_map(|top| (0..LANES).map(move |lane| (top, lane))) {
            let column: [f32; TAPS] = std::array::from_fn(|tap| along[top + tap][3].0[1][lane]);
            assert_eq!(down[top + UNFINISHED].0[1][lane], naive(&column), "{least} to {most}, row {top}");
        }
    }

    /// The machine's own way is part of all other tests as well.
    #[test]
    fn both_ways_to_split_terms_are_exact() {
        if !Level::available().contains(&Level::Avx512) {
            return;
        }
        for seed in 0..200 {
            check_filters::<PICTURE, false>(6.0, 360.0, seed);
            check_filters::<PICTURE, true>(6.0, 360.0, seed);
            check_filters::<PRODUCT, false>(36.0, 129_600.0, seed);
            check_filters::<PRODUCT, true>(36.0, 129_600.0, seed);
        }
    }
}
