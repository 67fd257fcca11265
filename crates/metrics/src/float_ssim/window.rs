//! The SSIM statistic over all positions of the 11x11 window.
//!
//! Five pictures are filtered (both inputs, their squares, their product), rows first. Only the eleven filtered rows
//! that the next window covers are kept, so nothing but the inputs is as large as a picture.

#[cfg(target_arch = "x86_64")]
use super::avx512::Batches;
use super::scalar::{self, Cell, LANES, Lane, SIGNALS, TAPS};
use super::source::{Row, Source};
use crate::simd::{Adder, OnMultipliers, Plain, Target};

/// Which terms are wanted beside contrast and structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Luminance {
    Wanted,
    Skipped,
}

/// Means over all windows, rounded to `f32` as libvmaf does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    pub ssim: f64,
    pub luminance: f64,
    pub contrast: f64,
    pub structure: f64,
}

/// Sums over all windows, in the order of the pixels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub ssim: f64,
    pub luminance: f64,
    pub contrast: f64,
    pub structure: f64,
}

/// Memory for pictures up to a width, and how the windows are gone through.
#[derive(Debug)]
pub enum Windows {
    ByRows(Target, ByRows),
    #[cfg(target_arch = "x86_64")]
    InBatches(Box<Batches>),
}

impl Windows {
    pub fn new(width: usize, target: Target) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = target.avx512() {
            return Self::InBatches(Box::new(Batches::new(proof, width)));
        }
        Self::ByRows(target, ByRows::new(width))
    }

    /// The statistic of a pair of pictures. `ssim` and `luminance` have no meaning if luminance is skipped.
    ///
    /// # Panics
    /// If the pictures are wider than the memory, or differ in size.
    pub fn measure(&mut self, reference: Source<'_>, distorted: Source<'_>, luminance: Luminance) -> Means {
        let (width, height) = (reference.width(), reference.height());
        if width < TAPS || height < TAPS {
            return Means::without_windows(width, height);
        }
        let sums = match self {
            Self::ByRows(target, rows) => rows.measure(*target, reference, distorted, luminance),
            #[cfg(target_arch = "x86_64")]
            Self::InBatches(batches) => batches.sums(reference, distorted, luminance),
        };
        sums.means(((width - TAPS + 1) * (height - TAPS + 1)) as f64)
    }
}

/// A row of windows at a time.
#[derive(Debug)]
pub struct ByRows {
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
    pub fn new(width: usize) -> Self {
        let cells = cells(width);
        Self {
            rows: std::array::from_fn(|_| vec![0.0; LANES * cells + TAPS]),
            ring: vec![Cell::ZERO; TAPS * cells],
        }
    }

    fn measure(
        &mut self,
        target: Target,
        reference: Source<'_>,
        distorted: Source<'_>,
        luminance: Luminance,
    ) -> Sums {
        target.run(
            #[inline(always)]
            || {
                if target.is_wide() {
                    self.sums(OnMultipliers::new(), reference, distorted, luminance)
                } else {
                    self.sums(Plain, reference, distorted, luminance)
                }
            },
        )
    }

