//! Rows of YUV samples to rows of linear RGB.
//!
//! Chroma is interpolated linearly. Its samples lie on every second luma column (the siting of MPEG-2, H.264 and later
//! codecs unless they say otherwise), and midway between two luma rows. R'G'B' is not rounded; it is cut to 0..1 and
//! taken for sRGB, so that a score is that of the decoded picture as it would be stored in a PNG file of many bits.

use visus_video::{Chroma, Format, Frame, Plane, PlaneView, Sample};

use super::fused::Fused;

/// How R'G'B' is mixed into luma and chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    Bt601,
    Bt709,
    Bt2020,
}

impl Matrix {
    pub const ALL: [Self; 3] = [Self::Bt601, Self::Bt709, Self::Bt2020];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bt601 => "bt601",
            Self::Bt709 => "bt709",
            Self::Bt2020 => "bt2020",
        }
    }

    /// The parts of red and blue in luma.
    const fn red_and_blue(self) -> (f64, f64) {
        match self {
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
            Self::Bt2020 => (0.2627, 0.0593),
        }
    }
}

/// Which samples stand for black and white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// 16 to 235, chroma 16 to 240, in 8 bits.
    Limited,
    /// All of them.
    Full,
}

impl Range {
    pub const ALL: [Self; 2] = [Self::Limited, Self::Full];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::Full => "full",
        }
    }
}

/// `value * gain + offset`.
#[derive(Clone, Copy, Debug)]
struct Line {
    gain: f32,
    offset: f32,
}

impl Line {
    /// Takes `zero` to 0 and `zero + span` to 1.
    fn new(zero: f64, span: f64) -> Self {
        Self { gain: (1.0 / span) as f32, offset: (-zero / span) as f32 }
    }

    #[inline]
    fn at(self, value: f32) -> f32 {
        value * self.gain + self.offset
    }
}

/// The parts of the two chroma components in R', G' and B'.
#[derive(Clone, Copy, Debug)]
struct Mix {
    v_to_red: f32,
    u_to_green: f32,
    v_to_green: f32,
    u_to_blue: f32,
}

impl Mix {
    fn new(matrix: Matrix) -> Self {
        let (red, blue) = matrix.red_and_blue();
        let green = 1.0 - red - blue;
        Self {
            v_to_red: (2.0 * (1.0 - red)) as f32,
            u_to_green: (-2.0 * blue * (1.0 - blue) / green) as f32,
            v_to_green: (-2.0 * red * (1.0 - red) / green) as f32,
            u_to_blue: (2.0 * (1.0 - blue)) as f32,
        }
    }
}

/// Makes rows of linear RGB out of frames of one format.
#[derive(Clone, Debug)]
pub struct Converter {
    chroma: Chroma,
    luma_line: Line,
    chroma_line: Line,
    mix: Mix,
    /// A row of each chroma component, at chroma width and at luma width.
    narrow: Vec<f32>,
    wide: [Vec<f32>; 2],
}

impl Converter {
    pub fn new(format: &Format, matrix: Matrix, range: Range) -> Self {
        let step = f64::from(1u32 << (format.depth() - 8));
        let (luma_line, chroma_line) = match range {
            Range::Limited => (Line::new(16.0 * step, 219.0 * step), Line::new(128.0 * step, 224.0 * step)),
            Range::Full => {
                let peak = f64::from(format.peak());
                (Line::new(0.0, peak), Line::new(128.0 * step, peak))
            }
        };
        Self {
            chroma: format.chroma(),
            luma_line,
            chroma_line,
            mix: Mix::new(matrix),
            narrow: vec![0.0; format.plane_size(1).0],
            wide: [(); 2].map(|()| vec![0.0; format.width()]),
        }
    }

    /// Row `y` of a frame.
    #[inline(always)]
    pub fn row<F: Fused>(&mut self, frame: &Frame, y: usize, out: &mut [Vec<f32>; 3]) {
        match frame.plane(0) {
            PlaneView::U8(luma) => load(luma.row(y), self.luma_line, &mut out[1]),
            PlaneView::U16(luma) => load(luma.row(y), self.luma_line, &mut out[1]),
        }
        if self.chroma != Chroma::C400 {
            for component in 0..2 {
                self.chroma_row(frame.plane(component + 1), component, y);
            }
        }
        self.mix_row::<F>(out);
    }

    #[inline(always)]
    fn chroma_row(&mut self, plane: PlaneView<'_>, component: usize, y: usize) {
        match plane {
            PlaneView::U8(plane) => self.chroma_samples(plane, component, y),
            PlaneView::U16(plane) => self.chroma_samples(plane, component, y),
        }
    }

