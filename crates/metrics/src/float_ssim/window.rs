//! The SSIM statistic over all positions of the 11x11 window.
//!
//! Five pictures are filtered (both inputs, their squares, their product), rows first. Only the eleven filtered rows
//! that the next window covers are kept, so nothing but the inputs is as large as a picture.
//!
//! Several threads each take bands of windows, and filter the ten rows above the end of their first ones anew. They leave
//! terms, which are added up in the order of the pixels.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::avx512::Batches;
use super::scalar::{self, Cell, LANES, SIGNALS, TAPS};
use super::source::{Row, Source};
use super::sums::{Luminance, Means, Sums, TakeTerms, TermRows, Terms};
use crate::Spread;
use crate::bands::{InOrder, Spares, bands};
use crate::simd::{Adder, OnMultipliers, Plain, Target};

/// Windows lie over so many rows below their first one.
pub const OVERHANG: usize = TAPS - 1;

/// Rows that are filtered at a time where rows come in batches.
pub const BATCH: usize = 20;

/// Rows of windows that are worth a thread's call: every call filters ten rows that others filter, too.
const LEAST_ROWS: usize = 3 * BATCH - OVERHANG;

/// The most windows that a call takes, if that is enough rows: terms have to stay in a cache until they are added up.
const MOST_WINDOWS: usize = 150_000;

/// Two pictures of one size, and what is to be known of them.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    pub reference: Source<'a>,
    pub distorted: Source<'a>,
    pub luminance: Luminance,
}

impl Comparison<'_> {
    /// Rows and columns of windows; `None` if not a single one fits.
    fn windows(&self) -> Option<(usize, usize)> {
        let (width, height) = (self.reference.width(), self.reference.height());
        (width >= TAPS && height >= TAPS).then(|| (height - OVERHANG, width - OVERHANG))
    }

    /// The means, where the sums over all windows are these.
    fn means(&self, sums: &Sums) -> Means {
        match self.windows() {
            Some((rows, columns)) => sums.means((rows * columns) as f64),
            None => Means::without_windows(self.reference.width(), self.reference.height()),
        }
    }
}

/// Measures pictures up to a width.
#[derive(Debug)]
pub struct Statistic {
    target: Target,
    width: usize,
    windows: Windows,
    terms: TermRows,
    /// What threads work with that share a picture.
    shared: Spares<Windows>,
    pieces: Spares<Piece>,
}

/// The terms of some rows of windows.
#[derive(Debug, Default)]
struct Piece {
    comparison: usize,
    rows: Range<usize>,
    terms: TermRows,
}

impl Statistic {
    pub fn new(width: usize, target: Target) -> Self {
        Self {
            target,
            width,
            windows: Windows::new(width, target),
            terms: TermRows::default(),
            shared: Spares::default(),
            pieces: Spares::default(),
        }
    }

