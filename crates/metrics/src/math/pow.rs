//! `x` to the power `y`, as `exp(y ln x)`.
//!
//! The product is up to 709 and its absolute error is the relative error of the result, so `ln x`
//! is computed in two parts with about 68 bits in all.

use super::exp::exp_of_sum;
use super::split::{normalised_bits, split};
use super::tables::pow::{CENTRES, LN2_HI, LN2_LO, POLY};

/// log2 of the number of table entries.
const TABLE_BITS: u32 = 7;
/// Bits of 0.7057..., the low end of the table.
const TABLE_LOW: u64 = 0x3fe6_9555_0000_0000;
/// Below this magnitude of `y` the result is one for every finite `x`: 2^-65.
const TINY_EXPONENT: f64 = f64::from_bits(0x3be0_0000_0000_0000);
/// From this magnitude of `y` on the result is 0, 1 or infinite: 2^63.
const HUGE_EXPONENT: f64 = f64::from_bits(0x43e0_0000_0000_0000);

/// `x` to the power `y`, with the special values of C.
///
/// ```text
/// pow(x, 0) = pow(1, y) = 1 even for NaN
/// pow(x < 0, y) = NaN unless y is an integer
/// pow(-1, +-inf) = 1
/// ```
pub fn pow(x: f64, y: f64) -> f64 {
    let ordinary_x = (f64::MIN_POSITIVE..f64::INFINITY).contains(&x);
    let ordinary_y = (TINY_EXPONENT..HUGE_EXPONENT).contains(&y.abs());
    if !(ordinary_x && ordinary_y)
        && let Some(value) = special(x, y)
    {
        return value;
    }
    let (log_high, log_low) = log_in_two_parts(x.abs());
    let high = y * log_high;
    let low = y.mul_add(log_low, y.mul_add(log_high, -high));
    exp_of_sum(high, low, x < 0.0 && is_odd(y))
}

/// The result where it does not come from the exponential of a product.
#[cold]
fn special(x: f64, y: f64) -> Option<f64> {
    let magnitude = x.abs();
    if y == 0.0 || x == 1.0 {
        return Some(1.0);
    }
    if x.is_nan() || y.is_nan() {
        return Some(f64::NAN);
    }
    if x == 0.0 || (x.is_infinite() && y.is_finite()) {
        let value = if (x == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY };
        let negative = x.is_sign_negative() && is_odd(y);
        return Some(if negative { -value } else { value });
    }
    if x < 0.0 && !is_integer(y) {
        return Some(f64::NAN);
    }
    if magnitude == 1.0 && y.abs() >= HUGE_EXPONENT {
        // Doubles this large are even; so, in C, are the infinities.
        return Some(1.0);
    }
    if y.abs() < TINY_EXPONENT {
        return Some(1.0);
    }
    if y.abs() >= HUGE_EXPONENT {
        let grows = (magnitude > 1.0) == (y > 0.0);
        return Some(if grows { f64::INFINITY } else { 0.0 });
    }
    None
}

/// Whether `y` has no fractional part; the infinities count as integers.
fn is_integer(y: f64) -> bool {
    y.trunc() == y
}

/// Whether `y` is an odd integer.
fn is_odd(y: f64) -> bool {
    /// From here on all doubles are even: 2^53.
    const ALL_EVEN: f64 = (1u64 << 53) as f64;
    y.abs() < ALL_EVEN && is_integer(y) && (y as i64) & 1 == 1
}

/// `ln x` for a positive finite `x`, as an unevaluated sum of a double and a small rest.
#[inline]
fn log_in_two_parts(x: f64) -> (f64, f64) {
    let parts = split(normalised_bits(x), TABLE_LOW, TABLE_BITS);
    let [inverse, log_c, log_c_low] = CENTRES[parts.index].map(f64::from_bits);
    // Exact: 1/c has few bits.
    let r = parts.mantissa.mul_add(inverse, -1.0);

    // k ln 2 + ln c + r, and what its roundings lose
    let base = LN2_HI.mul_add(parts.exponent, log_c);
    let base_low = LN2_LO.mul_add(parts.exponent, log_c_low);
    let sum = base + r;
    let sum_lost = (base - sum) + r;

    // - r^2 / 2 on top, and what its roundings lose
    let half = POLY[0] * r;
    let square = r * half;
    let cube = r * square;
    let square_lost = half.mul_add(r, -square);
    let high = sum + square;
    let high_lost = (sum - high) + square;

    let pair = |i: usize| r.mul_add(POLY[i + 1], POLY[i]);
    let poly = square.mul_add(square.mul_add(pair(5), pair(3)), pair(1));
    let lost = base_low + sum_lost + square_lost + high_lost;
    let low = cube.mul_add(poly, lost);
    let value = high + low;
    (value, (high - value) + low)
}
