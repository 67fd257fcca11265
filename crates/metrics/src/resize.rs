//! Scaling of float planes: the "prescale" of VIF and SpEED, and the half-size picture of motion.
//!
//! A [`Resizer`] holds, per output column and per output row, which source samples are read and with which weights; they
//! depend on the sizes alone and are worked out once. Sample centres are aligned (except for `nearest`), and what lies
//! outside is mirrored without repeating the edge sample.
//!
//! Weights and sums are `f32` and are formed in libvmaf's order. That order is two-dimensional: each output is a sum of
//! `sample * (weight_x * weight_y)` over rows, then columns, so the filters must not be split into two passes.

use std::f64::consts::PI;

use crate::math;
use crate::picture::FloatPlane;

/// How samples between the grid points are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Nearest,
    Bilinear,
    Bicubic,
    Lanczos4,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Bilinear, Self::Bicubic, Self::Lanczos4];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Bilinear => "bilinear",
            Self::Bicubic => "bicubic",
            Self::Lanczos4 => "lanczos4",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The shortest source side whose mirror image covers every sample that counts, when the size changes.
    pub const fn smallest_side(self) -> usize {
        match self {
            Self::Nearest => 1,
            Self::Bilinear => 2,
            Self::Bicubic => 3,
            Self::Lanczos4 => 5,
        }
    }
}

/// A side's length after scaling, as libvmaf rounds it.
pub fn scaled(side: usize, factor: f64) -> usize {
    (side as f64 * factor + 0.5) as usize
}

/// The most source samples per axis that a method reads.
const MAX_TAPS: usize = 9;

/// One axis of a resize: for each output position the source positions and their weights, tap after tap, so that
/// neighbouring outputs lie next to each other.
#[derive(Clone, Debug)]
struct Axis {
    taps: usize,
    len: usize,
    source: Vec<u32>,
    weight: Vec<f32>,
}

impl Axis {
    fn new(method: Method, from: usize, to: usize) -> Self {
        let taps = match method {
            Method::Nearest => 1,
            Method::Bilinear => 2,
            Method::Bicubic => 4,
            Method::Lanczos4 => MAX_TAPS,
        };
        let mut axis = Self { taps, len: to, source: vec![0; taps * to], weight: vec![0.0; taps * to] };
        let ratio = from as f32 / to as f32;
        for at in 0..to {
            axis.fill(method, from, ratio, at);
        }
        axis
    }

    fn fill(&mut self, method: Method, from: usize, ratio: f32, at: usize) {
        if method == Method::Nearest {
            let position = (at as f32 * ratio) as i64;
            return self.set(0, at, mirror(position, from), 1.0);
        }
        let centre = ((at as f64 + 0.5) * f64::from(ratio) - 0.5) as f32;
        let base = centre.floor() as i64;
        match method {
            Method::Nearest | Method::Bilinear => self.fill_bilinear(from, at, centre),
            Method::Bicubic => self.fill_window(from, at, base, 1, |i| bicubic(i - (centre - base as f32))),
            Method::Lanczos4 => self.fill_window(from, at, base, 4, |i| lanczos4(i - (centre - base as f32))),
        }
    }

    /// The weight of the second sample is the distance to where the first one ended up after mirroring; before the
    /// first sample it is therefore negative, and the line through the two samples is extended.
    fn fill_bilinear(&mut self, from: usize, at: usize, centre: f32) {
        let first = mirror(centre.floor() as i64, from);
        let second = mirror(centre.ceil() as i64, from);
        let distance = centre - first as f32;
        self.set(0, at, first, 1.0 - distance);
        self.set(1, at, second, distance);
    }

    /// Samples from `before` steps left of `base` on.
    fn fill_window(&mut self, from: usize, at: usize, base: i64, before: i64, kernel: impl Fn(f32) -> f32) {
        for tap in 0..self.taps {
            let step = tap as i64 - before;
            self.set(tap, at, mirror(base + step, from), kernel(step as f32));
        }
    }

    fn set(&mut self, tap: usize, at: usize, source: usize, weight: f32) {
        self.source[tap * self.len + at] = source as u32;
        self.weight[tap * self.len + at] = weight;
    }

    fn sources(&self, tap: usize) -> &[u32] {
        &self.source[tap * self.len..][..self.len]
    }

    fn weights(&self, tap: usize) -> &[f32] {
        &self.weight[tap * self.len..][..self.len]
    }
}

