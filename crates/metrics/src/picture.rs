//! Planes of 32-bit floats, and how samples become them.
//!
//! The float features look at pictures on the 8-bit scale whatever their depth: a sample is divided by `2^(depth - 8)`
//! and shifted by an offset (usually -128 or 0). Both steps are exact in `f32`.

use std::ops::Range;

use visus_video::{PlaneView, Sample};

use crate::simd::{Lines, Target};
use crate::{Spread, bands};

/// Rows start at multiples of this many values, which is where cache lines do.
const ROW_ALIGN: usize = 16;

/// Rows that are worth a call of their own.
const LEAST_ROWS: usize = 16;

/// A plane of floats that owns its memory: `height` rows of `width` values, `stride` apart.
#[derive(Clone, Debug, Default)]
pub struct FloatPlane {
    data: Lines<f32>,
    stride: usize,
    width: usize,
    height: usize,
}

impl FloatPlane {
    /// A plane of zeros.
    pub fn new(width: usize, height: usize) -> Self {
        let stride = width.next_multiple_of(ROW_ALIGN);
        Self { data: Lines::new(stride * height), stride, width, height }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Distance between rows, in values.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All values from the first row on, padding between rows included.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    #[inline]
    pub fn row(&self, y: usize) -> &[f32] {
        &self.data[y * self.stride..][..self.width]
    }

    #[inline]
    pub fn row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.data[y * self.stride..][..self.width]
    }

    /// A row and the padding behind it: a multiple of 16 values.
    #[cfg(test)]
    #[inline]
    pub fn padded_row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.data[y * self.stride..][..self.stride]
    }

    /// Takes the samples of a plane, on the 8-bit scale, plus `offset`.
    ///
    /// # Panics
    /// If the plane has another size.
    #[inline(always)]
    pub fn load(&mut self, plane: PlaneView<'_>, depth: u8, offset: f32) {
        for y in 0..self.height {
            self.load_row(plane, depth, offset, y);
        }
    }

    /// The same, shared among helping hands.
    pub fn load_spread(
        &mut self,
        plane: PlaneView<'_>,
        depth: u8,
        offset: f32,
        target: Target,
        spread: &dyn Spread,
    ) {
        assert_eq!((plane.width(), plane.height()), (self.width, self.height), "planes of one size");
        let (width, stride) = (self.width, self.stride);
        let bands = bands::bands(self.height, 1, LEAST_ROWS, spread);
        bands::for_each(self.bands_mut(&bands), spread, |(rows, data)| {
            target.run(
                #[inline(always)]
                || {
                    for (y, row) in rows.zip(data.chunks_mut(stride)) {
                        load_row(plane, depth, offset, y, &mut row[..width]);
                    }
                },
            );
        });
    }

    /// All values, padding included, to be written.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// The memory of bands of rows, which follow one another from row 0 on.
    pub fn bands_mut(&mut self, bands: &[Range<usize>]) -> Vec<(Range<usize>, &mut [f32])> {
        bands::split(&mut self.data, self.stride, bands)
    }

    /// One row of [`load`](Self::load).
    #[inline(always)]
    pub fn load_row(&mut self, plane: PlaneView<'_>, depth: u8, offset: f32, y: usize) {
        assert_eq!((plane.width(), plane.height()), (self.width, self.height), "planes of one size");
        load_row(plane, depth, offset, y, self.row_mut(y));
    }
}

/// Takes the samples of row `y` of a plane, on the 8-bit scale, plus `offset`.
#[inline(always)]
pub fn load_row(plane: PlaneView<'_>, depth: u8, offset: f32, y: usize, out: &mut [f32]) {
    // The reciprocal of a power of two: multiplying is as exact as dividing.
    let scale = 1.0 / f32::from(1u16 << (depth - 8));
    match plane {
        PlaneView::U8(plane) => load_samples(plane.row(y), scale, offset, out),
        PlaneView::U16(plane) => load_samples(plane.row(y), scale, offset, out),
    }
}

#[inline(always)]
fn load_samples<T: Sample>(samples: &[T], scale: f32, offset: f32, out: &mut [f32]) {
    for (out, sample) in out.iter_mut().zip(samples) {
        let sample: f32 = (*sample).into();
        *out = sample * scale + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::{Chroma, Format, Frame};

    fn frame(depth: u8, samples: [u16; 3]) -> Frame {
        let mut frame = Frame::new(Format::new(3, 2, Chroma::C400, depth).unwrap());
        if let Some(mut plane) = frame.plane_mut_u8(0) {
            plane.row_mut(1).copy_from_slice(&samples.map(|sample| sample as u8));
        }
        if let Some(mut plane) = frame.plane_mut_u16(0) {
            plane.row_mut(1).copy_from_slice(&samples);
        }
        frame
    }

    #[test]
    fn every_depth_lands_on_the_8_bit_scale() {
        let cases = [
            (8, [0, 1, 255], [-128.0, -127.0, 127.0]),
            (10, [0, 1, 1023], [-128.0, -127.75, 127.75]),
            (12, [0, 1, 4095], [-128.0, -127.9375, 127.9375]),
            (16, [0, 1, 65535], [-128.0, -127.99609375, 127.99609375]),
        ];
        for (depth, samples, expected) in cases {
            let mut plane = FloatPlane::new(3, 2);
            plane.load(frame(depth, samples).plane(0), depth, -128.0);
            assert_eq!(plane.row(0), [-128.0; 3], "depth {depth}");
            assert_eq!(plane.row(1), expected, "depth {depth}");
        }
    }

    #[test]
    #[should_panic(expected = "planes of one size")]
    fn another_size_is_refused() {
        FloatPlane::new(4, 2).load(frame(8, [0; 3]).plane(0), 8, 0.0);
    }
}
