//! The two filters of the front: the low pass before decimation, and the local mean after it.

use super::geometry::DECIMATION;
use crate::gaussian::{kernel, kernel_with, scaled_length};

/// Taps of the low pass, at kernel scale 1.
const ANTIALIAS_TAPS: usize = 9;
/// Taps of the local mean before they are made odd, at kernel scale 1.
const LOCAL_TAPS: usize = 2;
/// Taps per standard deviation of a filter that takes a plane down by 2.
const TAPS_PER_SIGMA: f64 = 5.0;

/// The low pass before decimation. It has the length for one halving; its standard deviation grows with the square root
/// of the number of halvings, so that the bell is cut off early.
pub fn antialias(kernel_scale: f32) -> Vec<f32> {
    let length = scaled_length(ANTIALIAS_TAPS, kernel_scale);
    let halvings = f64::from(DECIMATION.ilog2());
    kernel_with(length, (halvings.sqrt() * length as f64 / TAPS_PER_SIGMA) as f32)
}

/// The filter of the local mean, on the decimated plane.
pub fn local_mean(kernel_scale: f32) -> Vec<f32> {
    kernel(scaled_length(LOCAL_TAPS, kernel_scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_with_the_scale() {
        for (scale, antialias_len, local_len) in
            [(1.0, 9, 3), (0.5, 5, 3), (1.5, 15, 3), (2.0, 19, 5), (2.4, 23, 5), (360.0 / 97.0, 35, 9)]
        {
            assert_eq!(
                (antialias(scale).len(), local_mean(scale).len()),
                (antialias_len, local_len),
                "{scale}"
            );
        }
    }

    #[test]
    fn the_low_pass_is_twice_as_wide_as_its_length_says() {
        let (narrow, wide) = (kernel(9), antialias(1.0));
        // exp(-x^2 / (2 sigma^2)) relative to the centre, at x = 2 with sigma and at x = 4 with 2 sigma.
        assert!((narrow[6] / narrow[4] - wide[8] / wide[4]).abs() < 1e-6);
    }
}
