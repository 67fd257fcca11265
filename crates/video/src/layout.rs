//! How the planes of a frame lie in a file, and the way from there into a [`Frame`].

use std::ops::Range;

use bytemuck::Pod;

use crate::input::{Input, Shortfall};
use crate::{Chroma, ChromaRounding, Format, Frame, PlaneMut, PlaneSet, Spread};

/// The planes of one frame as a file has them: packed rows, plane after plane, two bytes little-endian above 8 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLayout {
    format: Format,
    rounding: ChromaRounding,
    alpha: bool,
}

impl FileLayout {
    /// `Auto` counts as `Up` here.
    pub(crate) fn new(format: Format, rounding: ChromaRounding) -> Self {
        Self { format, rounding, alpha: false }
    }

    /// The same with a fourth plane, as large as luma, that is passed over.
    pub(crate) fn with_alpha(self) -> Self {
        Self { alpha: true, ..self }
    }

    pub(crate) fn format(&self) -> &Format {
        &self.format
    }

    /// Width and height of a plane in the file; never smaller than the plane of the frame.
    pub(crate) fn plane_size(&self, plane: usize) -> (usize, usize) {
        if plane == 0 || self.rounding == ChromaRounding::Down {
            return self.format.plane_size(plane);
        }
        let (sx, sy) = self.format.chroma().shifts();
        (self.format.width().div_ceil(1 << sx), self.format.height().div_ceil(1 << sy))
    }

    /// Bytes of one frame.
    pub(crate) fn bytes(&self) -> u64 {
        self.planes_bytes(0..self.format.planes()) + self.alpha_bytes()
    }

    /// Reads these planes of one frame and passes over the others. On a shortfall the frame is partly overwritten.
    pub(crate) fn read(
        &self,
        input: &mut Input,
        frame: &mut Frame,
        planes: PlaneSet,
    ) -> Result<(), Shortfall> {
        let wanted = planes.range(self.format.planes());
        input.pass(self.planes_bytes(0..wanted.start))?;
        for index in wanted.clone() {
            self.read_plane(input, frame, index)?;
        }
        input.pass(self.planes_bytes(wanted.end..self.format.planes()) + self.alpha_bytes())
    }

    /// The same by several hands. Says no where the input or the frame is not made for that, or where the frame could not
    /// be had whole: then nothing of the input is taken.
    pub(crate) fn read_spread(
        &self,
        input: &mut Input,
        frame: &mut Frame,
        planes: PlaneSet,
        hands: &dyn Spread,
    ) -> Result<bool, Shortfall> {
        if !self.is_read_in_place() {
            return Ok(false);
        }
        let wanted = planes.range(self.format.planes());
        let Some(mut planes) = frame.packed_planes_mut() else { return Ok(false) };
        planes.truncate(wanted.end);
        let slices = planes.split_off(wanted.start);
        if !input.read_parts(self.planes_bytes(0..wanted.start), slices, hands) {
            return Ok(false);
        }
        input.pass(self.bytes())?;
        Ok(true)
    }

    /// Whether a frame's planes are, byte by byte, those of the file.
    fn is_read_in_place(&self) -> bool {
        let same_size = |plane: usize| self.plane_size(plane) == self.format.plane_size(plane);
        let same_order = cfg!(target_endian = "little") || self.format.sample_bytes() == 1;
        same_order && (0..self.format.planes()).all(same_size)
    }

    fn read_plane(&self, input: &mut Input, frame: &mut Frame, index: usize) -> Result<(), Shortfall> {
        let size = self.plane_size(index);
        if let Some(plane) = frame.plane_mut_u8(index) {
            read_plane(input, plane, size)
        } else if let Some(plane) = frame.plane_mut_u16(index) {
            read_plane(input, plane, size)
        } else {
            Ok(())
        }
    }

    fn planes_bytes(&self, planes: Range<usize>) -> u64 {
        planes.map(|plane| self.plane_bytes(plane)).sum()
    }

    fn plane_bytes(&self, plane: usize) -> u64 {
        area(self.plane_size(plane)) * self.format.sample_bytes() as u64
    }

    fn alpha_bytes(&self) -> u64 {
        if self.alpha { self.plane_bytes(0) } else { 0 }
    }
}

