//! The truth: planes with coordinates, and every formula where it is used.

use crate::float_adm::reciprocal::reciprocal;
use crate::float_adm::scale::Strengths;
use crate::math;

#[derive(Clone)]
pub struct Plane {
    pub width: usize,
    pub height: usize,
    pub values: Vec<f32>,
}

impl Plane {
    pub fn new(width: usize, height: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let values = (0..height * width).map(|i| at(i % width, i / width)).collect();
        Self { width, height, values }
    }

    /// The second column and row lie before the first, and the last ones are mirrored.
    fn at(&self, x: isize, y: isize) -> f32 {
        let inside = |i: isize, size: usize| {
            if i < 0 { -i as usize } else { (i as usize).min(2 * size - 1 - i as usize) }
        };
        self.values[inside(y, self.height) * self.width + inside(x, self.width)]
    }
}

const LOW: [f32; 4] = [0.48296291, 0.83651630, 0.22414387, -0.12940952];
const HIGH: [f32; 4] = [-0.12940952, -0.22414387, 0.83651630, -0.48296291];

fn filter(taps: [f32; 4], sample: impl Fn(isize) -> f32) -> f32 {
    (0..4).fold(0.0, |sum, tap| sum + taps[tap] * sample(tap as isize - 1))
}

fn band(picture: &Plane, across: [f32; 4], down: [f32; 4]) -> Plane {
    let rows = Plane::new(picture.width, picture.height.div_ceil(2), |x, y| {
        filter(down, |tap| picture.at(x as isize, 2 * y as isize + tap))
    });
    Plane::new(picture.width.div_ceil(2), rows.height, |x, y| {
        filter(across, |tap| rows.at(2 * x as isize + tap, y as isize))
    })
}

pub fn low(picture: &Plane) -> Plane {
    band(picture, LOW, LOW)
}

fn details(picture: &Plane) -> [Plane; 3] {
    [band(picture, LOW, HIGH), band(picture, HIGH, LOW), band(picture, HIGH, HIGH)]
}

fn map(like: &Plane, at: impl Fn(usize) -> f32) -> Plane {
    Plane { values: (0..like.values.len()).map(at).collect(), ..like.clone() }
}

fn aligned(o: &[Plane; 3], t: &[Plane; 3], i: usize) -> bool {
    let [oh, ov, th, tv] = [o[0].values[i], o[1].values[i], t[0].values[i], t[1].values[i]];
    let product = oh * th + ov * tv;
    product >= 0.0 && product * product >= 0.99969542 * (oh * oh + ov * ov) * (th * th + tv * tv)
}

fn restored(o: &[Plane; 3], t: &[Plane; 3], band: usize, limit: f64) -> Plane {
    map(&o[band], |i| {
        let (original, seen) = (o[band].values[i], t[band].values[i]);
        let kept = (seen * reciprocal(original + 1e-30)).clamp(0.0, 1.0) * original;
        let grown = f64::from(kept) * limit;
        match kept.partial_cmp(&0.0) {
            Some(std::cmp::Ordering::Greater) if aligned(o, t, i) => grown.min(seen.into()) as f32,
            Some(std::cmp::Ordering::Less) if aligned(o, t, i) => grown.max(seen.into()) as f32,
            _ => kept,
        }
    })
}

fn masking(levels: &[Plane; 3], x: usize, y: usize) -> f32 {
    levels.iter().fold(0.0, |threshold, band| {
        let mut sum = 0.0f32;
        for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
            let level = f64::from(band.at(x as isize + dx, y as isize + dy));
            sum = match (dx, dy) {
                (0, 0) => (f64::from(sum) + 0.0666666701 * level) as f32,
                _ => sum + (0.0333333351 * level) as f32,
            };
        }
        threshold + sum
    })
}

fn strength(levels: &[Plane; 3], floor: f64, p: f64, threshold: impl Fn(usize, usize) -> f32) -> f32 {
    let (width, height) = (levels[0].width, levels[0].height);
    let margin = |size: usize| ((size as f64 * 0.1 - 0.5) as i32).max(0) as usize;
    let (left, top) = (margin(width), margin(height));
    let area = (width - 2 * left) * (height - 2 * top);
    let root = |value: f32| math::powf(value, (1.0 / p) as f32);
    let power = |value: f32| if p == 3.0 { value * value * value } else { math::powf(value, p as f32) };
    levels.iter().fold(0.0, |total, band| {
        let row = |y: usize| {
            (left..width - left).fold(0.0f32, |sum, x| {
                let excess = band.at(x as isize, y as isize) - threshold(x, y);
                sum + power(if excess < 0.0 { 0.0 } else { excess })
            })
        };
        let sum = (top..height - top).fold(0.0f32, |sum, y| sum + row(y));
        total + (root(sum) + root((area as f64 * floor) as f32))
    })
}

pub struct Setup {
    pub limit: f64,
    pub p: f64,
    pub floor: f64,
    pub masked: bool,
    pub weights: [f32; 3],
}

pub fn strengths(reference: &Plane, distorted: &Plane, setup: &Setup) -> Strengths {
    let (o, t) = (details(reference), details(distorted));
    let weigh = |band: usize, plane: &Plane| map(plane, |i| (setup.weights[band] * plane.values[i]).abs());
    let kept = [0, 1, 2].map(|band| restored(&o, &t, band, setup.limit));
    let added = [0, 1, 2].map(|band| map(&o[0], |i| t[band].values[i] - kept[band].values[i]));
    let [o, kept, added] = [o, kept, added].map(|part| [0, 1, 2].map(|band| weigh(band, &part[band])));
    let by = |masker: &[Plane; 3], x, y| if setup.masked { masking(masker, x, y) } else { 0.0 };
    Strengths {
        original: strength(&o, setup.floor, setup.p, |_, _| 0.0),
        restored: strength(&kept, setup.floor, setup.p, |x, y| by(&added, x, y)),
        additive: strength(&added, 0.0, setup.p, |x, y| by(&kept, x, y)),
    }
}
