//! What a frame looks like from afar: mean luma in a grid of cells.
//!
//! Two codings of one picture have nearly the same signature, whatever their size, depth and quality; two pictures
//! of a moving scene have not. The mean over the whole picture is kept apart, so that a shift in brightness does not hide
//! that two pictures are the same.

use std::ops::Range;

use crate::sync::found::Print;
use visus_video::{ColourRange, Format, Frame, Plane, PlaneView, Sample};

/// Cells across and down, where the picture is large enough.
const GRID: (usize, usize) = (64, 36);
/// A cell is at least this wide and high, in samples of the smaller picture: grain must not count.
const SMALLEST_CELL: usize = 8;

/// The grid that two pictures share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    columns: usize,
    rows: usize,
}

impl Grid {
    pub const fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows }
    }

    pub fn for_formats(a: &Format, b: &Format) -> Self {
        let fit = |most: usize, a: usize, b: usize| (a.min(b) / SMALLEST_CELL).clamp(1, most);
        Self { columns: fit(GRID.0, a.width(), b.width()), rows: fit(GRID.1, a.height(), b.height()) }
    }
}

/// Mean luma per cell, on the scale of 8 bits in limited range.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Without the mean of all cells.
    cells: Vec<f32>,
    pub mean: f32,
    /// Mean square of the cells.
    pub variance: f32,
}

/// The part of a picture that is looked at: shares of its height and width left out above, below, left and right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View(pub [f64; 4]);

impl View {
    /// Rows and columns of a picture of this size; at least one of each.
    pub fn of(&self, width: usize, height: usize) -> (Range<usize>, Range<usize>) {
        let inner = |side: usize, before: f64, after: f64| {
            let from = (side as f64 * before).ceil() as usize;
            let to = side - ((side as f64 * after).ceil() as usize).min(side);
            let from = from.min(side.saturating_sub(1));
            from..to.max(from + 1)
        };
        let [top, bottom, left, right] = self.0;
        (inner(height, top, bottom), inner(width, left, right))
    }
}

impl Signature {
    pub fn of(frame: &Frame, range: ColourRange, grid: Grid) -> Self {
        Self::of_view(frame, range, grid, View::default())
    }

    pub fn of_view(frame: &Frame, range: ColourRange, grid: Grid, view: View) -> Self {
        Self::from_cells(Self::cells_of(frame, range, grid, view))
    }

    /// Mean luma of every cell.
    pub fn cells_of(frame: &Frame, range: ColourRange, grid: Grid, view: View) -> Vec<f32> {
        let mut cells = remote_averages(frame, grid, view).unwrap_or_else(|| match frame.plane(0) {
            PlaneView::U8(plane) => averages(plane, grid, view),
            PlaneView::U16(plane) => averages(plane, grid, view),
        });
        let unit = f32::from(1u16 << (frame.format().depth() - 8));
        let (gain, offset) = match range {
            ColourRange::Limited => (1.0 / unit, 0.0),
            ColourRange::Full => (219.0 / 255.0 / unit, 16.0),
        };
        cells.iter_mut().for_each(|cell| *cell = *cell * gain + offset);
        cells
    }

    pub fn from_cells(mut cells: Vec<f32>) -> Self {
        let count = cells.len().max(1) as f32;
        let mean = cells.iter().sum::<f32>() / count;
        cells.iter_mut().for_each(|cell| *cell -= mean);
        let variance = cells.iter().map(|cell| cell * cell).sum::<f32>() / count;
        Self { cells, mean, variance }
    }

    /// A number that signatures share if they are the same to the last bit (FNV-1a over all cells).
    pub fn print(&self) -> Print {
        let mix =
            |hash: Print, value: &f32| (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3);
        self.cells.iter().chain([&self.mean]).fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Mean squared difference of the cells, brightness apart.
    pub fn distance(&self, other: &Self) -> f32 {
        const LANES: usize = 16;
        let mut sums = [0.0f32; LANES];
        let (a, b) = (self.cells.chunks_exact(LANES), other.cells.chunks_exact(LANES));
        let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| (a - b) * (a - b)).sum();
        for (a, b) in a.zip(b) {
            for lane in 0..LANES {
                let difference = a[lane] - b[lane];
                sums[lane] += difference * difference;
            }
        }
        (sums.iter().sum::<f32>() + rest) / self.cells.len().max(1) as f32
    }

