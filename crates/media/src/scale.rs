//! Resizing a plane with a separable kernel.
//!
//! The default is what ffmpeg's `scale` filter calls bicubic: the cubic of Keys (1981) with a = −0.6, which pipelines in the
//! field use; a = −0.5 (`keys`, also known as Catmull-Rom) is softer, and scores of enlarged encodes are lower with it.
//!
//! Samples are taken where they lie on the picture: luma at the centres of its cells, chroma of 4:2:0 and 4:2:2 on the left luma
//! column (MPEG-2's place) and, vertically, between two luma rows. To make a picture smaller the kernel is widened by
//! the ratio, so that nothing aliases. Beyond the edges the last sample is repeated. Sums are made in `f32`, tap by tap in
//! the order of the samples, never fused: the result is the same on every machine.

use visus_video::{Chroma, Format, Plane, Sample};

/// Where the samples of a plane lie along one side of the picture: every `step` luma samples, beginning at `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    luma: usize,
    step: f64,
    first: f64,
    count: usize,
}

impl Axis {
    fn of(format: &Format, plane: usize, vertical: bool) -> Self {
        let (sx, sy) = format.chroma().shifts();
        let (luma, shift) = if vertical { (format.height(), sy) } else { (format.width(), sx) };
        let (width, height) = format.plane_size(plane);
        let count = if vertical { height } else { width };
        if plane == 0 || shift == 0 {
            return Self { luma, step: 1.0, first: 0.0, count };
        }
        let first = if vertical && format.chroma() == Chroma::C420 { 0.5 } else { 0.0 };
        Self { luma, step: 2.0, first, count }
    }

    /// Where the sample `index` of `self` lies among the samples of `other`, and the distance of samples there.
    fn position_in(&self, other: &Self, index: usize) -> (f64, f64) {
        let ratio = other.luma as f64 / self.luma as f64;
        let luma = (index as f64 * self.step + self.first + 0.5) * ratio - 0.5;
        ((luma - other.first) / other.step, self.step * ratio / other.step)
    }
}

/// The taps of one output sample: the first input sample and a weight for each from there on.
#[derive(Clone, Debug)]
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// The kernel with which pictures are resized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaler {
    /// As ffmpeg's `scale` filter: cubic, a = −0.6.
    #[default]
    Bicubic,
    /// Cubic, a = −0.5.
    Keys,
    /// Sinc, windowed by a wider sinc, three lobes.
    Lanczos,
    Bilinear,
}

impl Scaler {
    pub const ALL: [Self; 4] = [Self::Bicubic, Self::Keys, Self::Lanczos, Self::Bilinear];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bicubic => "bicubic",
            Self::Keys => "keys",
            Self::Lanczos => "lanczos",
            Self::Bilinear => "bilinear",
        }
    }

    /// The name and the number that defines the kernel.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bicubic => "bicubic, a = -0.6",
            Self::Keys => "keys: bicubic, a = -0.5",
            Self::Lanczos => "lanczos, 3 lobes",
            Self::Bilinear => "bilinear",
        }
    }

    /// Samples farther away than this weigh nothing.
    const fn reach(self) -> f64 {
        match self {
            Self::Bicubic | Self::Keys => 2.0,
            Self::Lanczos => 3.0,
            Self::Bilinear => 1.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            Self::Bicubic => cubic(-0.6, x),
            Self::Keys => cubic(-0.5, x),
            Self::Lanczos if x < 3.0 => sinc(x) * sinc(x / 3.0),
            Self::Bilinear if x < 1.0 => 1.0 - x,
            Self::Lanczos | Self::Bilinear => 0.0,
        }
    }
}

impl std::str::FromStr for Scaler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scaler| scaler.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' is not a scaler; it is one of {names}")
        })
    }
}

