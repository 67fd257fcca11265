//! A picture at five sizes, each half of the one before.

use std::ops::Range;

use visus_video::Frame;

use super::SCALES;
#[cfg(target_arch = "x86_64")]
use super::avx512::Pairs;
use super::scalar::{self, ColumnSums, LANES, SplitRow, TAPS};
use crate::Spread;
use crate::bands::{self, Spares};
use crate::float_ssim::{Row, Source};
use crate::picture::FloatPlane;
use crate::simd::{Adder, OnMultipliers, Plain, Target};

/// Split rows that are kept. The nine rows around an output row, mirrored ones included, lie in nine neighbouring rows
/// of the picture, so ten slots never collide.
const SLOTS: usize = 10;

/// The sizes of one picture below its own, the largest first.
#[derive(Debug)]
pub struct Pyramid {
    planes: [FloatPlane; SCALES - 1],
}

impl Pyramid {
    pub fn new(width: usize, height: usize) -> Self {
        let side = |side: usize, scale: usize| (0..=scale).fold(side, |side, _| side.div_ceil(2));
        Self { planes: std::array::from_fn(|scale| FloatPlane::new(side(width, scale), side(height, scale))) }
    }

    /// A size of the frame that was loaded.
    pub fn at_scale<'a>(&'a self, frame: &'a Frame, scale: usize) -> Source<'a> {
        match scale.checked_sub(1) {
            None => Source::luma(frame),
            Some(smaller) => Source::Floats(&self.planes[smaller]),
        }
    }

    /// A size below the frame's own, to be filled, and what it is half of.
    fn step<'a>(&'a mut self, frame: &'a Frame, scale: usize) -> (Source<'a>, &'a mut FloatPlane) {
        let (larger, smaller) = self.planes.split_at_mut(scale);
        let from = larger.last().map_or_else(|| Source::luma(frame), Source::Floats);
        (from, &mut smaller[0])
    }
}

/// Rows of outputs that are worth a thread's call: every call takes four row pairs that others take, too.
const LEAST_ROWS: usize = 24;

/// Fills pyramids of pictures up to a width.
#[derive(Debug)]
pub struct Halving {
    target: Target,
    width: usize,
    halver: Halver,
    /// What threads work with that share a picture.
    shared: Spares<Halver>,
}

impl Halving {
    pub fn new(width: usize, target: Target) -> Self {
        Self { target, width, halver: Halver::new(width, target), shared: Spares::default() }
    }

    /// Takes the luma of frames and fills every size.
    pub fn load(&mut self, pictures: [(&mut Pyramid, &Frame); 2], spread: &dyn Spread) {
        if spread.width() > 1 {
            return self.load_shared(pictures, spread);
        }
        for (pyramid, frame) in pictures {
            for scale in 0..SCALES - 1 {
                let (from, to) = pyramid.step(frame, scale);
                self.halver.halve(self.target, from, Band::all(to));
            }
        }
    }

    /// Each size in bands, those of both pictures side by side.
    fn load_shared(&self, mut pictures: [(&mut Pyramid, &Frame); 2], spread: &dyn Spread) {
        for scale in 0..SCALES - 1 {
            let mut bands = Vec::new();
            for (pyramid, frame) in &mut pictures {
                let (from, to) = pyramid.step(frame, scale);
                bands.extend(Band::cut(to, spread).map(|band| (from, band)));
            }
            bands::for_each(bands, spread, |(from, band)| {
                let make = || Halver::new(self.width, self.target);
                self.shared.with(make, |halver| halver.halve(self.target, from, band));
            });
        }
    }
}

/// Rows of a picture that is being made.
#[derive(Debug)]
pub struct Band<'a> {
    pub rows: Range<usize>,
    pub width: usize,
    data: &'a mut [f32],
    stride: usize,
}

impl<'a> Band<'a> {
    fn all(plane: &'a mut FloatPlane) -> Self {
        let (rows, width, stride) = (0..plane.height(), plane.width(), plane.stride());
        Self { rows, width, data: plane.data_mut(), stride }
    }

