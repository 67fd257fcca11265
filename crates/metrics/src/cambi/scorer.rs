//! The score of one picture: the sum over five scales of the mean banding strength.

use visus_video::PlaneView;

use super::geometry::{Geometry, half};
use super::loader::{AbovePeak, Loader};
use super::pooling::Pooling;
use super::scalar::contrast::contrast_row;
use super::scalar::histogram::Histogram;
use super::scalar::mode::{decimate_row, decimate_within, levels_row, mode_across, mode_down};
use super::steps::{NO_LEVEL, Steps};

/// How much each scale counts, from fine to coarse.
const SCALE_WEIGHTS: [f64; 5] = [16.0, 8.0, 4.0, 2.0, 1.0];

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
    levels: Vec<u16>,
    strengths: Vec<f32>,
    /// The last three rows, filtered across, in a ring.
    across: [Vec<u16>; 3],
    filtered: Vec<u16>,
    blank: Vec<u16>,
    histogram: Histogram,
    pooling: Pooling,
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
            levels: vec![0; pixels],
            strengths: vec![0.0; pixels],
            across: std::array::from_fn(|_| vec![0; width]),
            filtered: vec![0; width],
            blank: vec![NO_LEVEL; width],
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
            let strengths = &mut self.strengths[..width * height];
            score += self.pooling.mean_of_strongest(strengths, self.share) * weight;
            (width, height) = (half(width), half(height));
        }
        Ok(score / (self.window * self.window) as f64)
    }

    /// Applies the mode filter, which leaves the first and the last row as they are, and finds the levels. In the
    /// end image and mask are those of the next scale.
    fn filter(&mut self, width: usize, height: usize) {
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

    /// Stores the levels of row `y`, which is in `filtered`, and every second pixel of every second row for the next
    /// scale. Those overwrite rows that are done with.
    fn emit(&mut self, y: usize, width: usize) {
        let row = &self.filtered[..width];
        let mask = &self.mask[y * width..][..width];
        let levels = &mut self.levels[y * width..][..width];
        levels_row(row, mask, self.steps.base(), self.steps.levels() as u16, levels);
        if y % 2 == 0 {
            let next = y / 2 * half(width);
            decimate_row(row, &mut self.image[next..][..half(width)]);
            decimate_within(&mut self.mask, y * width, next, width);
        }
    }

    /// Finds the strength of banding at every pixel.
    fn measure(&mut self, width: usize, height: usize) {
        let Self { levels, strengths, histogram, blank, .. } = self;
        let (pad, blank) = (self.window / 2, &blank[..width]);
        let row = |y: usize| if y < height { &levels[y * width..][..width] } else { blank };
        histogram.start(width, self.window);
        (0..pad).for_each(|y| histogram.slide(blank, row(y)));
        for y in 0..height {
            let leaving = if y > pad { row(y - pad - 1) } else { blank };
            histogram.slide(leaving, row(y + pad));
            let out = &mut strengths[y * width..][..width];
            contrast_row(row(y), histogram, &self.steps, out);
        }
    }
}
