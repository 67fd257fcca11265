//! The differences of many pairs of pixels side by side, for levels whose vectors hold several `f64`.
//!
//! A group takes the formula step by step: each step is a short loop over all its pixels, whose turns do not depend on
//! each other. Where an estimate leaves doubt, the pixel is done again by definition.

use super::colours::Colours;
use super::difference::{self, Two, VIDEO};
use super::estimate::{self, TOO_NEAR, middle_distance};
use super::labs::{Distances, Doubles, GROUP, Labs, Singles};
use crate::math::powf_in_range;

/// Memory for two groups.
#[derive(Debug)]
pub struct Group {
    one: Colours,
    two: Colours,
    stretches: Doubles,
    turn: Singles,
    mean_hue: Singles,
    half_turns: [Doubles; 2],
    chord: Singles,
    waves: Singles,
    blue_distance: Singles,
    bell: Singles,
    power: Singles,
    rotation: Singles,
    shares: [Singles; 3],
    distances: Distances,
}

/// From this distance on, nothing of the rotation can change a difference by more than 2^-40.
///
/// The rotation is there at most `2 sin(60° e^-16)`, below 2^-22. However its parts are rounded to `f32`, it is wrong by
/// 2^-20 of itself at most, and the product of the shares that it multiplies is at most half the sum of their squares.
const FAR_FROM_BLUE: f32 = 16.0;

/// A bell or rotation below this is lost when shares are summed, so that it does not matter how it was rounded.
const NOTHING: f64 = 1e-20;

impl Group {
    pub const EMPTY: Self = Self {
        one: Colours::ZERO,
        two: Colours::ZERO,
        stretches: [0.0; GROUP],
        turn: [0.0; GROUP],
        mean_hue: [0.0; GROUP],
        half_turns: [[0.0; GROUP]; 2],
        chord: [0.0; GROUP],
        waves: [0.0; GROUP],
        blue_distance: [0.0; GROUP],
        bell: [0.0; GROUP],
        power: [0.0; GROUP],
        rotation: [0.0; GROUP],
        shares: [[0.0; GROUP]; 3],
        distances: [0; GROUP],
    };

    /// The same as [`difference`](difference::difference) of each pair of colours.
    #[inline(always)]
    pub fn differences(&mut self, one: Labs<'_>, two: Labs<'_>, out: &mut Singles) {
        self.distances.fill(u32::MAX);
        self.fill_colours(one, two);
        self.measure_hues(one, two);
        self.measure_waves();
        self.measure_rotation();
        self.total(one, two, out);
        if self.distances.iter().fold(u32::MAX, |low, distance| low.min(*distance)) < TOO_NEAR {
            repeat(one, two, &self.distances, out);
        }
    }

    #[inline(always)]
    fn fill_colours(&mut self, one: Labs<'_>, two: Labs<'_>) {
        for n in 0..GROUP {
            let chromas = Two(one.get(n).chroma(), two.get(n).chroma());
            self.stretches[n] = difference::stretch(estimate::power_7(f64::from(chromas.mean())));
        }
        self.one.fill(one, &self.stretches, &mut self.distances);
        self.two.fill(two, &self.stretches, &mut self.distances);
    }

    #[inline(always)]
    fn chromas(&self, n: usize) -> Two {
        Two(self.one.chroma[n], self.two.chroma[n])
    }

    #[inline(always)]
    fn measure_hues(&mut self, one: Labs<'_>, two: Labs<'_>) {
        for n in 0..GROUP {
            let hues = Two(self.one.hue[n], self.two.hue[n]);
            let grey = one.get(n).is_grey() | two.get(n).is_grey();
            self.turn[n] = if grey { 0.0 } else { difference::turn(hues) };
            self.mean_hue[n] = difference::mean_hue(hues);
        }
        for n in 0..GROUP {
            let chord = 2.0 * self.chromas(n).radius() * estimate::sine(f64::from(self.turn[n]) / 2.0);
            self.chord[n] = chord as f32;
            self.distances[n] = self.distances[n].min(middle_distance(chord));
        }
    }

    #[inline(always)]
    fn measure_waves(&mut self) {
        let [sines, cosines] = &mut self.half_turns;
        for n in 0..GROUP {
            (sines[n], cosines[n]) = estimate::half_turn(f64::from(self.mean_hue[n]));
        }
        for n in 0..GROUP {
            let waves = estimate::hue_waves(f64::from(self.mean_hue[n]), (sines[n], cosines[n]));
            self.waves[n] = waves as f32;
            self.distances[n] = self.distances[n].min(middle_distance(waves));
        }
    }

