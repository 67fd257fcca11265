//! The steps of the CIEDE2000 difference, for a group of pixel pairs.
//!
//! # What is computed
//!
//! ΔE₀₀ of two colours in L*a*b*, as libvmaf's `ciede.c` has it. The fields of [`Steps`] and the functions, in the symbols of
//! the definition (Sharma, Wu, Dalal, 2005) and libvmaf's names:
//!
//! | here | symbol | libvmaf |
//! |---|---|---|
//! | [`stretch`], `axes` | a′ = (1 + G)·a | `a_prime_1`, `a_prime_2` |
//! | [`measure_colour`], `chromas`, `hues` | C′, h′ | `c_prime`, `get_h_prime` |
//! | [`measure_turns`], `chord` | ΔH′ = 2·√(C′₁C′₂)·sin(Δh′/2) | `get_delta_h_prime`, `delta_upcase_h_prime` |
//! | `mean_hue` | h̄′ | `get_upcase_h_bar_prime` |
//! | [`measure_waves`], `waves` | T | `get_upcase_t` |
//! | [`measure_rotation`], `rotation` | R_T | `get_r_sub_t` |
//! | [`total`] | S_L, S_C, S_H, ΔE₀₀ | the end of `ciede2000` |
//!
//! # Why it is exact
//!
//! libvmaf rounds to `f32` after every assignment and calls the C library's double-precision functions between. The same
//! `f32` comes out of an estimate whose error is known, unless that lies within its error of the middle between two of them.
//! So every rounding goes through [`narrowed`] or [`rounded`], which also notes how near the middle it was; the smallest such
//! distance of a pixel is kept in `distances`. Pixels that came too near, about one in a thousand over all roundings, are
//! computed again by definition. Estimates are good to 2^-41 or better (the tests at the end check each on a fine grid), and
//! 2^-38 is allowed for, which leaves room for what formulas make of them.
//!
//! Where a step is a sum, a product or a quotient of `f32` numbers that libvmaf rounds at once, it is done in `f32` and is
//! exact by itself.
//!
//! The rotation R_T matters around blue only. Beyond [`FAR_FROM_BLUE`] it cannot change a difference by more than 2^-40, so
//! doubts about it are forgotten; beyond [`FARTHEST`] it is zero.
//!
//! # Order of work
//!
//! Each step is a loop over the vectors of a group, long enough to hide how long an instruction takes, and short enough that
//! the processor looks ahead over several vectors: 20 to 60 instructions, chains of about a dozen. One loop over everything
//! would have chains of hundreds, and the processor would not see beyond a single vector. What a step leaves for the next
//! lies in [`Steps`], in the first-level cache.
//!
//! # Registers
//!
//! A vector is eight doubles or eight singles, and a step works on [`SIDE`] of them side by side. Polynomials and tables of up
//! to 16 entries stay in registers: `vpermt2pd` looks up in two registers, so that a look-up costs no load. The longest step,
//! [`measure_rotation`], is skipped for a whole vector if no pixel of it is near blue, which is the rule.

use std::f64::consts::{FRAC_PI_2, PI};

use super::super::difference::KNEE;
use super::super::labs::{Doubles, GROUP, Labs, Singles};
use super::lanes::*;
use super::power::power_7;
use super::tables::{
    ANGLES, ASIN, ASIN_STEPS, COS_STEP, COSINES, EXP, SIN_STEP, SINE, SINES, SIXTEENTHS, TURN_COSINES,
    TURN_SINES, WAVES_EVEN, WAVES_ODD,
};

/// Adding this to a small double leaves its nearest integer in the low bits of the sum.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// From this distance on, nothing of the rotation can change a difference by more than 2^-40; see
/// [`group`](super::super::group).
const FAR_FROM_BLUE: f64 = 16.0;
/// From this distance on, the rotation is below `2 sin(60° e^-30)`, 2^-42, and can as well be zero.
const FARTHEST: f64 = 30.0;

