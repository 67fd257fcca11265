//! A frame that several threads share.
//!
//! Blurs are recursions and sums are chains, so that rows cannot be cut into parts that know nothing of each other. A scale is
//! worked on in blocks of rows instead, each in two steps. In the first, pairs of rows are made side by side: from colours to
//! XYB, blurred along the row, halved for the next scale. In the second, strips of columns are: blurred down the columns, and
//! compared. The errors of a block are added up, in the order of the pixels, beside the first step of the next block.
//!
//! What is halved is kept, the other rows as long as the blur needs them.

mod rows;
mod strip;

use std::ops::Range;
use std::sync::Mutex;

use visus_video::Zeros;

use super::blur::{LAG, SPAN};
use super::colour::Converter;
use super::fused::{Instruction, Portable};
use super::maps::{ErrorMap, Sums};
use super::scale::{SIDES, has_structure, norms};
use super::score::{self, COMPONENTS, MAX_SCALES, NORMS, Norms};
use crate::bands::{Spares, for_each, lock};
use crate::simd::Target;
use crate::{Pair, Spread};
use rows::{RowPair, RowScratch, Source};
use strip::{Block, Strip};

/// Rows of a block: few enough for the caches, and enough for many threads.
const ROWS: usize = 64;
/// Rows that are kept.
const KEPT: usize = ROWS + SPAN - 1;
/// Blurred planes of a component: both pictures, their squares, their product.
const BLURRED: usize = 5;
/// Rows of a [record](Shared): samples, then what is blurred along the rows.
const PLANES: usize = COMPONENTS * (SIDES + BLURRED);
/// Columns of a strip are a multiple of this, so that groups of terms do not end within.
const STRIP_STEP: usize = 64;

/// All scales of a picture pair.
#[derive(Debug)]
pub struct Shared {
    target: Target,
    converter: Converter,
    scales: Vec<Scale>,
    spares: Spares<RowScratch>,
    /// Rows of all planes of a scale, one record after another; row `y` is in record `y % KEPT`.
    records: Zeros<f32>,
    /// The colours of all scales but the first: records of a row of each colour of both pictures.
    pictures: Vec<Zeros<f32>>,
}

/// One scale.
#[derive(Debug)]
struct Scale {
    width: usize,
    height: usize,
    /// Components whose structure counts.
    structure: [bool; COMPONENTS],
    strips: Vec<Strip>,
}

/// What all steps of a frame share.
struct Work<'a> {
    target: Target,
    converter: &'a Converter,
    spares: &'a Spares<RowScratch>,
    /// Of the first scale: scratch serves them all.
    width: usize,
    spread: &'a dyn Spread,
}

impl Shared {
    /// Memory for frames of this size.
    pub fn new(target: Target, converter: &Converter, size: (usize, usize), spread: &dyn Spread) -> Self {
        let count = score::scale_count(size.0, size.1);
        let (mut width, mut height) = size;
        let (mut scales, mut pictures) = (Vec::with_capacity(count), Vec::new());
        for index in 0..count {
            if index > 0 {
                pictures.push(Zeros::new(SIDES * COMPONENTS * width * height));
            }
            scales.push(Scale::new(width, height, index, count, spread));
            (width, height) = (width.div_ceil(2), height.div_ceil(2));
        }
        let records = Zeros::new(PLANES * KEPT * size.0);
        Self { target, converter: converter.clone(), scales, spares: Spares::default(), records, pictures }
    }

    /// The score of a pair.
    pub fn score(&mut self, pair: Pair<'_>, spread: &dyn Spread) -> f64 {
        let Self { target, converter, scales, spares, records, pictures } = self;
        let width = scales.first().map_or(0, |scale| scale.width);
        let work = Work { target: *target, converter, spares, width, spread };
        let mut all = [[[0.0; NORMS]; COMPONENTS]; MAX_SCALES];
        for (index, scale) in scales.iter_mut().enumerate() {
            let (before, behind) = pictures.split_at_mut(index);
            let source = before.last().map_or(Source::Frames(pair), |picture| Source::Picture(picture));
            all[index] = scale.norms(&work, source, behind.first_mut(), records);
        }
        score::score(&all[..scales.len()])
    }
}

impl Scale {
    fn new(width: usize, height: usize, index: usize, count: usize, spread: &dyn Spread) -> Self {
        let strip = width.div_ceil(2 * spread.width()).next_multiple_of(STRIP_STEP);
        let columns = (0..width).step_by(strip).map(|first| first..(first + strip).min(width));
        Self {
            width,
            height,
            structure: std::array::from_fn(|component| {
                has_structure(score::weights(component, index, count))
            }),
            strips: columns.map(Strip::new).collect(),
        }
    }