    #[inline(always)]
    fn measure_rotation(&mut self) {
        let mut nearest = f32::INFINITY;
        for n in 0..GROUP {
            self.blue_distance[n] = difference::distance_from_blue(self.mean_hue[n]);
        }
        for distance in self.blue_distance {
            nearest = if distance < nearest { distance } else { nearest };
        }
        if nearest < FAR_FROM_BLUE {
            self.measure_powers();
        } else {
            for n in 0..GROUP {
                self.power[n] = estimate::power_7(f64::from(self.chromas(n).mean())) as f32;
            }
        }
        self.rotate(nearest < FAR_FROM_BLUE);
    }

    /// The seventh power of the mean chroma as the exact function has it, where that is an ordinary number.
    #[inline(always)]
    fn measure_powers(&mut self) {
        for n in 0..GROUP {
            let chroma = self.chromas(n).mean();
            let ordinary = (chroma > 1.0 / 65_536.0) & (chroma < 65_536.0);
            let power = powf_in_range(if ordinary { chroma } else { 1.0 }, 7.0);
            self.power[n] = if ordinary { power } else { 0.0 };
            let trusted = ordinary | (chroma == 0.0);
            self.distances[n] = if trusted { self.distances[n] } else { 0 };
        }
    }

    /// `counts` says whether it matters how numbers are rounded.
    #[inline(always)]
    fn rotate(&mut self, counts: bool) {
        let nothing = if counts { NOTHING } else { f64::INFINITY };
        for n in 0..GROUP {
            let bell = 60.0 * estimate::exponential(f64::from(-self.blue_distance[n]));
            self.bell[n] = bell as f32;
            let distance = if bell > nothing { middle_distance(bell) } else { u32::MAX };
            self.distances[n] = self.distances[n].min(distance);
        }
        for n in 0..GROUP {
            let turn = estimate::sine(difference::bell_angle(self.bell[n]));
            let rotation = -2.0 * difference::part_of_knee(self.power[n]).sqrt() * turn;
            self.rotation[n] = rotation as f32;
            let distance = if -rotation > nothing { middle_distance(rotation) } else { u32::MAX };
            self.distances[n] = self.distances[n].min(distance);
        }
    }

    #[inline(always)]
    fn total(&mut self, one: Labs<'_>, two: Labs<'_>, out: &mut Singles) {
        let [lightness, chroma, hue] = &mut self.shares;
        for n in 0..GROUP {
            lightness[n] = difference::lightness_share(Two(one.l[n], two.l[n]), VIDEO);
        }
        for n in 0..GROUP {
            let chromas = Two(self.one.chroma[n], self.two.chroma[n]);
            chroma[n] = difference::chroma_share(chromas, VIDEO);
            hue[n] = difference::hue_share(self.chord[n], chromas, self.waves[n], VIDEO);
        }
        for n in 0..GROUP {
            let total = difference::exact_total(lightness[n], chroma[n], hue[n], self.rotation[n]);
            out[n] = total as f32;
            self.distances[n] = self.distances[n].min(middle_distance(total));
        }
    }
}

/// Does the doubtful pixels by definition.
#[cold]
#[inline(never)]
fn repeat(one: Labs<'_>, two: Labs<'_>, distances: &Distances, out: &mut Singles) {
    for n in (0..GROUP).filter(|n| distances[*n] < TOO_NEAR) {
        out[n] = difference::difference(one.get(n), two.get(n));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{Converter, Lab, Yuv};
    use super::*;
    use crate::simd::{Target, level_tests};
    use crate::testing::Noise;

    fn differences(target: Target, one: &[Lab; GROUP], two: &[Lab; GROUP]) -> (Singles, usize) {
        let mut group = Box::new(Group::EMPTY);
        let planes =
            |labs: &[Lab; GROUP]| [labs.map(|lab| lab.l), labs.map(|lab| lab.a), labs.map(|lab| lab.b)];
        let ([l1, a1, b1], [l2, a2, b2]) = (planes(one), planes(two));
        let mut out = [0.0; GROUP];
        target.run(
            #[inline(always)]
            || {
                let (one, two) = (Labs { l: &l1, a: &a1, b: &b1 }, Labs { l: &l2, a: &a2, b: &b2 });
                group.differences(one, two, &mut out);
            },
        );
        (out, group.distances.iter().filter(|distance| **distance < TOO_NEAR).count())
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
                            let converter = Converter::new(depth);
                            let one = pixels.map(|(one, _)| converter.lab(one));
                            let two = pixels.map(|(_, two)| converter.lab(two));
                            let (got, doubts) = differences(target, &one, &two);
                            for n in 0..GROUP {
                                let expected = difference::difference(one[n], two[n]);
                                assert_eq!(got[n].to_bits(), expected.to_bits(), "{depth} bits: {:?}", pixels[n]);
                            }
                            (doubtful, total) = (doubtful + doubts, total + GROUP);
                        }
                    }
                }
            }
            // A few greys, whose stretched axis lies exactly between two floats, are always in doubt.
            assert!(doubtful * 20 < total, "{doubtful} of {total} pixels in doubt");
        }
    }
}
