//! The colours of a group of pixels: from samples to L*a*b*, chroma and hue, a step at a time.

use super::difference::{chroma, positive_angle, stretched};
use super::estimate::{
    angle, cube_root, cube_root_guess, fifth_root_guess, middle_distance, power_12_5, slope,
};
use super::lab::{
    CURVE_KNEE, Converter, LIGHTNESS_KNEE, Lab, Yuv, curve_base, curve_foot, lightness_foot, xyz,
};

/// Pixels that are worked on at a time: what is known of them stays in the nearest cache.
pub const GROUP: usize = 128;

/// A quantity of each pixel.
pub type Singles = [f32; GROUP];
pub type Doubles = [f64; GROUP];
/// The smallest distance so far of an estimate from the middle of two floats; 0 where it must not be trusted.
pub type Distances = [u32; GROUP];

/// Samples of a group.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<'a> {
    pub y: &'a [u16; GROUP],
    pub u: &'a [u16; GROUP],
    pub v: &'a [u16; GROUP],
}

impl Pixels<'_> {
    #[inline(always)]
    pub fn get(&self, n: usize) -> Yuv {
        Yuv { y: self.y[n], u: self.u[n], v: self.v[n] }
    }

    #[inline(always)]
    pub fn same(&self, other: &Self) -> bool {
        self.y == other.y && self.u == other.u && self.v == other.v
    }
}

/// What is needed on the way to colours.
#[derive(Debug)]
pub struct Steps {
    /// Red, green and blue, then X, Y and Z.
    parts: [Doubles; 3],
    /// First guesses of powers, then the lightnesses of X, Y and Z.
    singles: [Singles; 3],
}

/// Colours of a group.
#[derive(Debug)]
pub struct Colours {
    pub l: Singles,
    pub a: Singles,
    pub b: Singles,
    /// The stretched a, and what follows from it.
    axis: Singles,
    pub chroma: Singles,
    pub hue: Singles,
}

impl Colours {
    pub const ZERO: Self = Self {
        l: [0.0; GROUP],
        a: [0.0; GROUP],
        b: [0.0; GROUP],
        axis: [0.0; GROUP],
        chroma: [0.0; GROUP],
        hue: [0.0; GROUP],
    };

    #[inline(always)]
    pub fn get(&self, n: usize) -> Lab {
        Lab { l: self.l[n], a: self.a[n], b: self.b[n] }
    }

    /// From samples to L*a*b*.
    #[inline(always)]
    pub fn fill(
        &mut self,
        converter: &Converter,
        pixels: Pixels<'_>,
        steps: &mut Steps,
        distances: &mut Distances,
    ) {
        let [r, g, b] = &mut steps.parts;
        for n in 0..GROUP {
            [r[n], g[n], b[n]] = converter.rgb(pixels.get(n));
        }
        steps.make_linear();
        steps.make_light(distances);
        let [x, y, z] = &steps.singles;
        for n in 0..GROUP {
            let lab = Lab::new([x[n], y[n], z[n]]);
            (self.l[n], self.a[n], self.b[n]) = (lab.l, lab.a, lab.b);
        }
    }

    /// Stretches the a axis, from how far that is for each pixel.
    #[inline(always)]
    pub fn stretch(&mut self, stretches: &Doubles, distances: &mut Distances) {
        for n in 0..GROUP {
            let axis = stretched(self.a[n], stretches[n]);
            self.axis[n] = axis as f32;
            distances[n] = distances[n].min(middle_distance(axis));
        }
    }

    /// From the stretched axis to chroma and hue.
    #[inline(always)]
    pub fn turn(&mut self, steps: &mut Steps, distances: &mut Distances) {
        let slopes = &mut steps.parts[0];
        for n in 0..GROUP {
            let (a, b) = (self.axis[n], self.b[n]);
            self.chroma[n] = chroma(a, b);
            slopes[n] = slope(f64::from(b), f64::from(a));
        }
        for n in 0..GROUP {
            let (a, b) = (self.axis[n], self.b[n]);
            let grey = a == 0.0 && b == 0.0;
            let hue = if grey { 0.0 } else { angle(f64::from(b), f64::from(a), slopes[n]) };
            self.hue[n] = positive_angle(hue as f32);
            distances[n] = distances[n].min(middle_distance(hue));
        }
    }
}

impl Steps {
    pub const ZERO: Self = Self { parts: [[0.0; GROUP]; 3], singles: [[0.0; GROUP]; 3] };

    /// From the sRGB curve to X, Y and Z.
    #[inline(always)]
    fn make_linear(&mut self) {
        let (values, guesses) = (self.parts.as_flattened_mut(), self.singles.as_flattened_mut());
        for (guess, value) in guesses.iter_mut().zip(&*values) {
            *guess = fifth_root_guess(curve_base(*value));
        }
        for (value, guess) in values.iter_mut().zip(guesses) {
            let power = power_12_5(curve_base(*value), *guess);
            *value = if *value > CURVE_KNEE { power } else { curve_foot(*value) };
        }
        let [x, y, z] = &mut self.parts;
        for n in 0..GROUP {
            [x[n], y[n], z[n]] = xyz([x[n], y[n], z[n]]);
        }
    }

    #[inline(always)]
    fn make_light(&mut self, distances: &mut Distances) {
        let guesses = self.singles.as_flattened_mut();
        for (guess, value) in guesses.iter_mut().zip(self.parts.as_flattened()) {
            *guess = cube_root_guess(*value);
        }
        for (values, lights) in self.parts.iter().zip(&mut self.singles) {
            for n in 0..GROUP {
                let light = lightness(values[n], lights[n]);
                lights[n] = light as f32;
                distances[n] = distances[n].min(lightness_distance(values[n], light));
            }
        }
    }
}

#[inline(always)]
fn lightness(value: f64, guess: f32) -> f64 {
    let root = cube_root(value, guess);
    if value > LIGHTNESS_KNEE { root } else { lightness_foot(value) }
}

/// Beside the middle of two floats, there are two places where an error of the value counts more: the knee of the
/// curve, and where the foot nears zero. There the magnitudes of its parts sum up to less than 1/8, as none can be below
/// -1/8: powers are good to 2^-47, so the value is good to 2^-50 and the foot, 7.8 times as steep, to 2^-47.
#[inline(always)]
fn lightness_distance(value: f64, light: f64) -> u32 {
    let at_knee = (value - LIGHTNESS_KNEE).abs() < 1e-12;
    let near_zero = light.abs() < 1.0 / 256.0;
    if at_knee | near_zero { 0 } else { middle_distance(light) }
}
