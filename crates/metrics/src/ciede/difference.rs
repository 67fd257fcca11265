//! CIEDE2000: how different two colours look (Sharma, Wu and Dalal, 2005).
//!
//! Every named quantity is an `f32`, computed in `f64` where libvmaf's C promotes to it. The formula stands here as
//! libvmaf computes it; [groups](super::group) share those steps that are plain arithmetic.

use std::f64::consts::PI;

use super::lab::Lab;
use crate::math::{atan2, cos, exp, pow, powf, sin};

/// Parametric factors: how forgiving the viewing conditions are.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    lightness: f32,
    chroma: f32,
    hue: f32,
}

/// The factors that suit video.
pub const VIDEO: Factors = Factors { lightness: 0.65, chroma: 1.0, hue: 4.0 };

/// 25^7: where chroma begins to count in full.
pub const KNEE: f64 = 6_103_515_625.0;

/// The difference of two colours. Equal colours give exactly 0.
pub fn difference(one: Lab, two: Lab) -> f32 {
    weighted_difference(one, two, VIDEO)
}

fn weighted_difference(one: Lab, two: Lab, factors: Factors) -> f32 {
    let stretch = stretch(pow(f64::from(Two(one.chroma(), two.chroma()).mean()), 7.0));
    let (a1, a2) = (stretched(one.a, stretch) as f32, stretched(two.a, stretch) as f32);
    let chromas = Two(chroma(a1, one.b), chroma(a2, two.b));
    let hues = Two(hue_angle(one.b, a1), hue_angle(two.b, a2));
    let turn = if one.is_grey() || two.is_grey() { 0.0 } else { turn(hues) };
    let chord = (2.0 * chromas.radius() * sin(f64::from(turn) / 2.0)) as f32;
    let rotation = rotation(chromas.mean(), mean_hue(hues));
    let lightness = lightness_share(Two(one.l, two.l), factors);
    total(
        lightness,
        chroma_share(chromas, factors),
        hue_share(chord, chromas, waves(hues), factors),
        rotation,
    )
}

/// The same quantity of both colours.
#[derive(Clone, Copy, Debug)]
pub struct Two(pub f32, pub f32);

impl Two {
    #[inline(always)]
    pub fn mean(self) -> f32 {
        (self.0 + self.1) / 2.0
    }

    /// The geometric mean.
    #[inline(always)]
    pub fn radius(self) -> f64 {
        f64::from(self.0 * self.1).sqrt()
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

/// How far the a axis is stretched near grey, from the seventh power of the mean chroma.
#[inline(always)]
pub fn stretch(power: f64) -> f64 {
    1.0 - (power / (power + KNEE)).sqrt()
}

#[inline(always)]
pub fn stretched(a: f32, stretch: f64) -> f64 {
    f64::from(a) + f64::from(a / 2.0) * stretch
}

/// 0 to 2 pi; 0 for grey.
fn hue_angle(b: f32, a: f32) -> f32 {
    let grey = b == 0.0 && a == 0.0;
    positive_angle(if grey { 0.0 } else { atan2(f64::from(b), f64::from(a)) as f32 })
}

#[inline(always)]
pub fn positive_angle(angle: f32) -> f32 {
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

/// How the weight of hue depends on hue.
fn waves(hues: Two) -> f32 {
    let hue = f64::from(mean_hue(hues));
    let waves = 1.0 - 0.17 * cos(hue - PI / 6.0) + 0.24 * cos(2.0 * hue) + 0.32 * cos(3.0 * hue + PI / 30.0)
        - 0.20 * cos(4.0 * hue - 7.0 * PI / 20.0);
    waves as f32
}

/// How chroma and hue differences act together, around blue.
fn rotation(mean_chroma: f32, mean_hue: f32) -> f32 {
    let bell = (60.0 * exp(f64::from(-distance_from_blue(mean_hue)))) as f32;
    (-2.0 * part_of_knee(powf(mean_chroma, 7.0)).sqrt() * sin(bell_angle(bell))) as f32
}

/// The squared distance of a hue from blue, in units of 25°.
#[inline(always)]
pub fn distance_from_blue(hue: f32) -> f32 {
    let degrees = (f64::from(hue) * (180.0 / PI)) as f32;
    let from_blue = ((f64::from(degrees) - 275.0) * (1.0 / 25.0)) as f32;
    from_blue * from_blue
}

#[inline(always)]
pub fn bell_angle(bell: f32) -> f64 {
    f64::from((f64::from(bell) * (PI / 180.0)) as f32)
}

/// In single precision, as in libvmaf, which rounds the knee, too.
#[inline(always)]
pub fn part_of_knee(power: f32) -> f64 {
    f64::from(power / (power + KNEE as f32))
}

/// What lightness adds to the difference.
#[inline(always)]
pub fn lightness_share(lights: Two, factors: Factors) -> f32 {
    let squared = square(lights.mean() - 50.0);
    let weight = (1.0 + (0.015 * squared) / (20.0 + squared).sqrt()) as f32;
    (lights.1 - lights.0) / (factors.lightness * weight)
}

#[inline(always)]
pub fn chroma_share(chromas: Two, factors: Factors) -> f32 {
    let weight = (1.0 + 0.045 * f64::from(chromas.mean())) as f32;
    (chromas.1 - chromas.0) / (factors.chroma * weight)
}

#[inline(always)]
pub fn hue_share(chord: f32, chromas: Two, waves: f32, factors: Factors) -> f32 {
    let weight = (1.0 + 0.015 * f64::from(chromas.mean()) * f64::from(waves)) as f32;
    chord / (factors.hue * weight)
}

#[inline(always)]
pub fn total(lightness: f32, chroma: f32, hue: f32, rotation: f32) -> f32 {
    exact_total(lightness, chroma, hue, rotation) as f32
}

/// The difference before it is rounded.
#[inline(always)]
pub fn exact_total(lightness: f32, chroma: f32, hue: f32, rotation: f32) -> f64 {
    let sum = square(lightness) + square(chroma) + square(hue);
    (sum + f64::from(rotation * chroma * hue)).sqrt()
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
