//! Elementary functions that are nearly right, without tables or branches, so that loops over them become vectors.
//!
//! A colour difference is built of numbers that are rounded to `f32`. Such a number does not need a function to the
//! last bit of an `f64`: an estimate rounds to the same `f32`, unless it lies within its error of the middle between
//! two of them. [`middle_distance`] tells how near it is; numbers that are too near, about one in 2^14, are computed
//! again by the exact functions.
//!
//! Each estimate here is good to a relative error of 2^-43 (what a test checks on a fine grid), and the exact functions
//! of [`math`](crate::math) to 2^-52. What a formula makes of them loses a few more bits before it is rounded; 2^-38 is
//! allowed for.
//!
//! A processor works on few instructions at a time, so what costs is how long each waits for the one before. Long
//! functions are therefore cut in two (a first guess in `f32`, the rest in `f64`), for a loop each, and polynomials are
//! summed by halves.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LOG2_E, PI};

/// Adding this to a small double leaves its nearest integer in the low bits of the sum.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Distances below this are too near: an error of 2^-38 of the number, on both sides.
pub const TOO_NEAR: u32 = 2 * MARGIN;
const MARGIN: u32 = 1 << 14;

/// How far a number is above the lower end of the margin around the middle of two floats, in units of 2^-52 of its
/// power of two; at most 2^29. The number must be zero, or normal as an `f32`.
#[inline(always)]
pub fn middle_distance(value: f64) -> u32 {
    /// Bits that an `f32` lacks.
    const LOST: u32 = (1 << 29) - 1;
    const MIDDLE: u32 = 1 << 28;
    (value.to_bits() as u32).wrapping_sub(MIDDLE - MARGIN) & LOST
}

/// The first guess of [`power_12_5`]: `x` to the power -1/5, to one part in 2^14.
///
/// `1 / (1 - e)^(1/5)` is a series in `e = 1 - x r^5`, which is small if `r` is nearly right.
#[inline(always)]
pub fn fifth_root_guess(x: f64) -> f32 {
    let x = x as f32;
    let r = first_guess(x, 0x4c2b_2000, 0x3333);
    let square = r * r;
    let e = (-x * r).mul_add(square * square, 1.0);
    let series = (11.0f32 / 125.0).mul_add(e * e, (3.0f32 / 25.0).mul_add(e, 1.0 / 5.0));
    (r * e).mul_add(series, r)
}

/// `x` to the power 12/5, for a normal `x`: with `r = x^(-1/5)` it is `(x r)^3`.
#[inline(always)]
pub fn power_12_5(x: f64, guess: f32) -> f64 {
    let r = f64::from(guess);
    let square = r * r;
    let e = (-x * r).mul_add(square * square, 1.0);
    let series = (11.0f64 / 125.0).mul_add(e * e, (3.0f64 / 25.0).mul_add(e, 1.0 / 5.0));
    let root = x * (r * e).mul_add(series, r);
    root * root * root
}

/// The first guess of [`cube_root`]: `x` to the power -1/3, to one part in 2^15.
#[inline(always)]
pub fn cube_root_guess(x: f64) -> f32 {
    let x = x as f32;
    let r = first_guess(x, 0x54a1_b000, 0x5555);
    let e = (-x * r).mul_add(r * r, 1.0);
    let series = (14.0f32 / 81.0).mul_add(e * e, (2.0f32 / 9.0).mul_add(e, 1.0 / 3.0));
    (r * e).mul_add(series, r)
}

/// The cube root of a normal `x`, from `r = x^(-1/3)`: it is `x r^2`.
#[inline(always)]
pub fn cube_root(x: f64, guess: f32) -> f64 {
    let r = f64::from(guess);
    let e = (-x * r).mul_add(r * r, 1.0);
    let r = (r * e).mul_add((2.0f64 / 9.0).mul_add(e, 1.0 / 3.0), r);
    (x * r) * r
}

/// A power of `x` between 0 and -1 to about one part in 30: the bits of a float are nearly its logarithm. `fraction` is
/// the exponent's magnitude times 2^16, `one` makes 1 of 1.
#[inline(always)]
fn first_guess(x: f32, one: u32, fraction: u32) -> f32 {
    f32::from_bits(one.wrapping_sub((x.to_bits() >> 16).wrapping_mul(fraction)))
}

/// The seventh power, good to a few units in the last place.
#[inline(always)]
pub fn power_7(x: f64) -> f64 {
    let square = x * x;
    (square * square) * (square * x)
}

/// The polynomial with these coefficients, the constant one first; at most 12 of them.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let (x2, c) = (x * x, coefficients);
    let pair = |at: usize| if at + 1 < N { c[at + 1].mul_add(x, c[at]) } else { c[at] };
    let four = |at: usize| if at + 2 < N { pair(at + 2).mul_add(x2, pair(at)) } else { pair(at) };
    let x4 = x2 * x2;
    let eight = if N > 4 { four(4).mul_add(x4, four(0)) } else { four(0) };
    if N > 8 { four(8).mul_add(x4 * x4, eight) } else { eight }
}