    #[inline(always)]
    fn chroma_samples<T: Sample>(&mut self, plane: Plane<'_, T>, component: usize, y: usize) {
        let (shift_x, shift_y) = self.chroma.shifts();
        let row = |y: usize| plane.row(y.min(plane.height() - 1));
        if shift_y == 0 {
            load(row(y), self.chroma_line, &mut self.narrow);
        } else {
            let near = y / 2;
            let far = if y.is_multiple_of(2) { near.saturating_sub(1) } else { near + 1 };
            load_between(row(near), row(far), self.chroma_line, &mut self.narrow);
        }
        if shift_x == 0 {
            self.wide[component].copy_from_slice(&self.narrow);
        } else {
            widen(&self.narrow, &mut self.wide[component]);
        }
    }

    /// From luma (in place of green) and chroma to linear light.
    #[inline(always)]
    fn mix_row<F: Fused>(&self, [red, green, blue]: &mut [Vec<f32>; 3]) {
        let width = green.len();
        let [u, v] = self.wide.each_ref().map(|row| &row[..width]);
        let (red, blue) = (&mut red[..width], &mut blue[..width]);
        let mix = &self.mix;
        for x in 0..width {
            let (luma, u, v) = (green[x], u[x], v[x]);
            red[x] = luma + mix.v_to_red * v;
            green[x] = luma + (mix.u_to_green * u + mix.v_to_green * v);
            blue[x] = luma + mix.u_to_blue * u;
        }
        for row in [red, green.as_mut_slice(), blue] {
            linearise::<F>(row);
        }
    }
}

#[inline(always)]
fn load<T: Sample>(samples: &[T], line: Line, out: &mut [f32]) {
    for (out, sample) in out.iter_mut().zip(samples) {
        *out = line.at((*sample).into());
    }
}

/// Three quarters of `near` and one of `far`.
#[inline(always)]
fn load_between<T: Sample>(near: &[T], far: &[T], line: Line, out: &mut [f32]) {
    for ((out, near), far) in out.iter_mut().zip(near).zip(far) {
        let (near, far): (f32, f32) = ((*near).into(), (*far).into());
        *out = line.at(near * 0.75 + far * 0.25);
    }
}

/// Twice as many samples: each one, and the mean of it and the next.
#[inline(always)]
fn widen(narrow: &[f32], wide: &mut [f32]) {
    let last = narrow[narrow.len() - 1];
    let (pairs, rest) = wide.as_chunks_mut::<2>();
    for ((pair, at), next) in pairs.iter_mut().zip(narrow).zip(narrow[1..].iter().chain([&last])) {
        *pair = [0.5 * (at + at), 0.5 * (at + next)];
    }
    // Odd widths may have half a chroma sample more or less.
    if let [single] = rest {
        let at = narrow.get(pairs.len()).unwrap_or(&last);
        *single = 0.5 * (at + at);
    }
}

/// Takes sRGB values to linear light, after cutting them to 0..1.
///
/// The upper part of the curve is the rational approximation of the published tool, good to 1e-6, with its multiply-adds
/// fused.
#[inline(always)]
pub fn linearise<F: Fused>(row: &mut [f32]) {
    for value in row {
        let encoded = value.clamp(0.0, 1.0);
        *value = if encoded > 0.04045 { upper_curve::<F>(encoded) } else { encoded * (1.0 / 12.92) };
    }
}

