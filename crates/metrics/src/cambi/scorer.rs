//! The score of one picture: the sum over five scales of the mean banding strength.

use visus_video::PlaneView;

use super::geometry::{Geometry, half};
use super::loader::{AbovePeak, Loader};
use super::pooling::{Pooling, ordered_sum};
use super::scalar::contrast::contrast_run;
use super::scalar::histogram::{Histogram, READ};
use super::scalar::mode::{decimate_row, decimate_within, levels_row, mode_across, mode_down};
use super::scalar::runs::RunRows;
use super::steps::Steps;

/// How much each scale counts, from fine to coarse.
pub const SCALE_WEIGHTS: [f64; 5] = [16.0, 8.0, 4.0, 2.0, 1.0];

/// Memory and tables for pictures of one size. The planes hold the current scale, rows without gaps.
#[derive(Debug)]
pub struct Scorer {
    window: usize,
    size: (usize, usize),
    steps: Steps,
    share: f64,
    loader: Loader,
    image: Vec<u16>,
    mask: Vec<u8>,
    runs: RunRows,
    /// Banding at the pixels of the runs, in their order.
    strengths: Vec<f32>,
    /// The same at every pixel; empty until it is needed.
    plane: Vec<f32>,
    /// The last three rows, filtered across, in a ring.
    across: [Vec<u16>; 3],
    filtered: Vec<u16>,
    levels: Vec<u16>,
    histogram: Histogram,
    pooling: Pooling,
}

/// How many of so many pixels a share is.
pub fn strongest_count(share: f64, pixels: usize) -> usize {
    ((share * pixels as f64) as usize).clamp(1, pixels)
}

impl Scorer {
    /// `share` is the share of pixels that counts, those with the strongest banding.
    pub fn new(geometry: Geometry, loader: Loader, steps: Steps, share: f64) -> Self {
        let (width, height) = geometry.first_scale();
        let pixels = width * height;
        let histogram = Histogram::new(steps.levels(), steps.count(), width, geometry.window);
        Self {
            window: geometry.window,
            size: (width, height),
            steps,
            share,
            loader,
            image: vec![0; pixels],
            mask: vec![0; pixels],
            runs: RunRows::new(width, height),
            strengths: vec![0.0; pixels + READ],
            plane: Vec::new(),
            across: std::array::from_fn(|_| vec![0; width]),
            filtered: vec![0; width],
            levels: vec![0; width],
            histogram,
            pooling: Pooling::new(),
        }
    }

    pub fn score(&mut self, luma: PlaneView<'_>) -> Result<f64, AbovePeak> {
        self.loader.load(luma, &mut self.image, &mut self.mask)?;
        let (mut width, mut height) = self.size;
        let mut score = 0.0;
        for weight in SCALE_WEIGHTS {
            self.filter(width, height);
            self.measure(width, height);
            score += self.pool(width, height) * weight;
            (width, height) = (half(width), half(height));
        }
        Ok(score / (self.window * self.window) as f64)
    }

    /// Applies the mode filter, which leaves the first and the last row as they are, and finds the levels. In the
    /// end image and mask are those of the next scale.
    fn filter(&mut self, width: usize, height: usize) {
        self.runs.clear();
        for y in 0..height {
            mode_across(&self.image[y * width..][..width], &mut self.across[y % 3][..width]);
            if y > 1 {
                let [a, b, c] = &self.across;
                mode_down(&a[..width], &b[..width], &c[..width], &mut self.filtered);
                self.emit(y - 1, width);
            }
            if y == 0 || y == height - 1 {
                self.filtered[..width].copy_from_slice(&self.image[y * width..][..width]);
                self.emit(y, width);
            }
        }
    }

    /// Stores the runs of row `y`, which is in `filtered`, and every second pixel of every second row for the next
    /// scale. Those overwrite rows that are done with.
    fn emit(&mut self, y: usize, width: usize) {
        let row = &self.filtered[..width];
        let mask = &self.mask[y * width..][..width];
        let levels = &mut self.levels[..width];
        levels_row(row, mask, self.steps.base(), self.steps.levels() as u16, levels);
        self.runs.push(levels);
        if y.is_multiple_of(2) {
            let next = y / 2 * half(width);
            decimate_row(row, &mut self.image[next..][..half(width)]);
            decimate_within(&mut self.mask, y * width, next, width);
        }
    }

    /// Finds the strength of banding at the pixels of all runs.
    fn measure(&mut self, width: usize, height: usize) {
        let Self { runs, histogram, steps, .. } = self;
        let (mut out, pad) = (&mut self.strengths[..], self.window / 2);
        histogram.start(width, self.window);
        (0..pad).for_each(|y| histogram.add(runs.row(y)));
        for y in 0..height {
            histogram.add(runs.row(y + pad));
            if y > pad {
                histogram.remove(runs.row(y - pad - 1));
            }
            for run in runs.row(y) {
                contrast_run(run, histogram, steps, out);
                out = &mut out[usize::from(run.len)..];
            }
        }
    }

    /// The mean strength of the share of pixels that counts. Pixels outside of the runs have none.
    fn pool(&mut self, width: usize, height: usize) -> f64 {
        let pixels = width * height;
        let count = strongest_count(self.share, pixels);
        let strengths = &self.strengths[..self.runs.pixels()];
        let total = self.pooling.sum_of_largest(strengths, count).unwrap_or_else(|| {
            self.fill_plane(width, height);
            ordered_sum(&mut self.plane, count)
        });
        total / count as f64
    }

    /// Puts the strengths at their places.
    fn fill_plane(&mut self, width: usize, height: usize) {
        self.plane.clear();
        self.plane.resize(width * height, 0.0);
        let mut strengths = &self.strengths[..];
        for (y, row) in self.plane.chunks_exact_mut(width).enumerate() {
            for run in self.runs.row(y) {
                let (now, later) = strengths.split_at(usize::from(run.len));
                row[run.columns()].copy_from_slice(now);
                strengths = later;
            }
        }
    }
}
