//! What windows say, and the sums of it over a picture.
//!
//! The sums are `f64` and have the order of the pixels. Whoever makes the terms of a window adds them at once, or leaves
//! them in [`TermRows`] for someone who adds whole rows of them; [`ordered`](crate::ordered) then takes them many at a time.

use std::ops::Range;

use super::scalar::{self, Cell, LANES, Lane, TAPS};
use crate::ordered::{add_signed_doubles, add_signed_group, add_singles, add_small_group};
use crate::simd::{Lines, Number};

/// Which terms are wanted beside contrast and structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Luminance {
    Wanted,
    #[default]
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

impl Means {
    /// libvmaf's answer where no window fits: an empty sum over a product of sides that are zero or negative. It is
    /// zero (of either sign), or not a number if a side is exactly one short.
    pub fn without_windows(width: usize, height: usize) -> Self {
        let beyond = |side: usize| side as i64 - (TAPS as i64 - 1);
        let count = beyond(width) * beyond(height);
        // The sign shows in reports; 0/0 gives the negative one on the reference's processors.
        let mean = if count == 0 { -f64::NAN } else { 0.0 / count as f64 };
        Self { ssim: mean, luminance: mean, contrast: mean, structure: mean }
    }
}

/// The terms of neighbouring pixels.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub luminance: Lane<f64>,
    pub contrast: Lane<f64>,
    /// Numbers of `f32`.
    pub structure: Lane<f64>,
}

impl Terms {
    pub const ZERO: Self = Self { luminance: [0.0; LANES], contrast: [0.0; LANES], structure: [0.0; LANES] };

    #[inline(always)]
    pub fn of(moments: &Cell, luminance: Luminance) -> Self {
        let (contrast, structure) = scalar::contrast_structure(moments);
        let luminance = match luminance {
            Luminance::Wanted => scalar::luminance(&moments.0),
            Luminance::Skipped => [0.0; LANES],
        };
        Self { luminance, contrast, structure }
    }

    #[inline(always)]
    fn ssim(&self, lane: usize) -> f64 {
        self.luminance[lane] * self.contrast[lane] * self.structure[lane]
    }
}

/// Takes the terms of pixels, which come in their order.
pub trait TakeTerms {
    /// Takes the first `count` pixels.
    fn take(&mut self, terms: &Terms, count: usize);
}

/// Sums over all windows, in the order of the pixels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub ssim: f64,
    pub luminance: f64,
    pub contrast: f64,
    pub structure: f64,
}

impl Sums {
    /// Adds rows of terms.
    #[inline(always)]
    pub fn add_rows(&mut self, terms: &TermRows, rows: Range<usize>) {
        let all = rows.start * terms.stride..rows.end * terms.stride;
        let run = terms.run;
        self.contrast = add_terms::<Contrasts>(self.contrast, &terms.contrast[all.clone()], run);
        // Pictures that move against each other have a negative structure.
        self.structure = add_terms::<Structures>(self.structure, &terms.structure[all.clone()], run);
        if terms.luminance_too == Luminance::Wanted {
            self.ssim = add_terms::<Others>(self.ssim, &terms.ssim[all.clone()], run);
            self.luminance = add_terms::<Others>(self.luminance, &terms.luminance[all], run);
        }
    }

    pub fn means(&self, count: f64) -> Means {
        let mean = |sum: f64| f64::from((sum / count) as f32);
        Means {
            ssim: mean(self.ssim),
            luminance: mean(self.luminance),
            contrast: mean(self.contrast),
            structure: mean(self.structure),
        }
    }

    #[inline(always)]
    fn add_lanes(&mut self, terms: &Terms, count: usize, luminance: Luminance) {
        for lane in 0..count {
            self.contrast += terms.contrast[lane];
            self.structure += terms.structure[lane];
            if luminance == Luminance::Wanted {
                self.ssim += terms.ssim(lane);
                self.luminance += terms.luminance[lane];
            }
        }
    }
}

/// Sums to which terms are added one by one.
impl TakeTerms for (&mut Sums, Luminance) {
    #[inline(always)]
    fn take(&mut self, terms: &Terms, count: usize) {
        let (sums, luminance) = self;
        if count == LANES {
            // The same with a length that the compiler knows.
            sums.add_lanes(terms, LANES, *luminance);
        } else {
            sums.add_lanes(terms, count, *luminance);
        }
    }
}

/// Runs of a stretch, see [`Runs`].
pub const RUNS: usize = 16;
/// The most columns of a run. Their ends are filtered twice, and a stretch has to stay in a near cache.
pub const LONGEST_RUN: usize = 30;

