//! The scales of a picture that several threads share.
//!
//! First the runs of all scales are found, one scale after the other: a scale is made of the one before. Each is cut into
//! bands that begin with an even row, so that no two of them make the same row of the next scale. A band filters the rows
//! next to it as well, and in the first scale it converts the rows that their masks depend on.
//!
//! Then all scales are measured at once, which leaves one time to wait for the last thread instead of five. A band of rows
//! has a histogram of its own. It begins with the rows of the first window and is emptied in the end, so a band that is short
//! next to the window would mostly fill and empty it. Bands hold about as many runs each, since runs are what takes time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use visus_video::PlaneView;

use super::filter::{Filter, NextRows, Planes};
use super::geometry::half;
use super::loader::{AbovePeak, Loader};
use super::pooling::{Pooling, Sum};
use super::scalar::runs::Run;
use super::scalar::strengths::Strengths;
use super::scorer::{SCALE_WEIGHTS, Scorer};
use crate::Spread;
use crate::bands::{self, Spares, lock};
use crate::simd::Target;

const SCALES: usize = SCALE_WEIGHTS.len();
/// Rows of a band that is filtered: in the first scale up to ten more are converted.
const LEAST_ROWS: usize = 32;
/// Bands of a scale for each thread.
const PIECES: usize = 2;
/// As many runs as a row takes the time of, besides its own ones.
const RUNS_OF_ROW: usize = 4;

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

/// The strengths in the bands of a scale, and the sum of each.
#[derive(Debug, Default)]
struct Measured {
    strengths: Vec<Strengths>,
    sums: Vec<Sum>,
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
        let measured = self.measure(scorer, spread);
        let means = bands::map(SCALES, spread, |scale| {
            let Measured { strengths, sums } = &measured[scale];
            let all = Sum::join(sums.iter().copied());
            scorer.poolings.with(Pooling::new, |pooling| {
                scorer.target.run(
                    #[inline(always)]
                    || scorer.pool(scale, strengths, all, pooling),
                )
            })
        });
        let strengths = measured.into_iter().flat_map(|scale| scale.strengths);
        strengths.for_each(|strengths| self.strengths.put_back(strengths));
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
        let bands = self.scales[0].bands(size, &mut planes[1], *target, spread);
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
        let bands = self.scales[scale].bands((width, height), next, *target, spread);
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
    fn measure(&self, scorer: &Scorer, spread: &dyn Spread) -> [Measured; SCALES] {
        let mut pieces = Vec::new();
        for (scale, (_, height)) in scorer.sizes.into_iter().enumerate() {
            let bands = self.scales[scale].even_bands(height, scorer.window, spread);
            pieces.extend(bands.into_iter().map(|rows| (scale, rows)));
        }
        let found = bands::map(pieces.len(), spread, |piece| {
            let (scale, rows) = pieces[piece].clone();
            let mut measure = scorer.take_measure();
            let mut strengths = self.strengths.take(|| Strengths::new(0, 0));
            strengths.clear();
            let (width, runs) = (scorer.sizes[scale].0, &self.scales[scale]);
            let sum = scorer.target.run(
                #[inline(always)]
                || {
                    measure.add_rows(width, rows, |y| runs.row(y), &scorer.steps, &mut strengths);
                    Sum::of(strengths.values())
                },
            );
            scorer.measures.put_back(measure);
            (strengths, sum)
        });
        let mut scales: [Measured; SCALES] = Default::default();
        for ((scale, _), (strengths, sum)) in pieces.iter().zip(found) {
            scales[*scale].strengths.push(strengths);
            scales[*scale].sums.push(sum);
        }
        scales
    }
}

impl ScaleRuns {
    /// Cuts a picture of this size into bands.
    fn bands<'a>(
        &'a mut self,
        (width, height): (usize, usize),
        next: &'a mut Planes,
        target: Target,
        spread: &dyn Spread,
    ) -> Vec<Band<'a>> {
        let least = LEAST_ROWS.max(height.div_ceil(PIECES * spread.width()));
        let rows = bands::bands(height, 2, least, spread);
        self.length = rows.first().map_or(1, ExactSizeIterator::len);
        self.bands.resize_with(rows.len(), || Filter::new(width, self.length, target));
        let halves: Vec<_> = rows.iter().map(|rows| half(rows.start)..half(rows.end)).collect();
        let images = bands::split(&mut next.image, half(width), &halves);
        let masks = bands::split(&mut next.mask, half(width), &halves);
        let next = images.into_iter().zip(masks).map(|((_, image), (_, mask))| NextRows { image, mask });
        let bands = rows.into_iter().zip(&mut self.bands).zip(next);
        bands.map(|((rows, filter), next)| Band { rows, filter, next }).collect()
    }

    /// Bands of rows with about as many runs each, none of them less high than a window.
    fn even_bands(&self, height: usize, window: usize, spread: &dyn Spread) -> Vec<Range<usize>> {
        let runs: usize = self.bands.iter().map(|band| band.runs().len()).sum();
        let count = (PIECES * spread.width()).min(height / window).max(1);
        let share = (runs + RUNS_OF_ROW * height).div_ceil(count);
        let (mut bands, mut start, mut held) = (Vec::new(), 0, 0);
        for end in 1..=height {
            held += RUNS_OF_ROW + self.row(end - 1).len();
            let is_full = held >= share && end - start >= window && height - end >= window;
            if is_full || end == height {
                bands.push(start..end);
                (start, held) = (end, 0);
            }
        }
        bands
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
