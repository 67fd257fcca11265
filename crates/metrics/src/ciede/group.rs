//! The differences of many pairs of pixels side by side, for levels whose vectors hold several `f64`.
//!
//! A group takes the formula step by step: each step is a short loop over all its pixels, whose turns do not depend on
//! each other. Where an estimate leaves doubt, the pixel is done again by definition.

use super::difference::{self, Two, VIDEO};
use super::estimate::Estimates;
use super::lab::{self, Converter, Lab, Yuv};

/// Pixels that are worked on at a time: what is known of them stays in the nearest cache.
pub const GROUP: usize = 64;

/// A quantity of each pixel.
type Singles = [f32; GROUP];
type Doubles = [f64; GROUP];
/// Whether a pixel is in doubt: 0 or 1, as wide as the numbers that decide it.
type Doubts = [u64; GROUP];

/// Samples of a group.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<'a> {
    pub y: &'a [u16; GROUP],
    pub u: &'a [u16; GROUP],
    pub v: &'a [u16; GROUP],
}

impl Pixels<'_> {
    #[inline(always)]
    fn get(&self, n: usize) -> Yuv {
        Yuv { y: self.y[n], u: self.u[n], v: self.v[n] }
    }

    #[inline(always)]
    fn same(&self, other: &Self) -> bool {
        self.y == other.y && self.u == other.u && self.v == other.v
    }
}

/// Colours of a group.
#[derive(Debug)]
struct Colours {
    /// Red, green and blue, then X, Y and Z.
    parts: [Doubles; 3],
    /// Their lightnesses.
    lights: [Singles; 3],
    l: Singles,
    a: Singles,
    b: Singles,
    /// The stretched a, and what follows from it.
    axis: Singles,
    chroma: Singles,
    hue: Singles,
}

impl Colours {
    const ZERO: Self = Self {
        parts: [[0.0; GROUP]; 3],
        lights: [[0.0; GROUP]; 3],
        l: [0.0; GROUP],
        a: [0.0; GROUP],
        b: [0.0; GROUP],
        axis: [0.0; GROUP],
        chroma: [0.0; GROUP],
        hue: [0.0; GROUP],
    };

    #[inline(always)]
    fn get(&self, n: usize) -> Lab {
        Lab { l: self.l[n], a: self.a[n], b: self.b[n] }
    }

    /// From samples to L*a*b*.
    #[inline(always)]
    fn fill(&mut self, converter: &Converter, pixels: Pixels<'_>, doubts: &mut Doubts) {
        let [x, y, z] = &mut self.parts;
        for n in 0..GROUP {
            [x[n], y[n], z[n]] = converter.rgb(pixels.get(n));
        }
        for value in self.parts.as_flattened_mut() {
            *value = lab::linear::<Estimates>(*value);
        }
        let [x, y, z] = &mut self.parts;
        for n in 0..GROUP {
            [x[n], y[n], z[n]] = lab::xyz([x[n], y[n], z[n]]);
        }
        for (part, lights) in self.parts.iter().zip(&mut self.lights) {
            for n in 0..GROUP {
                let mut estimates = Estimates::default();
                lights[n] = lab::lightness(&mut estimates, part[n]);
                doubts[n] |= u64::from(estimates.doubtful);
            }
        }
        let [x, y, z] = &self.lights;
        for n in 0..GROUP {
            let lab = Lab::new([x[n], y[n], z[n]]);
            (self.l[n], self.a[n], self.b[n]) = (lab.l, lab.a, lab.b);
        }
    }

    /// From the stretched axis to chroma and hue.
    #[inline(always)]
    fn turn(&mut self, doubts: &mut Doubts) {
        for n in 0..GROUP {
            self.chroma[n] = difference::chroma(self.axis[n], self.b[n]);
        }
        for n in 0..GROUP {
            let mut estimates = Estimates::default();
            self.hue[n] = difference::hue_angle(&mut estimates, self.b[n], self.axis[n]);
            doubts[n] |= u64::from(estimates.doubtful);
        }
    }
}

/// Memory for two groups.
#[derive(Debug)]
pub struct Group {
    one: Colours,
    two: Colours,
    chord: Singles,
    waves: Singles,
    rotation: Singles,
    doubts: Doubts,
}

impl Group {
    pub const EMPTY: Self = Self {
        one: Colours::ZERO,
        two: Colours::ZERO,
        chord: [0.0; GROUP],
        waves: [0.0; GROUP],
        rotation: [0.0; GROUP],
        doubts: [0; GROUP],
    };

    /// The same as [`difference`](difference::difference) of each pair of pixels.
    #[inline(always)]
    pub fn differences(
        &mut self,
        converter: &Converter,
        one: Pixels<'_>,
        two: Pixels<'_>,
        out: &mut Singles,
    ) {
        if one.same(&two) {
            return out.fill(0.0);
        }
        self.doubts.fill(0);
        self.one.fill(converter, one, &mut self.doubts);
        self.two.fill(converter, two, &mut self.doubts);
        self.stretch();
        self.one.turn(&mut self.doubts);
        self.two.turn(&mut self.doubts);
        self.measure_hues();
        self.measure_rotation();
        self.total(out);
        let mut doubtful = 0;
        for doubt in self.doubts {
            doubtful |= doubt;
        }
        if doubtful != 0 {
            repeat(converter, one, two, &self.doubts, out);
        }
    }