    /// The statistic of several pairs of pictures. `ssim` and `luminance` have no meaning where luminance is skipped.
    ///
    /// # Panics
    /// If pictures are wider than the memory, or the two of a pair differ in size.
    pub fn measure<const N: usize>(
        &mut self,
        comparisons: [Comparison<'_>; N],
        spread: &dyn Spread,
    ) -> [Means; N] {
        let sums = if spread.width() > 1 {
            self.shared_sums(&comparisons, spread)
        } else {
            comparisons.map(|comparison| self.windows.sums(&comparison, &mut self.terms))
        };
        std::array::from_fn(|number| comparisons[number].means(&sums[number]))
    }

    /// Threads take bands of all pairs, so that none waits for the end of a small picture.
    fn shared_sums<const N: usize>(
        &self,
        comparisons: &[Comparison<'_>; N],
        spread: &dyn Spread,
    ) -> [Sums; N] {
        let bands: Vec<(usize, Range<usize>)> = comparisons
            .iter()
            .enumerate()
            .flat_map(|(number, comparison)| cut(comparison, spread).map(move |rows| (number, rows)))
            .collect();
        let (target, mut sums) = (self.target, [Sums::default(); N]);
        let in_order = InOrder::new(&self.pieces, |piece: &Piece| {
            target.run(
                #[inline(always)]
                || sums[piece.comparison].add_rows(&piece.terms, piece.rows.clone()),
            );
        });
        spread.each(bands.len(), &|number| {
            let (comparison, rows) = bands[number].clone();
            let mut piece = self.pieces.take(Piece::default);
            self.shared.with(
                || Windows::new(self.width, target),
                |windows| {
                    piece.rows = windows.terms(&comparisons[comparison], rows, &mut piece.terms);
                },
            );
            piece.comparison = comparison;
            in_order.hand_in(number, piece);
        });
        drop(in_order);
        sums
    }
}

/// Bands of rows of windows, such that the rows below them make whole batches.
fn cut(comparison: &Comparison<'_>, spread: &dyn Spread) -> impl Iterator<Item = Range<usize>> {
    let (rows, columns) = comparison.windows().unwrap_or((0, 1));
    let fair = bands(rows, 1, LEAST_ROWS, spread).first().map_or(1, Range::len);
    let length = fair.min((MOST_WINDOWS / columns).max(LEAST_ROWS));
    let length = (length + OVERHANG).next_multiple_of(BATCH) - OVERHANG;
    (0..rows).step_by(length).map(move |first| first..(first + length).min(rows))
}

/// Memory for pictures up to a width, and how the windows are gone through.
#[derive(Debug)]
enum Windows {
    ByRows(Target, ByRows),
    #[cfg(target_arch = "x86_64")]
    InBatches(Box<Batches>),
}

impl Windows {
    fn new(width: usize, target: Target) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = target.avx512() {
            return Self::InBatches(Box::new(Batches::new(proof, width)));
        }
        Self::ByRows(target, ByRows::new(width))
    }

    /// The sums over all windows; `terms` is scratch.
    fn sums(&mut self, comparison: &Comparison<'_>, terms: &mut TermRows) -> Sums {
        let mut sums = Sums::default();
        let Some((rows, _)) = comparison.windows() else { return sums };
        #[cfg(not(target_arch = "x86_64"))]
        let _ = terms;
        match self {
            Self::ByRows(target, windows) => {
                windows.measure(*target, comparison, 0..rows, &mut (&mut sums, comparison.luminance));
            }
            #[cfg(target_arch = "x86_64")]
            Self::InBatches(batches) => batches.sums(comparison, terms, &mut sums),
        }
        sums
    }

    /// Leaves the terms of some rows of windows, and says in which rows they are.
    fn terms(
        &mut self,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        terms: &mut TermRows,
    ) -> Range<usize> {
        match self {
            Self::ByRows(target, windows) => {
                let (count, columns) = (rows.len(), comparison.reference.width() - OVERHANG);
                terms.set_size(count, columns, comparison.luminance);
                windows.measure(*target, comparison, rows, terms);
                0..count
            }
            #[cfg(target_arch = "x86_64")]
            Self::InBatches(batches) => batches.terms(comparison, rows, terms),
        }
    }
}

/// A row of windows at a time.
#[derive(Debug)]
struct ByRows {
    /// A row of each signal.
    rows: [Vec<f32>; SIGNALS],
    /// `TAPS` rows of cells, filtered along the row; row `y` of the picture is in slot `y % TAPS`.
    ring: Vec<Cell>,
}

/// Cells of a row of windows.
const fn cells(columns: usize) -> usize {
    columns.div_ceil(LANES)
}

impl ByRows {
    fn new(width: usize) -> Self {
        let cells = cells(width);
        Self {
            rows: std::array::from_fn(|_| vec![0.0; LANES * cells + TAPS]),
            ring: vec![Cell::ZERO; TAPS * cells],
        }
    }

    /// Gives the terms of some rows of windows to `out`.
    fn measure(
        &mut self,
        target: Target,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        out: &mut impl TakeTerms,
    ) {
        target.run(
            #[inline(always)]
            || {
                if target.is_wide() {
                    self.go_through(OnMultipliers::new(), comparison, rows, out);
                } else {
                    self.go_through(Plain, comparison, rows, out);
                }
            },
        );
    }

    #[inline(always)]
    fn go_through<A: Adder>(
        &mut self,
        adder: A,
        comparison: &Comparison<'_>,
        rows: Range<usize>,
        out: &mut impl TakeTerms,
    ) {
        let Comparison { reference, distorted, luminance } = *comparison;
        let columns = reference.width() - OVERHANG;
        for y in rows.start..rows.end + OVERHANG {
            self.filter_row(adder, reference.row(y), distorted.row(y), columns, y % TAPS);
            if y >= rows.start + OVERHANG {
                self.give_terms(adder, y - OVERHANG, columns, luminance, out);
            }
        }
    }

    #[inline(always)]
    fn filter_row<A: Adder>(
        &mut self,
        adder: A,
        reference: Row<'_>,
        distorted: Row<'_>,
        columns: usize,
        slot: usize,
    ) {
        let cells = cells(columns);
        scalar::signal_rows(reference, distorted, 0, self.rows.each_mut().map(|row| &mut row[..]));
        let rows = self.rows.each_ref().map(|row| &row[..]);
        scalar::filter_along(adder, rows, &mut self.ring[slot * cells..][..cells]);
    }

