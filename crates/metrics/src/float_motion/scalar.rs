//! The kernels: blur, and the mean absolute difference of two planes, in plain Rust that is compiled for each level.
//!
//! Rows are blurred as they are read, compared with the same rows of the picture before, and take their place, so that
//! one plane of floats is all that goes through memory.

use std::ops::Range;

use visus_video::PlaneView;

use crate::picture::{self, FloatPlane};
use crate::separable::{self, MirroredRow, mirror};

/// Samples are centred on zero.
const OFFSET: f32 = -128.0;

/// Rows whose sums are formed side by side. The order within a row is fixed, so that an addition must wait for the one
/// before it; other rows fill the wait.
const ROWS: usize = 8;

/// Taps of the blur, and memory for the rows that it looks at.
#[derive(Clone, Debug)]
pub struct Blur {
    taps: &'static [f32],
    /// As many of the latest rows as there are taps, in a ring, rows padded to whole blocks.
    ring: Vec<f32>,
    starts: Vec<usize>,
    stride: usize,
    width: usize,
    column: MirroredRow,
    row: Vec<f32>,
    /// Absolute differences to the plane before, of [`ROWS`] rows.
    differences: Vec<f32>,
}

impl Blur {
    /// For planes of `width`. Precondition: both sides are longer than half of the taps.
    pub fn new(width: usize, taps: &'static [f32]) -> Self {
        let stride = separable::padded(width);
        Self {
            taps,
            ring: vec![0.0; taps.len() * stride],
            starts: vec![0; taps.len()],
            stride,
            width,
            column: MirroredRow::new(width, taps.len()),
            row: vec![0.0; stride],
            differences: vec![0.0; ROWS * stride],
        }
    }

    /// Puts a plane, blurred, in the place of the one that is held. Returns the mean absolute difference of the two: sums
    /// run along a row, then over rows, in `f32`.
    #[inline(always)]
    pub fn advance(&mut self, plane: PlaneView<'_>, depth: u8, held: &mut FloatPlane) -> f32 {
        let (width, height) = (self.width, held.height());
        let mut sum = 0.0f32;
        self.exchange_rows(plane, depth, 0..height, held.data_mut(), |row| sum += row);
        sum / (width * height) as f32
    }

    /// The same for some rows, whose memory `held` is; gives the sum of each row's differences.
    #[inline(always)]
    pub fn exchange_rows(
        &mut self,
        plane: PlaneView<'_>,
        depth: u8,
        rows: Range<usize>,
        held: &mut [f32],
        mut give: impl FnMut(f32),
    ) {
        let (width, height, reach) = (self.width, plane.height(), self.taps.len() / 2);
        let mut ready = rows.start.saturating_sub(reach);
        for first in rows.clone().step_by(ROWS) {
            let count = ROWS.min(rows.end - first);
            for index in 0..count {
                let y = first + index;
                let needed = (y + reach + 1).min(height);
                for row in ready..needed {
                    let start = row % self.taps.len() * self.stride;
                    picture::load_row(plane, depth, OFFSET, row, &mut self.ring[start..][..width]);
                }
                ready = needed;
                self.blur_row(y, height);
                self.exchange(index, &mut held[(y - rows.start) * self.stride..][..self.stride]);
            }
            for row in &self.row_sums()[..count] {
                give(*row);
            }
        }
    }

    /// Row `y` of the blurred plane, columns first.
    #[inline(always)]
    fn blur_row(&mut self, y: usize, height: usize) {
        let first = y as isize - (self.taps.len() / 2) as isize;
        for (start, row) in self.starts.iter_mut().zip(first..) {
            *start = mirror(row, height) % self.taps.len() * self.stride;
        }
        separable::filter_columns(self.taps, &self.ring, &self.starts, self.column.values_mut());
        self.column.reflect();
        self.column.filter(self.taps, &mut self.row);
    }

    /// Keeps the absolute differences to a held row, in whose place the new one comes.
    #[inline(always)]
    fn exchange(&mut self, index: usize, held: &mut [f32]) {
        let differences = &mut self.differences[index * self.stride..][..self.stride];
        for ((difference, old), new) in differences.iter_mut().zip(&*held).zip(&self.row) {
            *difference = (old - new).abs();
        }
        held.copy_from_slice(&self.row);
    }

    #[inline(always)]
    fn row_sums(&self) -> [f32; ROWS] {
        let rows: [&[f32]; ROWS] =
            std::array::from_fn(|row| &self.differences[row * self.stride..][..self.width]);
        let mut sums = [0.0f32; ROWS];
        for x in 0..self.width {
            for row in 0..ROWS {
                sums[row] += rows[row][x];
            }
        }
        sums
    }
}

/// The mean absolute difference of two planes of one size. Sums run along a row, then over rows, in `f32`.
#[inline(always)]
pub fn mean_difference(a: &FloatPlane, b: &FloatPlane) -> f32 {
    let (width, height) = (a.width(), a.height());
    let mut sum = 0.0f32;
    let whole = height - height % ROWS;
    for y in (0..whole).step_by(ROWS) {
        for row in row_differences::<ROWS>(a, b, y) {
            sum += row;
        }
    }
    for y in whole..height {
        sum += row_differences::<1>(a, b, y)[0];
    }
    sum / (width * height) as f32
}

/// The sums of absolute differences of `N` rows from row `y` on.
#[inline(always)]
fn row_differences<const N: usize>(a: &FloatPlane, b: &FloatPlane, y: usize) -> [f32; N] {
    let width = a.width();
    let a: [&[f32]; N] = std::array::from_fn(|n| &a.row(y + n)[..width]);
    let b: [&[f32]; N] = std::array::from_fn(|n| &b.row(y + n)[..width]);
    let mut sums = [0.0f32; N];
    for x in 0..width {
        for n in 0..N {
            sums[n] += (a[n][x] - b[n][x]).abs();
        }
    }
    sums
}
