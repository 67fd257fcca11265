//! Visibility of wavelet quantisation noise in luma: A. B. Watson, G. Y. Yang, J. A. Solomon, J. Villasenor,
//! "Visibility of Wavelet Quantization Noise", IEEE Transactions on Image Processing 6(8), 1997.

use super::{Direction, Viewing};
use crate::math;

/// Table IV, luma: amplitude, width and centre of the threshold's parabola over the logarithm of frequency.
const A: f32 = 0.495;
const K: f32 = 0.466;
const F0: f32 = 0.401;

/// Table IV: how far the parabola of diagonal bands is shifted.
const DIAGONAL_SHIFT: f32 = 0.534;

/// Table V: amplitudes of the basis functions per scale, for straight and diagonal bands. They were calculated for the
/// 7-9 biorthogonal wavelet.
const AMPLITUDES: [[f32; 2]; 4] =
    [[0.67234, 0.72709], [0.41317, 0.49428], [0.22727, 0.28688], [0.11792, 0.15214]];

/// The weight of a band: the reciprocal of the largest quantisation step that stays invisible in it.
pub fn watson(viewing: &Viewing, scale: u32, direction: Direction) -> f32 {
    1.0 / invisible_step(viewing, scale, direction)
}

/// Formula (9).
fn invisible_step(viewing: &Viewing, scale: u32, direction: Direction) -> f32 {
    let (shift, amplitude) = match direction {
        Direction::Straight => (1.0, AMPLITUDES[scale as usize][0]),
        Direction::Diagonal => (DIAGONAL_SHIFT, AMPLITUDES[scale as usize][1]),
    };
    let size = f64::from(1u32 << (scale + 1));
    let octaves = size * f64::from(F0) * f64::from(shift) / f64::from(viewing.pixels_per_degree());
    let distance = math::log10(octaves) as f32;
    let exponent = K * distance * distance;
    (2.0 * f64::from(A) * math::pow(10.0, f64::from(exponent)) / f64::from(amplitude)) as f32
}