/// `atan(u) / u` in powers of `u^2`, for `|u|` up to `tan(pi/8)`.
const ATAN: [f64; 10] = [
    0.999999999999999,
    -0.33333333333221343,
    0.1999999997837687,
    -0.14285712660659053,
    0.11111048820585145,
    -0.09089529357362555,
    0.07673529098467827,
    -0.06505944155503311,
    0.050246342455960435,
    -0.02531472973194233,
];

/// The octant in which a point lies, and how it is measured.
#[derive(Clone, Copy, Debug)]
struct Octant {
    small: f64,
    large: f64,
    steep: bool,
    /// Beyond an eighth of a turn, the angle from the diagonal is taken.
    diagonal: bool,
}

impl Octant {
    #[inline(always)]
    fn of(y: f64, x: f64) -> Self {
        const TAN_EIGHTH: f64 = 0.41421356237309503;
        let (ay, ax) = (y.abs(), x.abs());
        let steep = ay > ax;
        let (small, large) = if steep { (ax, ay) } else { (ay, ax) };
        Self { small, large, steep, diagonal: small > TAN_EIGHTH * large }
    }
}

/// The tangent that [`angle`] starts from; one of the two must not be zero.
#[inline(always)]
pub fn slope(y: f64, x: f64) -> f64 {
    let Octant { small, large, diagonal, .. } = Octant::of(y, x);
    let (top, bottom) = if diagonal { (small - large, small + large) } else { (small, large) };
    top / bottom
}

/// The angle of the point `(x, y)`, between -pi and pi, from its [`slope`].
#[inline(always)]
pub fn angle(y: f64, x: f64, slope: f64) -> f64 {
    let Octant { steep, diagonal, .. } = Octant::of(y, x);
    let near = slope * polynomial(&ATAN, slope * slope);
    let octant = if diagonal { FRAC_PI_4 + near } else { near };
    let quadrant = if steep { FRAC_PI_2 - octant } else { octant };
    let half = if x < 0.0 { PI - quadrant } else { quadrant };
    if y < 0.0 { -half } else { half }
}

/// `sin(x) / x` in powers of `x^2`, for `|x|` up to `pi/2`.
const SIN: [f64; 8] = [
    0.9999999999999999,
    -0.16666666666666072,
    0.008333333333282726,
    -0.00019841269824853736,
    2.7557316608034622e-06,
    -2.5051881879351066e-08,
    1.6048166167666442e-10,
    -7.374360691567403e-13,
];

/// `cos(x)` in powers of `x^2`, for `|x|` up to `pi/2`; the error is 2^-53 of 1, not of the cosine.
const COS: [f64; 9] = [
    1.0,
    -0.4999999999999997,
    0.04166666666666388,
    -0.001388888888877292,
    2.4801587277402905e-05,
    -2.7557316389900044e-07,
    2.0876561781878517e-09,
    -1.1462900350687044e-11,
    4.6089602423243444e-14,
];

/// The sine of an angle between `-pi/2` and `pi/2`.
#[inline(always)]
pub fn sine(x: f64) -> f64 {
    x * polynomial(&SIN, x * x)
}

/// The distance of `x`, from 0 to `3 pi`, to the nearest multiple of pi: its sine and cosine, both with the other sign
/// if that multiple is odd; [`hue_waves`] takes care of it.
#[inline(always)]
pub fn half_turn(x: f64) -> (f64, f64) {
    /// What rounding pi to a double loses.
    const PI_LOW: f64 = 1.2246467991473532e-16;
    let half_turns = half_turns(x) - TO_INTEGER;
    let r = half_turns.mul_add(-PI_LOW, half_turns.mul_add(-PI, x));
    (sine(r), polynomial(&COS, r * r))
}

/// The number of half turns, in the low bits.
#[inline(always)]
fn half_turns(x: f64) -> f64 {
    x.mul_add(1.0 / PI, TO_INTEGER)
}

