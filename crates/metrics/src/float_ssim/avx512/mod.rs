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
//! row along the rows of a stretch, and batch by batch down its columns ([`Stretch`]).
//!
//! # Order of work
//!
//! Rows are taken in batches of 20, columns in stretches of 12 cells of sixteen pixels, such that what is filtered along
//! rows stays in a near cache until it is filtered down the columns. The sums of the ten windows that a batch leaves
//! unfinished are kept for the next one.
//!
//! Roots and divisions take their time and wait for each other. They are spread over the filtering of the next cell
//! ([`Meanwhile`]): every step of five rows also makes the terms of one row of the cell before. The terms of a batch are added
//! up at its end, many at a time ([`ordered`](crate::ordered)).
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod narrow;
mod wide;

use std::ops::Range;

use super::scalar::{self, SIGNALS, TAPS, Variances};
use super::source::{Row, Source};
use super::sums::{Luminance, Sums, TermRows};
use super::window::{BATCH, Comparison, OVERHANG};
use crate::simd::avx512::{Avx512, Fractions};
use crate::simd::{Number, OnMultipliers, x86};
use narrow::{PICTURE, PRODUCT};

/// Pixels of a cell.
const LANES: usize = 16;
/// Rows that a signal is filtered down at a time. Over all signals of a cell there are as many steps as rows: each step also
/// computes a row of terms.
const STEP: usize = SIGNALS;
/// Windows that a batch leaves unfinished.
const UNFINISHED: usize = OVERHANG;
/// Cells of a stretch.
const STRETCH: usize = 12;
/// Samples under the windows of a stretch, and what vectors read beyond them.
const SAMPLES: usize = (LANES * (STRETCH + 1) + TAPS).next_multiple_of(32);
/// Weights of a window, of which the last five are the first five again.
const WEIGHTS: usize = TAPS / 2 + 1;

/// So many rows ahead, samples are asked for: the part of a row under a stretch is too short for the processor to see.
const AHEAD: usize = 4;

/// The signals of a part of a row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Signals([[f32; SAMPLES]; SIGNALS]);

/// Neighbouring pixels of all signals.
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

/// In which form sums are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Narrow,
    Wide,
}

/// What the batch before has left of a stretch.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    form: Form,
    /// Whether all samples of that batch were in the range: then the windows that it left hold no others.
    in_range: bool,
}

impl Stretch {
    /// Before the first batch there are no windows, and whatever is there is taken for sums.
    const FIRST: Self = Self { form: Form::Narrow, in_range: true };

    /// The form in which the next batch is to be filtered, and to which what is there must be brought.
    fn follow(&mut self, in_range: bool) -> Form {
        let form = if self.in_range && in_range { Form::Narrow } else { Form::Wide };
        *self = Self { form, in_range };
        form
    }
}

/// Memory for pictures up to a width.
#[derive(Debug)]
pub struct Batches {
    _proof: Avx512,
    fractions: Fractions,
    /// Of a row and of the next one: what was written just now is slow to read.
    signals: [Signals; 2],
    /// A stretch, filtered along its rows.
    along: Box<[[Cell; STRETCH]; BATCH]>,
    /// What the batch before has left of every cell.
    unfinished: Vec<Unfinished>,
    stretches: Vec<Stretch>,
}

/// What is spread over the filtering of a cell: roots and divisions, which wait for each other.
struct Meanwhile<'a> {
    terms: &'a mut TermRows,
    /// The first row of the batch.
    first: usize,
    /// The column of the cell before, of which terms are still to be made.
    column: usize,
    variances: [Variances<LANES>; BATCH],
    /// The row before, whose roots are taken, and where its terms go.
    rooted: Rooted,
    rooted_at: usize,
}

