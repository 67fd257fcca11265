//! One scale of both pictures, row by row: a row of bands is made, split, weighed and masked while it is still in the
//! cache. Only the approximation for the next scale is kept as a picture.

use visus_video::Plane;

use super::decouple::{Bands, BandsMut, Decoupling};
use super::geometry::Axis;
use super::masking::{self, Masking};
use super::wavelet::{PAD, TAIL, Wavelet};

/// The approximation that the next scale transforms.
#[derive(Clone, Debug)]
pub struct LowPlane<T> {
    data: Vec<T>,
    width: usize,
    height: usize,
}

impl<T: Copy + Default> LowPlane<T> {
    pub fn new(width: usize, height: usize) -> Self {
        Self { data: vec![T::default(); width * height], width, height }
    }

    pub fn view(&self) -> Plane<'_, T> {
        Plane::new(&self.data, self.width, self.height, self.width)
    }

    fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.data[y * self.width..][..self.width]
    }
}

/// A row of a picture between the two passes of the wavelet, with [`PAD`] samples in front and [`TAIL`] behind.
#[derive(Clone, Debug)]
pub struct Columns<T> {
    low: Vec<T>,
    high: Vec<T>,
}

impl<T: Copy + Default> Columns<T> {
    pub fn new(width: usize) -> Self {
        let row = vec![T::default(); PAD + width + TAIL];
        Self { low: row.clone(), high: row }
    }
}

type BandRows = [Vec<i32>; 3];

fn band_rows(width: usize) -> BandRows {
    std::array::from_fn(|_| vec![0; width])
}

fn cut(rows: &BandRows, start: usize, len: usize) -> Bands<'_> {
    rows.each_ref().map(|row| &row[start..start + len])
}

fn cut_mut(rows: &mut BandRows, len: usize) -> BandsMut<'_> {
    rows.each_mut().map(|row| &mut row[..len])
}

/// Split detail, weighed: as the signal that is masked, and as the mask of the other.
#[derive(Clone, Debug)]
struct Weighed {
    /// The last two rows.
    magnitudes: [BandRows; 2],
    /// The last three rows, with a neighbour on each side.
    spread: [Vec<i32>; 3],
    /// The last two rows.
    centre: [Vec<i32>; 2],
}

impl Weighed {
    fn new(width: usize) -> Self {
        Self {
            magnitudes: std::array::from_fn(|_| band_rows(width)),
            spread: std::array::from_fn(|_| vec![0; width + 2]),
            centre: std::array::from_fn(|_| vec![0; width]),
        }
    }
}

/// Scratch rows, for the widest scale.
#[derive(Clone, Debug)]
pub struct Rows {
    bands: [BandRows; 2],
    kept: BandRows,
    added: BandRows,
    kept_weighed: Weighed,
    added_weighed: Weighed,
    threshold: Vec<i32>,
}

impl Rows {
    /// `width` is that of a band of the first scale.
    pub fn new(width: usize) -> Self {
        Self {
            bands: std::array::from_fn(|_| band_rows(width)),
            kept: band_rows(width),
            added: band_rows(width),
            kept_weighed: Weighed::new(width),
            added_weighed: Weighed::new(width),
            threshold: vec![0; width],
        }
    }
}

/// Sums of cubes over a scale, for each band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// What is kept of the reference's detail and not masked by what was added.
    pub kept: [i64; 3],
    /// What was added and is not masked by what is kept.
    pub added: [i64; 3],
    /// The reference's detail.
    pub reference: [u64; 3],
}

/// What is done at a scale.
#[derive(Debug)]
pub struct Scale<'a, W, M> {
    pub wavelet: W,
    pub masking: &'a M,
    pub decoupling: &'a Decoupling,
    pub columns: &'a Axis,
    pub rows: &'a Axis,
    /// Whether `Sums::added` is wanted.
    pub added_detail: bool,
}

