//! The score of one picture: the sum over five scales of the mean banding strength.

use visus_video::PlaneView;

use super::filter::{Filter, Planes};
use super::geometry::{Geometry, half};
use super::loader::{AbovePeak, Loader};
use super::pooling::{Pooling, ordered_sum};
use super::scalar::contrast::{Contrast, Sieve};
use super::scalar::histogram::Histogram;
use super::scalar::strengths::Strengths;
use super::steps::Steps;
use crate::simd::Target;

/// How much each scale counts, from fine to coarse.
pub const SCALE_WEIGHTS: [f64; 5] = [16.0, 8.0, 4.0, 2.0, 1.0];

/// Memory and tables for pictures of one size.
#[derive(Debug)]
pub struct Scorer {
    target: Target,
    window: usize,
    size: (usize, usize),
    steps: Steps,
    share: f64,
    loader: Loader,
    filter: Filter,
    /// What the current scale is made of, from the second on, and the next one.
    planes: [Planes; 2],
    histogram: Histogram,
    sieve: Sieve,
    strengths: Strengths,
    /// The strength at every pixel; empty until it is needed.
    plane: Vec<f32>,
    pooling: Pooling,
}

/// How many of so many pixels a share is.
pub fn strongest_count(share: f64, pixels: usize) -> usize {
    ((share * pixels as f64) as usize).clamp(1, pixels)
}

impl Scorer {
    /// `share` is the share of pixels that counts, those with the strongest banding.
    pub fn new(geometry: Geometry, loader: Loader, steps: Steps, share: f64, target: Target) -> Self {
        let (width, height) = geometry.first_scale();
        let histogram = Histogram::new(steps.levels(), steps.count(), width, geometry.window);
        let second = (half(width), half(height));
        Self {
            target,
            window: geometry.window,
            size: (width, height),
            steps,
            share,
            loader,
            filter: Filter::new(width, height),
            planes: [Planes::new(half(second.0), half(second.1)), Planes::new(second.0, second.1)],
            histogram,
            sieve: Sieve::new(width),
            strengths: Strengths::new(width, height),
            plane: Vec::new(),
            pooling: Pooling::new(),
        }
    }

    pub fn score(&mut self, luma: PlaneView<'_>) -> Result<f64, AbovePeak> {
        self.target.run(
            #[inline(always)]
            || self.score_all_scales(luma),
        )
    }

    #[inline(always)]
    fn score_all_scales(&mut self, luma: PlaneView<'_>) -> Result<f64, AbovePeak> {
        let (mut width, mut height) = self.size;
        self.filter_first(luma)?;
        let mut score = 0.0;
        for (scale, weight) in SCALE_WEIGHTS.into_iter().enumerate() {
            if scale > 0 {
                (width, height) = (half(width), half(height));
                self.filter_next(scale, width, height);
            }
            self.measure(width, height);
            score += self.pool(width, height) * weight;
        }
        Ok(score / (self.window * self.window) as f64)
    }

    /// Finds the runs of the first scale while the picture is converted.
    #[inline(always)]
    fn filter_first(&mut self, luma: PlaneView<'_>) -> Result<(), AbovePeak> {
        let Self { loader, filter, steps, planes, .. } = self;
        filter.start(self.size.0, self.size.1);
        loader.load(
            luma,
            #[inline(always)]
            |row, mask| filter.push(row, mask, steps, &mut planes[1]),
        )
    }

    /// Finds the runs of a later scale. Image and mask of the one after that take the place of those before.
    #[inline(always)]
    fn filter_next(&mut self, scale: usize, width: usize, height: usize) {
        let [even, odd] = &mut self.planes;
        let (current, next) = if scale.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        self.filter.start(width, height);
        for y in 0..height {
            let (row, mask) = (&current.image[y * width..][..width], &current.mask[y * width..][..width]);
            self.filter.push(row, mask, &self.steps, next);
        }
    }

    /// Finds the strength of banding at the pixels of all runs. In the end nothing is left in the histogram.
    #[inline(always)]
    fn measure(&mut self, width: usize, height: usize) {
        let Self { histogram, steps, sieve, strengths, .. } = self;
        let contrast = Contrast::new(steps);
        let (runs, pad) = (self.filter.runs(), self.window / 2);
        histogram.start(width);
        strengths.clear();
        for y in 0..pad {
            histogram.add(runs.row(y));
        }
        for y in 0..height + pad + 1 {
            histogram.add(runs.row(y + pad));
            if y > pad {
                histogram.remove(runs.row(y - pad - 1));
            }
            contrast.add_row(runs.row(y), y, histogram, sieve, strengths);
        }
    }

    /// The mean strength of the share of pixels that counts. Pixels outside of the runs have none.
    #[inline(always)]
    fn pool(&mut self, width: usize, height: usize) -> f64 {
        let pixels = width * height;
        let count = strongest_count(self.share, pixels);
        let total = self.pooling.sum_of_largest(self.strengths.values(), count).unwrap_or_else(|| {
            self.plane.clear();
            self.plane.resize(pixels, 0.0);
            self.strengths.spread(width, &mut self.plane);
            ordered_sum(&mut self.plane, count)
        });
        total / count as f64
    }
}
