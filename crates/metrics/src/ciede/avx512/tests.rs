//! Whole groups against the definition, and what the tests of estimates share.

use super::super::difference::difference;
use super::super::lab::{Converter, Yuv};
use super::super::labs::{GROUP, Pixels};
use super::{Grouped, doubtful};
use crate::Level;
use crate::simd::avx512::Avx512;
use crate::testing::{self, Noise};

/// Runs `check` where the machine has AVX-512; see [`testing::pass_over`].
pub fn with_avx512(check: impl FnOnce(Avx512)) {
    match Avx512::new(Level::Avx512) {
        Some(proof) => check(proof),
        None => testing::pass_over(&Level::Avx512.to_string()),
    }
}

/// Compares to so many bits, on a fine grid from `low` to `high`, in equal steps and in equal ratios to zero.
pub fn check(bits: i32, low: f64, high: f64, estimate: impl Fn(f64) -> f64, exact: impl Fn(f64) -> f64) {
    const STEPS: u32 = 200_000;
    for step in 0..=STEPS {
        let even = low + (high - low) * (f64::from(step) / f64::from(STEPS));
        for x in [even, even.abs().powi(5).copysign(even)] {
            let x = x.clamp(low, high);
            let (got, expected) = (estimate(x), exact(x));
            let error = (got - expected).abs();
            assert!(error <= 2.0f64.powi(-bits) * expected.abs(), "{x:e}: {got:e} for {expected:e}");
        }
    }
}

/// Three planes of samples.
type Planes = [[u16; GROUP]; 3];

fn planes(mut sample: impl FnMut() -> u32) -> Planes {
    std::array::from_fn(|_| std::array::from_fn(|_| sample() as u16))
}

/// The same with every sample changed by `spread` at most.
fn near(planes: &Planes, noise: &mut Noise, spread: u32, peak: u32) -> Planes {
    planes.map(|plane| {
        plane.map(|sample| {
            let low = u32::from(sample).saturating_sub(spread);
            (low + noise.below(2 * spread + 1)).min(peak) as u16
        })
    })
}

/// The number of doubts.
fn check_pair(grouped: &mut Grouped, depth: u8, one: &Planes, two: &Planes) -> usize {
    let [one, two] = [one, two].map(|[y, u, v]| Pixels { y, u, v });
    let mut got = [0.0; GROUP];
    grouped.differences([one, two], &mut got);
    let converter = Converter::new(depth);
    for n in 0..GROUP {
        let pair: [Yuv; 2] = [one.get(n), two.get(n)];
        let expected = difference(converter.lab(pair[0]), converter.lab(pair[1]));
        assert_eq!(got[n].to_bits(), expected.to_bits(), "{depth} bits: {pair:?}");
    }
    doubtful(&grouped.distances, GROUP).count()
}

#[test]
fn groups_equal_the_definition() {
    with_avx512(|proof| {
        let mut noise = Noise::new(78);
        let (mut doubts, mut total) = (0, 0);
        for depth in [8, 10, 12, 16] {
            let peak = (1u32 << depth) - 1;
            let mut grouped = Box::new(Grouped::new(proof, depth));
            // All colours, moderate ones, nearly grey ones, the darkest and the brightest.
            for (low, high) in [(0, 100), (30, 70), (49, 51), (0, 8), (92, 100)] {
                for spread in [0, 1, 5, 1 << (depth - 2)] {
                    for _ in 0..12 {
                        let mut sample =
                            || low * peak / 100 + noise.next() * (high - low) / 100 * peak / 65_535;
                        let one = planes(&mut sample);
                        let two = near(&one, &mut noise, spread, peak);
                        doubts += check_pair(&mut grouped, depth, &one, &two);
                        total += GROUP;
                    }
                }
            }
        }
        assert!(doubts * 20 < total, "{doubts} of {total} pixels in doubt");
    });
}

/// Few colours in many groups: they are found again, displace each other, and are new now and then.
#[test]
fn known_colours_equal_the_definition() {
    with_avx512(|proof| {
        let mut noise = Noise::new(5);
        for depth in [8, 10] {
            let mut grouped = Box::new(Grouped::new(proof, depth));
            for round in 0..400 {
                let (base, spread) = (noise.below((1 << depth) - 80), if round % 50 < 40 { 3 } else { 70 });
                let one = planes(|| base + noise.below(spread));
                let two = planes(|| base + noise.below(spread));
                check_pair(&mut grouped, depth, &one, &two);
            }
        }
    });
}

/// Files can hold samples beyond their depth; the definition has colours for them, too.
#[test]
fn samples_beyond_their_depth_equal_the_definition() {
    with_avx512(|proof| {
        let mut noise = Noise::new(9);
        for depth in [9, 10, 12] {
            let mut grouped = Box::new(Grouped::new(proof, depth));
            for limit in [1 << depth, 2 << depth, 65_536, 1 << depth] {
                let one = planes(|| noise.below(limit));
                let two = near(&one, &mut noise, 40, 65_535);
                check_pair(&mut grouped, depth, &one, &two);
            }
        }
    });
}
