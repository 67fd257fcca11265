//! A picture at five sizes, each half of the one before.

use visus_video::Frame;

use super::SCALES;
use super::scalar::{self, SplitRow, TAPS};
use crate::picture::FloatPlane;

/// Split rows that are kept. The nine rows around an output row, mirrored ones included, lie in nine neighbouring rows
/// of the picture, so ten slots never collide.
const SLOTS: usize = 10;

/// The sizes of one picture, the largest first.
#[derive(Debug)]
pub struct Pyramid {
    pub planes: [FloatPlane; SCALES],
}

impl Pyramid {
    pub fn new(width: usize, height: usize) -> Self {
        let side = |side: usize, scale: usize| (0..scale).fold(side, |side, _| side.div_ceil(2));
        Self { planes: std::array::from_fn(|scale| FloatPlane::new(side(width, scale), side(height, scale))) }
    }

    /// Takes a frame's luma and fills every size.
    pub fn load(&mut self, frame: &Frame, halver: &mut Halver) {
        self.planes[0].load(frame.plane(0), frame.format().depth(), 0.0);
        for scale in 1..SCALES {
            let (larger, smaller) = self.planes.split_at_mut(scale);
            halver.halve(&larger[scale - 1], &mut smaller[0]);
        }
    }
}

/// Halves pictures up to a width.
#[derive(Debug)]
pub struct Halver {
    even: Vec<f32>,
    odd: Vec<f32>,
    stride: usize,
}

impl Halver {
    pub fn new(width: usize) -> Self {
        let stride = scalar::split_len(width.div_ceil(2));
        Self { even: vec![0.0; stride * SLOTS], odd: vec![0.0; stride * SLOTS], stride }
    }

    /// Both sides of `from` must be 5 or more, and those of `to` half of it, rounded up.
    pub fn halve(&mut self, from: &FloatPlane, to: &mut FloatPlane) {
        let mut ready = 0;
        for y in 0..to.height() {
            let needed = (2 * y + TAPS.div_ceil(2)).min(from.height());
            for row in ready..needed {
                self.split(from.row(row), row);
            }
            ready = needed;
            let rows = std::array::from_fn(|tap| self.row(mirrored(2 * y, tap, from.height())));
            scalar::halve_row(&rows, to.row_mut(y));
        }
    }

    fn split(&mut self, row: &[f32], y: usize) {
        let (start, len) = (y % SLOTS * self.stride, scalar::split_len(row.len().div_ceil(2)));
        scalar::split_row(row, &mut self.even[start..][..len], &mut self.odd[start..][..len]);
    }

    fn row(&self, y: usize) -> SplitRow<'_> {
        let start = y % SLOTS * self.stride;
        SplitRow { even: &self.even[start..][..self.stride], odd: &self.odd[start..][..self.stride] }
    }
}

/// The row at tap `tap` around `centre`, mirrored at the edges, the edge row included.
fn mirrored(centre: usize, tap: usize, height: usize) -> usize {
    match (centre + tap).checked_sub(TAPS / 2) {
        None => TAPS / 2 - 1 - (centre + tap),
        Some(inside) if inside < height => inside,
        Some(beyond) => 2 * height - 1 - beyond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Noise;

    /// libvmaf's full table, to check the folded one.
    const TABLE: [[f32; 9]; 9] = [
        [0.000714, -0.000450, -0.002090, 0.007132, 0.016114, 0.007132, -0.002090, -0.000450, 0.000714],
        [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146, -0.004490, 0.001316, 0.000283, -0.000450],
        [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149, -0.020867, 0.006115, 0.001316, -0.002090],
        [0.007132, -0.004490, -0.020867, 0.071207, 0.160885, 0.071207, -0.020867, -0.004490, 0.007132],
        [0.016114, -0.010146, -0.047149, 0.160885, 0.363505, 0.160885, -0.047149, -0.010146, 0.016114],
        [0.007132, -0.004490, -0.020867, 0.071207, 0.160885, 0.071207, -0.020867, -0.004490, 0.007132],
        [-0.002090, 0.001316, 0.006115, -0.020867, -0.047149, -0.020867, 0.006115, 0.001316, -0.002090],
        [-0.000450, 0.000283, 0.001316, -0.004490, -0.010146, -0.004490, 0.001316, 0.000283, -0.000450],
        [0.000714, -0.000450, -0.002090, 0.007132, 0.016114, 0.007132, -0.002090, -0.000450, 0.000714],
    ];

    fn naive(from: &FloatPlane, x: usize, y: usize) -> f32 {
        let fold = |at: i64, side: i64| (if at < 0 { -1 - at } else { at.min(2 * side - 1 - at) }) as usize;
        let (width, height) = (from.width() as i64, from.height() as i64);
        let mut sum = 0.0f64;
        for v in 0..9 {
            for u in 0..9 {
                let row = from.row(fold(2 * y as i64 + v - 4, height));
                let sample = row[fold(2 * x as i64 + u - 4, width)];
                sum += f64::from(sample * TABLE[v as usize][u as usize]);
            }
        }
        sum as f32
    }

    #[test]
    fn equals_the_naive_sum() {
        let mut noise = Noise::new(11);
        for (width, height) in [(11, 11), (12, 13), (13, 12), (16, 40), (35, 20), (64, 17), (81, 5)] {
            for (limit, scale, offset) in [(256, 1.0, 0.0), (65_536, 1.0 / 256.0, 0.0), (999, 0.377, -150.1)]
            {
                let mut from = FloatPlane::new(width, height);
                for y in 0..height {
                    from.row_mut(y).fill_with(|| noise.below(limit) as f32 * scale + offset);
                }
                let mut to = FloatPlane::new(width.div_ceil(2), height.div_ceil(2));
                // Memory made for a wider picture serves narrower ones.
                Halver::new(100).halve(&from, &mut to);
                for (x, y) in (0..to.height()).flat_map(|y| (0..to.width()).map(move |x| (x, y))) {
                    assert_eq!(to.row(y)[x], naive(&from, x, y), "{width}x{height} at {x},{y}");
                }
            }
        }
    }
}
