//! Statistics of a pair on a grid of cells, from a sample of the rows.
//!
//! A cell is a square of 8, 16, 32 or 64 luma samples, so that a picture has at most about 128 columns of them. In each row of
//! cells four neighbouring picture rows are read (two even, two odd, so that fields can be told apart), which is half of
//! the picture at 640x360, a quarter at 1080p and an eighth at 4K. Everything that detectors know of a picture's
//! samples is summed up here, in one walk over those rows.

use crate::strips::Strips;
use crate::totals::{CellSums, Totals};
use visus_video::{Frame, Plane, PlaneView, Sample};

/// Picture rows that are read in each row of cells.
pub(crate) const LINES: usize = 4;
/// Most columns of cells.
const MOST_COLUMNS: usize = 128;

/// Where the cells lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Side of a cell in luma samples.
    pub cell: usize,
    pub columns: usize,
    pub rows: usize,
}

impl Grid {
    pub fn of(width: usize, height: usize) -> Self {
        let cell = [8, 16, 32].into_iter().find(|cell| width / cell <= MOST_COLUMNS).unwrap_or(64);
        Self { cell, columns: width / cell, rows: height / cell }
    }

    pub fn len(&self) -> usize {
        self.columns * self.rows
    }

    /// The first of the picture rows that are read for a row of cells; it is even.
    pub fn first_line(&self, row: usize) -> usize {
        row * self.cell + self.cell / 2 - LINES / 2
    }
}

/// Sums over a picture's second differences in one direction: of the reference, the distorted picture, and both together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    pub reference: f64,
    pub distorted: f64,
    pub product: f64,
    pub count: f64,
}

/// What is known of each cell, luma on the scale of 8 bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// Mean luma of reference and distorted picture.
    pub mean: [Vec<f32>; 2],
    /// Variance of luma within the cell, of both.
    pub variance: [Vec<f32>; 2],
    /// Covariance of the two.
    pub covariance: Vec<f32>,
    /// Mean chroma, less the neutral level: first Cb, then Cr, each of reference and distorted picture. Empty without chroma.
    pub chroma: [[Vec<f32>; 2]; 2],
    /// Second differences along rows and along columns.
    pub across: Detail,
    pub down: Detail,
    /// Along rows, of samples taken in twos: detail of two to four samples.
    pub middle: Detail,
    /// Squared error in even and in odd picture rows, and samples in each.
    pub field_error: [f64; 2],
    pub field_count: f64,
    /// How far the histogram of levels departs from a smooth one, of both pictures: 0 to 2.
    pub roughness: [f64; 2],
    /// Steps at the borders of blocks of eight over steps elsewhere, of both pictures.
    pub block_steps: [f64; 2],
    /// Pieces of the picture rows as they are.
    pub strips: Strips,
}

/// The four rows of both pictures, on one integer scale.
pub(crate) struct Lines {
    pub rows: [[Vec<i16>; LINES]; 2],
    /// Levels of 8 bits for one step of the scale.
    pub unit: f32,
}

impl Lines {
    fn new(width: usize, depth: u8) -> Self {
        let rows = || std::array::from_fn(|_| vec![0i16; width]);
        // More than 10 bits would overflow sums of squares, and tell nothing.
        Self { rows: [rows(), rows()], unit: if depth > 8 { 0.25 } else { 1.0 } }
    }

    fn read(&mut self, side: usize, plane: PlaneView<'_>, first: usize, depth: u8) {
        match plane {
            PlaneView::U8(plane) => fill(&mut self.rows[side], plane, first, i16::from),
            PlaneView::U16(plane) => {
                let (up, down) = (10u8.saturating_sub(depth), depth.saturating_sub(10));
                let convert = move |sample: u16| ((u32::from(sample) << up) >> down).min(1023) as i16;
                fill(&mut self.rows[side], plane, first, convert);
            }
        }
    }
}

