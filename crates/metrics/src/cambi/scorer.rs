//! The score of one picture: the sum over five scales of the mean banding strength.

use visus_video::PlaneView;

use super::filter::{Filter, Planes};
use super::geometry::{Geometry, half};
use super::loader::{AbovePeak, Loader};
use super::measure::Measure;
use super::pooling::{Pooling, Sum};
use super::scalar::strengths::Strengths;
use super::shared::Shared;
use super::steps::Steps;
use crate::Spread;
use crate::bands::Spares;
use crate::simd::Target;

/// How much each scale counts, from fine to coarse.
pub const SCALE_WEIGHTS: [f64; 5] = [16.0, 8.0, 4.0, 2.0, 1.0];

/// Memory and tables for pictures of one size.
#[derive(Debug)]
pub struct Scorer {
    pub target: Target,
    pub window: usize,
    /// Width and height of each scale.
    pub sizes: [(usize, usize); SCALE_WEIGHTS.len()],
    pub steps: Steps,
    share: f64,
    pub loader: Loader,
    /// What the current scale is made of, from the second on, and the next one.
    pub planes: [Planes; 2],
    /// Scratch of each thread.
    pub measures: Spares<Measure>,
    pub poolings: Spares<Pooling>,
    /// What a single thread takes with it from row to row.
    filter: Filter,
    strengths: Strengths,
    /// What several threads need.
    shared: Option<Shared>,
}

/// How many of so many pixels a share is.
pub fn strongest_count(share: f64, pixels: usize) -> usize {
    ((share * pixels as f64) as usize).clamp(1, pixels)
}

impl Scorer {
    /// `share` is the share of pixels that counts, those with the strongest banding.
    pub fn new(geometry: Geometry, loader: Loader, steps: Steps, share: f64, target: Target) -> Self {
        let (width, height) = geometry.first_scale();
        let mut next = (width, height);
        let sizes = [(); SCALE_WEIGHTS.len()].map(|()| {
            let size = next;
            next = (half(size.0), half(size.1));
            size
        });
        Self {
            target,
            window: geometry.window,
            sizes,
            steps,
            share,
            loader,
            planes: [2, 1].map(|scale| Planes::new(sizes[scale].0, sizes[scale].1)),
            measures: Spares::default(),
            poolings: Spares::default(),
            filter: Filter::new(width, height, target),
            strengths: Strengths::new(width, height),
            shared: None,
        }
    }

    pub fn score(&mut self, luma: PlaneView<'_>, spread: &dyn Spread) -> Result<f64, AbovePeak> {
        let means = if spread.width() > 1 {
            let mut shared = self.shared.take().unwrap_or_default();
            let means = shared.means(self, luma, spread);
            self.shared = Some(shared);
            means?
        } else {
            self.means_alone(luma)?
        };
        let score: f64 = means.iter().zip(SCALE_WEIGHTS).fold(0.0, |sum, (mean, weight)| sum + mean * weight);
        Ok(score / (self.window * self.window) as f64)
    }

    /// The mean strength at each scale, by a single thread.
    fn means_alone(&mut self, luma: PlaneView<'_>) -> Result<[f64; SCALE_WEIGHTS.len()], AbovePeak> {
        let mut measure = self.take_measure();
        let mut pooling = self.poolings.take(Pooling::new);
        let means = self.target.run(
            #[inline(always)]
            || self.means_of_scales(luma, &mut measure, &mut pooling),
        );
        self.measures.put_back(measure);
        self.poolings.put_back(pooling);
        means
    }

    pub fn take_measure(&self) -> Measure {
        self.measures.take(|| Measure::new(&self.steps, self.sizes[0].0, self.window, self.target))
    }

    #[inline(always)]
    fn means_of_scales(
        &mut self,
        luma: PlaneView<'_>,
        measure: &mut Measure,
        pooling: &mut Pooling,
    ) -> Result<[f64; SCALE_WEIGHTS.len()], AbovePeak> {
        let mut means = [0.0; SCALE_WEIGHTS.len()];
        self.filter_first(luma)?;
        for (scale, mean) in means.iter_mut().enumerate() {
            if scale > 0 {
                self.filter_next(scale);
            }
            let ((width, height), runs) = (self.sizes[scale], self.filter.runs());
            self.strengths.clear();
            measure.add_rows(width, 0..height, |y| runs.row(y), &self.steps, &mut self.strengths);
            let all = Sum::of(self.strengths.values());
            *mean = self.pool(scale, std::slice::from_ref(&self.strengths), all, pooling);
        }
        Ok(means)
    }

    /// Finds the runs of the first scale while the picture is converted.
    #[inline(always)]
    fn filter_first(&mut self, luma: PlaneView<'_>) -> Result<(), AbovePeak> {
        let Self { loader, filter, steps, planes, .. } = self;
        if loader.is_resampling() {
            loader.check_rows(luma, 0..luma.height())?;
        }
        let (width, height) = self.sizes[0];
        let rows = filter.start(width, height, 0..height);
        let mut next = planes[1].all_rows();
        loader.load(
            luma,
            rows,
            #[inline(always)]
            |row, mask| filter.push(row, mask, steps, &mut next),
        )
    }

    /// Finds the runs of a later scale. Image and mask of the one after that take the place of those before.
    #[inline(always)]
    fn filter_next(&mut self, scale: usize) {
        let (width, height) = self.sizes[scale];
        let [even, odd] = &mut self.planes;
        let (current, next) = if scale.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let mut next = next.all_rows();
        for y in self.filter.start(width, height, 0..height) {
            let (row, mask) = current.row(y, width);
            self.filter.push(row, mask, &self.steps, &mut next);
        }
    }

    /// The mean strength of the share of pixels that counts, of a scale that was measured in bands, with the sum of `all` its
    /// strengths. Pixels outside of the runs have none.
    #[inline(always)]
    pub fn pool(&self, scale: usize, bands: &[Strengths], all: Sum, pooling: &mut Pooling) -> f64 {
        let (width, height) = self.sizes[scale];
        pooling.mean_of_largest(bands, all, (width, height), strongest_count(self.share, width * height))
    }
}
