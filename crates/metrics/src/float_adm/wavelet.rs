//! The wavelet transform, a row at a time.

use std::ops::Range;

use super::scalar;
use crate::picture::FloatPlane;

/// The margin that is not scored, as a share of the size.
const MARGIN: f64 = 0.1;

/// The positions of a band along one axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// How many samples the transform halves.
    pub input: usize,
    /// How many positions the band has.
    pub size: usize,
    pub scored: Range<usize>,
}

impl Axis {
    pub fn new(input: usize) -> Self {
        let size = input.div_ceil(2);
        let margin = (size as f64 * MARGIN - 0.5) as usize;
        Self { input, size, scored: margin..size - margin }
    }

    /// The axis of the next scale.
    pub fn next(&self) -> Self {
        Self::new(self.size)
    }

    /// The scored positions and the neighbours that mask them.
    pub fn with_neighbours(&self) -> Range<usize> {
        self.scored.start.saturating_sub(1)..self.size.min(self.scored.end + 1)
    }

    /// Whether the outermost positions are scored, so that the picture must be continued.
    pub fn is_scored_fully(&self) -> bool {
        self.scored.start == 0
    }
}

/// Rows of the horizontal, vertical and diagonal band.
pub type Bands = [Vec<f32>; 3];

pub fn bands(width: usize) -> Bands {
    std::array::from_fn(|_| vec![0.0; width])
}

/// A row between the halves of the transform, with one sample before and two after it.
#[derive(Clone, Debug)]
pub struct Lines {
    low: Vec<f32>,
    high: Vec<f32>,
}

impl Lines {
    /// Lines for pictures of this width.
    pub fn new(width: usize) -> Self {
        Self { low: vec![0.0; width + 3], high: vec![0.0; width + 3] }
    }

    /// Row `y` of all bands; the low frequencies go into the picture itself.
    pub fn row(
        &mut self,
        columns: &Axis,
        rows: &Axis,
        picture: &mut FloatPlane,
        y: usize,
        bands: &mut Bands,
    ) {
        self.split_rows(columns, rows, picture, y);
        self.split_columns(columns, picture.row_mut(y), bands);
    }

    /// The vertical half of row `y`.
    pub fn split_rows(&mut self, columns: &Axis, rows: &Axis, picture: &FloatPlane, y: usize) {
        let width = columns.input;
        let source = source_rows(columns, rows, picture, y);
        scalar::split_rows(source, &mut self.low[1..=width], &mut self.high[1..=width]);
        continue_line(&mut self.low, width);
        continue_line(&mut self.high, width);
    }

    /// The horizontal half of it.
    pub fn split_columns(&self, columns: &Axis, low: &mut [f32], [h, v, d]: &mut Bands) {
        let half = columns.size;
        scalar::split_columns(&self.low, &mut low[..half], &mut v[..half]);
        scalar::split_columns(&self.high, &mut h[..half], &mut d[..half]);
    }

    /// Row `y` of the low frequencies, stored in the picture itself.
    pub fn low_row(&mut self, columns: &Axis, rows: &Axis, picture: &mut FloatPlane, y: usize) {
        self.low_rows(columns, rows, picture, y);
        self.low_columns(columns, picture.row_mut(y));
    }

    /// The vertical half of row `y` of the low frequencies.
    pub fn low_rows(&mut self, columns: &Axis, rows: &Axis, picture: &FloatPlane, y: usize) {
        let width = columns.input;
        scalar::low_row(source_rows(columns, rows, picture, y), &mut self.low[1..=width]);
        continue_line(&mut self.low, width);
    }

    /// The horizontal half of it.
    pub fn low_columns(&self, columns: &Axis, low: &mut [f32]) {
        scalar::low_columns(&self.low, &mut low[..columns.size]);
    }
}

/// The four rows that row `y` of a band comes from. The picture continues with the second row above its first, and
/// mirrored from its last row on below.
fn source_rows<'a>(columns: &Axis, rows: &Axis, picture: &'a FloatPlane, y: usize) -> [&'a [f32]; 4] {
    let height = rows.input;
    [0, 1, 2, 3].map(|tap| {
        let row = (2 * y + tap).abs_diff(1);
        let row = if row < height { row } else { 2 * height - 1 - row };
        &picture.row(row)[..columns.input]
    })
}

/// Fills the sample before and the two after a line of `width` samples that begins at 1, as [`source_rows`] does.
fn continue_line(line: &mut [f32], width: usize) {
    line[0] = line[2];
    line[width + 1] = line[width];
    line[width + 2] = line[width - 1];
}
