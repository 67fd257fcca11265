//! From a picture's luma to what the first scale works on: 10-bit samples and the spatial mask.
//!
//! Everything here runs row by row: a row is converted, rid of dithering, compared with its neighbours for the mask and
//! handed on as soon as its mask is known, while it is still in the cache.

use std::mem;
use std::ops::Range;

use visus_video::{Plane, PlaneView, Sample};

use super::geometry::{Geometry, half};
use super::scalar::mask::{FlatSums, MASK_DELAY, mask_threshold};
use super::scalar::mode::Decimation;
use super::scalar::samples::{
    ToTenBits, average_last_row, average_rows, bits_in_row, convert_row, pick_row, sum_rows,
};
use crate::simd::Target;

/// A sample is larger than its bit depth allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbovePeak {
    pub peak: u32,
    pub depth: u8,
}

#[derive(Clone, Debug)]
pub struct Loader {
    geometry: Geometry,
    depth: u8,
    to_ten_bits: ToTenBits,
    undither: bool,
    /// Where the samples come from if the picture is scored at another size.
    resampling: Option<Resampling>,
    flat_sums: FlatSums,
    mask_threshold: u8,
    decimation: Decimation,
    /// The last rows, in a ring, and the one that comes next, only converted.
    rows: [Vec<u16>; RING],
    ahead: Vec<u16>,
    mask: Vec<u8>,
    /// Every second sample of a row and its mask, if the picture is halved.
    half_row: Vec<u16>,
    half_mask: Vec<u8>,
}

/// A row is handed on after as many more as its mask waits for, and the one that the last of these is compared with.
const RING: usize = MASK_DELAY + 2;

/// Rows that are read after as many more are asked for in advance.
const AHEAD: usize = 3;

/// For each column and row the nearest one of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resampling {
    columns: Vec<usize>,
    rows: Vec<usize>,
}

impl Loader {
    /// `size` and `depth` are the picture's; `undither` says whether it was encoded with fewer than 10 bits.
    pub fn new(geometry: Geometry, size: (usize, usize), depth: u8, undither: bool, target: Target) -> Self {
        let (width, height) = (geometry.width, geometry.height);
        Self {
            geometry,
            depth,
            to_ten_bits: ToTenBits::from_depth(depth),
            undither,
            resampling: Resampling::new(size, (width, height)),
            flat_sums: FlatSums::new(width, target),
            mask_threshold: mask_threshold(width, height),
            decimation: Decimation::new(target),
            rows: std::array::from_fn(|_| vec![0; width]),
            ahead: vec![0; width],
            mask: vec![0; width],
            half_row: vec![0; half(width)],
            half_mask: vec![0; half(width)],
        }
    }

    /// Whether the picture is scored at another size. Then [`Loader::load`] does not look at all of its rows.
    pub fn is_resampling(&self) -> bool {
        self.resampling.is_some()
    }

    /// Looks for samples that are too large.
    #[inline(always)]
    pub fn check_rows(&self, plane: PlaneView<'_>, mut rows: Range<usize>) -> Result<(), AbovePeak> {
        match plane {
            PlaneView::U8(plane) => rows.try_for_each(|y| self.check(plane.row(y))),
            PlaneView::U16(plane) => rows.try_for_each(|y| self.check(plane.row(y))),
        }
    }

    /// Hands on rows of the first scale, each with its mask.
    #[inline(always)]
    pub fn load(
        &mut self,
        plane: PlaneView<'_>,
        rows: Range<usize>,
        mut out: impl FnMut(&[u16], &[u8]),
    ) -> Result<(), AbovePeak> {
        let rows = self.unscaled(rows);
        match plane {
            PlaneView::U8(plane) => self.load_samples(plane, rows, &mut out),
            PlaneView::U16(plane) => self.load_samples(plane, rows, &mut out),
        }
    }

    /// The rows that these are every second of, if the picture is halved.
    fn unscaled(&self, rows: Range<usize>) -> Range<usize> {
        let height = self.geometry.height;
        if self.geometry.halved { 2 * rows.start..(2 * rows.end).min(height) } else { rows }
    }

