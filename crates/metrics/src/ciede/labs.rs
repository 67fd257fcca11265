//! From samples to L*a*b*, for a group of pixels, a step at a time.

use super::estimate::{TOO_NEAR, cube_root, cube_root_guess, fifth_root_guess, middle_distance, power_12_5};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Colours of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labs<'a> {
    pub l: &'a Singles,
    pub a: &'a Singles,
    pub b: &'a Singles,
}

impl Labs<'_> {
    #[inline(always)]
    pub fn get(&self, n: usize) -> Lab {
        Lab { l: self.l[n], a: self.a[n], b: self.b[n] }
    }
}

/// Colours of a group that are being made.
#[derive(Debug)]
pub struct LabsMut<'a> {
    pub l: &'a mut Singles,
    pub a: &'a mut Singles,
    pub b: &'a mut Singles,
}

/// Memory of the steps.
#[derive(Debug)]
pub struct Steps {
    /// Red, green and blue, then X, Y and Z.
    parts: [Doubles; 3],
    /// First guesses of powers, then the lightnesses of X, Y and Z.
    singles: [Singles; 3],
    distances: Distances,
}

impl Steps {
    pub const ZERO: Self =
        Self { parts: [[0.0; GROUP]; 3], singles: [[0.0; GROUP]; 3], distances: [0; GROUP] };

    /// The same as [`Converter::lab`] of each pixel.
    #[inline(always)]
    pub fn make(&mut self, converter: &Converter, pixels: Pixels<'_>, out: &mut LabsMut<'_>) {
        let [r, g, b] = &mut self.parts;
        for n in 0..GROUP {
            [r[n], g[n], b[n]] = converter.rgb(pixels.get(n));
        }
        self.make_linear();
        self.make_light();
        let [x, y, z] = &self.singles;
        for n in 0..GROUP {
            let lab = Lab::new([x[n], y[n], z[n]]);
            (out.l[n], out.a[n], out.b[n]) = (lab.l, lab.a, lab.b);
        }
        if self.distances.iter().fold(u32::MAX, |low, distance| low.min(*distance)) < TOO_NEAR {
            repeat(converter, pixels, &self.distances, out);
        }
    }

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
    fn make_light(&mut self) {
        let guesses = self.singles.as_flattened_mut();
        for (guess, value) in guesses.iter_mut().zip(self.parts.as_flattened()) {
            *guess = cube_root_guess(*value);
        }
        self.distances.fill(u32::MAX);
        for (values, lights) in self.parts.iter().zip(&mut self.singles) {
            for n in 0..GROUP {
                let light = lightness(values[n], lights[n]);
                lights[n] = light as f32;
                self.distances[n] = self.distances[n].min(lightness_distance(values[n], light));
            }
        }
    }
}

/// Does the doubtful pixels by definition.
#[cold]
#[inline(never)]
fn repeat(converter: &Converter, pixels: Pixels<'_>, distances: &Distances, out: &mut LabsMut<'_>) {
    for n in (0..GROUP).filter(|n| distances[*n] < TOO_NEAR) {
        let lab = converter.lab(pixels.get(n));
        (out.l[n], out.a[n], out.b[n]) = (lab.l, lab.a, lab.b);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Target, level_tests};
    use crate::testing::Noise;

    level_tests! {
        fn groups_equal_the_definition(level) {
            let target = Target::new(level);
            let mut noise = Noise::new(7);
            let mut steps = Box::new(Steps::ZERO);
            let (mut l, mut a, mut b) = ([0.0; GROUP], [0.0; GROUP], [0.0; GROUP]);
            for depth in [8, 10, 12, 16] {
                let converter = Converter::new(depth);
                // All samples, the lowest and the highest.
                for (low, limit) in [(0, 1u32 << depth), (0, 1 << (depth - 4)), ((15 << depth) / 16, 1 << (depth - 4))] {
                    for _ in 0..40 {
                        let mut sample = || (low + noise.below(limit)) as u16;
                        let planes: [[u16; GROUP]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| sample()));
                        let [y, u, v] = planes.each_ref();
                        let pixels = Pixels { y, u, v };
                        let mut out = LabsMut { l: &mut l, a: &mut a, b: &mut b };
                        target.run(
                            #[inline(always)]
                            || steps.make(&converter, pixels, &mut out),
                        );
                        let labs = Labs { l: &l, a: &a, b: &b };
                        for n in 0..GROUP {
                            let pixel = pixels.get(n);
                            assert_eq!(labs.get(n), converter.lab(pixel), "{depth} bits: {pixel:?}");
                        }
                    }
                }
            }
        }
    }
}