/// `1 - 0.17 cos(x - 30°) + 0.24 cos(2 x) + 0.32 cos(3 x + 6°) - 0.20 cos(4 x - 63°)`, from the [`half_turn`] of `x`.
///
/// Even multiples of `x` do not see half turns; odd ones change their sign.
#[inline(always)]
pub fn hue_waves(x: f64, (s1, c1): (f64, f64)) -> f64 {
    /// Cosine and sine of 30°, 6° and 63°.
    const A: (f64, f64) = (0.8660254037844386, 0.5);
    const B: (f64, f64) = (0.9945218953682733, 0.10452846326765346);
    const C: (f64, f64) = (0.45399049973954675, 0.8910065241883679);
    let (s2, c2) = (2.0 * s1 * c1, (2.0 * c1).mul_add(c1, -1.0));
    let (s3, c3) = (s1.mul_add(c2, c1 * s2), c1.mul_add(c2, -(s1 * s2)));
    let (s4, c4) = (2.0 * s2 * c2, (2.0 * c2).mul_add(c2, -1.0));
    let first = 0.17 * c1.mul_add(A.0, s1 * A.1);
    let third = 0.32 * c3.mul_add(B.0, -(s3 * B.1));
    let odd_waves = third - first;
    let even_waves = 0.24f64.mul_add(c2, 1.0) - 0.20 * c4.mul_add(C.0, s4 * C.1);
    let odd = half_turns(x).to_bits() & 1 == 1;
    if odd { even_waves - odd_waves } else { even_waves + odd_waves }
}

/// `e^x` for `|x|` up to half of `ln 2`.
const EXP: [f64; 11] = [
    1.0,
    1.0000000000000067,
    0.5000000000000006,
    0.16666666666554314,
    0.041666666666573066,
    0.008333333385699212,
    0.001388888893251478,
    0.00019841170230570286,
    2.480150431378554e-05,
    2.764019739169484e-06,
    2.7626371065696354e-07,
];

/// `e` to the power `x`, for `x` between -700 and 700.
#[inline(always)]
pub fn exponential(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    /// What rounding ln 2 to a double loses.
    const LN_2_LOW: f64 = 2.3190468138462996e-17;
    let shifted = x.mul_add(LOG2_E, TO_INTEGER);
    let k = shifted - TO_INTEGER;
    let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2, x));
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    polynomial(&EXP, r) * scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;

    /// Compares to so many bits, on a fine grid from `low` to `high`, in equal steps and in equal ratios to the ends.
    fn check(bits: i32, low: f64, high: f64, estimate: impl Fn(f64) -> f64, exact: impl Fn(f64) -> f64) {
        const STEPS: u32 = 300_000;
        for step in 0..=STEPS {
            let even = low + (high - low) * (f64::from(step) / f64::from(STEPS));
            for x in [even, even.abs().powi(5).copysign(even)] {
                let x = x.clamp(low, high);
                let (got, expected) = (estimate(x), exact(x));
                assert!(
                    (got - expected).abs() <= 2.0f64.powi(-bits) * expected.abs(),
                    "{x:e}: {got:e} for {expected:e}"
                );
            }
        }
    }

    #[test]
    fn powers_and_roots() {
        check(47, 0.08, 8.0, |x| power_12_5(x, fifth_root_guess(x)), |x| math::pow(x, 2.4));
        check(43, 0.008, 16.0, |x| cube_root(x, cube_root_guess(x)), |x| math::pow(x, 1.0 / 3.0));
    }

    #[test]
    fn sines_and_exponentials() {
        check(47, -FRAC_PI_2, FRAC_PI_2, sine, math::sin);
        check(47, -130.0, 1.0, exponential, math::exp);
    }

    #[test]
    fn waves() {
        let exact = |x: f64| {
            1.0 - 0.17 * math::cos(x - PI / 6.0)
                + 0.24 * math::cos(2.0 * x)
                + 0.32 * math::cos(3.0 * x + PI / 30.0)
                - 0.20 * math::cos(4.0 * x - 7.0 * PI / 20.0)
        };
        check(45, 0.0, 3.0 * PI, |x| hue_waves(x, half_turn(x)), exact);
    }

    #[test]
    fn angles_all_around() {
        let angle = |y, x| angle(y, x, slope(y, x));
        for radius in [1.0, 3.1e-9, 77.7] {
            check(
                45,
                -PI,
                PI,
                |turn| angle(radius * math::sin(turn), radius * math::cos(turn)),
                |turn| math::atan2(radius * math::sin(turn), radius * math::cos(turn)),
            );
        }
        assert_eq!([angle(0.0, 2.0), angle(0.0, -2.0)], [0.0, PI]);
        assert_eq!([angle(2.0, 0.0), angle(-2.0, 0.0)], [FRAC_PI_2, -FRAC_PI_2]);
    }

    #[test]
    fn the_middle_of_two_floats_is_too_near() {
        for value in [1.0f32, 0.1, -77.7, 3e-20] {
            let next = f32::from_bits(value.to_bits() + 1);
            let middle = (f64::from(value) + f64::from(next)) / 2.0;
            let near = |value: f64| middle_distance(value) < TOO_NEAR;
            for (error, expected) in [(0.0, true), (1.5e-12, true), (8e-12, false)] {
                assert_eq!(near(middle * (1.0 + error)), expected, "{value} {error}");
                assert_eq!(near(middle * (1.0 - error)), expected, "{value} -{error}");
            }
            assert!(!near(f64::from(value)));
        }
        assert!(middle_distance(0.0) >= TOO_NEAR);
    }
}