    fn norms(
        &mut self,
        work: &Work<'_>,
        source: Source<'_>,
        mut next: Option<&mut Zeros<f32>>,
        records: &mut [f32],
    ) -> [Norms; COMPONENTS] {
        let records = &mut records[..PLANES * KEPT * self.width];
        self.strips.iter_mut().for_each(Strip::reset);
        let mut sums = [[Sums::default(); 3]; COMPONENTS];
        let mut complete = 0;
        for first in (0..self.height).step_by(ROWS) {
            let end = (first + ROWS).min(self.height);
            self.make_rows(
                work,
                source,
                first..end,
                next.as_mut().map(|next| &mut next[..]),
                records,
                complete,
                &mut sums,
            );
            // Below the last row the blur goes on with nothing.
            let last = if end == self.height { end + LAG } else { end };
            complete = self.compare(work, first..last, records);
        }
        self.make_rows(work, source, 0..0, None, records, complete, &mut sums);
        sums.map(|[structure, new, lost]| norms([&structure, &new, &lost], self.width * self.height))
    }

    /// The first step, with the sums of the block before.
    fn make_rows(
        &self,
        work: &Work<'_>,
        source: Source<'_>,
        rows: Range<usize>,
        next: Option<&mut [f32]>,
        records: &mut [f32],
        complete: usize,
        sums: &mut [[Sums; 3]; COMPONENTS],
    ) {
        let half = SIDES * COMPONENTS * self.width.div_ceil(2);
        let halved = next.map(|next| next[rows.start / 2 * half..].chunks_mut(half));
        let mut tasks = self.adding(complete, sums);
        tasks.extend(RowPair::all(rows, records, PLANES * self.width, halved).into_iter().map(Task::Make));
        for_each(tasks, work.spread, |task| match task {
            Task::Add { component, map, sums } => work.target.run(
                #[inline(always)]
                || self.add(component, map, complete, sums),
            ),
            Task::Make(pair) => {
                let make = || RowScratch::new(work.converter, work.width);
                work.spares.with(make, |scratch| self.make(work.target, source, pair, scratch));
            }
        });
    }

    fn adding<'a>(&self, complete: usize, sums: &'a mut [[Sums; 3]; COMPONENTS]) -> Vec<Task<'a>> {
        let mut tasks = Vec::new();
        for (component, sums) in sums.iter_mut().enumerate().filter(|_| complete > 0) {
            let maps = [ErrorMap::Structure, ErrorMap::NewEdges, ErrorMap::LostEdges];
            for (map, sums) in maps.into_iter().zip(sums) {
                if map != ErrorMap::Structure || self.structure[component] {
                    tasks.push(Task::Add { component, map, sums });
                }
            }
        }
        tasks
    }

    fn make(&self, target: Target, source: Source<'_>, pair: RowPair<'_>, scratch: &mut RowScratch) {
        let (width, structure) = (self.width, self.structure);
        if target.is_wide() {
            target.run(
                #[inline(always)]
                || scratch.make::<Instruction>(source, pair, width, structure),
            );
        } else {
            scratch.make::<Portable>(source, pair, width, structure);
        }
    }

    /// Adds the errors of all rows that have become complete.
    #[inline(always)]
    fn add(&self, component: usize, map: ErrorMap, complete: usize, sums: &mut Sums) {
        for row in 0..complete {
            for strip in &self.strips {
                sums.add_row(strip.terms(row, component, map), map);
            }
        }
    }

    /// The second step. How many rows have become complete.
    fn compare(&mut self, work: &Work<'_>, rows: Range<usize>, records: &[f32]) -> usize {
        let (width, height, structure) = (self.width, self.height, self.structure);
        let complete = rows.end.saturating_sub(LAG) - rows.start.saturating_sub(LAG);
        let block = Block { rows, records, width, height, structure };
        let target = work.target;
        let strips: Vec<_> = self.strips.iter_mut().map(Mutex::new).collect();
        work.spread.each(strips.len(), &|index| {
            let mut strip = lock(&strips[index]);
            if target.is_wide() {
                target.run(
                    #[inline(always)]
                    || strip.advance::<Instruction>(&block),
                );
            } else {
                strip.advance::<Portable>(&block);
            }
        });
        complete
    }
}

/// A piece of the first step.
enum Task<'a> {
    Add { component: usize, map: ErrorMap, sums: &'a mut Sums },
    Make(RowPair<'a>),
}

/// Where the samples of a component lie in a record, in rows.
fn sample_plane(side: usize, component: usize) -> usize {
    side * COMPONENTS + component
}

/// Where a blurred plane of a component lies.
fn blurred_plane(component: usize, plane: usize) -> usize {
    SIDES * COMPONENTS + component * BLURRED + plane
}
