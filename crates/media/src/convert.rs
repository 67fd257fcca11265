//! Explicit conversions between the formats of two videos: size, chroma, depth and range, in one step per plane, with one
//! rounding (to nearest).
//!
//! More bits: in limited range, and where the range is not known, a sample is multiplied by a power of two; in full range
//! by the ratio of the peaks. From one range to the other: `16…235` (chroma `16…240`) against `0…255`, times the power of
//! two of the depth.

use visus_video::{ColourRange, Format, Frame, Plane, PlaneView, Sample};

use crate::rgb::{levels, write_row};
use crate::scale::{PlaneScaler, Scaler};

/// A format and which samples stand for black and white in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub format: Format,
    /// Limited, where it is not known.
    pub range: ColourRange,
}

/// Turns frames of one shape into frames of another.
#[derive(Debug)]
pub struct Converter {
    from: Shape,
    to: Shape,
    scaler: Scaler,
    planes: Vec<PlaneConverter>,
}

#[derive(Debug)]
struct PlaneConverter {
    scaler: Option<PlaneScaler>,
    gain: f64,
    offset: f64,
    peak: f64,
    /// What each sample becomes where nothing is resized; empty if it stays as it is.
    table: Vec<u16>,
}

impl Converter {
    /// `None` where there is nothing to convert. Chroma can be left out but not invented.
    pub fn new(from: Shape, to: Shape, scaler: Scaler) -> Option<Self> {
        if from == to {
            return None;
        }
        let plane = |plane: usize| PlaneConverter::new(&from, &to, scaler, plane);
        Some(Self { from, to, scaler, planes: (0..to.format.planes()).map(plane).collect() })
    }

    pub fn apply(&mut self, from: &Frame, to: &mut Frame) {
        for (index, plane) in self.planes.iter_mut().enumerate() {
            match from.plane(index) {
                PlaneView::U8(samples) => plane.apply(samples, to, index),
                PlaneView::U16(samples) => plane.apply(samples, to, index),
            }
        }
    }

    /// What is done, in words.
    pub fn words(&self) -> Vec<String> {
        let (from, to) = (&self.from.format, &self.to.format);
        let mut words = Vec::new();
        if (from.width(), from.height()) != (to.width(), to.height()) {
            words.push(format!(
                "scaled from {}x{} to {}x{} ({})",
                from.width(),
                from.height(),
                to.width(),
                to.height(),
                self.scaler.words()
            ));
        }
        if from.chroma() != to.chroma() {
            let resized = format!("chroma is resized ({})", self.scaler.words());
            let how = if to.planes() == 1 { "chroma is left out" } else { &resized };
            words.push(format!("{} to {}: {how}", from.chroma(), to.chroma()));
        }
        if from.depth() != to.depth() {
            let range = self.from.range;
            let how = match range {
                ColourRange::Limited => format!("samples times {}", 1u32 << (to.depth() - from.depth())),
                ColourRange::Full => format!("samples times {}/{}", to.peak(), from.peak()),
            };
            words.push(format!("{} to {} bits: {how}", from.depth(), to.depth()));
        }
        match (self.from.range, self.to.range) {
            (ColourRange::Full, ColourRange::Limited) => words.push("full to limited range".to_owned()),
            (ColourRange::Limited, ColourRange::Full) => words.push("limited to full range".to_owned()),
            _ => {}
        }
        words
    }
}

impl PlaneConverter {
    fn new(from: &Shape, to: &Shape, scaler: Scaler, plane: usize) -> Self {
        let scaler = PlaneScaler::new(scaler, &from.format, &to.format, plane);
        let (gain, offset) = mapping(from, to, plane);
        let peak = f64::from(to.format.peak());
        let identity = gain == 1.0 && offset == 0.0;
        let samples = if scaler.is_some() || identity { 0 } else { from.format.peak() + 1 };
        let value = |sample: u32| (f64::from(sample) * gain + offset).round().clamp(0.0, peak) as u16;
        Self { scaler, gain, offset, peak, table: (0..samples).map(value).collect() }
    }

