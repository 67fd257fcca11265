//! The scales of a picture that several threads share.
//!
//! First the runs of all scales are found, one scale after the other: a scale is made of the one before. Each is cut into
//! bands that begin with an even row, so that no two of them make the same row of the next scale. A band filters the rows
//! next to it as well, and in the first scale it converts the rows that their masks depend on.
//!
//! Then all scales are measured at once, which leaves one time to wait for the last thread instead of five. A band of rows
//! has a histogram of its own. It begins with the rows of the first window and is emptied in the end, so a band that is short
//! next to the window would mostly fill and empty it.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use visus_video::PlaneView;

use super::filter::{Filter, NextRows, Planes};
use super::geometry::half;
use super::loader::{AbovePeak, Loader};
use super::pooling::Pooling;
use super::scalar::runs::Run;
use super::scalar::strengths::Strengths;
use super::scorer::{SCALE_WEIGHTS, Scorer};
use crate::Spread;
use crate::bands::{self, Spares, lock};
use crate::simd::Target;

const SCALES: usize = SCALE_WEIGHTS.len();
/// Rows of a band that is filtered: in the first scale up to ten more are converted.
const LEAST_ROWS: usize = 32;
/// Windows that a measured band is high at least.
const LEAST_WINDOWS: usize = 2;
/// Bands of a scale for each thread.
const PIECES: usize = 2;

/// Scratch that is kept from picture to picture.
#[derive(Debug, Default)]
pub struct Shared {
    loaders: Spares<Loader>,
    scales: [ScaleRuns; SCALES],
    strengths: Spares<Strengths>,
}

/// The runs of a scale, in bands.
#[derive(Debug, Default)]
struct ScaleRuns {
    /// Rows of each band but the last.
    length: usize,
    bands: Vec<Filter>,
}

/// A band of a scale, and where its rows of the next one go.
struct Band<'a> {
    rows: Range<usize>,
    filter: &'a mut Filter,
    next: NextRows<'a>,
}

impl Shared {
    /// The mean strength at each scale. The same bits as by a single thread: strengths do not depend on the bands, and their
    /// sums are exact, or made of all of them in the same order.
    pub fn means(
        &mut self,
        scorer: &mut Scorer,
        luma: PlaneView<'_>,
        spread: &dyn Spread,
    ) -> Result<[f64; SCALES], AbovePeak> {
        self.filter_first(scorer, luma, spread)?;
        (1..SCALES).for_each(|scale| self.filter_next(scorer, scale, spread));
        let strengths = self.measure(scorer, spread);
        let means = bands::map(SCALES, spread, |scale| {
            scorer.poolings.with(Pooling::new, |pooling| {
                scorer.target.run(
                    #[inline(always)]
                    || scorer.pool(scale, &strengths[scale], pooling),
                )
            })
        });
        strengths.into_iter().flatten().for_each(|strengths| self.strengths.put_back(strengths));
        Ok(std::array::from_fn(|scale| means[scale]))
    }