/// Whether rounding up and down differ for this format.
pub(crate) fn rounding_matters(format: &Format) -> bool {
    let (sx, sy) = format.chroma().shifts();
    let odd = |side: usize, shift: u32| !side.is_multiple_of(1 << shift);
    format.chroma() != Chroma::C400 && (odd(format.width(), sx) || odd(format.height(), sy))
}

fn area((width, height): (usize, usize)) -> u64 {
    width as u64 * height as u64
}

/// Reads the top left part of a plane that has `size` in the file, straight into the rows of `plane`.
fn read_plane<T: FileSample>(
    input: &mut Input,
    mut plane: PlaneMut<'_, T>,
    size: (usize, usize),
) -> Result<(), Shortfall> {
    let (width, height) = (plane.width(), plane.height());
    if size == (width, height)
        && let Some(samples) = plane.contiguous_mut()
    {
        return read_samples(input, samples);
    }
    let bytes = |samples: usize| (samples * size_of::<T>()) as u64;
    for y in 0..height {
        read_samples(input, plane.row_mut(y))?;
        input.pass(bytes(size.0 - width))?;
    }
    input.pass(bytes(size.0 * (size.1 - height)))
}

fn read_samples<T: FileSample>(input: &mut Input, samples: &mut [T]) -> Result<(), Shortfall> {
    input.read_exact(bytemuck::cast_slice_mut(samples))?;
    T::from_file(samples);
    Ok(())
}

/// A sample whose bytes can be read in place.
trait FileSample: Pod {
    /// Turns samples in the file's byte order into samples of this machine.
    fn from_file(samples: &mut [Self]);
}

impl FileSample for u8 {
    fn from_file(_: &mut [Self]) {}
}

impl FileSample for u16 {
    fn from_file(samples: &mut [Self]) {
        // Vanishes on little-endian machines.
        for sample in samples {
            *sample = Self::from_le(*sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(width: usize, height: usize, chroma: Chroma, depth: u8, rounding: ChromaRounding) -> u64 {
        FileLayout::new(Format::new(width, height, chroma, depth).unwrap(), rounding).bytes()
    }

    #[test]
    fn frame_sizes() {
        use ChromaRounding::{Auto, Down, Up};
        assert_eq!(bytes(4, 2, Chroma::C420, 8, Up), 12);
        assert_eq!(bytes(5, 3, Chroma::C420, 8, Up), 15 + 2 * 6);
        assert_eq!(bytes(5, 3, Chroma::C420, 8, Auto), 15 + 2 * 6);
        assert_eq!(bytes(5, 3, Chroma::C420, 8, Down), 15 + 2 * 2);
        assert_eq!(bytes(5, 3, Chroma::C422, 10, Up), 2 * (15 + 2 * 9));
        assert_eq!(bytes(5, 3, Chroma::C422, 10, Down), 2 * (15 + 2 * 6));
        assert_eq!(bytes(5, 3, Chroma::C444, 16, Down), 2 * 45);
        assert_eq!(bytes(5, 3, Chroma::C400, 8, Up), 15);
        assert_eq!(bytes(1, 1, Chroma::C420, 8, Up), 3);
        assert_eq!(bytes(1, 1, Chroma::C420, 8, Down), 1);
        assert_eq!(bytes(32_768, 32_768, Chroma::C444, 16, Up), 6 << 30);
    }

    #[test]
    fn alpha_counts_as_one_more_plane() {
        let format = Format::new(5, 3, Chroma::C444, 8).unwrap();
        assert_eq!(FileLayout::new(format, ChromaRounding::Up).with_alpha().bytes(), 60);
    }

    #[test]
    fn rounding_matters_only_where_a_side_is_odd_in_a_halved_direction() {
        let matters = |w, h, chroma| rounding_matters(&Format::new(w, h, chroma, 8).unwrap());
        assert!(matters(5, 4, Chroma::C420) && matters(4, 5, Chroma::C420) && matters(5, 4, Chroma::C422));
        assert!(!matters(4, 5, Chroma::C422) && !matters(4, 4, Chroma::C420));
        assert!(!matters(5, 5, Chroma::C444) && !matters(5, 5, Chroma::C400));
    }
}
