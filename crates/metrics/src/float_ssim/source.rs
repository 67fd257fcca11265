//! Where the pictures that are compared come from.

use visus_video::{Frame, PlaneView, Sample};

use crate::picture::FloatPlane;

/// A picture whose rows are read as floats on the 8-bit scale.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Samples of this depth, which become floats only when they are read: that is less memory to go through.
    Samples(PlaneView<'a>, u8),
    Floats(&'a FloatPlane),
}

/// A row, or a part of one. Samples have a factor that brings them to the 8-bit scale, a power of two.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    U8(&'a [u8], f32),
    U16(&'a [u16], f32),
    Floats(&'a [f32]),
}

impl<'a> Source<'a> {
    /// A frame's luma.
    pub fn luma(frame: &'a Frame) -> Self {
        Self::Samples(frame.plane(0), frame.format().depth())
    }

    pub fn width(&self) -> usize {
        match self {
            Self::Samples(plane, _) => plane.width(),
            Self::Floats(plane) => plane.width(),
        }
    }

    pub fn height(&self) -> usize {
        match self {
            Self::Samples(plane, _) => plane.height(),
            Self::Floats(plane) => plane.height(),
        }
    }

    #[inline(always)]
    pub fn row(&self, y: usize) -> Row<'a> {
        match self {
            Self::Samples(PlaneView::U8(plane), depth) => Row::U8(plane.row(y), to_8_bits(*depth)),
            Self::Samples(PlaneView::U16(plane), depth) => Row::U16(plane.row(y), to_8_bits(*depth)),
            Self::Floats(plane) => Row::Floats(plane.row(y)),
        }
    }
}

/// The reciprocal of a power of two: multiplying is as exact as dividing.
fn to_8_bits(depth: u8) -> f32 {
    1.0 / f32::from(1u16 << (depth - 8))
}

impl Row<'_> {
    /// Writes the floats from column `from` on, as many as there are and fit; says how many.
    #[inline(always)]
    pub fn read(self, from: usize, out: &mut [f32]) -> usize {
        match self {
            Row::U8(row, factor) => read_samples(&row[from..], factor, out),
            Row::U16(row, factor) => read_samples(&row[from..], factor, out),
            Row::Floats(row) => {
                let count = out.len().min(row.len() - from);
                out[..count].copy_from_slice(&row[from..][..count]);
                count
            }
        }
    }
}

#[inline(always)]
fn read_samples<T: Sample>(row: &[T], factor: f32, out: &mut [f32]) -> usize {
    for (out, sample) in out.iter_mut().zip(row) {
        let sample: f32 = (*sample).into();
        *out = sample * factor;
    }
    out.len().min(row.len())
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;
    use crate::testing::{self, Content};

    #[test]
    fn samples_are_read_as_a_plane_of_floats_holds_them() {
        for depth in [8, 9, 10, 12, 16] {
            let frame = testing::frame(testing::format(37, 3, Chroma::C400, depth), Content::Noise, 5);
            let mut plane = FloatPlane::new(37, 3);
            plane.load(frame.plane(0), depth, 0.0);
            for (from, len) in [(0, 37), (0, 36), (0, 50), (20, 16), (20, 17), (20, 40), (37, 4)] {
                let count = len.min(37 - from);
                for source in [Source::luma(&frame), Source::Floats(&plane)] {
                    let mut out = vec![-1.0; len];
                    assert_eq!(source.row(1).read(from, &mut out), count, "depth {depth}");
                    assert_eq!(out[..count], plane.row(1)[from..][..count], "depth {depth}");
                    assert!(out[count..].iter().all(|rest| *rest == -1.0));
                }
            }
        }
    }
}
