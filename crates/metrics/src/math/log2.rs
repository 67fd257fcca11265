//! The binary logarithm.
//!
//! The method is that of the natural logarithm (see `log.rs`) with a term `r / ln 2` that is
//! carried in two parts.

use super::log::pole_or_outside;
use super::split::{normalised_bits, split};
use super::tables::log2::{CENTRES, INV_LN2_HI, INV_LN2_LO, POLY, POLY_NEAR_ONE};

/// log2 of the number of table entries.
const TABLE_BITS: u32 = 6;
/// Bits of 0.6875, the low end of the table.
const TABLE_LOW: u64 = 0x3fe6_0000_0000_0000;
/// The interval about one that has its own polynomial: from 1 - 0.0424... ...
const NEAR_ONE_LOW: f64 = f64::from_bits(0x3fee_a4af_0000_0000);
/// ... to 1 + 0.0442...
const NEAR_ONE_HIGH: f64 = f64::from_bits(0x3ff0_b559_0000_0000);

/// The binary logarithm of `x`.
///
/// ```text
/// log2(+-0) = -inf, log2(inf) = inf, log2(x < 0) = NaN, log2(NaN) = NaN
/// ```
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    if (NEAR_ONE_LOW..NEAR_ONE_HIGH).contains(&x) {
        near_one(x - 1.0)
    } else if let Some(value) = pole_or_outside(x) {
        value
    } else {
        by_table(x)
    }
}

/// `r / ln 2` as a double and the rest.
#[inline(always)]
fn over_ln2(r: f64) -> (f64, f64) {
    let high = r * INV_LN2_HI;
    let low = r.mul_add(INV_LN2_LO, r.mul_add(INV_LN2_HI, -high));
    (high, low)
}

/// `log2(x)` for a positive finite `x` not close to one.
#[inline(always)]
fn by_table(x: f64) -> f64 {
    let parts = split(normalised_bits(x), TABLE_LOW, TABLE_BITS);
    let [inverse, log_c] = CENTRES[parts.index].map(f64::from_bits);
    let r = parts.mantissa.mul_add(inverse, -1.0);

    // high + low = k + log2 c + r / ln 2
    let (linear, linear_low) = over_ln2(r);
    let base = parts.exponent + log_c;
    let high = base + linear;
    let low = (base - high) + linear + linear_low;

    let r2 = r * r;
    let pair = |i: usize| r.mul_add(POLY[i + 1], POLY[i]);
    let poly = (r2 * r2).mul_add(pair(4), r2.mul_add(pair(2), pair(0)));
    r2.mul_add(poly, low) + high
}

/// `log2(1 + r)` for an `r` close to zero.
#[inline(always)]
fn near_one(r: f64) -> f64 {
    if r == 0.0 {
        return 0.0;
    }
    let (linear, linear_low) = over_ln2(r);
    let r2 = r * r;
    let r4 = r2 * r2;
    let pair = |i: usize| r.mul_add(POLY_NEAR_ONE[i + 1], POLY_NEAR_ONE[i]);
    // Four coefficients at a time.
    let four = |i: usize| r2.mul_add(pair(i + 2), pair(i));
    let quadratic = pair(0);
    let high = quadratic.mul_add(r2, linear);
    let low = quadratic.mul_add(r2, linear - high) + linear_low;
    let tail = r4.mul_add(four(6), four(2));
    high + tail.mul_add(r4, low)
}