impl<W: Wavelet, M: Masking> Scale<'_, W, M> {
    /// Transforms the reference and the distorted picture and sums up the detail.
    pub fn run(
        &self,
        inputs: [Plane<'_, W::Input>; 2],
        lows: &mut [LowPlane<W::Low>; 2],
        columns: &mut [Columns<W::Column>; 2],
        scratch: &mut Rows,
    ) -> Sums {
        let mut sums = Sums::default();
        let written = self.rows.written();
        for y in written.start..written.end {
            for picture in 0..2 {
                self.filter_down(&inputs[picture], y, &mut columns[picture]);
            }
            self.mirror(columns);
            for picture in 0..2 {
                self.filter_along(y, &columns[picture], &mut lows[picture], &mut scratch.bands[picture]);
            }
            if self.rows.detail.contains(y) {
                self.detail_row(y, scratch, &mut sums);
            }
        }
        if self.rows.touches_edges() && !self.rows.detail.is_empty() {
            self.mask_row(self.rows.output - 1, scratch, &mut sums);
        }
        sums
    }

    fn filter_down(&self, input: &Plane<'_, W::Input>, y: usize, columns: &mut Columns<W::Column>) {
        let read = self.columns.read();
        let rows = self.rows.taps(y).map(|tap| &input.row(tap)[read.start..read.end]);
        self.wavelet.low(rows, &mut columns.low[PAD + read.start..PAD + read.end]);
        if self.rows.detail.contains(y) {
            self.wavelet.high(rows, &mut columns.high[PAD + read.start..PAD + read.end]);
        }
    }

    /// Fills the samples before and behind the rows.
    fn mirror(&self, columns: &mut [Columns<W::Column>; 2]) {
        let len = self.columns.input;
        for row in columns.iter_mut().flat_map(|picture| [&mut picture.low, &mut picture.high]) {
            row[PAD - 1] = row[PAD + 1];
            row[PAD + len] = row[PAD + len - 1];
            row[PAD + len + 1] = row[PAD + len - 2];
        }
        if self.columns.output == 2 {
            self.unmirror(columns);
        }
    }

    /// Where only two outputs are left, libvmaf does not mirror the sample in front but reads what lies there in memory:
    /// the end of the row before, in the order low, high of the reference, then low, high of the distorted picture, and
    /// a zero before the first of them.
    fn unmirror(&self, [reference, distorted]: &mut [Columns<W::Column>; 2]) {
        let last = PAD + self.columns.input - 1;
        reference.low[PAD - 1] = W::Column::default();
        reference.high[PAD - 1] = reference.low[last];
        distorted.low[PAD - 1] = reference.high[last];
        distorted.high[PAD - 1] = distorted.low[last];
    }

    fn filter_along(
        &self,
        y: usize,
        columns: &Columns<W::Column>,
        low: &mut LowPlane<W::Low>,
        bands: &mut BandRows,
    ) {
        if self.rows.low.contains(y) {
            let span = self.columns.low;
            let row = &columns.low[PAD + 2 * span.start - 1..];
            self.wavelet.approximation(row, &mut low.row_mut(y)[span.start..span.end]);
        }
        if self.rows.detail.contains(y) {
            let span = self.columns.detail;
            let [horizontal, vertical, diagonal] = cut_mut(bands, span.len());
            let first = PAD + 2 * span.start - 1;
            self.wavelet.smooth(&columns.high[first..], horizontal);
            self.wavelet.edges(&columns.low[first..], vertical);
            self.wavelet.edges(&columns.high[first..], diagonal);
        }
    }

    /// Everything from the bands on: `y` is the newest row, the one before it now has all its neighbours.
    fn detail_row(&self, y: usize, scratch: &mut Rows, sums: &mut Sums) {
        let len = self.columns.detail.len();
        let [reference, distorted] = scratch.bands.each_ref().map(|bands| cut(bands, 0, len));
        let (kept, added) = (cut_mut(&mut scratch.kept, len), cut_mut(&mut scratch.added, len));
        self.masking.split(self.decoupling, reference, distorted, kept, added);
        if self.rows.scored.contains(y) {
            let energy = self.masking.energy(self.scored(&scratch.bands[0]));
            for (sum, row) in sums.reference.iter_mut().zip(energy) {
                *sum = sum.wrapping_add(self.masking.energy_share(row));
            }
        }
        self.weigh(y, &scratch.kept, &mut scratch.kept_weighed, true, self.added_detail);
        self.weigh(y, &scratch.added, &mut scratch.added_weighed, self.added_detail, true);
        if y > 0 && self.rows.scored.contains(y - 1) {
            self.mask_row(y - 1, scratch, sums);
        }
    }

    fn weigh(&self, y: usize, rows: &BandRows, weighed: &mut Weighed, as_signal: bool, as_mask: bool) {
        if as_signal && self.rows.scored.contains(y) {
            let magnitudes = cut_mut(&mut weighed.magnitudes[y % 2], self.columns.scored.len());
            self.masking.magnitudes(self.scored(rows), magnitudes);
        }
        if as_mask {
            let len = self.columns.detail.len();
            let front = usize::from(self.columns.touches_edges());
            let (spread, centre) = (&mut weighed.spread[y % 3], &mut weighed.centre[y % 2]);
            self.masking.thresholds(cut(rows, 0, len), &mut spread[front..front + len], &mut centre[..len]);
            if self.columns.touches_edges() {
                spread[0] = spread[2];
                spread[len + 1] = spread[len];
            }
        }
    }

    /// Adds a row that has all its neighbours.
    fn mask_row(&self, y: usize, scratch: &mut Rows, sums: &mut Sums) {
        let Rows { kept_weighed: kept, added_weighed: added, threshold, .. } = scratch;
        self.mask(y, kept, added, threshold, &mut sums.kept);
        if self.added_detail {
            self.mask(y, added, kept, threshold, &mut sums.added);
        }
    }

    fn mask(&self, y: usize, signal: &Weighed, mask: &Weighed, threshold: &mut [i32], sums: &mut [i64; 3]) {
        let above = if y == 0 { 1 } else { y - 1 };
        let below = if y + 1 == self.rows.output { y } else { y + 1 };
        let threshold = &mut threshold[..self.columns.scored.len()];
        let spread = [above, y, below].map(|row| mask.spread[row % 3].as_slice());
        masking::threshold(spread, &mask.centre[y % 2][self.inset()..], threshold);
        let rows = self.masking.masked(cut(&signal.magnitudes[y % 2], 0, threshold.len()), threshold);
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = sum.wrapping_add(self.masking.share(row));
        }
    }

    /// How far the scored columns begin after those with detail.
    fn inset(&self) -> usize {
        self.columns.scored.start - self.columns.detail.start
    }

    fn scored<'r>(&self, rows: &'r BandRows) -> Bands<'r> {
        cut(rows, self.inset(), self.columns.scored.len())
    }
}
