//! Barten's contrast sensitivity function in the simplified form of HDR-VDP-2 (version 2.2.1): R. Mantiuk, K. J. Kim,
//! A. G. Rempel, W. Heidrich, "HDR-VDP-2: A calibrated visual metric for visibility and quality predictions in all
//! luminance conditions", ACM Transactions on Graphics 30(4), 2011.
//!
//! The eye is taken to be adapted to 100 cd/m²: neither ADM offers another luminance.

use super::Viewing;
use crate::math;

const LUMINANCE: f32 = 100.0;

/// The measured luminances on either side of [`LUMINANCE`], with the neural sensitivity's parameters there.
const BELOW: (f32, [f32; 4]) = (20.0, [0.334278, 3.79542, 1.07327, 6.4635]);
const ABOVE: (f32, [f32; 4]) = (150.0, [0.394533, 2.7755, 1.16577, 7.45665]);

/// Loss of sensitivity in rods and cones; p6, p7, p8 of the paper after the overall factor.
const SENSITIVITY: [f32; 4] = [30.162, 4.0627, 1.6596, 0.2712];

/// The eye's optics as a sum of exponentials: weight and decay.
const OPTICS: [(f32, f32); 4] = [
    (0.424838596301290, 0.028),
    (0.572435103936480, 0.37),
    (0.000167576239164937, 37.0),
    (0.00255872352306433, 360.0),
];

/// The weight of a band, multiplied by `gain`.
pub fn barten(viewing: &Viewing, scale: u32, gain: f64) -> f32 {
    let frequency = viewing.frequency(scale);
    let single = neural(frequency) * optics(frequency) * rods_and_cones();
    (f64::from(single) * gain) as f32
}

fn neural(frequency: f32) -> f32 {
    let [p0, p1, p2, p3] = parameters();
    let rise = (1.0 + math::pow(f64::from(p0 * frequency), f64::from(p1))) as f32;
    let seventh = f64::from(frequency / 7.0);
    let fall = 1.0 - math::exp(-(seventh * seventh));
    let fall = (1.0 / math::pow(fall, f64::from(p2))) as f32;
    (f64::from(p3) / math::pow(f64::from(rise * fall), 0.5)) as f32
}

/// Interpolates the measured parameters over the logarithm of luminance.
fn parameters() -> [f32; 4] {
    let position = |luminance: f32| math::log10(f64::from(luminance)) as f32;
    let (left, right, at) = (position(BELOW.0), position(ABOVE.0), position(LUMINANCE));
    std::array::from_fn(|i| BELOW.1[i] + ((ABOVE.1[i] - BELOW.1[i]) / (right - left)) * (at - left))
}

fn optics(frequency: f32) -> f32 {
    OPTICS.iter().fold(0.0, |sum: f32, (weight, decay)| {
        (f64::from(sum) + f64::from(*weight) * math::exp(f64::from(-decay * frequency))) as f32
    })
}

fn rods_and_cones() -> f32 {
    let [factor, drop, slope, low_slope] = SENSITIVITY;
    let base = math::pow(f64::from(drop / LUMINANCE), f64::from(slope)) + 1.0;
    (f64::from(factor) * math::pow(base, f64::from(-low_slope))) as f32
}