fn cubic(a: f64, x: f64) -> f64 {
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// The host's sine differs from machine to machine in its last bit; weights are rounded to `f32`, where that is lost.
fn sinc(x: f64) -> f64 {
    let angle = std::f64::consts::PI * x;
    if angle == 0.0 { 1.0 } else { angle.sin() / angle }
}

fn taps(scaler: Scaler, to: &Axis, from: &Axis) -> Vec<Taps> {
    (0..to.count).map(|index| one_sample(scaler, to.position_in(from, index), from.count)).collect()
}

fn one_sample(scaler: Scaler, (centre, spacing): (f64, f64), count: usize) -> Taps {
    let widen = spacing.max(1.0);
    let low = (centre - scaler.reach() * widen).ceil() as i64;
    let high = (centre + scaler.reach() * widen).floor() as i64;
    let last = count as i64 - 1;
    let (first, end) = (low.clamp(0, last), high.clamp(0, last));
    let mut weights = vec![0.0f64; (end - first + 1) as usize];
    for place in low..=high {
        // What lies beyond an edge weighs on the sample at the edge.
        weights[(place.clamp(first, end) - first) as usize] += scaler.weight((place as f64 - centre) / widen);
    }
    let sum: f64 = weights.iter().sum();
    Taps { first: first as usize, weights: weights.into_iter().map(|weight| (weight / sum) as f32).collect() }
}

/// Resizes one plane of a format to that of another.
#[derive(Debug)]
pub(crate) struct PlaneScaler {
    across: Vec<Taps>,
    down: Vec<Taps>,
    /// Input rows, resized horizontally.
    rows: Vec<f32>,
    line: Vec<f32>,
}

impl PlaneScaler {
    /// `None` where the plane's samples lie at the same places in both formats.
    pub fn new(scaler: Scaler, from: &Format, to: &Format, plane: usize) -> Option<Self> {
        let axes = |vertical| (Axis::of(to, plane, vertical), Axis::of(from, plane, vertical));
        let ((to_x, from_x), (to_y, from_y)) = (axes(false), axes(true));
        let empty = [to_x, from_x, to_y, from_y].iter().any(|axis| axis.count == 0);
        if empty || (to_x == from_x && to_y == from_y) {
            return None;
        }
        let rows = vec![0.0; to_x.count * from_y.count];
        let line = vec![0.0; to_x.count];
        Some(Self { across: taps(scaler, &to_x, &from_x), down: taps(scaler, &to_y, &from_y), rows, line })
    }

    /// Hands every resized row to `write`, top to bottom.
    pub fn run<T: Sample>(&mut self, from: Plane<'_, T>, mut write: impl FnMut(usize, &[f32])) {
        let width = self.across.len();
        for (row, out) in from.rows().zip(self.rows.chunks_exact_mut(width)) {
            for (out, taps) in out.iter_mut().zip(&self.across) {
                let samples = &row[taps.first..][..taps.weights.len()];
                *out = samples.iter().zip(&taps.weights).fold(0.0, |sum, (sample, weight)| {
                    let sample: f32 = (*sample).into();
                    sum + sample * weight
                });
            }
        }
        for (y, taps) in self.down.iter().enumerate() {
            self.line.fill(0.0);
            for (row, weight) in self.rows[taps.first * width..].chunks_exact(width).zip(&taps.weights) {
                self.line.iter_mut().zip(row).for_each(|(sum, sample)| *sum += sample * weight);
            }
            write(y, &self.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(width: usize, height: usize, chroma: Chroma) -> Format {
        Format::new(width, height, chroma, 8).unwrap()
    }

    fn resized(from: Format, to: Format, plane: usize, sample: impl Fn(usize, usize) -> u8) -> Vec<Vec<f32>> {
        resized_by(Scaler::Bicubic, from, to, plane, sample)
    }

    fn resized_by(
        scaler: Scaler,
        from: Format,
        to: Format,
        plane: usize,
        sample: impl Fn(usize, usize) -> u8,
    ) -> Vec<Vec<f32>> {
        let (width, height) = from.plane_size(plane);
        let data: Vec<u8> = (0..height * width).map(|at| sample(at % width, at / width)).collect();
        let mut rows = Vec::new();
        PlaneScaler::new(scaler, &from, &to, plane)
            .unwrap()
            .run(Plane::new(&data, width, height, width), |_, row| rows.push(row.to_vec()));
        rows
    }

    /// The definition, without taps: each sample from its neighbours.
    fn naive(scaler: Scaler, data: &[f64], from: usize, to: usize, index: usize) -> f64 {
        let centre = (index as f64 + 0.5) * from as f64 / to as f64 - 0.5;
        let base = centre.floor() as i64;
        let at = |place: i64| data[place.clamp(0, from as i64 - 1) as usize];
        let weights = (base - 2..=base + 3).map(|place| (place, scaler.weight(place as f64 - centre)));
        let sum: f64 = weights.clone().map(|(_, weight)| weight).sum();
        weights.map(|(place, weight)| at(place) * weight / sum).sum()
    }

    #[test]
    fn enlarging_is_the_definition() {
        let from = format(8, 6, Chroma::C420);
        let value = |x: usize, _: usize| (x * x * 3 % 251) as u8;
        let data: Vec<f64> = (0..8).map(|x| f64::from(value(x, 0))).collect();
        for scaler in Scaler::ALL {
            let rows = resized_by(scaler, from, format(12, 9, Chroma::C420), 0, value);
            for (x, got) in rows.iter().flat_map(|row| row.iter().enumerate()) {
                let expected = naive(scaler, &data, 8, 12, x);
                assert!((f64::from(*got) - expected).abs() < 1e-3, "{scaler:?} {x}: {got}");
            }
            assert_eq!((rows.len(), rows[0].len()), (9, 12));
            assert_eq!(scaler.name().parse(), Ok(scaler));
        }
        assert!("sharp".parse::<Scaler>().is_err());
    }

    #[test]
    fn flat_stays_flat_and_slopes_stay_slopes() {
        for (from, to) in
            [((40, 30), (64, 48)), ((64, 48), (40, 30)), ((64, 48), (13, 7)), ((5, 5), (50, 51))]
        {
            let (from, to) = (format(from.0, from.1, Chroma::C420), format(to.0, to.1, Chroma::C420));
            for plane in 0..3 {
                let rows = resized(from, to, plane, |_, _| 77);
                assert!(
                    rows.iter().flatten().all(|value| (value - 77.0).abs() < 1e-3),
                    "{from} {to} {plane}"
                );
            }
        }
        // Of the cubic kernels only this one leaves slopes as they are.
        let (from, to) = (format(32, 8, Chroma::C420), format(64, 8, Chroma::C420));
        let rows = resized_by(Scaler::Keys, from, to, 0, |x, _| 4 * x as u8);
        for x in 8..56 {
            assert!((rows[4][x] - 4.0 * ((x as f32 + 0.5) / 2.0 - 0.5)).abs() < 1e-3, "{x}");
        }
    }

    /// Weights of ffmpeg's `scale=flags=bicubic` at the middle between two samples: 0.6 gives −0.075 and 0.575.
    #[test]
    fn the_default_is_ffmpegs_bicubic() {
        let near =
            |x: f64, expected: f64| assert!((Scaler::Bicubic.weight(x) - expected).abs() < 1e-12, "{x}");
        near(0.0, 1.0);
        near(0.5, 0.575);
        near(1.5, -0.075);
        near(2.0, 0.0);
        assert_eq!(Scaler::default(), Scaler::Bicubic);
    }

    #[test]
    fn chroma_keeps_its_place() {
        let rows = resized(format(64, 16, Chroma::C420), format(64, 16, Chroma::C444), 1, |x, _| 4 * x as u8);
        // Chroma sample k lies on luma column 2k.
        for x in 8..56 {
            assert!((rows[8][x] - 2.0 * x as f32).abs() < 1e-3, "{x}: {}", rows[8][x]);
        }
    }

    #[test]
    fn equal_planes_need_no_scaler() {
        let a = format(64, 48, Chroma::C420);
        assert!(
            PlaneScaler::new(Scaler::Bicubic, &a, &Format::new(64, 48, Chroma::C420, 10).unwrap(), 1)
                .is_none()
        );
        assert!(PlaneScaler::new(Scaler::Bicubic, &a, &format(64, 48, Chroma::C422), 0).is_none());
        assert!(PlaneScaler::new(Scaler::Bicubic, &a, &format(64, 48, Chroma::C422), 1).is_some());
    }
}
