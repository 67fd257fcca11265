//! What one look at a frame tells about it and those before it: differences of luma, motion, histogram, flatness.
//!
//! Pictures are compared as small ones, each sample the mean of a block, on the 8-bit scale: noise and fine detail
//! vanish, and the cost does not depend on the size. Only numbers are kept per frame; small pictures live in a ring.

use std::collections::VecDeque;

use crate::{Frame, Plane, PlaneView, Sample};

/// At most this many columns and rows.
const COLUMNS: usize = 128;
const ROWS: usize = 72;
/// A block of motion search, and how far it is looked for.
const BLOCK: usize = 8;
const REACH: isize = 6;
const BINS: usize = 32;
/// Lags at which a flash would be over.
pub(super) const FLASH_LAGS: usize = 5;
/// The length over which slow changes are seen; even.
pub(super) const SLOW: usize = 12;

/// What is known of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traits {
    /// Mean difference to the frame before.
    pub difference: f32,
    /// The same after each block was moved where it fits best.
    pub residual: f32,
    /// Part of the samples whose brightness has no partner in the frame before, 0 to 1.
    pub histogram: f32,
    pub mean: f32,
    /// Standard deviation over the picture: near 0 for a flat one.
    pub spread: f32,
    /// Mean gradient at full size.
    pub gradient: f32,
    /// Differences to the frames 2, 3, … before.
    pub lagged: [f32; FLASH_LAGS],
    /// Difference to the frame [`SLOW`] before, how far the one in the middle is from their mean, and how alike the two
    /// are, all without their brightness.
    pub slow: f32,
    pub bend: f32,
    pub alike: f32,
}

impl Traits {
    /// Of a frame that nobody has seen: nothing that would speak for a fade, a dissolve or a flash.
    pub(super) const UNKNOWN: Self = Self {
        difference: 0.0,
        residual: 0.0,
        histogram: 0.0,
        mean: 0.0,
        spread: f32::MAX,
        gradient: 0.0,
        lagged: [f32::MAX; FLASH_LAGS],
        slow: 0.0,
        bend: 0.0,
        alike: 1.0,
    };
}

#[derive(Debug)]
struct Small {
    width: usize,
    samples: Vec<f32>,
    histogram: [f32; BINS],
}

/// Looks at frames one after another.
#[derive(Debug)]
pub struct Look {
    recent: VecDeque<Small>,
    /// Below half of this a difference is not worth a search for motion.
    threshold: f32,
    /// Frames for which a flash may still end.
    after_jump: usize,
}

impl Look {
    pub fn new(threshold: f64) -> Self {
        Self { recent: VecDeque::with_capacity(SLOW + 1), threshold: threshold as f32, after_jump: 0 }
    }

    /// The traits of the next frame.
    pub fn at(&mut self, frame: &Frame) -> Traits {
        let shift = frame.format().depth() - 8;
        let (small, gradient) = match frame.plane(0) {
            PlaneView::U8(plane) => small(plane, shift),
            PlaneView::U16(plane) => small(plane, shift),
        };
        let mut traits = Traits { gradient, ..Traits::default() };
        (traits.mean, traits.spread) = moments(&small.samples);
        let before = |lag: usize| self.recent.len().checked_sub(lag).and_then(|index| self.recent.get(index));
        if let Some(last) = before(1) {
            traits.difference = difference(&last.samples, &small.samples);
            let still = traits.difference < self.threshold / 4.0;
            traits.residual = if still { traits.difference } else { residual(last, &small) };
            let shared: f32 = last.histogram.iter().zip(&small.histogram).map(|(a, b)| a.min(*b)).sum();
            traits.histogram = 1.0 - shared;
        }
        for (lag, value) in traits.lagged.iter_mut().enumerate() {
            // Only after a jump is it worth knowing; then motion must not hide that the old picture is back.
            let back = |old| {
                if self.after_jump > 0 {
                    residual(old, &small)
                } else {
                    difference(&old.samples, &small.samples)
                }
            };
            *value = before(lag + 2).map_or(f32::MAX, back);
        }
        if let (Some(old), Some(middle)) = (before(SLOW), before(SLOW / 2)) {
            let [old, middle, new] =
                [&old.samples, &middle.samples, &small.samples].map(|samples| centred(samples));
            traits.slow = difference(&old, &new);
            traits.bend = bend(&old, &middle, &new);
            traits.alike = correlation(&old, &new);
        }
        let jump = traits.difference >= self.threshold / 2.0;
        self.after_jump = if jump { FLASH_LAGS + 1 } else { self.after_jump.saturating_sub(1) };
        if self.recent.len() == SLOW {
            self.recent.pop_front();
        }
        self.recent.push_back(small);
        traits
    }
}