    /// The difference of the cell that differs most, in levels, brightness apart.
    pub fn farthest(&self, other: &Self) -> f32 {
        self.cells.iter().zip(&other.cells).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[cfg(test)]
    pub fn cells_for_tests(&self) -> &[f32] {
        &self.cells
    }

    /// 1 for the same picture, near 0 for two that have nothing in common; `None` if both are flat.
    pub fn likeness(&self, other: &Self) -> Option<f32> {
        let spread = self.variance + other.variance;
        (spread > FLAT).then(|| 1.0 - self.distance(other) / spread)
    }

    /// Mean absolute difference, brightness included: how much changes from one frame to the next.
    pub fn change(&self, other: &Self) -> f32 {
        let shift = self.mean - other.mean;
        let sum: f32 = self.cells.iter().zip(&other.cells).map(|(a, b)| (a - b + shift).abs()).sum();
        sum / self.cells.len().max(1) as f32
    }

    /// The straight line `other ≈ gain · self + offset`, by least squares; `None` for a flat picture.
    pub fn line_to(&self, other: &Self) -> Option<(f32, f32)> {
        let product: f32 = self.cells.iter().zip(&other.cells).map(|(a, b)| a * b).sum();
        let gain = product / (self.variance * self.cells.len() as f32);
        (self.variance > 8.0 * FLAT).then_some((gain, other.mean - gain * self.mean))
    }
}

/// Pictures whose cells spread less than this (in square levels) cannot be told apart.
const FLAT: f32 = 4.0;

/// Where cells begin along a side, and where the last one ends.
fn edges(count: usize, within: &Range<usize>) -> Vec<usize> {
    (0..=count).map(|index| within.start + index * within.len() / count).collect()
}

/// The means of cells of a picture in a device's memory, from sums that the device made: the same integers, so the same means.
fn remote_averages(frame: &Frame, grid: Grid, view: View) -> Option<Vec<f32>> {
    let picture = frame.remote()?;
    let (rows, columns) = view.of(frame.format().width(), frame.format().height());
    let (rows, columns) = (edges(grid.rows, &rows), edges(grid.columns, &columns));
    let mut sums = picture.cell_sums(&rows, &columns)?.into_iter();
    let mut cells = Vec::with_capacity(grid.columns * grid.rows);
    for row in rows.windows(2) {
        for column in columns.windows(2) {
            let samples = (column[1] - column[0]) * (row[1] - row[0]);
            cells.push(sums.next()? as f32 / samples.max(1) as f32);
        }
    }
    Some(cells)
}

/// Rows are added up column by column first, which vectors do well, and a cell is the sum of its columns.
fn averages<T: Columns>(plane: Plane<'_, T>, grid: Grid, view: View) -> Vec<f32> {
    let (rows, columns) = view.of(plane.width(), plane.height());
    let (rows, columns) = (edges(grid.rows, &rows), edges(grid.columns, &columns));
    let mut sums = vec![0u32; plane.width()];
    let mut cells = Vec::with_capacity(grid.columns * grid.rows);
    for row in rows.windows(2) {
        sums.fill(0);
        T::add_up(&mut sums, plane, row[0]..row[1]);
        for column in columns.windows(2) {
            let samples = (column[1] - column[0]) * (row[1] - row[0]);
            let sum: u64 = sums[column[0]..column[1]].iter().map(|sum| u64::from(*sum)).sum();
            cells.push(sum as f32 / samples.max(1) as f32);
        }
    }
    cells
}

/// Samples that add up down a column.
trait Columns: Sample {
    /// Adds rows to the sums of their columns. A column has at most [`visus_video::MAX_SIDE`] samples of 16 bits: their sum
    /// has less than 32.
    fn add_up(sums: &mut [u32], plane: Plane<'_, Self>, rows: Range<usize>);
}

impl Columns for u16 {
    fn add_up(sums: &mut [u32], plane: Plane<'_, Self>, rows: Range<usize>) {
        for y in rows {
            for (sum, sample) in sums.iter_mut().zip(plane.row(y)) {
                *sum += u32::from(*sample);
            }
        }
    }
}

impl Columns for u8 {
    /// Sums of up to 256 bytes fit 16 bits, so that twice as many columns go into a vector; four rows at a time are
    /// a quarter of the loads and stores of sums.
    fn add_up(sums: &mut [u32], plane: Plane<'_, Self>, rows: Range<usize>) {
        const ROWS: usize = 256;
        let mut short = vec![0u16; sums.len()];
        for top in rows.clone().step_by(ROWS) {
            let bottom = rows.end.min(top + ROWS);
            let fours = top + (bottom - top) / 4 * 4;
            short.fill(0);
            for y in (top..fours).step_by(4) {
                let (upper, lower) = (plane.row(y).iter().zip(plane.row(y + 1)), plane.row(y + 2).iter());
                let samples = upper.zip(lower.zip(plane.row(y + 3)));
                for (sum, ((a, b), (c, d))) in short.iter_mut().zip(samples) {
                    *sum += u16::from(*a) + u16::from(*b) + u16::from(*c) + u16::from(*d);
                }
            }
            for y in fours..bottom {
                for (sum, sample) in short.iter_mut().zip(plane.row(y)) {
                    *sum += u16::from(*sample);
                }
            }
            for (sum, short) in sums.iter_mut().zip(&short) {
                *sum += u32::from(*short);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;
    use visus_video::synthetic::Clip;

    fn signatures(width: usize, height: usize, depth: u8, seed: u32) -> Vec<Signature> {
        let format = Format::new(width, height, Chroma::C420, depth).unwrap();
        let small = Format::new(160, 90, Chroma::C420, 8).unwrap();
        let grid = Grid::for_formats(&format, &small);
        Clip::scene(format, 4, seed)
            .frames()
            .map(|frame| Signature::of(&frame, ColourRange::Limited, grid))
            .collect()
    }

    #[test]
    fn the_same_picture_in_two_depths() {
        let (a, b) = (signatures(320, 180, 8, 1), signatures(320, 180, 10, 1));
        assert!(a[0].distance(&b[0]) < 0.2, "{}", a[0].distance(&b[0]));
        assert!(a[0].likeness(&b[0]).unwrap() > 0.99);
    }

    #[test]
    fn neighbours_differ_and_strangers_more() {
        let (a, b) = (signatures(320, 180, 8, 1), signatures(320, 180, 8, 2));
        assert!(a[0].distance(&a[1]) > 0.2);
        assert!(a[0].likeness(&b[0]).unwrap() < 0.6, "{:?}", a[0].likeness(&b[0]));
        assert_eq!(a[0].distance(&a[0]), 0.0);
    }

    #[test]
    fn a_view_leaves_edges_out() {
        let format = Format::new(64, 40, Chroma::C420, 8).unwrap();
        let grid = Grid::for_formats(&format, &format);
        let frame = Clip::scene(format, 1, 1).frames().next().unwrap();
        let mut barred = frame.clone();
        for y in (0..10).chain(30..40) {
            crate::rgb::write_row(&mut barred, 0, y, std::iter::repeat_n(16, 64));
        }
        let look = |frame: &Frame, view| Signature::of_view(frame, ColourRange::Limited, grid, view);
        let inner = View([0.25, 0.25, 0.0, 0.0]);
        assert_eq!(look(&frame, inner), look(&barred, inner));
        assert_ne!(look(&frame, View::default()), look(&barred, View::default()));
        assert_eq!(View([1.0; 4]).of(64, 40), (39..40, 63..64));
    }

    #[test]
    fn cells_are_means_however_tall() {
        for (depth, white) in [(8, 255), (10, 1020)] {
            let format = Format::new(40, 1031, Chroma::C400, depth).unwrap();
            let mut frame = Frame::new(format);
            for y in 0..1031 {
                let level = if y < 1028 { white } else { 0 };
                crate::rgb::write_row(&mut frame, 0, y, std::iter::repeat_n(level, 40));
            }
            let one = Signature::cells_of(&frame, ColourRange::Limited, Grid::new(1, 1), View::default());
            assert_eq!(one, [255.0 * 1028.0 / 1031.0], "{depth} bits");
            let rows = Signature::cells_of(&frame, ColourRange::Limited, Grid::new(2, 1031), View::default());
            assert!(
                rows[..2056].iter().all(|cell| *cell == 255.0) && rows[2056..] == [0.0; 6],
                "{depth} bits"
            );
        }
    }

    #[test]
    fn brightness_is_apart() {
        let a = Signature::from_cells(vec![10.0, 50.0, 90.0, 200.0]);
        let b = Signature::from_cells(vec![18.0, 58.0, 98.0, 208.0]);
        assert!(a.distance(&b) < 1e-6);
        let (gain, offset) = a.line_to(&b).unwrap();
        assert!((gain - 1.0).abs() < 1e-4 && (offset - 8.0).abs() < 1e-2);
        assert!((a.change(&b) - 8.0).abs() < 1e-4);
        assert_eq!(Signature::from_cells(vec![5.0; 4]).likeness(&Signature::from_cells(vec![9.0; 4])), None);
    }
}
