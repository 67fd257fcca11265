//! How sensitive the eye is to the bands of a wavelet transform: contrast sensitivity functions for ADM.
//!
//! This module owns the functions that the integer and the floating-point ADM share. Each gives the weight of a band
//! as a single-precision number, with intermediate results rounded to single precision exactly where libvmaf rounds
//! them; elementary functions come from [`crate::math`].

mod barten;
mod blend;
mod watson;

pub use barten::barten;
pub use blend::{blend, blend_mae};
pub use watson::watson;

use crate::math;

/// The direction of a band's detail. Horizontal and vertical bands are equally visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Straight,
    Diagonal,
}

/// Where the viewer sits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewing {
    /// Distance to the display, in heights of the display.
    pub distance: f64,
    /// Height of the display in pixels.
    pub display_height: i32,
}

impl Viewing {
    /// How many pixels make a degree of visual angle; 56.55 at three times the height of 1080 lines.
    pub fn pixels_per_degree(&self) -> f32 {
        (self.distance * f64::from(self.display_height) * std::f64::consts::PI / 180.0) as f32
    }

    /// The nominal frequency of a wavelet scale, in cycles per degree. Scale 0 is the finest.
    pub fn frequency(&self, scale: u32) -> f32 {
        (f64::from(self.pixels_per_degree()) / f64::from(1u32 << (scale + 1))) as f32
    }
}

/// The function of the paper that ADM comes from: S. Li, F. Zhang, L. Ma, K. N. Ngan, "Image Quality Assessment by
/// Separately Evaluating Detail Losses and Additive Impairments", IEEE Transactions on Multimedia 13(5), 2011.
pub fn native(viewing: &Viewing, scale: u32, direction: Direction) -> f32 {
    let mut frequency = viewing.frequency(scale);
    if direction == Direction::Diagonal {
        // The oblique effect: diagonal detail counts as finer than it is.
        frequency = (f64::from(frequency) / 0.7) as f32;
    }
    let frequency = f64::from(frequency);
    ((0.31 + 0.69 * frequency) * math::exp(-0.29 * frequency)) as f32
}

#[cfg(test)]
mod tests;