/// Columns that are worked on together and lie far apart: a row is cut into stretches, a stretch into sixteen runs, and vector
/// `i` of a stretch holds column `i` of each of its runs. What is beside a column then is in the same lane of the vector
/// beside it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// How many stretches a row has.
    pub stretches: usize,
    /// Neighbouring columns of a run; so many vectors has a stretch.
    pub length: usize,
}

#[cfg(target_arch = "x86_64")]
impl Runs {
    pub fn of(columns: usize) -> Self {
        let vectors = columns.div_ceil(RUNS);
        let length = vectors.div_ceil(vectors.div_ceil(LONGEST_RUN));
        Self { stretches: vectors.div_ceil(length), length }
    }

    /// Columns of a stretch.
    pub const fn stretch(&self) -> usize {
        self.length * RUNS
    }
}

/// How terms of a kind are added.
trait TermKind {
    type Term: Copy + Into<f64>;

    /// The sum with a group of terms, if their order does not matter.
    fn add(sum: f64, group: &[Self::Term]) -> Option<f64>;
}

/// A geometric mean over an arithmetic one, which no roundings take far above one. That holds for numbers: what is none leaves
/// the total none, as it does the sum.
struct Contrasts;
struct Structures;
struct Others;

impl TermKind for Contrasts {
    type Term = f64;

    #[inline(always)]
    fn add(sum: f64, group: &[f64]) -> Option<f64> {
        add_small_group(sum, group, 1.5)
    }
}

impl TermKind for Structures {
    type Term = f32;

    #[inline(always)]
    fn add(sum: f64, group: &[f32]) -> Option<f64> {
        add_singles(sum, group)
    }
}

impl TermKind for Others {
    type Term = f64;

    #[inline(always)]
    fn add(sum: f64, group: &[f64]) -> Option<f64> {
        add_signed_group(sum, group)
    }
}

/// Adds terms in the order of the pixels, if those of a stretch were dealt out in runs of this length.
#[inline(always)]
fn add_terms<K: TermKind>(sum: f64, terms: &[K::Term], run: Option<usize>) -> f64 {
    let Some(run) = run else { return add_signed_doubles(sum, terms) };
    let mut sum = sum;
    for stretch in terms.chunks_exact(RUNS * run) {
        sum = match K::add(sum, stretch) {
            Some(sum) => sum,
            None => add_runs(sum, stretch, run),
        };
    }
    sum
}

/// Puts the terms of a stretch in the order of the pixels, and adds them.
#[cold]
fn add_runs<T: Copy + Into<f64>>(sum: f64, stretch: &[T], run: usize) -> f64 {
    let mut in_order = [0.0; RUNS * LONGEST_RUN];
    for (column, terms) in stretch.as_chunks::<RUNS>().0.iter().enumerate() {
        for (lane, term) in terms.iter().enumerate() {
            in_order[lane * run + column] = (*term).into();
        }
    }
    add_signed_doubles(sum, &in_order[..stretch.len()])
}

/// Rows of terms, one behind the other; zeros, which change no sum, where a row is longer than the picture.
#[derive(Debug, Default)]
pub struct TermRows {
    stride: usize,
    /// The length of the runs in which columns were dealt out, if they were.
    run: Option<usize>,
    luminance_too: Luminance,
    contrast: Lines<f64>,
    structure: Lines<f32>,
    luminance: Lines<f64>,
    /// The product of the three.
    ssim: Lines<f64>,
    /// Where terms go that are taken pixel by pixel.
    next: usize,
}

impl TermRows {
    /// Makes room for so many rows of `stride` terms. What they hold is whatever was there before.
    pub fn set_size(&mut self, rows: usize, stride: usize, luminance: Luminance) {
        (self.stride, self.run, self.luminance_too, self.next) = (stride, None, luminance, 0);
        make_room(&mut self.contrast, rows * stride);
        make_room(&mut self.structure, rows * stride);
        if luminance == Luminance::Wanted {
            make_room(&mut self.luminance, rows * stride);
            make_room(&mut self.ssim, rows * stride);
        }
    }

    /// Makes room for so many rows of terms that are dealt out in runs.
    #[cfg(target_arch = "x86_64")]
    pub fn set_size_in_runs(&mut self, rows: usize, runs: Runs, luminance: Luminance) {
        self.set_size(rows, runs.stretches * runs.stretch(), luminance);
        self.run = Some(runs.length);
    }

    #[cfg(target_arch = "x86_64")]
    pub fn luminance_too(&self) -> Luminance {
        self.luminance_too
    }