/// Variances of pixels, and the roots of their products. Whole cache lines: these are read soon after they are written.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Rooted {
    variances: Variances<LANES>,
    deviations: [f32; LANES],
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
            rooted: Rooted { variances: Variances::ZERO, deviations: [0.0; LANES] },
        }
    }

    /// The roots of this row, and the quotients of the row before.
    #[inline(always)]
    fn make_terms(&mut self, row: usize) {
        self.divide();
        let variances = self.variances[row];
        self.rooted = Rooted { variances, deviations: variances.deviations() };
        self.rooted_at = self.terms.place(self.first + row, self.column);
    }

    #[inline(always)]
    fn divide(&mut self) {
        let Rooted { variances, deviations } = &self.rooted;
        let (contrast, structure) = variances.contrast_structure(deviations);
        self.terms.set(self.rooted_at, &contrast, &structure);
    }

    /// Goes on to the cell at a column, after every row of the one before.
    #[inline(always)]
    fn next_cell(&mut self, column: usize, moments: &[Cell; BATCH]) {
        self.column = column;
        for (row, (variances, moments)) in self.variances.iter_mut().zip(moments).enumerate() {
            *variances = Variances::of(&moments.0);
            if self.terms.luminance_too() == Luminance::Wanted {
                let place = self.terms.place(self.first + row, column);
                self.terms.set_luminance(place, &scalar::luminance(&moments.0));
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
            fractions: Fractions::of_machine(proof),
            signals: [Signals([[0.0; SAMPLES]; SIGNALS]); 2],
            along: Box::new([[Cell::ZERO; STRETCH]; BATCH]),
            unfinished: vec![Unfinished([[[[0.0; LANES]; UNFINISHED]; 2]; SIGNALS]); stretches * STRETCH],
            stretches: vec![Stretch::FIRST; stretches],
        }
    }

    /// Adds all windows to the sums. Both pictures have the same size and a window fits; `terms` is scratch.
    pub fn sums(&mut self, comparison: &Comparison<'_>, terms: &mut TermRows, sums: &mut Sums) {
        let height = comparison.reference.height();
        terms.set_size(BATCH, stride(comparison), comparison.luminance);
        self.stretches.fill(Stretch::FIRST);
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
        self.stretches.fill(Stretch::FIRST);
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
        match (comparison.reference.is_whole(), self.fractions) {
            (true, Fractions::Rounded) => self.measure_signals::<true, true>(comparison, rows, terms, first),
            (true, Fractions::Reduced) => self.measure_signals::<true, false>(comparison, rows, terms, first),
            (false, Fractions::Rounded) => {
                self.measure_signals::<false, true>(comparison, rows, terms, first)
            }
            (false, Fractions::Reduced) => {
                self.measure_signals::<false, false>(comparison, rows, terms, first)
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn measure_signals<const WHOLE: bool, const ROUND: bool>(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
        first: usize,
    ) {
        let one = OnMultipliers::new();
        let Comparison { reference, distorted, .. } = *comparison;
        let columns = reference.width() - UNFINISHED;
        let Self { signals, along, unfinished, stretches, .. } = self;
        let mut moments = [Cell::ZERO; BATCH];
        let mut meanwhile = Meanwhile::new(terms, first);
        let all = unfinished.as_chunks_mut::<STRETCH>().0.iter_mut().zip(stretches).enumerate();
        for (number, (unfinished, stretch)) in all.take(columns.div_ceil(LANES * STRETCH)) {
            let from = number * STRETCH * LANES;
            let cells = (columns - from).div_ceil(LANES).min(STRETCH);
            let fill = |signals: &mut Signals, y: usize| fill_signals(signals, reference, distorted, y, from);
            let mut next_in_range = fill(&mut signals[rows.start % 2], rows.start);
            let mut all_in_range = true;
            for (along, y) in along.iter_mut().zip(rows.clone()) {
                let in_range = next_in_range;
                next_in_range = fill(&mut signals[(y + 1) % 2], (y + 1).min(rows.end - 1));
                filter_along::<WHOLE, ROUND>(one, in_range, &signals[y % 2], &mut along[..cells]);
                all_in_range &= in_range;
            }
            let before = stretch.form;
            let form = stretch.follow(all_in_range);
            if form != before {
                change_form(form, &mut unfinished[..cells]);
            }
            for (cell, unfinished) in unfinished.iter_mut().enumerate().take(cells) {
                filter_down::<ROUND>(one, form, along, cell, unfinished, &mut moments, &mut meanwhile);
                meanwhile.next_cell(from + cell * LANES, &moments);
            }
        }
        meanwhile.finish(columns);
    }
}

/// Filters a row, in the faster form if its samples are in the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn filter_along<const WHOLE: bool, const ROUND: bool>(
    one: OnMultipliers,
    in_range: bool,
    signals: &Signals,
    out: &mut [Cell],
) {
    let single = narrow::splat(one);
    for (signal, samples) in signals.0.iter().enumerate() {
        match (in_range, signal) {
            (true, 0 | 1) => narrow::filter_along::<PICTURE, ROUND>(single, samples, out, signal),
            (true, _) => narrow::filter_along::<PRODUCT, ROUND>(single, samples, out, signal),
            (false, _) => wide::filter_along::<WHOLE>(one, samples, out, signal),
        }
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

/// The signals of row `y` from column `from` on, as many as there are and fit. Says whether the samples are in the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn fill_signals(
    signals: &mut Signals,
    reference: Source<'_>,
    distorted: Source<'_>,
    y: usize,
    from: usize,
) -> bool {
    for source in [reference, distorted] {
        match source.row((y + AHEAD).min(source.height() - 1)) {
            Row::U8(row, _) => ask_for(row, from),
            Row::U16(row, _) => ask_for(row, from),
            Row::Floats(row) => ask_for(row, from),
        }
    }
    let largest = match (reference.row(y), distorted.row(y)) {
        (Row::U8(row, factor), Row::U8(other, _)) => fill_from(signals, &row[from..], &other[from..], factor),
        (Row::U16(row, factor), Row::U16(other, _)) => {
            fill_from(signals, &row[from..], &other[from..], factor)
        }
        (Row::Floats(row), Row::Floats(other)) => fill_from(signals, &row[from..], &other[from..], 1.0),
        _ => unreachable!("both pictures are of one kind"),
    };
    narrow::is_within(largest)
}

/// All signals in one go. Says how far the furthest sample is from the least one of the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn fill_from<T: Copy + Into<f32>>(
    signals: &mut Signals,
    row: &[T],
    other_row: &[T],
    factor: f32,
) -> u32 {
    let width = row.len().min(SAMPLES);
    let (cells, rest) = row[..width].as_chunks::<LANES>();
    let (other_cells, other_rest) = other_row[..width].as_chunks::<LANES>();
    let mut largest = [0; LANES];
    for (number, (cell, other)) in cells.iter().zip(other_cells).enumerate() {
        fill_cell(signals, number, cell, other, factor, &mut largest);
    }
    if let ([.., last], [.., other_last]) = (rest, other_rest) {
        // The last sample again where there is none.
        let (mut cell, mut other) = ([*last; LANES], [*other_last; LANES]);
        cell[..rest.len()].copy_from_slice(rest);
        other[..rest.len()].copy_from_slice(other_rest);
        fill_cell(signals, cells.len(), &cell, &other, factor, &mut largest);
    }
    largest.into_iter().fold(0, u32::max)
}

/// The signals of sixteen samples.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn fill_cell<T: Copy + Into<f32>>(
    signals: &mut Signals,
    number: usize,
    cell: &[T; LANES],
    other_cell: &[T; LANES],
    factor: f32,
    largest: &mut [u32; LANES],
) {
    let [plain, other, squared, other_squared, product] =
        signals.0.each_mut().map(|row| &mut row.as_chunks_mut::<LANES>().0[number]);
    for lane in 0..LANES {
        let (a, b): (f32, f32) = (cell[lane].into() * factor, other_cell[lane].into() * factor);
        (plain[lane], other[lane]) = (a, b);
        (squared[lane], other_squared[lane], product[lane]) = (a * a, b * b, a * b);
        largest[lane] = largest[lane].max(narrow::beyond_least(a)).max(narrow::beyond_least(b));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn ask_for<T: Number>(row: &[T], from: usize) {
    for at in (from..from + SAMPLES).step_by(64 / size_of::<T>()) {
        x86::prefetch(row, at);
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
        let samples: [f32; SAMPLES] = std::array::from_fn(|_| match noise.below(16) {
            0 => least,
            1 => most,
            _ => (least + (most - least) * (noise.below(1 << 16) as f32 / 65_536.0)).clamp(least, most),
        });
        let naive = |samples: &[f32]| {
            let terms = samples.iter().zip(WINDOW).map(|(sample, weight)| f64::from(sample * weight));
            terms.fold(0.0, |sum, term| sum + term) as f32
        };
        let mut along = Box::new([[Cell::ZERO; STRETCH]; BATCH]);
        let mut unfinished = [[[0.0; LANES]; UNFINISHED]; 2];
        let (mut terms, mut down) = (TermRows::default(), [Cell::ZERO; BATCH]);
        terms.set_size(BATCH, LANES, Luminance::Skipped);
        // SAFETY: the caller has seen the level among those of this machine.
        unsafe {
            let one = narrow::splat(OnMultipliers::new());
            narrow::filter_along::<PLACE, ROUND>(one, &samples, &mut along[0], 0);
            for (x, got) in along[0].iter().flat_map(|cell| cell.0[0]).enumerate() {
                assert_eq!(got, naive(&samples[x..][..TAPS]), "{least} to {most}, at {x}");
            }
            for (y, row) in along.iter_mut().enumerate() {
                row[3].0[1] = std::array::from_fn(|lane| samples[(7 * y + lane * lane) % SAMPLES]);
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
