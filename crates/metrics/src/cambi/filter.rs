//! From the rows of a scale to the runs that are searched for banding, and to the rows of the next scale.

use super::geometry::half;
use super::scalar::mode::{decimate_row, levels_row, mode_across, mode_down};
use super::scalar::runs::RunRows;
use super::steps::Steps;

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
}

/// The mode filter, row by row: the last rows are all that is kept of a scale.
#[derive(Debug)]
pub struct Filter {
    width: usize,
    height: usize,
    /// The row that comes next.
    y: usize,
    /// The last three rows, filtered across, in a ring.
    across: [Vec<u16>; 3],
    /// The mask of the row before.
    mask: Vec<u8>,
    filtered: Vec<u16>,
    levels: Vec<u16>,
    runs: RunRows,
}

impl Filter {
    /// Memory for pictures of up to this size.
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            y: 0,
            across: std::array::from_fn(|_| vec![0; width]),
            mask: vec![0; width],
            filtered: vec![0; width],
            levels: vec![0; width],
            runs: RunRows::new(width, height),
        }
    }

    /// Begins a picture of this size.
    pub fn start(&mut self, width: usize, height: usize) {
        (self.width, self.height, self.y) = (width, height, 0);
        self.runs.clear();
    }

    /// The runs of all rows so far.
    pub fn runs(&self) -> &RunRows {
        &self.runs
    }

    /// Takes the next row. The filter leaves the first and the last row as they are.
    #[inline(always)]
    pub fn push(&mut self, row: &[u16], mask: &[u8], steps: &Steps, next: &mut Planes) {
        let (y, width) = (self.y, self.width);
        mode_across(row, &mut self.across[y % 3][..width]);
        if y > 1 {
            let [a, b, c] = &self.across;
            mode_down(&a[..width], &b[..width], &c[..width], &mut self.filtered[..width]);
            self.emit(y - 1, steps, next);
        }
        self.mask[..width].copy_from_slice(mask);
        if y == 0 || y == self.height - 1 {
            self.filtered[..width].copy_from_slice(row);
            self.emit(y, steps, next);
        }
        self.y += 1;
    }

    /// Stores the runs of row `y`, which is in `filtered` and `mask`, and every second pixel of every second row for the
    /// next scale.
    #[inline(always)]
    fn emit(&mut self, y: usize, steps: &Steps, next: &mut Planes) {
        let width = self.width;
        let (row, mask) = (&self.filtered[..width], &self.mask[..width]);
        let levels = &mut self.levels[..width];
        levels_row(row, mask, steps.base(), steps.levels() as u16, levels);
        self.runs.push(levels);
        if y.is_multiple_of(2) {
            let (at, width) = (y / 2 * half(width), half(width));
            decimate_row(row, &mut next.image[at..][..width]);
            decimate_row(mask, &mut next.mask[at..][..width]);
        }
    }
}
