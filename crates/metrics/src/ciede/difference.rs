//! CIEDE2000: how different two colours look (Sharma, Wu and Dalal, 2005).
//!
//! Every named quantity is an `f32`, computed in `f64` where libvmaf's C promotes to it. The formula comes in steps, so
//! that many pixels can take each of them together.

use std::f64::consts::PI;

use super::functions::{Exact, Functions};
use super::lab::Lab;

/// Parametric factors: how forgiving the viewing conditions are.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    lightness: f32,
    chroma: f32,
    hue: f32,
}

/// The factors that suit video.
pub const VIDEO: Factors = Factors { lightness: 0.65, chroma: 1.0, hue: 4.0 };

/// The difference of two colours. Equal colours give exactly 0.
pub fn difference(one: Lab, two: Lab) -> f32 {
    weighted_difference(one, two, VIDEO)
}

fn weighted_difference(one: Lab, two: Lab, factors: Factors) -> f32 {
    let [a1, a2] = stretched_axes(&mut Exact, one, two);
    let chromas = Two(chroma(a1, one.b), chroma(a2, two.b));
    let hues = Two(hue_angle(&mut Exact, one.b, a1), hue_angle(&mut Exact, two.b, a2));
    let turn = if one.is_grey() || two.is_grey() { 0.0 } else { turn(hues) };
    let chord = hue_chord(&mut Exact, chromas, turn);
    let waves = hue_waves(&mut Exact, mean_hue(hues));
    let rotation = rotation(&mut Exact, chromas.mean(), mean_hue(hues));
    total(Two(one.l, two.l), chromas, chord, waves, rotation, factors)
}

/// The same quantity of both colours.
#[derive(Clone, Copy, Debug)]
pub struct Two(pub f32, pub f32);

impl Two {
    #[inline(always)]
    pub fn mean(self) -> f32 {
        (self.0 + self.1) / 2.0
    }
}

#[inline(always)]
fn square(value: f32) -> f64 {
    f64::from(value) * f64::from(value)
}

#[inline(always)]
pub fn chroma(a: f32, b: f32) -> f32 {
    (square(a) + square(b)).sqrt() as f32
}

/// The a axis of both colours, stretched near grey.
#[inline(always)]
pub fn stretched_axes<F: Functions>(functions: &mut F, one: Lab, two: Lab) -> [f32; 2] {
    const KNEE: f64 = 6_103_515_625.0; // 25^7
    let mean_chroma = Two(chroma(one.a, one.b), chroma(two.a, two.b)).mean();
    let power = F::power_7(f64::from(mean_chroma));
    let stretch = 1.0 - (power / (power + KNEE)).sqrt();
    [one.a, two.a].map(|a| functions.rounded(f64::from(a) + f64::from(a / 2.0) * stretch))
}

/// 0 to 2 pi; 0 for grey.
#[inline(always)]
pub fn hue_angle<F: Functions>(functions: &mut F, b: f32, a: f32) -> f32 {
    let grey = b == 0.0 && a == 0.0;
    let angle = functions.rounded(if grey { 0.0 } else { F::angle(f64::from(b), f64::from(a)) });
    if angle < 0.0 { (f64::from(angle) + 2.0 * PI) as f32 } else { angle }
}

/// From the first hue to the second, the short way round.
#[inline(always)]
pub fn turn(hues: Two) -> f32 {
    let Two(hue1, hue2) = hues;
    let plain = hue2 - hue1;
    let around = if hue2 <= hue1 { 2.0 * PI } else { -2.0 * PI };
    if f64::from((hue1 - hue2).abs()) <= PI { plain } else { (f64::from(plain) + around) as f32 }
}

#[inline(always)]
pub fn mean_hue(hues: Two) -> f32 {
    let Two(hue1, hue2) = hues;
    let sum = f64::from(hue1 + hue2);
    let around = f64::from((hue1 - hue2).abs()) > PI;
    (if around { (sum + 2.0 * PI) / 2.0 } else { sum / 2.0 }) as f32
}

/// The distance that a turn of the hue makes.
#[inline(always)]
pub fn hue_chord<F: Functions>(functions: &mut F, chromas: Two, turn: f32) -> f32 {
    let radius = f64::from(chromas.0 * chromas.1).sqrt();
    functions.rounded(2.0 * radius * F::sine(f64::from(turn) / 2.0))
}

/// How the weight of hue depends on hue.
#[inline(always)]
pub fn hue_waves<F: Functions>(functions: &mut F, mean_hue: f32) -> f32 {
    functions.rounded(F::hue_waves(f64::from(mean_hue)))
}

