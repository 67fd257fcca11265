//! A picture's luma as a model wants it: from 0 to 1, in the model's size.

use visus_video::{Frame, PlaneView, Sample};

/// How a picture of another size is brought to the model's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resize {
    /// It is refused.
    #[default]
    Disabled,
    Bilinear,
    Nearest,
    /// Catmull-Rom.
    Bicubic,
}

impl Resize {
    pub const NAMES: [&'static str; 4] = ["bilinear", "nearest", "bicubic", "disabled"];

    pub fn parse(text: &str) -> Option<Self> {
        let kinds = [Self::Bilinear, Self::Nearest, Self::Bicubic, Self::Disabled];
        Self::NAMES.iter().position(|name| *name == text).map(|place| kinds[place])
    }
}

/// Luma from 0 to 1, row by row.
pub(super) fn luma(frame: &Frame) -> Vec<f32> {
    let highest = ((1u32 << frame.format().depth()) - 1) as f32;
    match frame.plane(0) {
        PlaneView::U8(plane) => scaled((0..plane.height()).map(|y| plane.row(y)), highest),
        PlaneView::U16(plane) => scaled((0..plane.height()).map(|y| plane.row(y)), highest),
    }
}

fn scaled<'a, T: Sample>(rows: impl Iterator<Item = &'a [T]>, highest: f32) -> Vec<f32> {
    let part = |sample: &T| {
        let value: f32 = (*sample).into();
        value / highest
    };
    rows.flat_map(|row| row.iter().map(part)).collect()
}

/// Resamples; pixels have their place at their centre, and edges repeat.
pub(super) fn resized(picture: &[f32], from: (usize, usize), to: (usize, usize), how: Resize) -> Vec<f32> {
    if from == to {
        return picture.to_vec();
    }
    let columns: Vec<Taps> = (0..to.0).map(|x| taps(x, from.0, to.0, how)).collect();
    let mut narrow = vec![0.0; to.0 * from.1];
    for (row, out) in picture.chunks_exact(from.0).zip(narrow.chunks_exact_mut(to.0)) {
        out.iter_mut()
            .zip(&columns)
            .for_each(|(out, taps)| *out = taps.iter().map(|(x, w)| row[*x] * w).sum());
    }
    let mut out = vec![0.0; to.0 * to.1];
    for (y, row) in out.chunks_exact_mut(to.0).enumerate() {
        for (source, weight) in taps(y, from.1, to.1, how) {
            let source = &narrow[source * to.0..(source + 1) * to.0];
            row.iter_mut().zip(source).for_each(|(out, value)| *out += value * weight);
        }
    }
    out
}

/// Samples and their weights.
type Taps = Vec<(usize, f32)>;

fn taps(place: usize, from: usize, to: usize, how: Resize) -> Taps {
    let ratio = from as f64 / to as f64;
    let centre = (place as f64 + 0.5) * ratio;
    let at = |sample: i64| sample.clamp(0, from as i64 - 1) as usize;
    if how == Resize::Nearest {
        return vec![(at(centre.floor() as i64), 1.0)];
    }
    let left = (centre - 0.5).floor();
    let rest = centre - 0.5 - left;
    let near = |offset: i64| at(left as i64 + offset);
    match how {
        Resize::Bicubic => {
            (-1..=2).map(|offset| (near(offset), catmull_rom(rest - offset as f64) as f32)).collect()
        }
        _ => vec![(near(0), 1.0 - rest as f32), (near(1), rest as f32)],
    }
}

/// Keys' kernel with a = -1/2.
fn catmull_rom(distance: f64) -> f64 {
    const A: f64 = -0.5;
    let d = distance.abs();
    match d {
        d if d <= 1.0 => ((A + 2.0) * d - (A + 3.0)) * d * d + 1.0,
        d if d < 2.0 => ((A * d - 5.0 * A) * d + 8.0 * A) * d - 4.0 * A,
        _ => 0.0,
    }
}