/// What is known of the pixels of a group.
#[derive(Debug)]
pub struct Steps {
    /// The stretched a of both colours, rounded to `f32` precision.
    axes: [Doubles; 2],
    chromas: [Singles; 2],
    hues: [Singles; 2],
    chord: Singles,
    /// Rounded to `f32` precision.
    mean_hue: Doubles,
    waves: Singles,
    rotation: Singles,
}

impl Steps {
    pub const ZERO: Self = Self {
        axes: [[0.0; GROUP]; 2],
        chromas: [[0.0; GROUP]; 2],
        hues: [[0.0; GROUP]; 2],
        chord: [0.0; GROUP],
        mean_hue: [0.0; GROUP],
        waves: [0.0; GROUP],
        rotation: [0.0; GROUP],
    };
}

vector_functions! {
    /// The same as [`difference`](super::super::difference::difference) of each pair that ends up certain.
    pub fn measure(
        steps: &mut Steps,
        one: Labs<'_>,
        two: Labs<'_>,
        out: &mut Singles,
        distances: &mut Distances,
    ) {
        stretch(one, two, &mut steps.axes, distances);
        for (n, labs) in [one, two].into_iter().enumerate() {
            measure_colour(&steps.axes[n], labs.b, &mut steps.chromas[n], &mut steps.hues[n], distances);
        }
        measure_turns(steps, distances);
        measure_waves(steps, distances);
        measure_rotation(steps, distances);
        total(steps, one.l, two.l, out, distances);
    }

    /// Stretches the a axis of both colours near grey.
    fn stretch(one: Labs<'_>, two: Labs<'_>, axes: &mut [Doubles; 2], distances: &mut Distances) {
        for step in 0..STEPS {
            let mut nearest: Nearest = all_whole(FAR as i64);
            let (a1, a2) = (load_wide(one.a, step), load_wide(two.a, step));
            let chroma1 = narrowed(length(a1, load_wide(one.b, step)).0, &mut nearest);
            let chroma2 = narrowed(length(a2, load_wide(two.b, step)).0, &mut nearest);
            let mean = wide(mean(chroma1, chroma2));
            let square = mul(mean, mean);
            let power = mul(mul(square, square), mul(square, mean));
            // The root of p / (p + knee) is p over the root of p (p + knee).
            let (_, reciprocal) = roots(mul(power, add(power, all(KNEE))));
            let factor = fnmadd(mul(power, reciprocal), all(0.5), all(1.5));
            store(&mut axes[0], step, rounded(mul(a1, factor), &mut nearest));
            store(&mut axes[1], step, rounded(mul(a2, factor), &mut nearest));
            store_nearest(distances, step, nearest);
        }
    }

    /// How long a step is, and the reciprocal of that.
    fn length(a: Wide, b: Wide) -> (Wide, Wide) {
        roots(fmadd(a, a, mul(b, b)))
    }

    fn measure_colour(
        axis: &Doubles,
        b: &Singles,
        chromas: &mut Singles,
        hues: &mut Singles,
        distances: &mut Distances,
    ) {
        for step in 0..STEPS {
            let mut nearest: Nearest = load_nearest(distances, step);
            let (a, b) = (load(axis, step), load_wide(b, step));
            let (length, reciprocal) = length(a, b);
            store_singles(chromas, step, narrowed(length, &mut nearest));
            let half_turn = rounded(angle(a, b, reciprocal), &mut nearest);
            let below = is_negative(b);
            let hue = sub_where(half_turn, below, all(2.0 * PI), half_turn);
            store_singles(hues, step, narrow(hue));
            store_nearest(distances, step, nearest);
        }
    }

    /// The magnitude of the angle of `(a, b)`, where `a` and `b` are never the negative zero; 0 for grey.
    ///
    /// An eighth of a turn is enough, by symmetry. The sine of the angle from there chooses one of 8 directions; the
    /// sine of what remains is below 0.075, and its arc is a short series.
    fn angle(a: Wide, b: Wide, reciprocal: Wide) -> Wide {
        let (width, height) = (abs(a), abs(b));
        let steep = is_above(height, width);
        let left = is_negative(a);
        let sine = mul(min(width, height), reciprocal);
        let cosine = mul(max(width, height), reciprocal);
        let step = bits(fmadd(sine, all(ASIN_STEPS), all(TO_INTEGER)));
        let rest = mul(cosine, look_up_8(&SINES, step));
        let rest = fmsub(sine, look_up_8(&COSINES, step), rest);
        let square = mul(rest, rest);
        let cubed = mul(rest, square);
        let near = add(look_up_8(&ANGLES, step), rest);
        let eighth = fmadd(cubed, polynomial(&ASIN, square), near);
        let from = keep(left, all(PI));
        let from = choose(steep, from, all(FRAC_PI_2));
        sub_where(add(from, eighth), differs(steep, left), from, eighth)
    }

    /// Mean hues, and chords between the two colours. Where a colour is grey, the turn has no meaning, but then the
    /// chord is zero whatever it is.
    fn measure_turns(steps: &mut Steps, distances: &mut Distances) {
        let Steps { chromas, hues, chord, mean_hue, .. } = steps;
        for step in 0..STEPS {
            let mut nearest: Nearest = load_nearest(distances, step);
            let (hue1, hue2) = (load_singles(&hues[0], step), load_singles(&hues[1], step));
            let plain = sub_singles(hue2, hue1);
            let around = long_way_round(plain);
            let sum = wide(add_singles(hue1, hue2));
            let half = mul(sum, all(0.5));
            let mean = rounded(add_where(around, half, all(PI)), &mut nearest);
            store(mean_hue, step, mean);
            let plain = wide(plain);
            let full = copy_sign(all(2.0 * PI), plain);
            let turn = rounded(sub_where(plain, around, plain, full), &mut nearest);
            let product =
                mul_singles(load_singles(&chromas[0], step), load_singles(&chromas[1], step));
            let twice = mul(root(wide(product)), all(2.0));
            let sine = sine(mul(turn, all(0.5)));
            store_singles(chord, step, narrowed(mul(twice, sine), &mut nearest));
            store_nearest(distances, step, nearest);
        }
    }

    /// Whether the magnitude is above pi: no `f32` lies between pi and its nearest one, which is above.
    fn long_way_round(turn: Narrow) -> Mask {
        singles_below(all_single(std::f32::consts::PI.next_down()), abs_singles(turn))
    }

    /// The sine of angles between `-pi/2` and `pi/2`, to 2^-44.
    fn sine(x: Wide) -> Wide {
        mul(x, polynomial(&SINE, mul(x, x)))
    }

    /// How the weight of hue depends on hue: with sine and cosine, polynomials have it all.
    fn measure_waves(steps: &mut Steps, distances: &mut Distances) {
        for step in 0..STEPS {
            let mut nearest: Nearest = load_nearest(distances, step);
            let (sine, cosine) = sine_cosine(load(&steps.mean_hue, step));
            let even = polynomial(&WAVES_EVEN, cosine);
            let waves = fmadd(sine, polynomial(&WAVES_ODD, cosine), even);
            store_singles(&mut steps.waves, step, narrowed(waves, &mut nearest));
            store_nearest(distances, step, nearest);
        }
    }

    /// Of an angle between 0 and `3 pi`: from the nearest of 16 directions, to 2^-46.
    fn sine_cosine(x: Wide) -> (Wide, Wide) {
        let shifted = fmadd(x, all(8.0 / PI), all(TO_INTEGER));
        let step = bits(shifted);
        let rest = fnmadd(sub(shifted, all(TO_INTEGER)), all(PI / 8.0), x);
        let square = mul(rest, rest);
        let (s, c) = (mul(rest, polynomial(&SIN_STEP, square)), polynomial(&COS_STEP, square));
        let (step_s, step_c) = (look_up(&TURN_SINES, step), look_up(&TURN_COSINES, step));
        let sine = fmadd(step_s, c, mul(step_c, s));
        (sine, fmsub(step_c, c, mul(step_s, s)))
    }

    /// How chroma and hue differences act together, around blue.
    fn measure_rotation(steps: &mut Steps, distances: &mut Distances) {
        let Steps { chromas, mean_hue, rotation, .. } = steps;
        for step in 0..STEPS {
            let mut nearest: Nearest = load_nearest(distances, step);
            let distance = distance_from_blue(load(mean_hue, step), &mut nearest);
            if is_below(distance, all(FARTHEST)) == NONE {
                store_singles::<SIDE>(rotation, step, all_single(0.0));
                store_nearest(distances, step, nearest);
                continue;
            }
            let mean = mean(load_singles(&chromas[0], step), load_singles(&chromas[1], step));
            let power = power_7(mean, &mut nearest);
            let before = nearest;
            let bell = mul(all(60.0), exponential(distance));
            let bell = rounded(bell, &mut nearest);
            let angle = rounded(mul(bell, all(PI / 180.0)), &mut nearest);
            let part = div_singles(power, add_singles(power, all_single(KNEE as f32)));
            let product = mul(root(wide(part)), sine(angle));
            store_singles(rotation, step, narrowed(mul(product, all(-2.0)), &mut nearest));
            if is_below(distance, all(FAR_FROM_BLUE)) == NONE {
                nearest = before;
            }
            store_nearest(distances, step, nearest);
        }
    }

    /// The squared distance of a hue from blue, in units of 25°.
    fn distance_from_blue(hue: Wide, nearest: &mut Nearest) -> Wide {
        let degrees = rounded(mul(hue, all(180.0 / PI)), nearest);
        let from_blue = sub(degrees, all(275.0));
        let from_blue = rounded(mul(from_blue, all(1.0 / 25.0)), nearest);
        rounded(mul(from_blue, from_blue), nearest)
    }

    /// `e^-x` for `x` between 0 and [`FARTHEST`], to 2^-46; 0 beyond.
    fn exponential(x: Wide) -> Wide {
        const STEP: f64 = std::f64::consts::LN_2 / 16.0;
        let shifted = fmadd(x, all(-1.0 / STEP), all(TO_INTEGER));
        let rest = fnmsub(sub(shifted, all(TO_INTEGER)), all(STEP), x);
        let steps = bits(shifted);
        let exponent = whole_sixteenths(steps);
        let power = bits(look_up(&SIXTEENTHS, steps));
        let power = number(add_whole(power, exponent));
        let near = is_below(x, all(FARTHEST));
        keep(near, fmadd(mul(power, rest), polynomial(&EXP, rest), power))
    }

    fn total(
        steps: &Steps,
        light1: &Singles,
        light2: &Singles,
        out: &mut Singles,
        distances: &mut Distances,
    ) {
        for step in 0..STEPS {
            let mut nearest: Nearest = load_nearest(distances, step);
            let (light1, light2) = (load_singles(light1, step), load_singles(light2, step));
            let lightness = lightness_share(light1, light2, &mut nearest);
            let [chroma1, chroma2] = [&steps.chromas[0], &steps.chromas[1]];
            let (chroma1, chroma2) = (load_singles(chroma1, step), load_singles(chroma2, step));
            let mean = wide(mean(chroma1, chroma2));
            let weight = add(mul(all(0.045), mean), all(1.0));
            let chroma = div_singles(sub_singles(chroma2, chroma1), narrow(weight));
            let waves = load_wide(&steps.waves, step);
            let weight = mul(mul(all(0.015), mean), waves);
            let weight = narrow(add(weight, all(1.0)));
            let hue = load_singles(&steps.chord, step);
            let hue = div_singles(hue, mul_singles(all_single(4.0), weight));
            let rotation = load_singles(&steps.rotation, step);
            let turned = mul_singles(mul_singles(rotation, chroma), hue);
            let (lightness, chroma, hue) = (wide(lightness), wide(chroma), wide(hue));
            let sum = fmadd(lightness, lightness, wide(turned));
            let sum = fmadd(chroma, chroma, sum);
            let sum = fmadd(hue, hue, sum);
            store_singles(out, step, narrowed(root(sum), &mut nearest));
            store_nearest(distances, step, nearest);
        }
    }

    fn lightness_share(light1: Narrow, light2: Narrow, nearest: &mut Nearest) -> Narrow {
        let from_middle = wide(sub_singles(mean(light1, light2), all_single(50.0)));
        let squared = mul(from_middle, from_middle);
        let (_, reciprocal) = roots(add(squared, all(20.0)));
        let product = mul(squared, all(0.015));
        let weight = narrowed(fmadd(product, reciprocal, all(1.0)), nearest);
        div_singles(sub_singles(light2, light1), mul_singles(all_single(0.65), weight))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with_avx512};
    use super::*;
    use crate::math;

    vector_functions! {
        fn first(values: Wide) -> f64 {
            std::arch::x86_64::_mm512_cvtsd_f64(values[0])
        }

        fn sine_of(x: f64) -> f64 {
            first(sine(all(x)))
        }

        fn power_of_e(x: f64) -> f64 {
            first(exponential(all(-x)))
        }

        fn waves_of(x: f64) -> f64 {
            let (sine, cosine) = sine_cosine(all(x));
            first(fmadd(sine, polynomial(&WAVES_ODD, cosine), polynomial(&WAVES_EVEN, cosine)))
        }

        fn root_of(x: f64) -> f64 {
            first(root(all(x)))
        }

        fn reciprocal_of(x: f64) -> f64 {
            first(roots(all(x)).1)
        }

        fn angle_of(a: f64, b: f64) -> f64 {
            let (_, reciprocal) = length(all(a), all(b));
            first(angle(all(a), all(b), reciprocal))
        }

        fn seventh_power_of(x: f32) -> f32 {
            let mut nearest = all_whole(FAR as i64);
            let power = power_7(all_single(x), &mut nearest);
            std::arch::x86_64::_mm256_cvtss_f32(power[0])
        }
    }

    #[test]
    fn roots_and_powers() {
        // SAFETY: the machine was found to have the features.
        with_avx512(|_| unsafe {
            check(41, 1e-12, 1e6, |x| root_of(x), f64::sqrt);
            check(41, 1e-12, 1e6, |x| reciprocal_of(x), |x| 1.0 / x.sqrt());
            check(45, -29.9, -1e-9, |x| power_of_e(x), math::exp);
            assert_eq!(root_of(0.0), 0.0);
            assert_eq!(power_of_e(-30.5), 0.0);
        });
    }

    #[test]
    fn sines_and_waves() {
        let waves = |x: f64| {
            1.0 - 0.17 * math::cos(x - PI / 6.0)
                + 0.24 * math::cos(2.0 * x)
                + 0.32 * math::cos(3.0 * x + PI / 30.0)
                - 0.20 * math::cos(4.0 * x - 7.0 * PI / 20.0)
        };
        // SAFETY: the machine was found to have the features.
        with_avx512(|_| unsafe {
            check(43, -FRAC_PI_2, FRAC_PI_2, |x| sine_of(x), math::sin);
            check(43, 0.0, 3.0 * PI, |x| waves_of(x), waves);
        });
    }

    #[test]
    fn angles_all_around() {
        let point = |turn: f64, radius: f64| (radius * math::cos(turn), radius * math::sin(turn));
        // SAFETY: the machine was found to have the features.
        with_avx512(|_| unsafe {
            for radius in [1.0, 3.1e-5, 177.7] {
                let exact = |turn: f64| math::atan2(point(turn, radius).1, point(turn, radius).0).abs();
                check(41, -PI, PI, |turn| angle_of(point(turn, radius).0, point(turn, radius).1), exact);
            }
            assert_eq!([angle_of(2.0, 0.0), angle_of(-2.0, 0.0), angle_of(0.0, 0.0)], [0.0, PI, 0.0]);
            assert_eq!([angle_of(0.0, 2.0), angle_of(0.0, -2.0)], [FRAC_PI_2, FRAC_PI_2]);
        });
    }

    #[test]
    fn seventh_powers_are_those_of_powf() {
        // SAFETY: the machine was found to have the features.
        with_avx512(|_| unsafe {
            for step in 0..400_000u32 {
                let x = f32::from_bits(0x3780_0001 + step * 671);
                assert_eq!(seventh_power_of(x), math::powf(x, 7.0), "{x:e}");
            }
            assert_eq!(seventh_power_of(0.0), 0.0);
        });
    }
}