fn fill<T: Sample>(
    rows: &mut [Vec<i16>; LINES],
    plane: Plane<'_, T>,
    first: usize,
    convert: impl Fn(T) -> i16,
) {
    for (line, row) in rows.iter_mut().enumerate() {
        row.iter_mut().zip(plane.row(first + line)).for_each(|(to, from)| *to = convert(*from));
    }
}

impl Cells {
    /// Of two pictures of one format; `None` where the picture is too small to say anything.
    pub fn of(grid: &Grid, reference: &Frame, distorted: &Frame) -> Option<Self> {
        let format = *reference.format();
        let (width, depth) = (format.width(), format.depth());
        if grid.columns < 4 || grid.rows < 4 {
            return None;
        }
        let mut cells = Self::default();
        let mut lines = Lines::new(width, depth);
        let mut totals = Totals::new(width);
        let mut sums = vec![CellSums::default(); grid.columns];
        for row in 0..grid.rows {
            let first = grid.first_line(row);
            lines.read(0, reference.plane(0), first, depth);
            lines.read(1, distorted.plane(0), first, depth);
            sums.fill(CellSums::default());
            totals.add_band(&lines, grid, &mut sums);
            cells.strips.add(&lines, grid, row);
            cells.push_band(&sums, grid, lines.unit);
        }
        totals.write(&mut cells, lines.unit);
        for plane in 1..format.planes() {
            cells.chroma[plane - 1] = [reference, distorted].map(|frame| chroma_means(grid, frame, plane));
        }
        Some(cells)
    }

    pub fn has_chroma(&self) -> bool {
        !self.chroma[0][0].is_empty()
    }

    /// Variance within cells, but for those that are wrong.
    pub fn within(&self, wrong: &[usize]) -> Detail {
        let mut is_wrong = vec![false; self.covariance.len()];
        wrong.iter().for_each(|at| is_wrong[*at] = true);
        let mut sums = Detail::default();
        for at in (0..is_wrong.len()).filter(|at| !is_wrong[*at]) {
            sums.reference += f64::from(self.variance[0][at]);
            sums.distorted += f64::from(self.variance[1][at]);
            sums.product += f64::from(self.covariance[at]);
            sums.count += 1.0;
        }
        sums
    }

    fn push_band(&mut self, sums: &[CellSums], grid: &Grid, unit: f32) {
        let count = (grid.cell * LINES) as f32;
        let square = unit * unit;
        for sums in sums {
            let mean = sums.sum.map(|sum| sum as f32 / count);
            for side in 0..2 {
                let variance = sums.square[side] as f32 / count - mean[side] * mean[side];
                self.mean[side].push(mean[side] * unit);
                self.variance[side].push((variance * square).max(0.0));
            }
            self.covariance.push((sums.product as f32 / count - mean[0] * mean[1]) * square);
        }
    }
}

/// Mean of each cell in a chroma plane, from two rows in its middle, less the neutral level.
fn chroma_means(grid: &Grid, frame: &Frame, plane: usize) -> Vec<f32> {
    let depth = frame.format().depth();
    let unit = 1.0 / f32::from(1u16 << (depth - 8));
    match frame.plane(plane) {
        PlaneView::U8(view) => plane_means(grid, view, frame, unit),
        PlaneView::U16(view) => plane_means(grid, view, frame, unit),
    }
}

fn plane_means<T: Sample>(grid: &Grid, plane: Plane<'_, T>, frame: &Frame, unit: f32) -> Vec<f32> {
    let (sx, sy) = frame.format().chroma().shifts();
    let (wide, high) = (grid.cell >> sx, grid.cell >> sy);
    let mut means = Vec::with_capacity(grid.len());
    for row in 0..grid.rows {
        let first = row * high + high / 2 - 1;
        let rows = [plane.row(first), plane.row(first + 1)];
        for column in 0..grid.columns {
            let sum: u32 = rows
                .iter()
                .map(|row| row[column * wide..][..wide].iter().map(|s| -> u32 { (*s).into() }).sum::<u32>())
                .sum();
            means.push(sum as f32 * unit / (2 * wide) as f32 - 128.0);
        }
    }
    means
}