/// How chroma and hue differences act together, around blue.
///
/// Far from blue the bell is so small that what it does to a difference is lost when the shares are summed: the product
/// of the chroma's and the hue's share is at most half the sum of their squares. No doubt about it counts there.
#[inline(always)]
pub fn rotation<F: Functions>(functions: &mut F, mean_chroma: f32, mean_hue: f32) -> f32 {
    const KNEE: f32 = 6_103_515_625.0; // 25^7
    /// Beyond this the bell is below 10^-24.
    const FAR: f32 = 60.0;
    let degrees = (f64::from(mean_hue) * (180.0 / PI)) as f32;
    let from_blue = ((f64::from(degrees) - 275.0) * (1.0 / 25.0)) as f32;
    let distance = from_blue * from_blue;
    let counts = distance < FAR;
    let bell = functions.rounded_where(counts, 60.0 * F::exponential(f64::from(-distance)));
    let angle = (f64::from(bell) * (PI / 180.0)) as f32;
    let power = functions.single_power_7(mean_chroma);
    let turn = F::sine(f64::from(angle));
    functions.rounded_where(counts, -2.0 * f64::from(power / (power + KNEE)).sqrt() * turn)
}

/// The difference from the parts.
#[inline(always)]
pub fn total(lights: Two, chromas: Two, chord: f32, waves: f32, rotation: f32, factors: Factors) -> f32 {
    let lightness = (lights.1 - lights.0) / (factors.lightness * lightness_weight(lights.mean()));
    let chroma = (chromas.1 - chromas.0) / (factors.chroma * chroma_weight(chromas.mean()));
    let hue = chord / (factors.hue * hue_weight(chromas.mean(), waves));
    let sum = square(lightness) + square(chroma) + square(hue);
    (sum + f64::from(rotation * chroma * hue)).sqrt() as f32
}

#[inline(always)]
fn lightness_weight(mean_lightness: f32) -> f32 {
    let squared = square(mean_lightness - 50.0);
    (1.0 + (0.015 * squared) / (20.0 + squared).sqrt()) as f32
}

#[inline(always)]
fn chroma_weight(mean_chroma: f32) -> f32 {
    (1.0 + 0.045 * f64::from(mean_chroma)) as f32
}

#[inline(always)]
fn hue_weight(mean_chroma: f32, waves: f32) -> f32 {
    (1.0 + 0.015 * f64::from(mean_chroma) * f64::from(waves)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test pairs of Sharma, Wu and Dalal (those with chroma on both sides; for greys libvmaf takes another mean hue).
    #[test]
    fn published_pairs() {
        let plain = Factors { lightness: 1.0, chroma: 1.0, hue: 1.0 };
        for (one, two, expected) in [
            ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
            ((50.0, 3.1571, -77.2803), (50.0, 0.0, -82.7485), 2.8615),
            ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0),
            ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
            ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0011), 7.2195),
            ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
            ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
            ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
            ((50.0, 2.5, 0.0), (56.0, -27.0, -3.0), 31.9030),
            ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
            ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
            ((63.0109, -31.0961, -5.8663), (62.8187, -29.7946, -4.0864), 1.2630),
            ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
            ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
            ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
        ] {
            let lab = |(l, a, b)| Lab { l, a, b };
            let got = weighted_difference(lab(one), lab(two), plain);
            assert!((got - expected).abs() < 1e-4, "{one:?} {two:?}: {got} for {expected}");
        }
    }

    #[test]
    fn video_weighs_lightness_more_and_hue_less() {
        let grey = |l| Lab { l, a: 0.0, b: 0.0 };
        let weight = 1.0 + 0.015 * 25.0f64.powi(2) / (20.0 + 25.0f64.powi(2)).sqrt();
        let expected = 10.0 / (0.65 * weight);
        assert!((f64::from(difference(grey(70.0), grey(80.0))) - expected).abs() < 1e-5);
    }

    #[test]
    fn equal_colours_do_not_differ_at_all() {
        for l in [0.0f32, 12.5, 100.0] {
            for (a, b) in [(0.0, 0.0), (-86.2, 83.2), (79.2, -107.9), (1e-6, -1e-6)] {
                let colour = Lab { l, a, b };
                assert_eq!(difference(colour, colour).to_bits(), 0);
            }
        }
    }

    #[test]
    fn the_short_way_round_is_taken() {
        assert!((turn(Two(0.1, 6.2)) + 0.183).abs() < 1e-3);
        assert!((turn(Two(6.2, 0.1)) - 0.183).abs() < 1e-3);
        assert!((mean_hue(Two(0.1, 6.2)) - (6.3 + 2.0 * PI as f32) / 2.0).abs() < 1e-5);
    }
}