    /// Gives the terms of the windows whose first row is `top`.
    #[inline(always)]
    fn give_terms<A: Adder>(
        &mut self,
        adder: A,
        top: usize,
        columns: usize,
        luminance: Luminance,
        out: &mut impl TakeTerms,
    ) {
        let cells = cells(columns);
        let mut rows: [&[Cell]; TAPS] = [&[]; TAPS];
        for (tap, row) in rows.iter_mut().enumerate() {
            *row = &self.ring[(top + tap) % TAPS * cells..][..cells];
        }
        let mut moments = Cell::ZERO;
        let mut terms = Terms::ZERO;
        for cell in 0..cells + 2 {
            if cell >= 2 {
                out.take(&terms, (columns - (cell - 2) * LANES).min(LANES));
            }
            terms = Terms::of(&moments, luminance);
            if cell < cells {
                let mut cells = [&Cell::ZERO; TAPS];
                for (cell_of_row, row) in cells.iter_mut().zip(rows) {
                    *cell_of_row = &row[cell];
                }
                moments = scalar::filter_down(adder, cells);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::picture::FloatPlane;
    use crate::simd::level_tests;
    use crate::testing::{self, Content, Hands, Noise};
    use crate::{Alone, Level};

    fn noise(width: usize, height: usize, seed: u32, sample: impl Fn(u32) -> f32) -> FloatPlane {
        let (mut noise, mut plane) = (Noise::new(seed), FloatPlane::new(width, height));
        for y in 0..height {
            plane.row_mut(y).fill_with(|| sample(noise.below(65_536)));
        }
        plane
    }

    fn check_means(target: Target, one: Source<'_>, two: Source<'_>) {
        let width = one.width();
        let mut plain = Statistic::new(width, Target::new(Level::Scalar));
        // Memory made for a wider picture serves narrower ones.
        let mut statistic = Statistic::new(width + 50, target);
        for luminance in [Luminance::Wanted, Luminance::Skipped, Luminance::Wanted] {
            let comparison = Comparison { reference: one, distorted: two, luminance };
            let [expected] = plain.measure([comparison], &Alone);
            let [got] = statistic.measure([comparison], &Alone);
            let shared = statistic.measure([comparison; 2], &Hands::new(3));
            for got in [got, shared[0], shared[1]] {
                assert_eq!((got.contrast, got.structure), (expected.contrast, expected.structure));
                if luminance == Luminance::Wanted {
                    assert_eq!((got.ssim, got.luminance), (expected.ssim, expected.luminance));
                }
            }
        }
    }

    fn check_size(target: Target, width: usize, height: usize) {
        for depth in [8, 10, 16] {
            let format = testing::format(width, height, Chroma::C400, depth);
            let [one, two, three, four] = Content::ALL;
            for (one, two) in
                [(one, one), (two, two), (three, three), (four, four), (one, four), (two, three)]
            {
                let (one, two) = (testing::frame(format, one, 1), testing::frame(format, two, 2));
                check_means(target, Source::luma(&one), Source::luma(&two));
            }
        }
        // Fractions on both sides of zero.
        let sample = |number: u32| number as f32 * 0.0051 - 57.3;
        let (one, two) = (noise(width, height, 1, sample), noise(width, height, 2, sample));
        check_means(target, Source::Floats(&one), Source::Floats(&two));
    }

    /// Pictures of 8 bits and of floats that leave the range of the faster filters in a few places, or not at all.
    fn check_range(target: Target, width: usize, height: usize, outside: &[(usize, usize, f32)]) {
        let (mut bytes, format) = (Noise::new(7), testing::format(width, height, Chroma::C400, 8));
        let mut frames = [0; 2].map(|_| testing::frame_of(format, || 6 + bytes.below(250)));
        let mut planes =
            [3, 4].map(|seed| noise(width, height, seed, |number| 6.0 + number as f32 * (354.0 / 65_535.0)));
        for (number, (x, y, sample)) in outside.iter().enumerate() {
            let (frame, plane) = (&mut frames[number % 2], &mut planes[number % 2]);
            plane.row_mut(*y)[*x] = *sample;
            frame.plane_mut_u8(0).expect("8 bits").row_mut(*y)[*x] = *sample as u8;
        }
        check_means(target, Source::luma(&frames[0]), Source::luma(&frames[1]));
        check_means(target, Source::Floats(&planes[0]), Source::Floats(&planes[1]));
    }

    level_tests! {
        fn means_do_not_depend_on_the_range_of_samples(level) {
            let target = Target::new(level);
            check_range(target, 420, 131, &[]);
            let few = [(3, 3, 0.0), (230, 47, 5.9), (190, 92, 361.0), (201, 19, 1.0), (410, 130, -3.0), (419, 99, 1e-5)];
            check_range(target, 420, 131, &few);
            for outside in few {
                check_range(target, 420, 131, &[outside]);
            }
            // All samples at either end of the range, or so.
            for ends in [[6.0, 360.0], [6.0, 6.000_000_5], [359.999_97, 360.0], [6.000_000_5, 359.999_97]] {
                let mut planes = [1, 2].map(|seed| noise(220, 60, seed, |number| ends[number as usize % 2]));
                check_means(target, Source::Floats(&planes[0]), Source::Floats(&planes[1]));
                planes[0].row_mut(30).fill(360.000_03);
                check_means(target, Source::Floats(&planes[0]), Source::Floats(&planes[1]));
            }
        }

        fn means_equal_those_of_plain_rows(level) {
            let sizes = [(11, 11), (12, 40), (19, 22), (26, 33), (177, 54), (186, 23), (187, 21), (202, 19), (203, 20), (370, 65), (395, 41), (1030, 32)];
            for (width, height) in sizes {
                check_size(Target::new(level), width, height);
            }
        }
    }
}