    /// Finds the runs of the first scale. Which band finds a sample that is too large does not show.
    fn filter_first(
        &mut self,
        scorer: &mut Scorer,
        luma: PlaneView<'_>,
        spread: &dyn Spread,
    ) -> Result<(), AbovePeak> {
        let Scorer { target, loader, steps, planes, .. } = scorer;
        let (loader, loaders, size) = (&*loader, &self.loaders, scorer.sizes[0]);
        if loader.is_resampling() {
            check(loader, *target, luma, spread)?;
        }
        let failed = Mutex::new(Ok(()));
        let bands = self.scales[0].bands(size, &mut planes[1], spread);
        bands::for_each(bands, spread, |Band { rows, filter, mut next }| {
            let rows = filter.start(size.0, size.1, rows);
            let mut loader = loaders.take(|| loader.clone());
            let result = target.run(
                #[inline(always)]
                || {
                    loader.load(
                        luma,
                        rows,
                        #[inline(always)]
                        |row, mask| filter.push(row, mask, steps, &mut next),
                    )
                },
            );
            loaders.put_back(loader);
            if result.is_err() {
                *lock(&failed) = result;
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the runs of a later scale.
    fn filter_next(&mut self, scorer: &mut Scorer, scale: usize, spread: &dyn Spread) {
        let Scorer { target, steps, planes: [even, odd], .. } = scorer;
        let (current, next) = if scale.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let (width, height) = scorer.sizes[scale];
        let bands = self.scales[scale].bands((width, height), next, spread);
        bands::for_each(bands, spread, |Band { rows, filter, mut next }| {
            target.run(
                #[inline(always)]
                || {
                    for y in filter.start(width, height, rows) {
                        let (row, mask) = current.row(y, width);
                        filter.push(row, mask, steps, &mut next);
                    }
                },
            );
        });
    }

    /// The strengths in all scales, band by band. The largest scales come first, so that small ones fill what time is left.
    fn measure(&self, scorer: &Scorer, spread: &dyn Spread) -> [Vec<Strengths>; SCALES] {
        let mut pieces = Vec::new();
        for (scale, (_, height)) in scorer.sizes.into_iter().enumerate() {
            let least = least_rows(LEAST_WINDOWS * scorer.window, height, spread);
            pieces.extend(bands::bands(height, 1, least, spread).into_iter().map(|rows| (scale, rows)));
        }
        let found = bands::map(pieces.len(), spread, |piece| {
            let (scale, rows) = pieces[piece].clone();
            let mut measure = scorer.take_measure();
            let mut strengths = self.strengths.take(|| Strengths::new(0, 0));
            strengths.clear();
            let (width, runs) = (scorer.sizes[scale].0, &self.scales[scale]);
            scorer.target.run(
                #[inline(always)]
                || measure.add_rows(width, rows, |y| runs.row(y), &scorer.steps, &mut strengths),
            );
            scorer.measures.put_back(measure);
            strengths
        });
        let mut scales: [Vec<Strengths>; SCALES] = Default::default();
        pieces.iter().zip(found).for_each(|((scale, _), strengths)| scales[*scale].push(strengths));
        scales
    }
}

impl ScaleRuns {
    /// Cuts a picture of this size into bands.
    fn bands<'a>(
        &'a mut self,
        (width, height): (usize, usize),
        next: &'a mut Planes,
        spread: &dyn Spread,
    ) -> Vec<Band<'a>> {
        let rows = bands::bands(height, 2, least_rows(LEAST_ROWS, height, spread), spread);
        self.length = rows.first().map_or(1, ExactSizeIterator::len);
        self.bands.resize_with(rows.len(), || Filter::new(width, self.length));
        let halves: Vec<_> = rows.iter().map(|rows| half(rows.start)..half(rows.end)).collect();
        let images = bands::split(&mut next.image, half(width), &halves);
        let masks = bands::split(&mut next.mask, half(width), &halves);
        let next = images.into_iter().zip(masks).map(|((_, image), (_, mask))| NextRows { image, mask });
        let bands = rows.into_iter().zip(&mut self.bands).zip(next);
        bands.map(|((rows, filter), next)| Band { rows, filter, next }).collect()
    }

    /// The runs of row `y`; rows below the picture are empty.
    #[inline(always)]
    fn row(&self, y: usize) -> &[Run] {
        self.bands.get(y / self.length).map_or(&[], |band| band.runs().row(y % self.length))
    }
}

/// Looks for samples that are too large in all rows.
fn check(loader: &Loader, target: Target, luma: PlaneView<'_>, spread: &dyn Spread) -> Result<(), AbovePeak> {
    let rows = bands::bands(luma.height(), 1, LEAST_ROWS, spread);
    let results = bands::map(rows.len(), spread, |band| {
        target.run(
            #[inline(always)]
            || loader.check_rows(luma, rows[band].clone()),
        )
    });
    results.into_iter().collect()
}

/// The least rows of a band, so that there are no more than [`PIECES`] for each thread.
fn least_rows(least: usize, rows: usize, spread: &dyn Spread) -> usize {
    least.max(rows.div_ceil(PIECES * spread.width()))
}
