//! Differences of many pairs of pixels with AVX-512.
//!
//! The method is that of [`group`](super::group), estimates and what is done about doubts included, with what these
//! instructions have and plain code cannot say: guesses of reciprocal roots, tables that lie in registers, and masks.
//! A square root by the processor takes as long as fifteen multiplications; from a guess it takes seven.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod known;
mod labs;
mod lanes;
mod power;
mod steps;
mod tables;
#[cfg(test)]
mod tests;

use super::difference::difference;
use super::lab::Converter;
use super::labs::{GROUP, Labs, LabsMut, Pixels, Singles};
use crate::simd::avx512::Avx512;
use known::{Known, Unknown};
use labs::Parts;
use lanes::{Distances, FAR, beyond_doubt};
use steps::Steps;

/// Memory for a group.
#[derive(Debug)]
pub struct Grouped {
    colours: Colours,
    labs: [[Singles; 3]; 2],
    steps: Steps,
    distances: Distances,
}

impl Grouped {
    pub fn new(proof: Avx512, depth: u8) -> Self {
        Self {
            colours: Colours::new(proof, depth),
            labs: [[[0.0; GROUP]; 3]; 2],
            steps: Steps::ZERO,
            distances: [FAR; GROUP],
        }
    }

    /// The difference of each pair of pixels.
    pub fn differences(&mut self, pixels: [Pixels<'_>; 2], out: &mut Singles) {
        for (pixels, [l, a, b]) in pixels.into_iter().zip(&mut self.labs) {
            self.colours.make(pixels, &mut LabsMut { l, a, b });
        }
        let [one, two] = self.labs.each_ref().map(|[l, a, b]| Labs { l, a, b });
        // SAFETY: the features were detected before the proof was made that `colours` asked for.
        unsafe { steps::measure(&mut self.steps, one, two, out, &mut self.distances) };
        for n in doubtful(&self.distances, GROUP) {
            out[n] = difference(one.get(n), two.get(n));
        }
    }
}

/// Makes colours from samples, or finds them.
#[derive(Debug)]
struct Colours {
    depth: u8,
    converter: Converter,
    known: Option<Known>,
    habit: Habit,
    unknown: Unknown,
    /// Samples of those that are not known, and their colours.
    samples: [[u16; GROUP]; 3],
    labs: [Singles; 3],
    parts: Parts,
    distances: Distances,
}

impl Colours {
    fn new(_proof: Avx512, depth: u8) -> Self {
        Self {
            depth,
            converter: Converter::new(depth),
            known: Known::new(depth),
            habit: Habit::default(),
            unknown: Unknown::NONE,
            samples: [[0; GROUP]; 3],
            labs: [[0.0; GROUP]; 3],
            parts: Parts::ZERO,
            distances: [FAR; GROUP],
        }
    }

    fn make(&mut self, pixels: Pixels<'_>, out: &mut LabsMut<'_>) {
        let Self { depth, converter, known, habit, unknown, samples, labs: [l, a, b], parts, distances } =
            self;
        // SAFETY: the features were detected before the proof was made.
        if !unsafe { labs::are_within(pixels, *depth) } {
            return by_definition(converter, pixels, out, 0..GROUP);
        }
        let Some(known) = known.as_mut().filter(|_| habit.looks_up()) else {
            return compute(parts, converter, pixels, out, distances, GROUP);
        };
        // SAFETY: the features were detected before the proof was made.
        unsafe { known::find(known, pixels, out, unknown) };
        for (n, place) in unknown.places().enumerate() {
            let pixel = pixels.get(place);
            (samples[0][n], samples[1][n], samples[2][n]) = (pixel.y, pixel.u, pixel.v);
        }
        let [y, u, v] = samples.each_ref();
        compute(parts, converter, Pixels { y, u, v }, &mut LabsMut { l, a, b }, distances, unknown.count());
        for (n, place) in unknown.places().enumerate() {
            (out.l[place], out.a[place], out.b[place]) = (l[n], a[n], b[n]);
        }
        known.keep(unknown, |n| [l[n], a[n], b[n]]);
        habit.learn(unknown.count());
    }
}

/// Whether it is worth looking up colours. Where few are found, that is left for a while.
#[derive(Debug, Default)]
struct Habit {
    groups: usize,
    missed: usize,
    resting: usize,
}

impl Habit {
    const TRIAL: usize = 128;
    const REST: usize = 32 * Self::TRIAL;

    fn looks_up(&mut self) -> bool {
        let looks_up = self.resting == 0;
        self.resting = self.resting.saturating_sub(1);
        looks_up
    }

    fn learn(&mut self, missed: usize) {
        self.groups += 1;
        self.missed += missed;
        if self.groups == Self::TRIAL {
            let in_vain = 2 * self.missed > GROUP * Self::TRIAL;
            *self = Self { resting: if in_vain { Self::REST } else { 0 }, ..Self::default() };
        }
    }
}

/// The colours of the first so many pixels.
fn compute(
    parts: &mut Parts,
    converter: &Converter,
    pixels: Pixels<'_>,
    out: &mut LabsMut<'_>,
    distances: &mut Distances,
    count: usize,
) {
    // SAFETY: the features were detected before the proof was made that `Colours` asked for.
    unsafe { labs::make_labs(parts, converter, pixels, out, distances, count.div_ceil(8)) };
    by_definition(converter, pixels, out, doubtful(distances, count));
}

fn by_definition(
    converter: &Converter,
    pixels: Pixels<'_>,
    out: &mut LabsMut<'_>,
    numbers: impl Iterator<Item = usize>,
) {
    for n in numbers {
        let lab = converter.lab(pixels.get(n));
        (out.l[n], out.a[n], out.b[n]) = (lab.l, lab.a, lab.b);
    }
}

/// Which of the first so many pixels are to be done by definition.
fn doubtful(distances: &Distances, count: usize) -> impl Iterator<Item = usize> {
    (0..count.div_ceil(8))
        .flat_map(move |vector| {
            // SAFETY: the features were detected before the proof was made that the callers' types asked for.
            let mut doubts = unsafe { !beyond_doubt(distances, vector) };
            std::iter::from_fn(move || {
                let lane = doubts.trailing_zeros() as usize;
                doubts &= doubts.wrapping_sub(1);
                (lane < 8).then_some(8 * vector + lane)
            })
        })
        .filter(move |pixel| *pixel < count)
}