    /// Where the terms of neighbouring pixels lie.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn place(&self, row: usize, column: usize) -> usize {
        row * self.stride + column
    }

    /// Sets contrast and structure.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn set<const N: usize>(&mut self, place: usize, contrast: &[f64; N], structure: &[f32; N]) {
        self.contrast[place..][..N].copy_from_slice(contrast);
        self.structure[place..][..N].copy_from_slice(structure);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn set_luminance<const N: usize>(&mut self, place: usize, luminance: &[f64; N]) {
        self.luminance[place..][..N].copy_from_slice(luminance);
    }

    /// Says that these rows, which are dealt out in runs, are complete, but for what lies beyond the picture.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn finish(&mut self, rows: Range<usize>, runs: Runs, columns: usize) {
        for row in rows {
            let row = self.place(row, 0)..self.place(row + 1, 0);
            clear_beyond(&mut self.contrast[row.clone()], runs, columns);
            clear_beyond(&mut self.structure[row.clone()], runs, columns);
            if self.luminance_too == Luminance::Wanted {
                clear_beyond(&mut self.luminance[row.clone()], runs, columns);
                let (contrast, structure) = (&self.contrast[row.clone()], &self.structure[row.clone()]);
                let (luminance, ssim) = (&self.luminance[row.clone()], &mut self.ssim[row]);
                for (at, ssim) in ssim.iter_mut().enumerate() {
                    *ssim = luminance[at] * contrast[at] * f64::from(structure[at]);
                }
            }
        }
    }
}

fn make_room<T: Number>(terms: &mut Lines<T>, count: usize) {
    if terms.len() < count {
        *terms = Lines::new(count);
    }
}

/// Makes zeros of what lies beyond the last column, in the last stretch.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn clear_beyond<T: Number>(row: &mut [T], runs: Runs, columns: usize) {
    let last = (runs.stretches - 1) * runs.stretch();
    // So many runs are whole, and so many columns of the next one are there.
    let (whole, rest) = ((columns - last) / runs.length, (columns - last) % runs.length);
    for (column, terms) in row[last..].as_chunks_mut::<RUNS>().0.iter_mut().enumerate() {
        terms[whole + usize::from(column < rest)..].fill(T::default());
    }
}

impl TakeTerms for TermRows {
    #[inline(always)]
    fn take(&mut self, terms: &Terms, count: usize) {
        let place = self.next..self.next + count;
        self.next = place.end;
        self.contrast[place.clone()].copy_from_slice(&terms.contrast[..count]);
        for (structure, term) in self.structure[place.clone()].iter_mut().zip(&terms.structure) {
            *structure = *term as f32;
        }
        if self.luminance_too == Luminance::Wanted {
            self.luminance[place.clone()].copy_from_slice(&terms.luminance[..count]);
            for (lane, ssim) in self.ssim[place].iter_mut().enumerate() {
                *ssim = terms.ssim(lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms dealt out in runs have the sums of terms in the order of the pixels, and what lies beyond the picture counts
    /// nowhere.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn runs_are_added_in_the_order_of_the_pixels() {
        let mut noise = crate::testing::Noise::new(3);
        for columns in [1, 7, 16, 17, 110, 230, 470, 950, 960, 961, 1270, 1910, 3830] {
            let runs = Runs::of(columns);
            assert!(runs.length <= LONGEST_RUN && (runs.stretches - 1) * runs.stretch() < columns);
            assert!(runs.stretches * runs.stretch() >= columns);
            let (mut rows, mut naive) = (TermRows::default(), Sums::default());
            rows.set_size_in_runs(3, runs, Luminance::Skipped);
            let beyond = 3 * runs.stretches * runs.stretch();
            for place in 0..beyond / RUNS {
                rows.set(RUNS * place, &[f64::NAN; RUNS], &[f32::NAN; RUNS]);
            }
            for (row, column) in (0..3).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let (stretch, within) = (column / runs.stretch(), column % runs.stretch());
                let (lane, vector) = (within / runs.length, within % runs.length);
                let place = rows.place(row, stretch * runs.stretch() + vector * RUNS + lane);
                let (contrast, structure) =
                    (f64::from(noise.next()) / 4.3e9, noise.next() as f32 / 3e9 - 0.2);
                rows.set(place, &[contrast], &[structure]);
                naive.contrast += contrast;
                naive.structure += f64::from(structure);
            }
            rows.finish(0..3, runs, columns);
            let mut sums = Sums::default();
            sums.add_rows(&rows, 0..3);
            assert_eq!(sums.contrast.to_bits(), naive.contrast.to_bits(), "{columns}");
            assert_eq!(sums.structure.to_bits(), naive.structure.to_bits(), "{columns}");
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