    /// Bands of all rows, one behind the other.
    fn cut(plane: &'a mut FloatPlane, spread: &dyn Spread) -> impl Iterator<Item = Self> {
        let (width, stride) = (plane.width(), plane.stride());
        let bands = bands::bands(plane.height(), 1, LEAST_ROWS, spread);
        plane.bands_mut(&bands).into_iter().map(move |(rows, data)| Self { rows, width, data, stride })
    }

    /// Row `y` of the picture and the padding behind it: a multiple of 16 values.
    #[inline(always)]
    pub fn padded_row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.data[(y - self.rows.start) * self.stride..][..self.stride]
    }

    /// Whether the order of the sums does not matter, which the rows under these outputs decide.
    #[inline(always)]
    pub fn sums_are_exact(&self, from: Source<'_>) -> bool {
        let first = (2 * self.rows.start).saturating_sub(TAPS / 2);
        let end = (2 * self.rows.end + TAPS / 2).min(from.height());
        scalar::sums_are_exact(from, first..end)
    }
}

/// Memory to halve pictures up to a width, and how that is done.
#[derive(Debug)]
enum Halver {
    ByRows(Ring, Box<ColumnSums>),
    #[cfg(target_arch = "x86_64")]
    InPairs(Pairs),
}

impl Halver {
    fn new(width: usize, target: Target) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = target.avx512() {
            return Self::InPairs(Pairs::new(proof, width));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        Self::ByRows(Ring::new(width), Box::new(ColumnSums::ZERO))
    }

    /// Both sides of `from` must be 5 or more, and those of the picture that is made half of it, rounded up.
    fn halve(&mut self, target: Target, from: Source<'_>, to: Band<'_>) {
        target.run(
            #[inline(always)]
            || match self {
                Self::ByRows(ring, columns) if target.is_wide() => {
                    halve_by_rows(OnMultipliers::new(), ring, columns, from, to);
                }
                Self::ByRows(ring, columns) => halve_by_rows(Plain, ring, columns, from, to),
                #[cfg(target_arch = "x86_64")]
                Self::InPairs(pairs) => pairs.halve(from, to),
            },
        );
    }
}

#[inline(always)]
fn halve_by_rows<A: Adder>(
    adder: A,
    ring: &mut Ring,
    columns: &mut ColumnSums,
    from: Source<'_>,
    mut to: Band<'_>,
) {
    let lanes = to.width.next_multiple_of(LANES);
    let exact = to.sums_are_exact(from);
    let mut ready = (2 * to.rows.start).saturating_sub(TAPS / 2);
    for y in to.rows.clone() {
        let needed = (2 * y + TAPS.div_ceil(2)).min(from.height());
        for row in ready..needed {
            ring.fill(from.row(row), row);
        }
        ready = needed;
        let rows = ring.around(2 * y, from.height());
        let out = &mut to.padded_row_mut(y)[..lanes];
        if exact {
            columns.halve_row(adder, &rows, out);
        } else {
            scalar::halve_row(adder, &rows, out);
        }
    }
}

/// The latest rows, split.
#[derive(Debug)]
pub struct Ring {
    even: Vec<f32>,
    odd: Vec<f32>,
    stride: usize,
}

impl Ring {
    fn new(width: usize) -> Self {
        let stride = scalar::split_len(width.div_ceil(2));
        Self { even: vec![0.0; stride * SLOTS], odd: vec![0.0; stride * SLOTS], stride }
    }

    #[inline(always)]
    fn fill(&mut self, row: Row<'_>, y: usize) {
        let start = y % SLOTS * self.stride;
        let (even, odd) = (&mut self.even[start..][..self.stride], &mut self.odd[start..][..self.stride]);
        scalar::split_row(row, even, odd);
    }

