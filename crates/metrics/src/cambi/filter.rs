//! From the rows of a scale to the runs that are searched for banding, and to the rows of the next scale.

use std::ops::Range;

use super::geometry::half;
use super::scalar::mode::{Decimation, mode_across, mode_down};
use super::scalar::runs::RunRows;
use super::steps::Steps;
use crate::simd::Target;

/// Samples and mask of a scale, rows without gaps.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    pub image: Vec<u16>,
    pub mask: Vec<u8>,
}

impl Planes {
    pub fn new(width: usize, height: usize) -> Self {
        Self { image: vec![0; width * height], mask: vec![0; width * height] }
    }

    /// Samples and mask of row `y`, where rows are this wide.
    #[inline(always)]
    pub fn row(&self, y: usize, width: usize) -> (&[u16], &[u8]) {
        (&self.image[y * width..][..width], &self.mask[y * width..][..width])
    }

    pub fn all_rows(&mut self) -> NextRows<'_> {
        NextRows { image: &mut self.image, mask: &mut self.mask }
    }
}

/// Where the next scale's rows go, from the one on that the first filtered row belongs to.
#[derive(Debug)]
pub struct NextRows<'a> {
    pub image: &'a mut [u16],
    pub mask: &'a mut [u8],
}

/// The mode filter, row by row: the last rows are all that is kept of a scale.
#[derive(Debug)]
pub struct Filter {
    width: usize,
    height: usize,
    /// The rows that are filtered.
    rows: Range<usize>,
    /// The row that comes next.
    y: usize,
    /// The last three rows, filtered across, in a ring.
    across: [Vec<u16>; 3],
    /// The mask of the row before.
    mask: Vec<u8>,
    filtered: Vec<u16>,
    decimation: Decimation,
    runs: RunRows,
}

impl Filter {
    /// Memory for as many rows of up to `width` pixels.
    pub fn new(width: usize, rows: usize, target: Target) -> Self {
        Self {
            decimation: Decimation::new(target),
            width,
            height: rows,
            rows: 0..rows,
            y: 0,
            across: std::array::from_fn(|_| vec![0; width]),
            mask: vec![0; width],
            filtered: vec![0; width],
            runs: RunRows::new(width, rows, target),
        }
    }

    /// Begins with rows of a picture of this size, the first of them an even one. Which rows have to come: these, and the ones
    /// above and below them if there are any.
    pub fn start(&mut self, width: usize, height: usize, rows: Range<usize>) -> Range<usize> {
        let needed = rows.start.saturating_sub(1)..(rows.end + 1).min(height);
        (self.width, self.height, self.rows, self.y) = (width, height, rows, needed.start);
        self.runs.clear();
        needed
    }

    /// The runs of the rows so far, counted from the first one that is filtered.
    pub fn runs(&self) -> &RunRows {
        &self.runs
    }

    /// Takes the next row. The filter leaves the first and the last row of the picture as they are.
    #[inline(always)]
    pub fn push(&mut self, row: &[u16], mask: &[u8], steps: &Steps, next: &mut NextRows<'_>) {
        let (y, width) = (self.y, self.width);
        mode_across(row, &mut self.across[y % 3][..width]);
        // The row above the first one is only looked at.
        if y > self.rows.start.max(1) {
            let [a, b, c] = &self.across;
            mode_down(&a[..width], &b[..width], &c[..width], &mut self.filtered[..width]);
            self.emit(y - 1, steps, next);
        }
        self.mask[..width].copy_from_slice(mask);
        if (y == 0 || y == self.height - 1) && self.rows.contains(&y) {
            self.filtered[..width].copy_from_slice(row);
            self.emit(y, steps, next);
        }
        self.y += 1;
    }

    /// Stores the runs of row `y`, which is in `filtered` and `mask`, and every second pixel of every second row for the
    /// next scale.
    #[inline(always)]
    fn emit(&mut self, y: usize, steps: &Steps, next: &mut NextRows<'_>) {
        let width = self.width;
        let (row, mask) = (&self.filtered[..width], &self.mask[..width]);
        self.runs.push(row, mask, steps.base(), steps.levels() as u16);
        if y.is_multiple_of(2) {
            let (at, width) = ((y - self.rows.start) / 2 * half(width), half(width));
            self.decimation.samples(row, &mut next.image[at..][..width]);
            self.decimation.flags(mask, &mut next.mask[at..][..width]);
        }
    }
}
