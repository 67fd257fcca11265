//! The exponential function.
//!
//! With `k` the nearest integer to `128 x / ln 2` and `r` the remainder,
//! `exp(x) = 2^(k/128) exp(r)`: the first factor comes from a table of 128 entries and the
//! exponent field, the second from a polynomial of degree five.

use super::split::MANTISSA_BITS;
use super::tables::exp::{INV_LN2_N, NEG_LN2_HI_N, NEG_LN2_LO_N, POLY, POWERS};

/// log2 of the number of table entries.
const TABLE_BITS: u32 = 7;
/// Adding this to a small double leaves its nearest integer in the low bits of the sum.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
/// Below this magnitude `exp(x)` rounds to `1 + x`: 2^-54.
const TINY: f64 = f64::from_bits(0x3c90_0000_0000_0000);
/// From this magnitude on, the exponent of the result may leave the range of a normal double.
const LARGE: f64 = 512.0;
/// From this magnitude on, the result surely over- or underflows.
const HUGE: f64 = 1024.0;
const SIGN_BIT: u64 = 1 << 63;

/// `e` to the power `x`.
///
/// ```text
/// exp(0) = 1, exp(inf) = inf, exp(-inf) = 0, exp(NaN) = NaN
/// ```
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Adding -0 changes no value at all, so the compiler can drop the addition.
    exp_of_sum(x, -0.0, false)
}

/// `exp(x + x_low)`, negated if `negative`; `x_low` must be far smaller than `x`.
#[inline(always)]
pub(super) fn exp_of_sum(x: f64, x_low: f64, negative: bool) -> f64 {
    let magnitude = x.abs();
    if !(TINY..HUGE).contains(&magnitude) {
        return extreme(x, negative);
    }
    let shifted = INV_LN2_N.mul_add(x, TO_INTEGER);
    let k_bits = shifted.to_bits();
    let k = shifted - TO_INTEGER;
    let r = NEG_LN2_LO_N.mul_add(k, NEG_LN2_HI_N.mul_add(k, x)) + x_low;

    let [error_bits, power_bits] = POWERS[(k_bits & ((1 << TABLE_BITS) - 1)) as usize];
    let sign = if negative { SIGN_BIT } else { 0 };
    let scale_bits = power_bits.wrapping_add(k_bits << (MANTISSA_BITS - TABLE_BITS)).wrapping_add(sign);

    let r2 = r * r;
    let low = POLY[1].mul_add(r, POLY[0]);
    let high = POLY[3].mul_add(r, POLY[2]);
    let linear = f64::from_bits(error_bits) + r;
    let fraction = (r2 * r2).mul_add(high, low.mul_add(r2, linear));

    if magnitude < LARGE {
        let scale = f64::from_bits(scale_bits);
        fraction.mul_add(scale, scale)
    } else if x > 0.0 {
        scale_up(fraction, scale_bits)
    } else {
        scale_down(fraction, scale_bits)
    }
}

/// The exponential of an argument that needs no computation: tiny, huge or not finite.
#[cold]
fn extreme(x: f64, negative: bool) -> f64 {
    let value = if x.is_nan() {
        return x;
    } else if x.abs() < TINY {
        1.0 + x
    } else if x < 0.0 {
        0.0
    } else {
        f64::INFINITY
    };
    if negative { -value } else { value }
}

/// `scale (1 + fraction)` where the exponent of `scale` may have run over the top.
#[cold]
fn scale_up(fraction: f64, scale_bits: u64) -> f64 {
    const SHIFT: u64 = 1009;
    let factor = f64::from_bits((1023 + SHIFT) << MANTISSA_BITS);
    let scale = f64::from_bits(scale_bits.wrapping_sub(SHIFT << MANTISSA_BITS));
    fraction.mul_add(scale, scale) * factor
}

/// `scale (1 + fraction)` where the exponent of `scale` may have run below the bottom.
///
/// A subnormal result has fewer bits than a normal one. Rounding to the full width and then again
/// to the smaller one would lose accuracy, so the sum is first rounded at the right place, by
/// adding a one of its sign.
#[cold]
fn scale_down(fraction: f64, scale_bits: u64) -> f64 {
    const SHIFT: u64 = 1022;
    let scale = f64::from_bits(scale_bits.wrapping_add(SHIFT << MANTISSA_BITS));
    // Not fused, as the product serves twice.
    let product = scale * fraction;
    let mut value = scale + product;
    if value.abs() < 1.0 {
        let one = 1.0_f64.copysign(value);
        let sum = one + value;
        let lost = (one - sum) + value + ((scale - value) + product);
        value = ((sum + lost) - one).copysign(scale);
    }
    value * f64::MIN_POSITIVE
}
