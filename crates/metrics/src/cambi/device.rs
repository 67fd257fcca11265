//! CAMBI as a device computes it: constants in, sums of the strongest values out.
//!
//! A device takes pictures at their own size and steps of up to four luma values, which is what models ask for.

use visus_video::Format;

use super::geometry::{Geometry, half};
use super::pooling::{is_exact, ordered_sum};
use super::scalar::contrast::reciprocals;
use super::scalar::mask::mask_threshold;
use super::scorer::{SCALE_WEIGHTS, strongest_count};
use super::steps::Steps;

/// The most steps that a device counts.
const MOST_STEPS: usize = 4;
/// Strengths are multiples of this, the unit of the smallest one.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// One set of options for one format.
#[derive(Clone, Debug, PartialEq)]
pub struct CambiTask {
    /// Bits of a sample. They become 10: shifted up, or rounded and shifted down.
    pub depth: u32,
    /// Whether the mean of a sample and those right of, below, and right below it takes its place.
    pub undither: bool,
    /// Whether the picture is halved before its first scale.
    pub halved: bool,
    /// Side of the window.
    pub window: usize,
    /// The number of flat pixels among 7x7 that the mask must exceed.
    pub mask_threshold: u8,
    /// The luma value of level 0.
    pub base: u16,
    /// For every level, bit `d` says whether a step of `d + 1` counts there.
    pub active: Vec<u32>,
    /// Width and height of each scale.
    pub scales: [[usize; 2]; 5],
    /// How many of the strongest pixels of each scale count.
    pub counts: [usize; 5],
    max: f64,
}

/// What a device delivers for a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CambiSums {
    /// The sum of the strongest values, in units of 2^-24.
    pub total: u64,
    /// The bits of the smallest of them; those below the exponent do not matter. 0 if there is none.
    pub smallest: u32,
}

impl CambiSums {
    fn value(&self) -> f64 {
        // Exact where the sum needs no rounding, which is where it is looked at.
        self.total as f64 * UNIT
    }

    /// Whether the sum has the same bits in any order. If not, the strengths of all pixels are needed.
    pub fn is_exact(&self) -> bool {
        self.total == 0 || is_exact(self.value(), f32::from_bits(self.smallest))
    }
}

impl CambiTask {
    /// `None` where the CPU has to do it.
    pub(super) fn new(
        geometry: &Geometry,
        steps: &Steps,
        format: &Format,
        undither: bool,
        share: f64,
        max: f64,
    ) -> Option<Self> {
        let same_size = (geometry.width, geometry.height) == (format.width(), format.height());
        if !same_size || steps.count() > MOST_STEPS || steps.levels() == 0 {
            return None;
        }
        let mut size = geometry.first_scale();
        let scales = std::array::from_fn(|_| {
            let now = [size.0, size.1];
            size = (half(size.0), half(size.1));
            now
        });
        Some(Self {
            depth: u32::from(format.depth()),
            undither,
            halved: geometry.halved,
            window: geometry.window,
            mask_threshold: mask_threshold(geometry.width, geometry.height),
            base: steps.base(),
            active: steps.active().to_vec(),
            scales,
            counts: scales.map(|[width, height]| strongest_count(share, width * height)),
            max,
        })
    }

    /// The largest sample, where memory has room for larger ones.
    pub fn peak(&self) -> Option<u32> {
        (!self.depth.is_multiple_of(8)).then(|| (1 << self.depth) - 1)
    }

    /// Whether two tasks differ in what is made of the sums only.
    pub fn has_sums_of(&self, other: &Self) -> bool {
        let same = Self { max: other.max, ..self.clone() };
        same == *other
    }

    /// The raw number. `strengths` gives those of all pixels of a scale, row after row, where a sum is not exact.
    pub fn finish(
        &self,
        sums: &[CambiSums; 5],
        mut strengths: impl FnMut(usize) -> Option<Vec<f32>>,
        raw: &mut [f64],
    ) {
        let mut score = 0.0;
        for (scale, sums) in sums.iter().enumerate() {
            let count = self.counts[scale];
            let values = if sums.is_exact() { None } else { strengths(scale) };
            let total = values.map_or(sums.value(), |mut values| ordered_sum(&mut values, count));
            score += total / count as f64 * SCALE_WEIGHTS[scale];
        }
        raw[0] = (score / (self.window * self.window) as f64).min(self.max);
    }
}

/// `1 / n` for n from 0 (which has 0) to 4225, as CAMBI's strengths are defined by it.
pub fn cambi_reciprocals() -> &'static [f32] {
    reciprocals()
}
