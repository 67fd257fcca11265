//! From samples to the field that SpEED looks at: scaled, low-passed, taken down by 16, minus the local mean.
//!
//! Only what decimation leaves is computed: the low pass runs over one row in 16, and along that row at one column in
//! 16. Each value is the sum that a filter over the whole plane would give, formed in the same order.

use std::collections::BTreeSet;

use visus_video::PlaneView;

use super::geometry::{DECIMATION, Geometry, Size};
use super::scalar::{self, Changes, Floats, Samples};
use super::taps;
use crate::picture::FloatPlane;
use crate::resize::{Method, Resizer};
use crate::separable::mirror;

/// What is looked at: a plane, or the change from one plane to the next.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    Plane(PlaneView<'a>),
    Change { before: PlaneView<'a>, after: PlaneView<'a> },
}

/// Samples are taken to the 8-bit scale and centred on zero.
const OFFSET: f32 = -128.0;

/// Planes before and after the prescale.
#[derive(Clone, Debug)]
struct Prescale {
    resizer: Resizer,
    loaded: FloatPlane,
    subtrahend: FloatPlane,
    /// Only `rows` of it are filled.
    scaled: FloatPlane,
    rows: Vec<usize>,
}

/// Makes fields out of planes of one size and depth.
#[derive(Clone, Debug)]
pub struct Front {
    geometry: Geometry,
    depth: u8,
    antialias: Vec<f32>,
    local_mean: Vec<f32>,
    prescale: Option<Prescale>,
    /// One low-passed row, at full width, and the rows that it is made of.
    row: Vec<f32>,
    rows: Vec<usize>,
    decimated: FloatPlane,
}

impl Front {
    pub fn new(geometry: Geometry, depth: u8, kernel_scale: f32, prescale: Option<Method>) -> Self {
        let antialias = taps::antialias(kernel_scale);
        Self {
            geometry,
            depth,
            local_mean: taps::local_mean(kernel_scale),
            prescale: prescale.map(|method| Prescale::new(method, &geometry, antialias.len())),
            rows: vec![0; antialias.len()],
            antialias,
            row: vec![0.0; geometry.scaled.0],
            decimated: FloatPlane::new(geometry.operating.0, geometry.operating.1),
        }
    }

    /// What takes samples to the 8-bit scale: the reciprocal of a power of two, so multiplying is as exact as dividing.
    pub fn factor(depth: u8) -> f32 {
        1.0 / f32::from(1u16 << (depth - 8))
    }

    /// A plane for [`Front::run`] to fill.
    pub fn field(&self) -> FloatPlane {
        let (width, height) = self.geometry.covered();
        FloatPlane::new(width, height)
    }

    /// Fills `field` from planes of the size and depth this was made for.
    #[inline(always)]
    pub fn run(&mut self, source: Source<'_>, field: &mut FloatPlane) {
        if let Some(prescale) = &mut self.prescale {
            prescale.run(source, self.depth);
        }
        for y in 0..self.decimated.height() {
            self.low_pass_row(source, y);
            scalar::filter_decimated(&self.antialias, &self.row, self.decimated.row_mut(y));
        }
        let rows = &mut self.rows[..self.local_mean.len()];
        scalar::subtract_local_mean(&self.local_mean, &self.decimated, &mut self.row, rows, field);
    }

    /// The vertical half of the low pass, for row `y` of the decimated plane.
    #[inline(always)]
    fn low_pass_row(&mut self, source: Source<'_>, y: usize) {
        let Self { antialias, rows, row, geometry, prescale, .. } = self;
        let around = rows_around(y, antialias.len(), geometry.scaled.1);
        for (out, y) in rows.iter_mut().zip(around) {
            *out = y;
        }
        if let Some(prescale) = prescale {
            let plane = &prescale.scaled;
            return scalar::filter_columns(antialias, &Floats { plane, rows }, row);
        }
        // A prescale of almost 1 changes the sizes but scales nothing. What is then missing at the bottom and on the right
        // repeats the last sample; libvmaf reads whatever is there.
        let (width, height) = geometry.source;
        for y in rows.iter_mut() {
            *y = (*y).min(height - 1);
        }
        let present = width.min(row.len());
        source.filter_columns(antialias, rows, self.depth, &mut row[..present]);
        let last = row[present - 1];
        row[present..].fill(last);
    }
}

/// The rows of the scaled plane that a filter of this length reads for row `y` of the decimated one.
fn rows_around(y: usize, taps: usize, height: usize) -> impl Iterator<Item = usize> {
    let first = (y * DECIMATION) as isize - taps as isize / 2;
    (first..first + taps as isize).map(move |y| mirror(y, height))
}

/// All rows of the scaled plane that are ever read.
fn rows_read(geometry: &Geometry, taps: usize) -> Vec<usize> {
    let around = |y| rows_around(y, taps, geometry.scaled.1);
    (0..geometry.operating.1).flat_map(around).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Prescale {
    fn new(method: Method, geometry: &Geometry, taps: usize) -> Self {
        let plane = |size: Size| FloatPlane::new(size.0, size.1);
        Self {
            resizer: Resizer::new(method, geometry.source, geometry.scaled),
            loaded: plane(geometry.source),
            subtrahend: plane(geometry.source),
            scaled: plane(geometry.scaled),
            rows: rows_read(geometry, taps),
        }
    }

    #[inline(always)]
    fn run(&mut self, source: Source<'_>, depth: u8) {
        match source {
            Source::Plane(plane) => self.loaded.load(plane, depth, OFFSET),
            Source::Change { before, after } => {
                self.loaded.load(before, depth, OFFSET);
                self.subtrahend.load(after, depth, OFFSET);
                for y in 0..self.loaded.height() {
                    scalar::subtract_row(self.subtrahend.row(y), self.loaded.row_mut(y));
                }
            }
        }
        for y in &self.rows {
            self.resizer.resize_row(&self.loaded, *y, &mut self.scaled);
        }
    }
}

impl Source<'_> {
    /// Filters the columns of these rows.
    #[inline(always)]
    fn filter_columns(self, taps: &[f32], rows: &[usize], depth: u8, sums: &mut [f32]) {
        let scale = Front::factor(depth);
        match self {
            Source::Plane(PlaneView::U8(plane)) => {
                scalar::filter_columns(taps, &Samples { plane, rows, scale, offset: OFFSET }, sums);
            }
            Source::Plane(PlaneView::U16(plane)) => {
                scalar::filter_columns(taps, &Samples { plane, rows, scale, offset: OFFSET }, sums);
            }
            Source::Change { before: PlaneView::U8(before), after: PlaneView::U8(after) } => {
                scalar::filter_columns(taps, &Changes { before, after, rows, scale }, sums);
            }
            Source::Change { before: PlaneView::U16(before), after: PlaneView::U16(after) } => {
                scalar::filter_columns(taps, &Changes { before, after, rows, scale }, sums);
            }
            Source::Change { .. } => unreachable!("frames of one format"),
        }
    }
}