    /// The rows under the filter around row `centre`.
    #[inline(always)]
    fn around(&self, centre: usize, height: usize) -> [SplitRow<'_>; TAPS] {
        let mut rows = [SplitRow::default(); TAPS];
        for (tap, row) in rows.iter_mut().enumerate() {
            let start = scalar::mirrored(centre + tap, height) % SLOTS * self.stride;
            let (even, odd) = (&self.even[start..][..self.stride], &self.odd[start..][..self.stride]);
            *row = SplitRow { even, odd };
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::simd::level_tests;
    use crate::testing::{self, Content, Noise};

    /// libvmaf's full table, to check the folded one.
    const TABLE: [[f32; 9]; 9] = [
        [0.000714, -0.000450, -0.002090, 0.007132, 0.016114, 0.007132, -0.002090, -0.000450, 0.000714],
        [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146, -0.004490, 0.001316, 0.000283, -0.000450],
        [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149, -0.020867, 0.006115, 0.001316, -0.002090],
        [0.007132, -0.004490, -0.020867, 0.071207, 0.160885, 0.071207, -0.020867, -0.004490, 0.007132],
        [0.016114, -0.010146, -0.047149, 0.160885, 0.363505, 0.160885, -0.047149, -0.010146, 0.016114],
        [0.007132, -0.004490, -0.020867, 0.071207, 0.160885, 0.071207, -0.020867, -0.004490, 0.007132],
        [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149, -0.020867, 0.006115, 0.001316, -0.002090],
        [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146, -0.004490, 0.001316, 0.000283, -0.000450],
        [0.000714, -0.000450, -0.002090, 0.007132, 0.016114, 0.007132, -0.002090, -0.000450, 0.000714],
    ];

    fn naive(from: &FloatPlane, x: usize, y: usize) -> f32 {
        let fold = |at: i64, side: i64| (if at < 0 { -1 - at } else { at.min(2 * side - 1 - at) }) as usize;
        let (width, height) = (from.width() as i64, from.height() as i64);
        let mut sum = 0.0f64;
        for v in 0..9 {
            for u in 0..9 {
                let row = from.row(fold(2 * y as i64 + v - 4, height));
                let sample = row[fold(2 * x as i64 + u - 4, width)];
                sum += f64::from(sample * TABLE[v as usize][u as usize]);
            }
        }
        sum as f32
    }

    fn check_halving(target: Target, from: Source<'_>, floats: &FloatPlane) {
        // Memory made for a wider picture serves narrower ones.
        check_halver(Halver::new(from.width() + 19, target), target, from, floats);
    }

    fn check_halver(mut halver: Halver, target: Target, from: Source<'_>, floats: &FloatPlane) {
        let (width, height) = (from.width(), from.height());
        let mut to = FloatPlane::new(width.div_ceil(2), height.div_ceil(2));
        halver.halve(target, from, Band::all(&mut to));
        for (x, y) in (0..to.height()).flat_map(|y| (0..to.width()).map(move |x| (x, y))) {
            assert_eq!(to.row(y)[x], naive(floats, x, y), "{width}x{height} at {x},{y}");
        }
        for rows in [1, 2, 5, 11] {
            let mut in_bands = FloatPlane::new(to.width(), to.height());
            let bands: Vec<_> =
                (0..to.height()).step_by(rows).map(|y| y..(y + rows).min(to.height())).collect();
            let (width, stride) = (to.width(), to.stride());
            for (rows, data) in in_bands.bands_mut(&bands) {
                halver.halve(target, from, Band { rows, width, data, stride });
            }
            assert!((0..to.height()).all(|y| in_bands.row(y) == to.row(y)), "{rows} rows at a time");
        }
    }

    fn check_samples(target: Target, width: usize, height: usize) {
        for (depth, content) in [8, 10, 16].into_iter().flat_map(|depth| Content::ALL.map(|c| (depth, c))) {
            let frame = testing::frame(testing::format(width, height, Chroma::C400, depth), content, 11);
            let mut floats = FloatPlane::new(width, height);
            floats.load(frame.plane(0), depth, 0.0);
            check_halving(target, Source::luma(&frame), &floats);
        }
    }

    fn check_floats(target: Target, width: usize, height: usize) {
        let mut noise = Noise::new(11);
        for (limit, scale, offset) in
            [(256, 1.0, 0.0), (65_536, 1.0 / 256.0, 0.0), (3, 1e-6, 0.0), (999, 0.377, -150.1)]
        {
            let mut from = FloatPlane::new(width, height);
            for y in 0..height {
                from.row_mut(y).fill_with(|| noise.below(limit) as f32 * scale + offset);
            }
            check_halving(target, Source::Floats(&from), &from);
        }
    }

    /// Floats of the range in which all is done in `f32`, its ends among them, and some beyond it.
    fn range(width: usize, height: usize, outside: &[(usize, usize, f32)]) -> FloatPlane {
        let (mut noise, mut plane) = (Noise::new(5), FloatPlane::new(width, height));
        for y in 0..height {
            plane.row_mut(y).fill_with(|| match noise.below(16) {
                0 => 3.5,
                1 => 350.0,
                _ => 3.5 + noise.below(65_536) as f32 * (346.5 / 65_536.0),
            });
        }
        for (x, y, sample) in outside {
            plane.row_mut(*y)[*x] = *sample;
        }
        plane
    }

    const OUTSIDE: [(usize, usize, f32); 4] =
        [(69, 0, 3.499), (3, 40, 350.1), (40, 75, 0.1), (20, 110, 999.0)];

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_ways_to_split_terms_are_exact() {
        use crate::Level;
        use crate::simd::avx512::Fractions;
        let target = Target::new(Level::Avx512);
        let Some(proof) = target.avx512() else {
            return testing::pass_over(&Level::Avx512.to_string());
        };
        for (fractions, outside) in
            [Fractions::Reduced, Fractions::Rounded].into_iter().flat_map(|way| [(way, 0), (way, 4)])
        {
            let from = range(70, 130, &OUTSIDE[..outside]);
            let halver = Halver::InPairs(Pairs::splitting(proof, 70, fractions));
            check_halver(halver, target, Source::Floats(&from), &from);
        }
    }

    /// A term of the range is at least 2^-10, and no sum of whole parts leaves 2^9.
    #[test]
    fn weights_are_such_that_sums_in_two_parts_are_exact() {
        let weights = TABLE.as_flattened().iter().map(|weight| f64::from(*weight));
        let above: f64 = weights.clone().filter(|weight| *weight > 0.0).sum();
        let below: f64 = weights.clone().filter(|weight| *weight < 0.0).sum();
        assert!(above < 1.46 && below > -0.46, "{above} {below}");
        let rests = weights.clone().count() as f64 / 65_536.0;
        assert!(350.0 * above < 511.9 && rests < 1.0 / 512.0);
        assert!(weights.map(f64::abs).all(|weight| 3.5 * weight * (1.0 - 1e-7) >= 1.0 / 1024.0));
    }

    level_tests! {
        fn does_not_depend_on_the_range_of_samples(level) {
            let target = Target::new(level);
            for outside in [&OUTSIDE[..0], &OUTSIDE[..1], &OUTSIDE[1..2], &OUTSIDE[2..3], &OUTSIDE[..3], &OUTSIDE] {
                let from = range(70, 130, outside);
                check_halving(target, Source::Floats(&from), &from);
            }
            // The last column alone, of an odd number of them.
            let from = range(71, 40, &[(70, 9, 3.0)]);
            check_halving(target, Source::Floats(&from), &from);
            for depth in [8, 10, 16] {
                for dark in [false, true] {
                    let (mut noise, format) = (Noise::new(9), testing::format(75, 70, Chroma::C400, depth));
                    let least = 4 << (depth - 8);
                    let mut number = 0;
                    let frame = testing::frame_of(format, || {
                        number += 1;
                        let sample = least + noise.below((1 << depth) - least);
                        if dark && number == 2600 { noise.below(least) } else { sample }
                    });
                    let mut floats = FloatPlane::new(75, 70);
                    floats.load(frame.plane(0), depth, 0.0);
                    check_halving(target, Source::luma(&frame), &floats);
                }
            }
        }

        fn equals_the_naive_sum(level) {
            for (width, height) in
                [(11, 11), (12, 13), (13, 12), (16, 40), (35, 20), (49, 71), (64, 17), (81, 5), (530, 6), (1023, 7)]
            {
                check_samples(Target::new(level), width, height);
                check_floats(Target::new(level), width, height);
            }
        }
    }
}
