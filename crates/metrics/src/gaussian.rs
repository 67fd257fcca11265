//! Gaussian filter taps, as VIF and SpEED make them.

use std::f64::consts::PI;

use crate::math;

/// Taps per standard deviation.
const TAPS_PER_SIGMA: f32 = 5.0;

/// The kernel scales that libvmaf accepts.
pub const KERNEL_SCALES: [f32; 21] = [
    1.0,
    1.0 / 2.0,
    3.0 / 2.0,
    2.0,
    2.0 / 3.0,
    24.0 / 10.0,
    360.0 / 97.0,
    4.0 / 3.0,
    3.5 / 3.0,
    3.75 / 3.0,
    4.25 / 3.0,
    5.0 / 3.0,
    3.0,
    1.0 / 2.25,
    1.4746,
    1.54,
    1.6,
    1.06667,
    0.711111,
    0.740740,
    1.111111,
];

/// Whether the scale is one of those that libvmaf accepts, to within 0.001.
pub fn is_kernel_scale(scale: f32) -> bool {
    KERNEL_SCALES.iter().any(|known| f64::from((scale - known).abs()) < 1e-3)
}

/// The accepted scales as text, by size.
pub fn known_kernel_scales() -> String {
    let mut scales = KERNEL_SCALES;
    scales.sort_by(f32::total_cmp);
    scales.map(|scale| scale.to_string()).join(", ")
}

/// How many taps a kernel of `taps` taps has when it is scaled: an odd number, at least 3.
pub fn scaled_length(taps: usize, kernel_scale: f32) -> usize {
    ((taps as f32 * kernel_scale).ceil() as usize | 1).max(3)
}

/// A kernel of this (odd) length whose standard deviation is a fifth of it.
pub fn kernel(length: usize) -> Vec<f32> {
    kernel_with(length, length as f32 / TAPS_PER_SIGMA)
}

/// A kernel of this (odd) length that sums to 1.
pub fn kernel_with(length: usize, sigma: f32) -> Vec<f32> {
    let centre = (length / 2) as f32;
    let bells: Vec<f32> = (0..length).map(|at| bell(at as f32 - centre, sigma)).collect();
    let sum = bells.iter().fold(0.0, |sum, tap| sum + tap);
    bells.iter().map(|tap| tap / sum).collect()
}

/// The Gaussian up to a factor. That factor falls out when the kernel is normalised, but it has a part in the rounding.
fn bell(x: f32, sigma: f32) -> f32 {
    let (x, sigma) = (f64::from(x), f64::from(sigma));
    let height = math::exp(-0.5 * x / sigma * x / sigma) as f32;
    let norm = (1.0 / (sigma * (2.0 * PI).sqrt())) as f32;
    height / norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_odd_and_grow_with_the_scale() {
        let lengths = |scale| [17, 9, 5, 3].map(|taps| scaled_length(taps, scale));
        assert_eq!(lengths(1.0), [17, 9, 5, 3]);
        assert_eq!(lengths(0.5), [9, 5, 3, 3]);
        assert_eq!(lengths(2.0), [35, 19, 11, 7]);
        assert_eq!(lengths(2.4), [41, 23, 13, 9]);
        assert_eq!(lengths(360.0 / 97.0), [65, 35, 19, 13]);
    }

    #[test]
    fn kernels_are_symmetric_and_sum_to_one() {
        for scale in KERNEL_SCALES {
            let taps = kernel(scaled_length(17, scale));
            let mirrored: Vec<f32> = taps.iter().rev().copied().collect();
            assert_eq!(taps, mirrored);
            assert!((taps.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{scale}: {taps:?}");
            assert!(taps.windows(2).take(taps.len() / 2).all(|pair| pair[0] < pair[1]), "{scale}");
        }
    }

    #[test]
    fn kernel_scales_have_a_tolerance() {
        assert!(is_kernel_scale(1.0009) && is_kernel_scale(3.711) && is_kernel_scale(0.4444));
        assert!(!is_kernel_scale(1.002) && !is_kernel_scale(4.0) && !is_kernel_scale(0.1));
        assert!(known_kernel_scales().starts_with("0.44444445, 0.5, 0.6666667,"));
    }
}