    fn apply<T: Sample>(&mut self, from: Plane<'_, T>, to: &mut Frame, index: usize) {
        let (gain, offset, peak) = (self.gain as f32, self.offset as f32, self.peak as f32);
        if let Some(scaler) = &mut self.scaler {
            // Half is rounded up; samples are not negative after the clamp, so a cast truncates downwards.
            let value = |sample: &f32| (sample * gain + offset + 0.5).clamp(0.0, peak) as u16;
            scaler.run(from, |y, row| write_row(to, index, y, row.iter().map(value)));
            return;
        }
        let number = |sample: &T| -> u32 { (*sample).into() };
        for (y, row) in from.rows().enumerate() {
            match self.table.len() {
                0 => write_row(to, index, y, row.iter().map(|sample| number(sample) as u16)),
                // Samples above the peak of their depth count as the peak.
                size => {
                    let value = |sample: &T| self.table[(number(sample) as usize).min(size - 1)];
                    write_row(to, index, y, row.iter().map(value));
                }
            }
        }
    }
}

/// Factor and summand that take a sample of one shape to the other.
fn mapping(from: &Shape, to: &Shape, plane: usize) -> (f64, f64) {
    let depths = (from.format.depth(), to.format.depth());
    if from.range == to.range && depths.0 == depths.1 {
        return (1.0, 0.0);
    }
    let (from_low, from_luma, from_chroma) = levels(from.range, depths.0);
    let (to_low, to_luma, to_chroma) = levels(to.range, depths.1);
    if plane == 0 {
        let gain = to_luma / from_luma;
        return (gain, to_low - from_low * gain);
    }
    let centre = |depth: u8| f64::from(1u32 << (depth - 1));
    let gain = to_chroma / from_chroma;
    (gain, centre(depths.1) - centre(depths.0) * gain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;
    use visus_video::synthetic::Clip;

    fn shape(depth: u8, range: ColourRange) -> Shape {
        Shape { format: Format::new(16, 8, Chroma::C420, depth).unwrap(), range }
    }

    fn converted(from: Shape, to: Shape, plane: usize, sample: u16) -> u16 {
        let (mut source, mut target) = (Frame::new(from.format), Frame::new(to.format));
        let (width, height) = from.format.plane_size(plane);
        (0..height).for_each(|y| write_row(&mut source, plane, y, std::iter::repeat_n(sample, width)));
        Converter::new(from, to, Scaler::default()).unwrap().apply(&source, &mut target);
        match target.plane(plane) {
            PlaneView::U8(plane) => u16::from(plane.row(0)[0]),
            PlaneView::U16(plane) => plane.row(0)[0],
        }
    }

    #[test]
    fn depth_and_range() {
        use ColourRange::{Full, Limited};
        for (from, to, plane, sample, expected) in [
            (shape(8, Limited), shape(10, Limited), 0, 235, 940),
            (shape(8, Full), shape(10, Full), 0, 255, 1023),
            (shape(8, Full), shape(8, Limited), 0, 255, 235),
            (shape(8, Full), shape(8, Limited), 0, 0, 16),
            (shape(8, Full), shape(8, Limited), 1, 128, 128),
            (shape(8, Limited), shape(8, Full), 0, 255, 255),
            (shape(8, Limited), shape(8, Full), 0, 10, 0),
            (shape(8, Limited), shape(10, Full), 0, 235, 1023),
            (shape(10, Full), shape(10, Limited), 2, 1023, 960),
        ] {
            assert_eq!(converted(from, to, plane, sample), expected, "{from:?} {to:?} {sample}");
        }
    }

    #[test]
    fn resizing_is_said_and_done() {
        let from = shape(8, ColourRange::Full);
        let to =
            Shape { format: Format::new(32, 20, Chroma::C444, 10).unwrap(), range: ColourRange::Limited };
        let mut converter = Converter::new(from, to, Scaler::default()).unwrap();
        let words = converter.words().join("; ");
        for part in ["from 16x8 to 32x20", "4:2:0 to 4:4:4", "8 to 10 bits", "full to limited"] {
            assert!(words.contains(part), "{words}");
        }
        let (frame, mut out) =
            (Clip::scene(from.format, 1, 3).frames().next().unwrap(), Frame::new(to.format));
        converter.apply(&frame, &mut out);
        let PlaneView::U16(luma) = out.plane(0) else { panic!("10 bits are two bytes") };
        assert!(luma.rows().flatten().all(|sample| (64..=940).contains(sample)));
    }
}
