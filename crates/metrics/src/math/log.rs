//! The natural and the decimal logarithm.
//!
//! With `x = 2^k z` and `c` a table value near `z`,
//! `ln x = k ln 2 + ln c + ln(1 + r)`, `r = z/c - 1`: the last term is a polynomial.
//! Close to one that sum would cancel, and a longer polynomial in `x - 1` takes its place.

use super::split::{MANTISSA_BITS, normalised_bits, split};
use super::tables::log::{CENTRES, LN2_HI, LN2_LO, POLY, POLY_NEAR_ONE};

/// log2 of the number of table entries.
const TABLE_BITS: u32 = 7;
/// Bits of 0.6875, the low end of the table.
const TABLE_LOW: u64 = 0x3fe6_0000_0000_0000;
/// The interval about one that has its own polynomial: from 1 - 2^-4 ...
const NEAR_ONE_LOW: f64 = 0.9375;
/// ... to 1 + 1.03515625 * 2^-4.
const NEAR_ONE_HIGH: f64 = 1.064_697_265_625;

/// The natural logarithm of `x`.
///
/// ```text
/// log(+-0) = -inf, log(inf) = inf, log(x < 0) = NaN, log(NaN) = NaN
/// ```
pub fn log(x: f64) -> f64 {
    if (NEAR_ONE_LOW..NEAR_ONE_HIGH).contains(&x) {
        near_one(x - 1.0)
    } else if let Some(value) = pole_or_outside(x) {
        value
    } else {
        by_table(x)
    }
}

/// What every logarithm gives outside the positive finite numbers.
#[inline(always)]
pub(super) fn pole_or_outside(x: f64) -> Option<f64> {
    if x > 0.0 && x < f64::INFINITY {
        None
    } else if x == 0.0 {
        Some(f64::NEG_INFINITY)
    } else if x > 0.0 {
        Some(f64::INFINITY)
    } else {
        Some(f64::NAN)
    }
}

/// `ln x` for a positive finite `x` not close to one.
fn by_table(x: f64) -> f64 {
    let parts = split(normalised_bits(x), TABLE_LOW, TABLE_BITS);
    let [inverse, log_c] = CENTRES[parts.index].map(f64::from_bits);
    let r = parts.mantissa.mul_add(inverse, -1.0);

    // high + low = k ln 2 + ln c + r
    let base = LN2_HI.mul_add(parts.exponent, log_c);
    let high = base + r;
    let low = LN2_LO.mul_add(parts.exponent, (base - high) + r);

    let r2 = r * r;
    let quadratic = POLY[0].mul_add(r2, low);
    let cubic = POLY[2].mul_add(r, POLY[1]);
    let quintic = POLY[4].mul_add(r, POLY[3]);
    (r * r2).mul_add(quintic.mul_add(r2, cubic), quadratic) + high
}

/// `ln(1 + r)` for an `r` close to zero.
fn near_one(r: f64) -> f64 {
    /// Splits a double into two halves of at most 26 bits.
    const SPLITTER: f64 = (1u64 << 27) as f64;
    if r == 0.0 {
        return 0.0;
    }
    let c = &POLY_NEAR_ONE;
    let r2 = r * r;
    let r3 = r * r2;
    // Three coefficients at a time: c[i] + c[i + 1] r + c[i + 2] r^2.
    let three = |i: usize| c[i + 2].mul_add(r2, c[i + 1].mul_add(r, c[i]));
    let top = c[10].mul_add(r3, three(7));
    let tail = top.mul_add(r3, three(4)).mul_add(r3, three(1));

    // The quadratic term needs more than a double: the square of the leading half of r is exact.
    let r_high = r.mul_add(-SPLITTER, r.mul_add(SPLITTER, r));
    let r_low = r - r_high;
    let square = r_high * r_high;
    let high = square.mul_add(c[0], r);
    let exact_low = square.mul_add(c[0], r - high);
    let low = (c[0] * r_low).mul_add(r_high + r, exact_low);
    tail.mul_add(r3, low) + high
}

/// The decimal logarithm of `x`.
///
/// Special values are those of [`log`]. The logarithm of the mantissa comes from [`log`] and the
/// rest is added without fusing.
pub fn log10(x: f64) -> f64 {
    /// `1 / ln 10`.
    const INV_LN10: f64 = f64::from_bits(0x3fdb_cb7b_1526_e50e);
    /// Leading bits of `log10 2`; times any exponent it stays exact.
    const LOG10_2_HI: f64 = f64::from_bits(0x3fd3_4413_509f_6000);
    /// Rest of `log10 2`.
    const LOG10_2_LO: f64 = f64::from_bits(0x3d59_fef3_11f1_2b36);
    const MANTISSA_MASK: u64 = (1 << MANTISSA_BITS) - 1;
    const BIAS: i64 = 1023;

    if let Some(value) = pole_or_outside(x) {
        return value;
    }
    let bits = normalised_bits(x);
    let exponent = ((bits as i64) >> MANTISSA_BITS) - BIAS;
    // A negative exponent moves towards zero, with the mantissa in [0.5, 1) instead of [1, 2), so
    // that the two terms do not cancel just below one.
    let below_one = i64::from(exponent < 0);
    let scale = (exponent + below_one) as f64;
    let field = ((BIAS - below_one) as u64) << MANTISSA_BITS;
    let mantissa = f64::from_bits((bits & MANTISSA_MASK) | field);
    let low = scale * LOG10_2_LO + INV_LN10 * log(mantissa);
    low + scale * LOG10_2_HI
}