    #[inline(always)]
    fn sums<A: Adder>(
        &mut self,
        adder: A,
        reference: Source<'_>,
        distorted: Source<'_>,
        luminance: Luminance,
    ) -> Sums {
        let columns = reference.width() - TAPS + 1;
        let mut sums = Sums::default();
        for y in 0..reference.height() {
            self.filter_row(adder, reference.row(y), distorted.row(y), columns, y % TAPS);
            if y + 1 >= TAPS {
                self.add_windows(adder, y + 1 - TAPS, columns, luminance, &mut sums);
            }
        }
        sums
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

    /// Adds the windows whose first row is `top`.
    #[inline(always)]
    fn add_windows<A: Adder>(
        &mut self,
        adder: A,
        top: usize,
        columns: usize,
        luminance: Luminance,
        sums: &mut Sums,
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
                sums.add(&terms, (columns - (cell - 2) * LANES).min(LANES), luminance);
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

/// The terms of neighbouring pixels.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub luminance: Lane<f64>,
    pub contrast: Lane<f64>,
    pub structure: Lane<f64>,
}

impl Terms {
    pub const ZERO: Self = Self { luminance: [0.0; LANES], contrast: [0.0; LANES], structure: [0.0; LANES] };

    #[inline(always)]
    pub fn of(moments: &Cell, luminance: Luminance) -> Self {
        let (contrast, structure) = scalar::contrast_structure(moments);
        let luminance = match luminance {
            Luminance::Wanted => scalar::luminance(moments),
            Luminance::Skipped => [0.0; LANES],
        };
        Self { luminance, contrast, structure }
    }
}

impl Sums {
    /// Adds the first `count` pixels.
    #[inline(always)]
    pub fn add(&mut self, terms: &Terms, count: usize, luminance: Luminance) {
        if count == LANES {
            // The same with a length that the compiler knows.
            self.add_lanes(terms, LANES, luminance);
        } else {
            self.add_lanes(terms, count, luminance);
        }
    }

    #[inline(always)]
    fn add_lanes(&mut self, terms: &Terms, count: usize, luminance: Luminance) {
        for lane in 0..count {
            self.contrast += terms.contrast[lane];
            self.structure += terms.structure[lane];
            if luminance == Luminance::Wanted {
                self.ssim += terms.luminance[lane] * terms.contrast[lane] * terms.structure[lane];
                self.luminance += terms.luminance[lane];
            }
        }
    }

    fn means(&self, count: f64) -> Means {
        let mean = |sum: f64| f64::from((sum / count) as f32);
        Means {
            ssim: mean(self.ssim),
            luminance: mean(self.luminance),
            contrast: mean(self.contrast),
            structure: mean(self.structure),
        }
    }
}

impl Means {
    /// libvmaf's answer where no window fits: an empty sum over a product of sides that are zero or negative. It is
    /// zero (of either sign), or not a number if a side is exactly one short.
    fn without_windows(width: usize, height: usize) -> Self {
        let beyond = |side: usize| side as i64 - (TAPS as i64 - 1);
        let count = beyond(width) * beyond(height);
        // The sign shows in reports; 0/0 gives the negative one on the reference's processors.
        let mean = if count == 0 { -f64::NAN } else { 0.0 / count as f64 };
        Self { ssim: mean, luminance: mean, contrast: mean, structure: mean }
    }
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::Level;
    use crate::picture::FloatPlane;
    use crate::simd::level_tests;
    use crate::testing::{self, Content, Noise};

    fn noise(width: usize, height: usize, seed: u32, sample: impl Fn(u32) -> f32) -> FloatPlane {
        let (mut noise, mut plane) = (Noise::new(seed), FloatPlane::new(width, height));
        for y in 0..height {
            plane.row_mut(y).fill_with(|| sample(noise.below(65_536)));
        }
        plane
    }

    fn check_means(target: Target, one: Source<'_>, two: Source<'_>) {
        let width = one.width();
        let mut plain = Windows::ByRows(Target::new(Level::Scalar), ByRows::new(width));
        // Memory made for a wider picture serves narrower ones.
        let mut windows = Windows::new(width + 50, target);
        for luminance in [Luminance::Wanted, Luminance::Skipped, Luminance::Wanted] {
            let expected = plain.measure(one, two, luminance);
            let got = windows.measure(one, two, luminance);
            assert_eq!((got.contrast, got.structure), (expected.contrast, expected.structure));
            if luminance == Luminance::Wanted {
                assert_eq!((got.ssim, got.luminance), (expected.ssim, expected.luminance));
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

    level_tests! {
        fn means_equal_those_of_plain_rows(level) {
            let sizes = [(11, 11), (12, 40), (19, 22), (26, 33), (177, 54), (186, 23), (187, 21), (202, 19), (203, 20), (370, 65), (395, 41), (1030, 32)];
            for (width, height) in sizes {
                check_size(Target::new(level), width, height);
            }
        }
    }

    #[test]
    fn too_small_pictures_follow_the_reference() {
        assert_eq!(Means::without_windows(8, 8).ssim.to_bits(), 0.0f64.to_bits());
        assert_eq!(Means::without_windows(8, 20).ssim.to_bits(), (-0.0f64).to_bits());
        let nan = Means::without_windows(20, 10).ssim;
        assert!(nan.is_nan() && nan.is_sign_negative());
    }
}