    #[inline(always)]
    fn stretch(&mut self) {
        for n in 0..GROUP {
            let mut estimates = Estimates::default();
            [self.one.axis[n], self.two.axis[n]] =
                difference::stretched_axes(&mut estimates, self.one.get(n), self.two.get(n));
            self.doubts[n] |= u64::from(estimates.doubtful);
        }
    }

    #[inline(always)]
    fn hues(&self, n: usize) -> Two {
        Two(self.one.hue[n], self.two.hue[n])
    }

    #[inline(always)]
    fn chromas(&self, n: usize) -> Two {
        Two(self.one.chroma[n], self.two.chroma[n])
    }

    #[inline(always)]
    fn measure_hues(&mut self) {
        for n in 0..GROUP {
            let mut estimates = Estimates::default();
            let grey = self.one.get(n).is_grey() | self.two.get(n).is_grey();
            let turn = if grey { 0.0 } else { difference::turn(self.hues(n)) };
            self.chord[n] = difference::hue_chord(&mut estimates, self.chromas(n), turn);
            self.doubts[n] |= u64::from(estimates.doubtful);
        }
        for n in 0..GROUP {
            let mut estimates = Estimates::default();
            self.waves[n] = difference::hue_waves(&mut estimates, difference::mean_hue(self.hues(n)));
            self.doubts[n] |= u64::from(estimates.doubtful);
        }
    }

    #[inline(always)]
    fn measure_rotation(&mut self) {
        for n in 0..GROUP {
            let mut estimates = Estimates::default();
            let (chroma, hue) = (self.chromas(n).mean(), difference::mean_hue(self.hues(n)));
            self.rotation[n] = difference::rotation(&mut estimates, chroma, hue);
            self.doubts[n] |= u64::from(estimates.doubtful);
        }
    }

    #[inline(always)]
    fn total(&self, out: &mut Singles) {
        for n in 0..GROUP {
            let lights = Two(self.one.l[n], self.two.l[n]);
            let (chord, waves, rotation) = (self.chord[n], self.waves[n], self.rotation[n]);
            out[n] = difference::total(lights, self.chromas(n), chord, waves, rotation, VIDEO);
        }
    }
}

/// Does the doubtful pixels by definition.
#[cold]
#[inline(never)]
fn repeat(converter: &Converter, one: Pixels<'_>, two: Pixels<'_>, doubts: &Doubts, out: &mut Singles) {
    for n in (0..GROUP).filter(|n| doubts[*n] != 0) {
        out[n] = difference::difference(converter.lab(one.get(n)), converter.lab(two.get(n)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Noise;
    use crate::simd::{Target, level_tests};

    fn differences(target: Target, depth: u8, pixels: &[(Yuv, Yuv); GROUP]) -> (Singles, usize) {
        let mut group = Box::new(Group::EMPTY);
        let converter = Converter::new(depth);
        let planes = |side: fn(&(Yuv, Yuv)) -> Yuv| {
            [
                pixels.each_ref().map(|p| side(p).y),
                pixels.each_ref().map(|p| side(p).u),
                pixels.each_ref().map(|p| side(p).v),
            ]
        };
        let ([y1, u1, v1], [y2, u2, v2]) = (planes(|p| p.0), planes(|p| p.1));
        let mut out = [0.0; GROUP];
        target.run(
            #[inline(always)]
            || {
                let (one, two) = (Pixels { y: &y1, u: &u1, v: &v1 }, Pixels { y: &y2, u: &u2, v: &v2 });
                group.differences(&converter, one, two, &mut out);
            },
        );
        (out, group.doubts.iter().filter(|doubt| **doubt != 0).count())
    }

    /// Pairs of colours that lie `spread` apart at most, around any colour inside `range` of the full scale.
    fn pairs(noise: &mut Noise, depth: u8, range: (u32, u32), spread: u32) -> [(Yuv, Yuv); GROUP] {
        let peak = (1u32 << depth) - 1;
        let mut sample = || range.0 * peak / 100 + noise.next() * (range.1 - range.0) / 100 * peak / 65_535;
        let bases: [[u32; 3]; GROUP] = std::array::from_fn(|_| [sample(), sample(), sample()]);
        bases.map(|base| {
            let mut near = |value: u32| {
                let low = value.saturating_sub(spread);
                (low + noise.below(2 * spread + 1)).min(peak) as u16
            };
            let [y, u, v] = base.map(|value| value as u16);
            (Yuv { y, u, v }, Yuv { y: near(base[0]), u: near(base[1]), v: near(base[2]) })
        })
    }

    level_tests! {
        fn groups_equal_the_definition(level) {
            let target = Target::new(level);
            let mut noise = Noise::new(77);
            let (mut doubtful, mut total) = (0, 0);
            for depth in [8, 10, 12, 16] {
                // All colours, moderate ones, nearly grey ones, the darkest and the brightest.
                for range in [(0, 100), (30, 70), (49, 51), (0, 8), (92, 100)] {
                    for spread in [0, 1, 5, 1 << (depth - 2)] {
                        for _ in 0..6 {
                            let pixels = pairs(&mut noise, depth, range, spread);
                            let (got, doubts) = differences(target, depth, &pixels);
                            let converter = Converter::new(depth);
                            for (got, (one, two)) in got.iter().zip(pixels) {
                                let expected = difference::difference(converter.lab(one), converter.lab(two));
                                assert_eq!(got.to_bits(), expected.to_bits(), "{depth} bits: {one:?} {two:?}");
                            }
                            (doubtful, total) = (doubtful + doubts, total + GROUP);
                        }
                    }
                }
            }
            eprintln!("{doubtful} of {total} pixels in doubt");
        }
    }
}
