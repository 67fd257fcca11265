//! From a picture's luma to what the first scale works on: 10-bit samples and the spatial mask.
//!
//! Everything here runs row by row: a row is converted, rid of dithering, compared with its neighbours for the mask and
//! stored, while it is still in the cache. If the picture is halved first, only what remains is ever stored.

use std::mem;

use visus_video::{Plane, PlaneView, Sample};

use super::geometry::Geometry;
use super::scalar::mask::{FlatSums, MASK_DELAY, mask_threshold};
use super::scalar::mode::decimate_row;
use super::scalar::samples::{ToTenBits, average_last_row, average_rows, bits_in_row, convert_row, pick_row};

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
    /// The row in work, the one above it, and the converted one below it.
    row: Vec<u16>,
    above: Vec<u16>,
    ahead: Vec<u16>,
    mask_row: Vec<u8>,
}

/// For each column and row the nearest one of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resampling {
    columns: Vec<usize>,
    rows: Vec<usize>,
}

impl Loader {
    /// `size` and `depth` are the picture's; `undither` says whether it was encoded with fewer than 10 bits.
    pub fn new(geometry: Geometry, size: (usize, usize), depth: u8, undither: bool) -> Self {
        let (width, height) = (geometry.width, geometry.height);
        Self {
            geometry,
            depth,
            to_ten_bits: ToTenBits::from_depth(depth),
            undither,
            resampling: Resampling::new(size, (width, height)),
            flat_sums: FlatSums::new(width),
            mask_threshold: mask_threshold(width, height),
            row: vec![0; width],
            above: vec![0; width],
            ahead: vec![0; width],
            mask_row: vec![0; width],
        }
    }

    /// Fills image and mask of the first scale, row after row without gaps.
    pub fn load(
        &mut self,
        plane: PlaneView<'_>,
        image: &mut [u16],
        mask: &mut [u8],
    ) -> Result<(), AbovePeak> {
        match plane {
            PlaneView::U8(plane) => self.load_samples(plane, image, mask),
            PlaneView::U16(plane) => self.load_samples(plane, image, mask),
        }
    }

    fn load_samples<T: Sample>(
        &mut self,
        plane: Plane<'_, T>,
        image: &mut [u16],
        mask: &mut [u8],
    ) -> Result<(), AbovePeak> {
        if self.resampling.is_some() {
            plane.rows().try_for_each(|row| self.check(row))?;
        }
        self.flat_sums.start();
        if self.undither {
            self.convert_ahead(plane, 0)?;
        }
        for y in 0..self.geometry.height {
            mem::swap(&mut self.row, &mut self.above);
            self.next_row(plane, y)?;
            if y > 0 {
                self.flat_sums.push(&self.above, &self.row);
                self.store_mask(y - 1, mask);
            }
            self.store_row(y, image);
        }
        self.finish_mask(mask);
        Ok(())
    }

    /// Puts row `y` of the scored picture into `row`.
    fn next_row<T: Sample>(&mut self, plane: Plane<'_, T>, y: usize) -> Result<(), AbovePeak> {
        if !self.undither {
            self.convert_ahead(plane, y)?;
        }
        mem::swap(&mut self.row, &mut self.ahead);
        if self.undither && y + 1 < self.geometry.height {
            self.convert_ahead(plane, y + 1)?;
            average_rows(&mut self.row, &self.ahead);
        } else if self.undither {
            average_last_row(&mut self.row);
        }
        Ok(())
    }

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
    fn check<T: Sample>(&self, row: &[T]) -> Result<(), AbovePeak> {
        let peak = (1 << self.depth) - 1;
        if self.depth.is_multiple_of(8) || bits_in_row(row) <= peak {
            return Ok(());
        }
        Err(AbovePeak { peak, depth: self.depth })
    }

    fn store_row(&self, y: usize, image: &mut [u16]) {
        let (width, _) = self.geometry.first_scale();
        if !self.geometry.halved {
            image[y * width..][..width].copy_from_slice(&self.row);
        } else if y.is_multiple_of(2) {
            decimate_row(&self.row, &mut image[y / 2 * width..][..width]);
        }
    }

    /// The last row has nothing below it to differ from, and below the picture nothing is flat.
    fn finish_mask(&mut self, mask: &mut [u8]) {
        let height = self.geometry.height;
        self.flat_sums.push(&self.row, &self.row);
        self.store_mask(height - 1, mask);
        for y in height..height + MASK_DELAY {
            self.flat_sums.push_blank();
            self.store_mask(y, mask);
        }
    }

    /// Stores the mask that is known once row `pushed` is in the sums.
    fn store_mask(&mut self, pushed: usize, mask: &mut [u8]) {
        let (width, _) = self.geometry.first_scale();
        let Some(y) = pushed.checked_sub(MASK_DELAY) else { return };
        if !self.geometry.halved {
            self.flat_sums.mask_row(self.mask_threshold, &mut mask[y * width..][..width]);
        } else if y.is_multiple_of(2) {
            self.flat_sums.mask_row(self.mask_threshold, &mut self.mask_row);
            decimate_row(&self.mask_row, &mut mask[y / 2 * width..][..width]);
        }
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