    /// The mask of the first row needs rows above it, that of the last one rows below it.
    #[inline(always)]
    fn load_samples<T: Sample>(
        &mut self,
        plane: Plane<'_, T>,
        rows: Range<usize>,
        out: &mut impl FnMut(&[u16], &[u8]),
    ) -> Result<(), AbovePeak> {
        let first = rows.start.saturating_sub(MASK_DELAY);
        self.flat_sums.start();
        if self.undither && !self.sums_bytes() {
            self.convert_ahead(plane, first)?;
        }
        for y in first..=rows.end + MASK_DELAY {
            if y < self.geometry.height {
                self.next_row(plane, y)?;
            }
            if y == first {
                continue;
            }
            self.push_flags(y - 1);
            if y > rows.start + MASK_DELAY {
                self.hand_on(y - 1 - MASK_DELAY, out);
            }
        }
        Ok(())
    }

    /// Compares row `y` with the one below it. The last row has nothing below it to differ from, and below the picture
    /// nothing is flat.
    #[inline(always)]
    fn push_flags(&mut self, y: usize) {
        let height = self.geometry.height;
        if y < height {
            let below = (y + 1).min(height - 1);
            self.flat_sums.push(&self.rows[y % RING], &self.rows[below % RING]);
        } else {
            self.flat_sums.push_blank();
        }
    }

    /// Hands on row `y`. If the picture is halved, every second one.
    #[inline(always)]
    fn hand_on(&mut self, y: usize, out: &mut impl FnMut(&[u16], &[u8])) {
        if self.geometry.halved && !y.is_multiple_of(2) {
            return;
        }
        self.flat_sums.mask_row(self.mask_threshold, &mut self.mask);
        let (mut row, mut mask) = (&self.rows[y % RING], &self.mask);
        if self.geometry.halved {
            self.decimation.samples(row, &mut self.half_row);
            self.decimation.flags(mask, &mut self.half_mask);
            (row, mask) = (&self.half_row, &self.half_mask);
        }
        out(row, mask);
    }

    /// Whether bytes are averaged without being converted first.
    #[inline(always)]
    fn sums_bytes(&self) -> bool {
        self.undither && self.resampling.is_none() && self.to_ten_bits.is_from_bytes()
    }

    /// Puts row `y` of the scored picture into the ring.
    #[inline(always)]
    fn next_row<T: Sample>(&mut self, plane: Plane<'_, T>, y: usize) -> Result<(), AbovePeak> {
        let last = y + 1 == self.geometry.height;
        if self.sums_bytes() && !last {
            let soon = plane.row((y + AHEAD).min(self.geometry.height - 1));
            sum_rows(plane.row(y), plane.row(y + 1), soon, &mut self.rows[y % RING]);
            return Ok(());
        }
        if self.sums_bytes() {
            self.convert_ahead(plane, y)?;
        }
        if !self.undither {
            self.convert_ahead(plane, y)?;
        }
        mem::swap(&mut self.rows[y % RING], &mut self.ahead);
        if self.undither && !last {
            self.convert_ahead(plane, y + 1)?;
            average_rows(&mut self.rows[y % RING], &self.ahead);
        } else if self.undither {
            average_last_row(&mut self.rows[y % RING]);
        }
        Ok(())
    }

    #[inline(always)]
    fn convert_ahead<T: Sample>(&mut self, plane: Plane<'_, T>, y: usize) -> Result<(), AbovePeak> {
        if let Some(Resampling { columns, rows }) = &self.resampling {
            pick_row(plane.row(rows[y]), columns, self.to_ten_bits, &mut self.ahead);
            return Ok(());
        }
        self.check(plane.row(y))?;
        convert_row(plane.row(y), self.to_ten_bits, &mut self.ahead);
        Ok(())
    }

    /// Samples of 8 and 16 bits fill their memory, so that none can be too large.
    #[inline(always)]
    fn check<T: Sample>(&self, row: &[T]) -> Result<(), AbovePeak> {
        let peak = (1 << self.depth) - 1;
        if self.depth.is_multiple_of(8) || bits_in_row(row) <= peak {
            return Ok(());
        }
        Err(AbovePeak { peak, depth: self.depth })
    }
}

impl Resampling {
    /// `None` if the sizes are equal.
    fn new(from: (usize, usize), to: (usize, usize)) -> Option<Self> {
        let maps = || Self { columns: nearest(from.0, to.0), rows: nearest(from.1, to.1) };
        (from != to).then(maps)
    }
}

/// The positions are summed up in single precision, as libvmaf does. Where the error of that would lead outside, the
/// last sample is taken.
pub fn nearest(from: usize, to: usize) -> Vec<usize> {
    let ratio = from as f32 / to as f32;
    let mut position = ratio / 2.0 - 0.5;
    let mut next = || {
        let index = (f64::from(position) + 0.5) as usize;
        position += ratio;
        index.min(from - 1)
    };
    (0..to).map(|_| next()).collect()
}
