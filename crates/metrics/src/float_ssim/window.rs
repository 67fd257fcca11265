//! The SSIM statistic over all positions of the 11x11 window.
//!
//! Five pictures are filtered (both inputs, their squares, their product), rows first. Only the eleven filtered rows
//! that the next window covers are kept, so nothing but the inputs is as large as a picture.

use super::scalar::{self, Moments, TAPS};
use crate::picture::FloatPlane;

const SIGNALS: usize = 5;

/// Which terms are wanted beside contrast and structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Luminance {
    Wanted,
    Skipped,
}

/// Means over all windows, rounded to `f32` as libvmaf does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    pub ssim: f64,
    pub luminance: f64,
    pub contrast: f64,
    pub structure: f64,
}

/// Sums over all windows, in the order of the pixels.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    ssim: f64,
    luminance: f64,
    contrast: f64,
    structure: f64,
}

/// Memory for pictures up to a width.
#[derive(Debug)]
pub struct Windows {
    /// `TAPS` rows of each signal; row `y` of the picture is in slot `y % TAPS`.
    rings: [Vec<f32>; SIGNALS],
    stride: usize,
    products: Vec<f32>,
    moments: [Vec<f32>; SIGNALS],
    luminance: Vec<f64>,
    contrast: Vec<f64>,
    structure: Vec<f64>,
}

impl Windows {
    pub fn new(width: usize) -> Self {
        Self {
            rings: std::array::from_fn(|_| vec![0.0; TAPS * width]),
            stride: width,
            products: vec![0.0; width],
            moments: std::array::from_fn(|_| vec![0.0; width]),
            luminance: vec![1.0; width],
            contrast: vec![0.0; width],
            structure: vec![0.0; width],
        }
    }

    /// The statistic of a pair of planes. `ssim` and `luminance` have no meaning if luminance is skipped.
    ///
    /// # Panics
    /// If the planes are wider than the memory, or differ in size.
    pub fn measure(&mut self, reference: &FloatPlane, distorted: &FloatPlane, luminance: Luminance) -> Means {
        let (width, height) = (reference.width(), reference.height());
        if width < TAPS || height < TAPS {
            return Means::without_windows(width, height);
        }
        let columns = width - TAPS + 1;
        let mut sums = Sums::default();
        for y in 0..height {
            self.filter_rows_of(reference.row(y), distorted.row(y), y % TAPS);
            if y + 1 >= TAPS {
                self.filter_columns(y + 1 - TAPS, columns);
                self.terms(columns, luminance);
                sums.add(&self.luminance[..columns], &self.contrast[..columns], &self.structure[..columns]);
            }
        }
        sums.means((columns * (height - TAPS + 1)) as f64)
    }

    fn filter_rows_of(&mut self, reference: &[f32], distorted: &[f32], slot: usize) {
        let columns = reference.len() - TAPS + 1;
        let start = slot * self.stride;
        let [plain, other, squared, other_squared, product] =
            self.rings.each_mut().map(|ring| &mut ring[start..][..columns]);
        let scratch = &mut self.products[..reference.len()];
        scalar::filter_row(reference, plain);
        scalar::filter_row(distorted, other);
        for (a, b, out) in [
            (reference, reference, squared),
            (distorted, distorted, other_squared),
            (reference, distorted, product),
        ] {
            scalar::multiply_row(a, b, scratch);
            scalar::filter_row(scratch, out);
        }
    }

    /// The windows whose first row is `top`.
    fn filter_columns(&mut self, top: usize, columns: usize) {
        for (ring, out) in self.rings.iter().zip(&mut self.moments) {
            let row = |tap| &ring[(top + tap) % TAPS * self.stride..][..columns];
            scalar::filter_rows(&std::array::from_fn(row), &mut out[..columns]);
        }
    }

    fn terms(&mut self, columns: usize, luminance: Luminance) {
        let [reference, distorted, reference_squared, distorted_squared, product] =
            self.moments.each_ref().map(|row| &row[..columns]);
        let moments = Moments { reference, distorted, reference_squared, distorted_squared, product };
        if luminance == Luminance::Wanted {
            scalar::luminance_row(&moments, &mut self.luminance[..columns]);
        }
        let structure = &mut self.structure[..columns];
        scalar::contrast_structure_row(&moments, &mut self.contrast[..columns], structure);
    }
}

impl Sums {
    fn add(&mut self, luminance: &[f64], contrast: &[f64], structure: &[f64]) {
        for ((l, c), s) in luminance.iter().zip(contrast).zip(structure) {
            self.ssim += l * c * s;
            self.luminance += l;
            self.contrast += c;
            self.structure += s;
        }
    }

    fn means(&self, count: f64) -> Means {
        let mean = |sum: f64| f64::from((sum / count) as f32);
        Means {
            ssim: mean(self.ssim),
            luminance: mean(self.luminance),
            contrast: mean(self.contrast),
            structure: mean(self.structure),
        }
    }
}

impl Means {
    /// libvmaf's answer where no window fits: an empty sum over a product of sides that are zero or negative. It is
    /// zero (of either sign), or not a number if a side is exactly one short.
    fn without_windows(width: usize, height: usize) -> Self {
        let beyond = |side: usize| side as i64 - (TAPS as i64 - 1);
        let count = beyond(width) * beyond(height);
        // The sign shows in reports; 0/0 gives the negative one on the reference's processors.
        let mean = if count == 0 { -f64::NAN } else { 0.0 / count as f64 };
        Self { ssim: mean, luminance: mean, contrast: mean, structure: mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_small_pictures_follow_the_reference() {
        assert_eq!(Means::without_windows(8, 8).ssim.to_bits(), 0.0f64.to_bits());
        assert_eq!(Means::without_windows(8, 20).ssim.to_bits(), (-0.0f64).to_bits());
        let nan = Means::without_windows(20, 10).ssim;
        assert!(nan.is_nan() && nan.is_sign_negative());
    }
}
