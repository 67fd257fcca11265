//! The functions that leave plain arithmetic, in two precisions.
//!
//! Formulas are written once, for any [`Functions`]: [`Exact`] ones define the metric; [estimates](super::estimate) give
//! the same numbers or say that they may not.

use std::f64::consts::PI;

use crate::math;

pub trait Functions {
    /// `x` to the power 2.4, as the reference rounds that exponent.
    fn power_12_5(x: f64) -> f64;
    fn cube_root(x: f64) -> f64;
    fn power_7(x: f64) -> f64;
    /// In single precision, which has an error of its own.
    fn single_power_7(&mut self, x: f32) -> f32;
    /// The angle of the point `(x, y)`, which is not the origin.
    fn angle(y: f64, x: f64) -> f64;
    /// Of an angle of at most half a pi.
    fn sine(x: f64) -> f64;
    fn hue_waves(hue: f64) -> f64;
    fn exponential(x: f64) -> f64;

    /// Rounds what came of these functions.
    fn rounded(&mut self, value: f64) -> f32;
    /// Rounds it; unless it `counts`, it does not matter how.
    fn rounded_where(&mut self, counts: bool, value: f64) -> f32;
    /// Under this condition, what comes of an estimate may not be trusted.
    fn doubt_if(&mut self, condition: bool);
}

/// As the reference computes them.
#[derive(Clone, Copy, Debug)]
pub struct Exact;

impl Functions for Exact {
    fn power_12_5(x: f64) -> f64 {
        math::pow(x, 2.4)
    }

    fn cube_root(x: f64) -> f64 {
        math::pow(x, 1.0 / 3.0)
    }

    fn power_7(x: f64) -> f64 {
        math::pow(x, 7.0)
    }

    fn single_power_7(&mut self, x: f32) -> f32 {
        math::powf(x, 7.0)
    }

    fn angle(y: f64, x: f64) -> f64 {
        math::atan2(y, x)
    }

    fn sine(x: f64) -> f64 {
        math::sin(x)
    }

    fn hue_waves(hue: f64) -> f64 {
        use math::cos;
        1.0 - 0.17 * cos(hue - PI / 6.0) + 0.24 * cos(2.0 * hue) + 0.32 * cos(3.0 * hue + PI / 30.0)
            - 0.20 * cos(4.0 * hue - 7.0 * PI / 20.0)
    }

    fn exponential(x: f64) -> f64 {
        math::exp(x)
    }

    #[inline(always)]
    fn rounded(&mut self, value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn rounded_where(&mut self, _counts: bool, value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn doubt_if(&mut self, _condition: bool) {}
}