/// Folds a position back into `0..len`. Sources below [`Method::smallest_side`] would need a second fold; there the
/// nearest sample stands in, so that every plane has a defined result.
fn mirror(position: i64, len: usize) -> usize {
    let last = len as i64 - 1;
    let folded = if position < 0 {
        -position
    } else if position > last {
        2 * last - position
    } else {
        position
    };
    folded.clamp(0, last) as usize
}

/// Keys' cubic with a = -0.75.
fn bicubic(distance: f32) -> f32 {
    const A: f32 = -0.75;
    let t = distance.abs();
    if t < 1.0 {
        ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0
    } else if t < 2.0 {
        (((t - 5.0) * t + 8.0) * t - 4.0) * A
    } else {
        0.0
    }
}

fn lanczos4(distance: f32) -> f32 {
    const LOBES: f64 = 4.0;
    let x = f64::from(distance);
    if x == 0.0 {
        return 1.0;
    }
    if x <= -LOBES || x >= LOBES {
        return 0.0;
    }
    (LOBES * math::sin(PI * x) * math::sin(PI * x / LOBES) / (PI * PI * x * x)) as f32
}

/// Scales planes of one size to another. Planes whose size does not change are copied.
#[derive(Clone, Debug)]
pub struct Resizer {
    method: Method,
    from: (usize, usize),
    to: (usize, usize),
    columns: Axis,
    rows: Axis,
    /// Sums of weights of one output row (Lanczos divides by them).
    total: Vec<f32>,
}

impl Resizer {
    /// For planes of `from` (width, height), made into planes of `to`.
    pub fn new(method: Method, from: (usize, usize), to: (usize, usize)) -> Self {
        Self {
            method,
            from,
            to,
            columns: Axis::new(method, from.0, to.0),
            rows: Axis::new(method, from.1, to.1),
            total: vec![0.0; to.0],
        }
    }

    /// # Panics
    /// If the planes have other sizes than the resizer was made for.
    pub fn resize(&mut self, source: &FloatPlane, out: &mut FloatPlane) {
        for y in 0..self.to.1 {
            self.resize_row(source, y, out);
        }
    }

    /// Makes row `y` of the output alone, for callers that do not need all of them.
    ///
    /// # Panics
    /// If the planes have other sizes than the resizer was made for.
    pub fn resize_row(&mut self, source: &FloatPlane, y: usize, out: &mut FloatPlane) {
        assert_eq!((source.width(), source.height()), self.from, "source size");
        assert_eq!((out.width(), out.height()), self.to, "output size");
        let out = out.row_mut(y);
        if self.from == self.to {
            return out.copy_from_slice(source.row(y));
        }
        match self.method {
            Method::Nearest => self.nearest_row(source, y, out),
            Method::Bilinear => self.bilinear_row(source, y, out),
            Method::Bicubic => self.bicubic_row(source, y, out),
            Method::Lanczos4 => self.lanczos4_row(source, y, out),
        }
    }

    fn nearest_row(&self, source: &FloatPlane, y: usize, out: &mut [f32]) {
        let row = source.row(self.rows.source[y] as usize);
        for (out, x) in out.iter_mut().zip(&self.columns.source) {
            *out = row[*x as usize];
        }
    }

    fn bilinear_row(&self, source: &FloatPlane, y: usize, out: &mut [f32]) {
        let [upper, lower] = [0, 1].map(|tap| source.row(self.rows.sources(tap)[y] as usize));
        let [near_y, far_y] = [0, 1].map(|tap| self.rows.weights(tap)[y]);
        let [left, right] = [0, 1].map(|tap| self.columns.sources(tap));
        let [near_x, far_x] = [0, 1].map(|tap| self.columns.weights(tap));
        for x in 0..out.len() {
            let (a, b) = (left[x] as usize, right[x] as usize);
            out[x] = near_y * near_x[x] * upper[a]
                + near_y * far_x[x] * upper[b]
                + far_y * near_x[x] * lower[a]
                + far_y * far_x[x] * lower[b];
        }
    }

    fn bicubic_row(&self, source: &FloatPlane, y: usize, out: &mut [f32]) {
        out.fill(0.0);
        for (row, weight_y) in self.rows_of(source, y) {
            for tap in 0..self.columns.taps {
                let (sources, weights) = (self.columns.sources(tap), self.columns.weights(tap));
                for ((out, x), weight_x) in out.iter_mut().zip(sources).zip(weights) {
                    *out += row[*x as usize] * (weight_x * weight_y);
                }
            }
        }
    }

