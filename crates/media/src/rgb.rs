//! From RGB to YUV 4:4:4 of the same depth: `Y = Kr·R + Kg·G + Kb·B`, `Cb = (B − Y) / (2 − 2·Kb)`, `Cr = (R − Y) / (2 − 2·Kr)`,
//! scaled to the range, rounded to nearest.

use visus_video::{ColourRange, Frame, PlaneView};

/// Weights of red and blue in luma (ITU-R BT.601, BT.709, BT.2020).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matrix {
    Bt601,
    #[default]
    Bt709,
    Bt2020,
}

impl Matrix {
    /// By ffmpeg's name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "bt709" => Some(Self::Bt709),
            "smpte170m" | "bt470bg" | "fcc" => Some(Self::Bt601),
            "bt2020nc" | "bt2020c" => Some(Self::Bt2020),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bt601 => "BT.601",
            Self::Bt709 => "BT.709",
            Self::Bt2020 => "BT.2020",
        }
    }

    pub(crate) const fn weights(self) -> (f64, f64) {
        match self {
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
            Self::Bt2020 => (0.2627, 0.0593),
        }
    }
}

/// What RGB becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RgbTarget {
    pub matrix: Matrix,
    pub range: ColourRange,
}

impl Default for RgbTarget {
    fn default() -> Self {
        Self { matrix: Matrix::default(), range: ColourRange::Limited }
    }
}

/// Offset and span of luma and chroma at a depth; the centre of chroma is `1 << (depth - 1)`.
pub(crate) fn levels(range: ColourRange, depth: u8) -> (f64, f64, f64) {
    let unit = f64::from(1u32 << (depth - 8));
    match range {
        ColourRange::Limited => (16.0 * unit, 219.0 * unit, 224.0 * unit),
        ColourRange::Full => {
            let peak = f64::from((1u32 << depth) - 1);
            (0.0, peak, peak)
        }
    }
}

/// Replaces the planes G, B, R of a frame by Y, Cb, Cr.
pub(crate) fn to_yuv(frame: &mut Frame, target: RgbTarget) {
    let depth = frame.format().depth();
    let peak = f64::from(frame.format().peak());
    let ((red, blue), (offset, luma_span, chroma_span)) =
        (target.matrix.weights(), levels(target.range, depth));
    let centre = f64::from(1u32 << (depth - 1));
    let convert = |g: f64, b: f64, r: f64| {
        let y = red * r + (1.0 - red - blue) * g + blue * b;
        let (cb, cr) = ((b - y) / (2.0 - 2.0 * blue), (r - y) / (2.0 - 2.0 * red));
        [y * luma_span / peak + offset, cb * chroma_span / peak + centre, cr * chroma_span / peak + centre]
            .map(|value| value.round().clamp(0.0, peak) as u16)
    };
    for y in 0..frame.format().height() {
        let row: Vec<[u16; 3]> = match (frame.plane(0), frame.plane(1), frame.plane(2)) {
            (PlaneView::U8(g), PlaneView::U8(b), PlaneView::U8(r)) => g
                .row(y)
                .iter()
                .zip(b.row(y).iter().zip(r.row(y)))
                .map(|(g, (b, r))| convert(f64::from(*g), f64::from(*b), f64::from(*r)))
                .collect(),
            (PlaneView::U16(g), PlaneView::U16(b), PlaneView::U16(r)) => g
                .row(y)
                .iter()
                .zip(b.row(y).iter().zip(r.row(y)))
                .map(|(g, (b, r))| convert(f64::from(*g), f64::from(*b), f64::from(*r)))
                .collect(),
            _ => Vec::new(),
        };
        for index in 0..3 {
            write_row(frame, index, y, row.iter().map(|samples| samples[index]));
        }
    }
}

pub(crate) fn write_row(frame: &mut Frame, plane: usize, y: usize, samples: impl Iterator<Item = u16>) {
    if let Some(mut plane) = frame.plane_mut_u8(plane) {
        plane.row_mut(y).iter_mut().zip(samples).for_each(|(to, from)| *to = from as u8);
    } else if let Some(mut plane) = frame.plane_mut_u16(plane) {
        plane.row_mut(y).iter_mut().zip(samples).for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::{Chroma, Format};

    fn yuv(depth: u8, rgb: [u16; 3], target: RgbTarget) -> Vec<u32> {
        let mut frame = Frame::new(Format::new(1, 1, Chroma::C444, depth).unwrap());
        for (plane, value) in [rgb[1], rgb[2], rgb[0]].into_iter().enumerate() {
            write_row(&mut frame, plane, 0, std::iter::once(value));
        }
        to_yuv(&mut frame, target);
        let sample = |plane| match frame.plane(plane) {
            PlaneView::U8(plane) => u32::from(plane.row(0)[0]),
            PlaneView::U16(plane) => u32::from(plane.row(0)[0]),
        };
        (0..3).map(sample).collect()
    }

    #[test]
    fn colours_of_the_standards() {
        let limited = RgbTarget::default();
        assert_eq!(yuv(8, [255, 255, 255], limited), [235, 128, 128]);
        assert_eq!(yuv(8, [0, 0, 0], limited), [16, 128, 128]);
        assert_eq!(yuv(8, [255, 0, 0], limited), [63, 102, 240]);
        assert_eq!(yuv(8, [0, 0, 255], RgbTarget { matrix: Matrix::Bt601, ..limited }), [41, 240, 110]);
        assert_eq!(yuv(10, [1023, 1023, 1023], limited), [940, 512, 512]);
        let full = RgbTarget { matrix: Matrix::Bt601, range: ColourRange::Full };
        assert_eq!(yuv(8, [255, 255, 255], full), [255, 128, 128]);
    }
}