/// By way of `f64` the result is the same for every number up to 1: a test goes through all of them.
#[inline(always)]
fn upper_curve<F: Fused>(encoded: f32) -> f32 {
    const NUMERATOR: [f32; 5] =
        [8.210152774e-01, 7.961564959e-01, 1.624820318e-01, 1.043637593e-02, 2.200248328e-04];
    const DENOMINATOR: [f32; 5] =
        [6.521209011e-03, -5.512498495e-02, 4.987528350e-01, 1.076976492e+00, 2.631846970e-01];
    let polynomial = |factors: [f32; 5]| {
        let mut sum = factors[0];
        for factor in &factors[1..] {
            sum = F::known(sum, encoded, *factor);
        }
        sum
    };
    polynomial(NUMERATOR) / polynomial(DENOMINATOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssimulacra2::fused::{Instruction, Portable};
    use crate::testing::{self, Noise};

    #[test]
    fn the_upper_curve_needs_no_look_at_its_sums() {
        for bits in 0.04045f32.to_bits()..=1f32.to_bits() {
            let encoded = f32::from_bits(bits);
            let (fused, portable) = (upper_curve::<Instruction>(encoded), upper_curve::<Portable>(encoded));
            assert!(fused.to_bits() == portable.to_bits(), "{encoded:e}");
        }
    }

    fn rows(width: usize) -> [Vec<f32>; 3] {
        [(); 3].map(|()| vec![0.0; width])
    }

    fn sample(frame: &Frame, plane: usize, x: usize, y: usize) -> f64 {
        let (width, height) = frame.format().plane_size(plane);
        let (x, y) = (x.min(width - 1), y.min(height - 1));
        match frame.plane(plane) {
            PlaneView::U8(plane) => plane.row(y)[x].into(),
            PlaneView::U16(plane) => plane.row(y)[x].into(),
        }
    }

    /// Chroma at a luma position: the mean of four samples around it, by their distance.
    fn chroma_at(frame: &Frame, plane: usize, x: usize, y: usize) -> f64 {
        let (shift_x, shift_y) = frame.format().chroma().shifts();
        let across = |y: usize| match (shift_x, x % 2) {
            (0, _) => sample(frame, plane, x, y),
            (_, 0) => sample(frame, plane, x / 2, y),
            _ => 0.5 * sample(frame, plane, x / 2, y) + 0.5 * sample(frame, plane, x / 2 + 1, y),
        };
        match (shift_y, y % 2) {
            (0, _) => across(y),
            (_, 0) => 0.75 * across(y / 2) + 0.25 * across((y / 2).saturating_sub(1)),
            _ => 0.75 * across(y / 2) + 0.25 * across(y / 2 + 1),
        }
    }

    fn naive(frame: &Frame, (kr, kb): (f64, f64), range: Range, x: usize, y: usize) -> [f64; 3] {
        let unit = f64::from(frame.format().depth()).exp2() / 256.0;
        let full = f64::from(frame.format().peak());
        let (black, luma_span, chroma_span) = match range {
            Range::Limited => (16.0 * unit, 219.0 * unit, 224.0 * unit),
            Range::Full => (0.0, full, full),
        };
        let luma = (sample(frame, 0, x, y) - black) / luma_span;
        let chroma = |plane: usize| match frame.format().chroma() {
            Chroma::C400 => 0.0,
            _ => (chroma_at(frame, plane, x, y) - 128.0 * unit) / chroma_span,
        };
        let red = luma + 2.0 * (1.0 - kr) * chroma(2);
        let blue = luma + 2.0 * (1.0 - kb) * chroma(1);
        // Green is what luma has beside red and blue.
        let green = (luma - kr * red - kb * blue) / (1.0 - kr - kb);
        [red, green, blue].map(|value| srgb(value.clamp(0.0, 1.0)))
    }

    fn srgb(encoded: f64) -> f64 {
        if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
    }

    #[test]
    fn every_format_follows_the_definition() {
        for chroma in [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444] {
            for (depth, size) in [(8, (10, 8)), (10, (9, 9)), (12, (8, 11)), (16, (13, 8))] {
                let format = Format::new(size.0, size.1, chroma, depth).unwrap();
                let mut generator = Noise::new(5);
                let frame = testing::frame_of(format, || generator.below(format.peak() + 1));
                for matrix in Matrix::ALL {
                    for range in Range::ALL {
                        check(&frame, matrix, range);
                    }
                }
            }
        }
    }

    fn check(frame: &Frame, matrix: Matrix, range: Range) {
        let format = frame.format();
        let mut converter = Converter::new(format, matrix, range);
        let mut out = rows(format.width());
        for y in 0..format.height() {
            converter.row::<Portable>(frame, y, &mut out);
            for x in 0..format.width() {
                let expected = naive(frame, matrix.red_and_blue(), range, x, y);
                for (row, expected) in out.iter().zip(expected) {
                    let difference = (f64::from(row[x]) - expected).abs();
                    assert!(difference < 3e-6, "{format} {matrix:?} {range:?} at {x}, {y}: {difference}");
                }
            }
        }
    }

    #[test]
    fn black_and_white_are_the_ends() {
        for (depth, range, black, white) in [
            (8, Range::Limited, 16, 235),
            (10, Range::Limited, 64, 940),
            (8, Range::Full, 0, 255),
            (16, Range::Full, 0, 65535),
        ] {
            let format = Format::new(8, 8, Chroma::C400, depth).unwrap();
            let mut converter = Converter::new(&format, Matrix::Bt709, range);
            for (value, expected) in [(black, 0.0), (white, 1.0)] {
                let mut out = rows(8);
                converter.row::<Portable>(&testing::frame_of(format, || value), 3, &mut out);
                assert!(
                    out.iter().flatten().all(|light| (light - expected).abs() < 2e-6),
                    "{depth} {range:?} {out:?}"
                );
            }
        }
    }

    #[test]
    fn the_curve_is_that_of_srgb() {
        for step in 0..=4096 {
            let encoded = step as f32 / 4096.0;
            let mut light = [encoded];
            linearise::<Portable>(&mut light);
            assert!((f64::from(light[0]) - srgb(encoded.into())).abs() < 2e-6, "{encoded}: {}", light[0]);
        }
    }
}
