//! Feeds the filters row by row: a picture is read once, and only the rows under the windows are kept.

use std::ops::Range;

use visus_video::{PlaneView, Sample};

use crate::simd::Target;
use crate::{Spread, bands};

use super::scalar::{self, Energy, MARGIN};

/// Rows under the 5x5 window. Mirrored rows lie among them.
const SLOTS: usize = 5;

/// Filtered rows whose energies are summed at a time.
const BATCH: usize = 4;

/// Rows that are worth a call of their own: the windows read some beyond them.
const LEAST_ROWS: usize = 32;

/// Memory for pictures of one width.
#[derive(Clone, Debug)]
pub struct Filters {
    width: usize,
    padded: Vec<f32>,
    /// `SLOTS` rows of 3-tap sums of the reference.
    binomial: Vec<f32>,
    /// `SLOTS` rows of 5-tap sums of the distorted picture, for each of the window's three kinds of rows.
    windows: [Vec<f32>; 3],
    /// `BATCH` rows of each filtered picture.
    reference: Vec<f32>,
    distorted: Vec<f32>,
}

impl Filters {
    pub fn new(width: usize) -> Self {
        let ring = || vec![0.0; SLOTS * width];
        Self {
            width,
            padded: vec![0.0; width + 2 * MARGIN],
            binomial: ring(),
            windows: [ring(), ring(), ring()],
            reference: vec![0.0; BATCH * width],
            distorted: vec![0.0; BATCH * width],
        }
    }

    /// The energies of the filtered reference and of its difference from the filtered distorted picture. Both sides of
    /// the picture must be 3 or more.
    pub fn energy(
        &mut self,
        target: Target,
        reference: PlaneView<'_>,
        distorted: PlaneView<'_>,
        depth: u8,
    ) -> Energy {
        let mut total = Energy::default();
        target.run(
            #[inline(always)]
            || {
                let rows = 0..reference.height();
                self.rows([reference, distorted], depth, rows, |row| total.add(row));
            },
        );
        total
    }

    /// The same, shared among helping hands.
    pub fn shared_energy(
        &self,
        target: Target,
        planes: [PlaneView<'_>; 2],
        depth: u8,
        spread: &dyn Spread,
    ) -> Energy {
        let bands = bands::bands(planes[0].height(), BATCH, LEAST_ROWS, spread);
        let rows = bands::map(bands.len(), spread, |index| {
            let (mut filters, mut energies) = (self.clone(), Vec::with_capacity(bands[index].len()));
            target.run(
                #[inline(always)]
                || filters.rows(planes, depth, bands[index].clone(), |row| energies.push(row)),
            );
            energies
        });
        let mut total = Energy::default();
        rows.into_iter().flatten().for_each(|row| total.add(row));
        total
    }

    /// The energies of some rows, the first of which begins a batch.
    #[inline(always)]
    fn rows(
        &mut self,
        [reference, distorted]: [PlaneView<'_>; 2],
        depth: u8,
        rows: Range<usize>,
        mut give: impl FnMut(Energy),
    ) {
        let height = reference.height();
        let mut ready = rows.start.saturating_sub(MARGIN);
        for y in rows.clone() {
            let needed = (y + MARGIN + 1).min(height);
            for row in ready..needed {
                self.read(reference, distorted, row, depth);
            }
            ready = needed;
            self.filter(y, height);
            let filled = y % BATCH + 1;
            if filled == BATCH || y + 1 == rows.end {
                self.batch(filled, &mut give);
            }
        }
    }

    /// Takes row `y` of both pictures.
    #[inline(always)]
    fn read(&mut self, reference: PlaneView<'_>, distorted: PlaneView<'_>, y: usize, depth: u8) {
        let slot = y % SLOTS * self.width;
        pad(reference, y, depth, &mut self.padded);
        scalar::binomial_row(&self.padded, &mut self.binomial[slot..][..self.width]);
        pad(distorted, y, depth, &mut self.padded);
        let out = self.windows.each_mut().map(|ring| &mut ring[slot..][..self.width]);
        scalar::window_rows(&self.padded, out);
    }

    /// Makes row `y` of both filtered pictures.
    #[inline(always)]
    fn filter(&mut self, y: usize, height: usize) {
        let width = self.width;
        let slot = |step: isize| mirrored(y as isize + step, height) % SLOTS * width;
        let place = y % BATCH * width;
        let rows = [-1, 0, 1].map(|step| &self.binomial[slot(step)..][..width]);
        scalar::binomial_column(rows, &mut self.reference[place..][..width]);
        let [outer, second, middle] = &self.windows;
        let rows = [(outer, -2), (second, -1), (middle, 0), (second, 1), (outer, 2)];
        let rows = rows.map(|(ring, step)| &ring[slot(step)..][..width]);
        scalar::window_column(rows, &mut self.distorted[place..][..width]);
    }

    #[inline(always)]
    fn batch(&self, rows: usize, give: &mut impl FnMut(Energy)) {
        let (reference, distorted, width) = (&self.reference, &self.distorted, self.width);
        if rows == BATCH {
            for row in scalar::row_energies::<BATCH>(reference, distorted, width, width) {
                give(row);
            }
            return;
        }
        for row in 0..rows {
            let (reference, distorted) = (&reference[row * width..], &distorted[row * width..]);
            give(scalar::row_energies::<1>(reference, distorted, width, width)[0]);
        }
    }
}

/// Where a position beyond an edge lies. The first row (or column) is not repeated, the last one is.
fn mirrored(at: isize, side: usize) -> usize {
    let at_or_mirrored = at.unsigned_abs();
    if at_or_mirrored < side { at_or_mirrored } else { 2 * side - 1 - at_or_mirrored }
}

/// A row on the 8-bit scale around 128, with mirrored margins.
#[inline(always)]
fn pad(plane: PlaneView<'_>, y: usize, depth: u8, out: &mut [f32]) {
    match plane {
        PlaneView::U8(plane) => pad_row(plane.row(y), depth, out),
        PlaneView::U16(plane) => pad_row(plane.row(y), depth, out),
    }
}

#[inline(always)]
fn pad_row<T: Sample>(row: &[T], depth: u8, out: &mut [f32]) {
    let scale = 1.0 / f32::from(1u16 << (depth - 8));
    for (out, sample) in out[MARGIN..].iter_mut().zip(row) {
        let sample: f32 = (*sample).into();
        *out = sample * scale - 128.0;
    }
    let width = row.len();
    for margin in 1..=MARGIN {
        out[MARGIN - margin] = out[MARGIN + mirrored(-(margin as isize), width)];
        let beyond = width + margin - 1;
        out[MARGIN + beyond] = out[MARGIN + mirrored(beyond as isize, width)];
    }
}