    fn lanczos4_row(&mut self, source: &FloatPlane, y: usize, out: &mut [f32]) {
        out.fill(0.0);
        let mut total = std::mem::take(&mut self.total);
        total.fill(0.0);
        for (row, weight_y) in self.rows_of(source, y) {
            for tap in 0..self.columns.taps {
                let (sources, weights) = (self.columns.sources(tap), self.columns.weights(tap));
                for (((out, total), x), weight_x) in out.iter_mut().zip(&mut total).zip(sources).zip(weights)
                {
                    let weight = weight_x * weight_y;
                    *total += weight;
                    *out += row[*x as usize] * weight;
                }
            }
        }
        for (out, total) in out.iter_mut().zip(&total) {
            *out /= total;
        }
        self.total = total;
    }

    /// The source rows of output row `y`, with their weights.
    fn rows_of<'a>(&'a self, source: &'a FloatPlane, y: usize) -> impl Iterator<Item = (&'a [f32], f32)> {
        (0..self.rows.taps)
            .map(move |tap| (source.row(self.rows.sources(tap)[y] as usize), self.rows.weights(tap)[y]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values in -128..128 from a linear congruential generator.
    fn noise(width: usize, height: usize, seed: u32) -> FloatPlane {
        let mut plane = FloatPlane::new(width, height);
        let mut state = seed;
        for y in 0..height {
            for value in plane.row_mut(y) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *value = (state >> 16) as f32 / 256.0 - 128.0;
            }
        }
        plane
    }

    fn fold(position: f32, len: usize) -> usize {
        let last = len as f32 - 1.0;
        (if position < 0.0 {
            -position
        } else if position > last {
            2.0 * last - position
        } else {
            position
        }) as usize
    }

    /// One output sample, straight from the definition of the method.
    fn naive(method: Method, source: &FloatPlane, to: (usize, usize), x: usize, y: usize) -> f32 {
        let (width, height) = (source.width(), source.height());
        let ratio = (width as f32 / to.0 as f32, height as f32 / to.1 as f32);
        let centre = |at: usize, ratio: f32| ((at as f64 + 0.5) * f64::from(ratio) - 0.5) as f32;
        let (cx, cy) = (centre(x, ratio.0), centre(y, ratio.1));
        let window = |reach: std::ops::RangeInclusive<i32>, kernel: fn(f32) -> f32| {
            let (mut sum, mut total) = (0.0f32, 0.0f32);
            for j in reach.clone() {
                for i in reach.clone() {
                    let weight = kernel(i as f32 - (cx - cx.floor())) * kernel(j as f32 - (cy - cy.floor()));
                    let row = source.row(fold(cy.floor() + j as f32, height));
                    sum += row[fold(cx.floor() + i as f32, width)] * weight;
                    total += weight;
                }
            }
            (sum, total)
        };
        match method {
            Method::Nearest => source.row((y as f32 * ratio.1) as usize)[(x as f32 * ratio.0) as usize],
            Method::Bilinear => {
                let (x1, x2) = (fold(cx.floor(), width), fold(cx.ceil(), width));
                let (y1, y2) = (source.row(fold(cy.floor(), height)), source.row(fold(cy.ceil(), height)));
                let (dx, dy) = (cx - x1 as f32, cy - fold(cy.floor(), height) as f32);
                (1.0 - dy) * (1.0 - dx) * y1[x1]
                    + (1.0 - dy) * dx * y1[x2]
                    + dy * (1.0 - dx) * y2[x1]
                    + dy * dx * y2[x2]
            }
            Method::Bicubic => window(-1..=2, bicubic).0,
            // The tap at -4 never has weight, and may lie outside of the mirror image.
            Method::Lanczos4 => window(-3..=4, lanczos4).0 / window(-3..=4, lanczos4).1,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_sample_follows_the_definition(
            method in prop::sample::select(&Method::ALL[..]),
            width in 5usize..40, height in 5usize..30, factor in 0.1f64..4.0, seed: u32,
        ) {
            let to = (scaled(width, factor), scaled(height, factor));
            let source = noise(width, height, seed);
            let mut out = FloatPlane::new(to.0, to.1);
            Resizer::new(method, (width, height), to).resize(&source, &mut out);
            for y in 0..to.1 {
                for x in 0..to.0 {
                    let expected = if to == (width, height) { source.row(y)[x] } else { naive(method, &source, to, x, y) };
                    prop_assert_eq!(out.row(y)[x].to_bits(), expected.to_bits(), "{:?} at {}, {}", method, x, y);
                }
            }
        }
    }
}
