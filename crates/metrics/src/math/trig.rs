//! Sine and cosine.
//!
//! The argument is brought into `[-pi/4, pi/4]` as a sum of a double and a small rest. There,
//! `sin(x + t)` and `cos(x + t)` with `x` the nearest multiple of 1/128 follow from a table of
//! `sin x` and `cos x` and short polynomials in `t`.

use super::reduce;
use super::tables::sincos::SINCOS;

/// Below this magnitude the sine is its argument: 2^-26.
const SIN_TINY: f64 = f64::from_bits(0x3e50_0000_0000_0000);
/// Below this magnitude the cosine is one: 2^-27.
const COS_TINY: f64 = f64::from_bits(0x3e40_0000_0000_0000);
/// Up to here no reduction is needed: 0.85546875, where the table ends.
const UNREDUCED: f64 = f64::from_bits(0x3feb_6000_0000_0000);
/// Up to here one subtraction from pi/2 reduces: about 2.426265.
const ONE_STEP: f64 = f64::from_bits(0x4003_68fd_0000_0000);
/// Up to here the sine polynomial alone is accurate enough.
const TAYLOR: f64 = 0.126;
/// Adding this to a small double rounds it to a multiple of 1/128, with the number of these in
/// the low bits of the sum: 1.5 * 2^45.
const TO_STEPS: f64 = 52_776_558_133_248.0;

/// pi/2 rounded to a double, ...
const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
/// ... and the rest.
const HALF_PI_LOW: f64 = f64::from_bits(0x3c91_a626_3314_5c07);

/// Coefficients of `t^3`, `t^5`, ... of the sine without table.
const SIN_TAYLOR: [f64; 5] = [
    f64::from_bits(0xbfc5_5555_5555_5555),
    f64::from_bits(0x3f81_1111_1111_0ece),
    f64::from_bits(0xbf2a_01a0_19db_08b8),
    f64::from_bits(0x3ec7_1de2_7b9a_7ed9),
    f64::from_bits(0xbe5a_ddff_c2fc_df59),
];
/// Coefficients of `t^3` and `t^5` of the sine of a distance to a table entry.
const SIN_STEP: [f64; 2] = [f64::from_bits(0xbfc5_5555_5555_5515), f64::from_bits(0x3f81_1110_e829_872f)];
/// Coefficients of `t^2`, `t^4` and `t^6` of one minus the cosine of such a distance.
const COS_STEP: [f64; 3] =
    [0.5, f64::from_bits(0xbfa5_5555_5555_5535), f64::from_bits(0x3f56_c16b_edd9_e239)];

/// The sine of `x` (in radians).
///
/// For `|x| < 105_414_350` the argument is reduced as in the reference and the result has the
/// reference's bits. For larger arguments the reduction is more accurate than the reference's, which
/// shows only in results very close to zero. The sine of an infinity is NaN.
pub fn sin(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < SIN_TINY {
        x
    } else if magnitude < UNREDUCED {
        sin_of_sum(x, 0.0)
    } else if magnitude < ONE_STEP {
        cos_of_sum(HALF_PI - magnitude, HALF_PI_LOW).copysign(x)
    } else if magnitude < f64::INFINITY {
        let reduced = reduce::by_half_pi(x);
        sin_in_quadrant(reduced.high, reduced.low, reduced.quadrant)
    } else {
        f64::NAN
    }
}

/// The cosine of `x` (in radians); see [`sin`] for large arguments.
pub fn cos(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < COS_TINY {
        1.0
    } else if magnitude < UNREDUCED {
        cos_of_sum(x, 0.0)
    } else if magnitude < ONE_STEP {
        let rounded = HALF_PI - magnitude;
        let high = rounded + HALF_PI_LOW;
        let low = (rounded - high) + HALF_PI_LOW;
        sin_of_sum(high, low)
    } else if magnitude < f64::INFINITY {
        let reduced = reduce::by_half_pi(x);
        sin_in_quadrant(reduced.high, reduced.low, reduced.quadrant + 1)
    } else {
        f64::NAN
    }
}

/// `sin(high + low + quadrant pi/2)`.
fn sin_in_quadrant(high: f64, low: f64, quadrant: u32) -> f64 {
    let value = if quadrant & 1 == 1 { cos_of_sum(high, low) } else { sin_of_sum(high, low) };
    if quadrant & 2 == 2 { -value } else { value }
}

/// A magnitude as a table row and the distance to it.
struct Step {
    /// `sin x` and its rounding error, `cos x` and its rounding error.
    row: [f64; 4],
    /// The magnitude less `x`; exact.
    distance: f64,
}

/// Finds the table row nearest to `magnitude`.
#[inline]
fn nearest_step(magnitude: f64) -> Step {
    const INDEX_MASK: u64 = 0x7f;
    let shifted = magnitude + TO_STEPS;
    let index = (shifted.to_bits() & INDEX_MASK) as usize;
    Step { row: SINCOS[index].map(f64::from_bits), distance: magnitude - (shifted - TO_STEPS) }
}

/// One minus the cosine of a small `t`, given its square and without the factor `t^2`.
#[inline]
fn cos_step(t2: f64) -> f64 {
    t2.mul_add(t2.mul_add(COS_STEP[2], COS_STEP[1]), COS_STEP[0])
}

/// `sin(x + low)` for `|x|` below [`UNREDUCED`] and a `low` below the last place of `x`.
fn sin_of_sum(x: f64, low: f64) -> f64 {
    if x.abs() < TAYLOR {
        let x2 = x * x;
        let c = &SIN_TAYLOR;
        let poly = x2.mul_add(c[4], c[3]).mul_add(x2, c[2]).mul_add(x2, c[1]).mul_add(x2, c[0]);
        let rest = x2.mul_add(poly.mul_add(x, -(0.5 * low)), low);
        return x + rest;
    }
    let low = if x <= 0.0 { -low } else { low };
    let Step { row, distance: t } = nearest_step(x.abs());
    let [sin_row, sin_low, cos_row, cos_low] = row;
    let t2 = t * t;
    let sin_t = t + (t * t2).mul_add(t2.mul_add(SIN_STEP[1], SIN_STEP[0]), low);
    let versine_t = t.mul_add(low, t2 * cos_step(t2));
    let small = sin_row.mul_add(-versine_t, sin_t.mul_add(cos_low, sin_low));
    (sin_row + sin_t.mul_add(cos_row, small)).copysign(x)
}

/// `cos(x + low)` for `|x|` below [`UNREDUCED`] and a `low` below the last place of `x`.
fn cos_of_sum(x: f64, low: f64) -> f64 {
    let low = if x < 0.0 { -low } else { low };
    let Step { row, distance } = nearest_step(x.abs());
    let [sin_row, sin_low, cos_row, cos_low] = row;
    let t = distance + low;
    let t2 = t * t;
    let sin_t = (t * t2).mul_add(t2.mul_add(SIN_STEP[1], SIN_STEP[0]), t);
    let versine_t = t2 * cos_step(t2);
    let small = cos_row.mul_add(-versine_t, sin_t.mul_add(-sin_low, cos_low));
    cos_row + sin_t.mul_add(-sin_row, small)
}
