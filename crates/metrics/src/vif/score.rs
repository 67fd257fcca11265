//! From the integer sums of the four scales to a row of raw numbers.
//!
//! Up to here VIF is integer arithmetic (but for two double-precision steps per pixel, whose results are integers again),
//! so the sums do not depend on the order of pixels. Whoever computes them, an extractor or a device, gets the same bits
//! from [`VifSettings::finish`].

use super::SCALES;

/// Sums over the pixels of one scale. A pixel is counted in the `log` pair if the variance of the reference there, σ₁²,
/// is at least 2 (131072 with 16 fractional bits, libvmaf's `sigma_nsq`), else in the `non_log` pair. The names are those
/// of libvmaf's accumulators, less `accum_`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VifSums {
    /// Σ 2048 · log2(1 + g²·σ₁² / (σᵥ² + σₙ²)), from the table of logarithms, over pixels whose covariance and
    /// distorted variance are positive.
    pub num_log: i64,
    /// Σ 2048 · log2(1 + σ₁² / σₙ²), from the table.
    pub den_log: i64,
    /// Σ of the distorted variance σ₂² with 16 fractional bits, negative ones taken as 0.
    pub num_non_log: i64,
    /// The number of such pixels.
    pub den_non_log: i64,
}

/// Checked options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VifSettings {
    /// The largest gain g that counts.
    pub gain_limit: f64,
    /// The finest scale is not scored: its sums are not looked at.
    pub skip_scale0: bool,
    /// Numerators and denominators are written as well.
    pub debug: bool,
}

/// Numerator and denominator of one scale, rounded to single precision as libvmaf keeps them.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    num: f32,
    den: f32,
}

impl From<VifSums> for Ratio {
    fn from(sums: VifSums) -> Self {
        let non_log = sums.den_non_log as f64;
        let num = sums.num_log as f64 / 2048.0 + (non_log - (sums.num_non_log as f64 / 16384.0) / 65025.0);
        let den = sums.den_log as f64 / 2048.0 + non_log;
        Self { num: num as f32, den: den as f32 }
    }
}

impl VifSettings {
    /// Fills a row of raw numbers, in the order of the metric's keys, from the sums of the scales, finest first.
    pub fn finish(&self, scales: &[VifSums; SCALES], raw: &mut [f64]) {
        let mut ratios = scales.map(Ratio::from);
        let first = usize::from(self.skip_scale0);
        for (scale, ratio) in ratios.iter().enumerate() {
            raw[scale] = if scale < first { 0.0 } else { f64::from(ratio.num / ratio.den) };
        }
        if !self.debug {
            return;
        }
        let num: f64 = sum(ratios[first..].iter().map(|ratio| ratio.num));
        let den: f64 = sum(ratios[first..].iter().map(|ratio| ratio.den));
        raw[4] = if den == 0.0 { 1.0 } else { num / den };
        raw[5] = num;
        raw[6] = den;
        if self.skip_scale0 {
            ratios[0] = Ratio { num: 0.0, den: -1.0 };
        }
        for (scale, ratio) in ratios.iter().enumerate() {
            raw[7 + 2 * scale] = f64::from(ratio.num);
            raw[8 + 2 * scale] = f64::from(ratio.den);
        }
    }
}

/// Single precision values summed in double precision, in order and from the first one on.
fn sum(values: impl Iterator<Item = f32>) -> f64 {
    values.map(f64::from).reduce(|sum, value| sum + value).unwrap_or(0.0)
}