/// Means of blocks, and the mean gradient of the full picture on a grid.
fn small<T: Sample>(plane: Plane<'_, T>, shift: u8) -> (Small, f32) {
    let (columns, rows) = (plane.width().clamp(1, COLUMNS), plane.height().clamp(1, ROWS));
    let columns = columns.min(plane.width());
    let scale = 1.0 / f32::from(1u16 << shift);
    let mut samples = Vec::with_capacity(columns * rows);
    let mut histogram = [0f32; BINS];
    for row in 0..rows.min(plane.height()) {
        let lines = row * plane.height() / rows
            ..((row + 1) * plane.height() / rows).max(row * plane.height() / rows + 1);
        let mut sums = vec![0u64; columns];
        for line in lines.clone() {
            add_blocks(plane.row(line), &mut sums);
        }
        for (column, sum) in sums.iter().enumerate() {
            let width = (column + 1) * plane.width() / columns - column * plane.width() / columns;
            let mean = *sum as f32 / (width.max(1) * lines.len()) as f32 * scale;
            histogram[(mean as usize * BINS / 256).min(BINS - 1)] += 1.0;
            samples.push(mean);
        }
    }
    let count = samples.len().max(1) as f32;
    histogram.iter_mut().for_each(|bin| *bin /= count);
    let gradient = gradient(plane) * scale;
    (Small { width: columns, samples, histogram }, gradient)
}

fn add_blocks<T: Sample>(line: &[T], sums: &mut [u64]) {
    let columns = sums.len();
    for (column, sum) in sums.iter_mut().enumerate() {
        let range = column * line.len() / columns..(column + 1) * line.len() / columns;
        *sum += line[range].iter().map(|sample| u64::from(Into::<u32>::into(*sample))).sum::<u64>();
    }
}

/// Mean difference to the right and lower neighbour, on every fourth line.
fn gradient<T: Sample>(plane: Plane<'_, T>) -> f32 {
    let (mut sum, mut count) = (0u64, 0u64);
    for y in (0..plane.height().saturating_sub(1)).step_by(4) {
        let (line, below) = (plane.row(y), plane.row(y + 1));
        for x in 0..line.len().saturating_sub(1) {
            let value: i32 = line[x].into();
            let (right, under): (i32, i32) = (line[x + 1].into(), below[x].into());
            sum += u64::from(value.abs_diff(right) + value.abs_diff(under));
            count += 2;
        }
    }
    sum as f32 / count.max(1) as f32
}

fn moments(samples: &[f32]) -> (f32, f32) {
    let count = samples.len().max(1) as f32;
    let mean = samples.iter().sum::<f32>() / count;
    let square = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f32>() / count;
    (mean, square.sqrt())
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>() / a.len().max(1) as f32
}

/// The picture without its brightness, so that changing light is no change.
fn centred(samples: &[f32]) -> Vec<f32> {
    let mean = moments(samples).0;
    samples.iter().map(|sample| sample - mean).collect()
}

/// How far the middle picture is from the mean of the other two: near 0 where one dissolves into the other.
fn bend(first: &[f32], middle: &[f32], last: &[f32]) -> f32 {
    let sum: f32 = first.iter().zip(last).zip(middle).map(|((a, b), m)| ((a + b) / 2.0 - m).abs()).sum();
    sum / middle.len().max(1) as f32
}

/// Pearson's correlation; 0 where one of them is flat.
fn correlation(a: &[f32], b: &[f32]) -> f32 {
    let ((mean_a, spread_a), (mean_b, spread_b)) = (moments(a), moments(b));
    if spread_a < 1.0 || spread_b < 1.0 {
        return 0.0;
    }
    let product: f32 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    product / a.len() as f32 / (spread_a * spread_b)
}

/// The mean difference after every block of the new picture was looked for in the old one.
fn residual(old: &Small, new: &Small) -> f32 {
    let (width, height) = (new.width, new.samples.len() / new.width.max(1));
    let (mut sum, mut count) = (0.0, 0usize);
    for top in (0..height).step_by(BLOCK) {
        for left in (0..width).step_by(BLOCK) {
            let (bottom, right) = ((top + BLOCK).min(height), (left + BLOCK).min(width));
            sum += best_match(old, new, (left, top), (right, bottom), (width, height));
            count += (bottom - top) * (right - left);
        }
    }
    sum / count.max(1) as f32
}

fn best_match(
    old: &Small,
    new: &Small,
    from: (usize, usize),
    to: (usize, usize),
    size: (usize, usize),
) -> f32 {
    let mut best = f32::MAX;
    for dy in -REACH..=REACH {
        for dx in -REACH..=REACH {
            let inside = |low: usize, high: usize, shift: isize, limit: usize| {
                low as isize + shift >= 0 && high as isize + shift <= limit as isize
            };
            if !inside(from.0, to.0, dx, size.0) || !inside(from.1, to.1, dy, size.1) {
                continue;
            }
            let mut sum = 0.0;
            for y in from.1..to.1 {
                let row = y * size.0;
                let moved = (y as isize + dy) as usize * size.0;
                let start = (from.0 as isize + dx) as usize;
                let a = &new.samples[row + from.0..row + to.0];
                let b = &old.samples[moved + start..moved + start + a.len()];
                sum += a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>();
                if sum >= best {
                    break;
                }
            }
            best = best.min(sum);
        }
    }
    best
}
