//! Single precision functions, computed in double precision and rounded once.

use super::tables::single::{EXP2_POLY, EXP2_POWERS, LOG2_CENTRES, LOG2F_POLY, POWF_LOG2_POLY};

/// Bits below the exponent field of a float.
const MANTISSA_BITS: u32 = 23;
/// log2 of the number of entries of the logarithm table.
const LOG_TABLE_BITS: u32 = 4;
/// Bits of 0.699..., the low end of the logarithm table.
const LOG_TABLE_LOW: u32 = 0x3f33_0000;
/// Sign and exponent field of a float.
const TOP_MASK: u32 = 0x1ff << MANTISSA_BITS;

/// What both logarithms start from: `log2 x = base + log2(1 + r)` with a small `r`.
struct LogStart {
    r: f64,
    base: f64,
}

/// Splits a positive finite `x` into a power of two, a table value and the rest.
#[inline]
fn log_start(x: f32) -> LogStart {
    if x < f32::MIN_POSITIVE {
        // Subnormal: borrow an exponent below the range of the exponent field.
        let scaled = x * (1u32 << MANTISSA_BITS) as f32;
        log_start_of_bits(scaled.to_bits().wrapping_sub(MANTISSA_BITS << MANTISSA_BITS))
    } else {
        log_start_of_bits(x.to_bits())
    }
}

#[inline(always)]
fn log_start_of_bits(bits: u32) -> LogStart {
    let above_low = bits.wrapping_sub(LOG_TABLE_LOW);
    let intervals = above_low >> (MANTISSA_BITS - LOG_TABLE_BITS);
    let index = (intervals & ((1 << LOG_TABLE_BITS) - 1)) as usize;
    let mantissa = f32::from_bits(bits.wrapping_sub(above_low & TOP_MASK));
    let exponent = (above_low as i32) >> MANTISSA_BITS;
    let [inverse, log_c] = LOG2_CENTRES[index].map(f64::from_bits);
    LogStart { r: f64::from(mantissa).mul_add(inverse, -1.0), base: log_c + f64::from(exponent) }
}

/// The binary logarithm of a float.
///
/// ```text
/// log2f(+-0) = -inf, log2f(inf) = inf, log2f(x < 0) = NaN, log2f(NaN) = NaN
/// ```
#[inline]
pub fn log2f(x: f32) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return if x == 0.0 {
            f32::NEG_INFINITY
        } else if x > 0.0 {
            x
        } else {
            f32::NAN
        };
    }
    let LogStart { r, base } = log_start(x);
    let r2 = r * r;
    let c = &LOG2F_POLY;
    let quadratic = c[0].mul_add(r2, c[1].mul_add(r, c[2]));
    let linear = c[3].mul_add(r, base);
    quadratic.mul_add(r2, linear) as f32
}

/// `x` to the power `y` for floats, with the special values of C (see [`pow`](fn@super::pow)).
pub fn powf(x: f32, y: f32) -> f32 {
    let ordinary_x = (f32::MIN_POSITIVE..f32::INFINITY).contains(&x);
    let ordinary_y = y != 0.0 && y.is_finite();
    if !(ordinary_x && ordinary_y)
        && let Some(value) = powf_special(x, y)
    {
        return value;
    }
    let power = exp2_rounded(f64::from(y) * powf_log2(x.abs()));
    if x < 0.0 && is_odd(y) { -power } else { power }
}

/// [`powf`] where no case is special: `x` is positive and normal, `y` finite, and the power is a normal float. It has no
/// branches, so that a loop over it can become vectors.
#[inline(always)]
pub fn powf_in_range(x: f32, y: f32) -> f32 {
    exp2_in_range(f64::from(y) * log2_of_start(log_start_of_bits(x.to_bits())))
}

/// The power where it does not come from the exponential of a product.
#[cold]
fn powf_special(x: f32, y: f32) -> Option<f32> {
    if y == 0.0 || x == 1.0 {
        return Some(1.0);
    }
    if x.is_nan() || y.is_nan() {
        return Some(f32::NAN);
    }
    if y.is_infinite() {
        let magnitude = x.abs();
        return Some(if magnitude == 1.0 {
            1.0
        } else if (magnitude > 1.0) == (y > 0.0) {
            f32::INFINITY
        } else {
            0.0
        });
    }
    if x == 0.0 || x.is_infinite() {
        let value = if (x == 0.0) == (y > 0.0) { 0.0 } else { f32::INFINITY };
        let negative = x.is_sign_negative() && is_odd(y);
        return Some(if negative { -value } else { value });
    }
    (x < 0.0 && y.trunc() != y).then_some(f32::NAN)
}

/// Whether `y` is an odd integer.
fn is_odd(y: f32) -> bool {
    /// From here on all floats are even: 2^24.
    const ALL_EVEN: f32 = (1u32 << 24) as f32;
    y.abs() < ALL_EVEN && y.trunc() == y && (y as i32) & 1 == 1
}

/// `log2 x` of a positive finite `x`, with more terms than [`log2f`] has.
#[inline]
fn powf_log2(x: f32) -> f64 {
    log2_of_start(log_start(x))
}

#[inline(always)]
fn log2_of_start(start: LogStart) -> f64 {
    let LogStart { r, base } = start;
    let c = &POWF_LOG2_POLY;
    let r2 = r * r;
    let top = c[0].mul_add(r, c[1]);
    let middle = c[2].mul_add(r, c[3]);
    let linear = c[4].mul_add(r, base);
    top.mul_add(r2 * r2, middle.mul_add(r2, linear))
}

/// `2^x` rounded to a float.
#[inline]
fn exp2_rounded(x: f64) -> f32 {
    /// Above this the result rounds to more than the largest float.
    const OVERFLOW: f64 = f64::from_bits(0x405f_ffff_ffd1_d571);
    /// From here down the result rounds to zero, ...
    const UNDERFLOW: f64 = -150.0;
    /// ... and below this to the smallest float.
    const LAST_STEP: f64 = -149.0;

    if x > OVERFLOW {
        return f32::INFINITY;
    } else if x <= UNDERFLOW {
        return 0.0;
    } else if x < LAST_STEP {
        return f32::from_bits(1);
    }
    exp2_in_range(x)
}

#[inline(always)]
fn exp2_in_range(x: f64) -> f32 {
    const TABLE_BITS: u32 = 5;
    /// Adding this to a small double rounds it to a multiple of 1/32, with the number of these
    /// in the low bits of the sum: 1.5 * 2^52 / 32.
    const TO_STEPS: f64 = 211_106_232_532_992.0;
    let shifted = x + TO_STEPS;
    let steps = shifted.to_bits();
    let r = x - (shifted - TO_STEPS);
    let power = EXP2_POWERS[(steps & ((1 << TABLE_BITS) - 1)) as usize];
    let scale = f64::from_bits(power.wrapping_add(steps << (52 - TABLE_BITS)));
    let c = &EXP2_POLY;
    let r2 = r * r;
    let value = c[0].mul_add(r, c[1]).mul_add(r2, c[2].mul_add(r, 1.0));
    (value * scale) as f32
}
