//! The angle of a point.
//!
//! The quotient `u` of the smaller coordinate by the larger one is at most one and is known with
//! its rounding error. Its arc tangent comes from a polynomial if `u < 1/16`, otherwise from a
//! Taylor polynomial about the nearest of 241 table points; the angle is that, or pi/2 or pi
//! plus or minus that.

use super::tables::atan::ATAN;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// What rounding pi/2 to a double loses.
const FRAC_PI_2_LOW: f64 = f64::from_bits(0x3c91_a626_3314_5c07);
/// What rounding pi to a double loses.
const PI_LOW: f64 = 2.0 * FRAC_PI_2_LOW;
/// 3/4 pi.
const FRAC_3_PI_4: f64 = f64::from_bits(0x4002_d97c_7f33_21d2);
/// Below this quotient a polynomial needs no table.
const WITHOUT_TABLE: f64 = 0.0625;
/// Coefficients of `u^3`, `u^5`, ... of the arc tangent of a small `u`.
const SMALL: [f64; 6] = [
    f64::from_bits(0xbfd5_5555_5555_5555),
    f64::from_bits(0x3fc9_9999_9999_97fd),
    f64::from_bits(0xbfc2_4924_923f_7603),
    f64::from_bits(0x3fbc_71c6_e512_9a3b),
    f64::from_bits(0xbfb7_4580_22b1_3c25),
    f64::from_bits(0x3fb3_75f0_8b31_cbce),
];

/// The angle of the point `(x, y)`, between -pi and pi, with the special values of C.
///
/// ```text
/// atan2(+-0, x > 0 or +0) = +-0, atan2(+-0, x < 0 or -0) = +-pi
/// atan2(+-y, +-0) = +-pi/2, and the multiples of pi/4 where both are infinite
/// ```
pub fn atan2(y: f64, x: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let angle = axis_or_infinite(y, x).unwrap_or_else(|| finite_angle(y.abs(), x));
    angle.copysign(y)
}

/// The magnitude of the angle where a coordinate is zero or infinite.
fn axis_or_infinite(y: f64, x: f64) -> Option<f64> {
    let left = x.is_sign_negative();
    if x.is_infinite() && y.is_infinite() {
        Some(if left { FRAC_3_PI_4 } else { FRAC_PI_4 })
    } else if y == 0.0 || x.is_infinite() {
        Some(if left { PI } else { 0.0 })
    } else if x == 0.0 || y.is_infinite() {
        Some(FRAC_PI_2)
    } else {
        None
    }
}

/// The magnitude of the angle for finite coordinates other than zero, `ay` positive.
fn finite_angle(ay: f64, x: f64) -> f64 {
    /// With exponents this far apart the smaller coordinate hardly matters.
    const FAR_APART: i64 = 57;
    let ax = x.abs();
    let exponent = |v: f64| (v.to_bits() >> 52) as i64;
    let apart = exponent(ay) - exponent(ax);
    if apart >= FAR_APART {
        return FRAC_PI_2;
    }
    if apart <= -FAR_APART {
        return if x > 0.0 { ay / ax } else { PI };
    }
    let (ay, ax) = to_middle_range(ay, ax);
    if x > 0.0 {
        if ay < ax {
            atan(Quotient::new(ay, ax))
        } else {
            offset_atan(FRAC_PI_2, FRAC_PI_2_LOW, Quotient::new(ax, ay).negated())
        }
    } else if ax < ay {
        offset_atan(FRAC_PI_2, FRAC_PI_2_LOW, Quotient::new(ax, ay))
    } else {
        // With equal coordinates either order gives the quotient one.
        offset_atan(PI, PI_LOW, Quotient::new(ay, ax).negated())
    }
}

/// Scales both coordinates such that products neither overflow nor lose bits.
fn to_middle_range(ay: f64, ax: f64) -> (f64, f64) {
    /// 2^500 and 2^-500.
    const UP: f64 = f64::from_bits((1023 + 500) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 500) << 52);
    let (mut ay, mut ax) = (ay, ax);
    if ax < DOWN || ay < DOWN {
        (ay, ax) = (ay * UP, ax * UP);
    }
    if ax > UP || ay > UP {
        (ay, ax) = (ay * DOWN, ax * DOWN);
    }
    (ay, ax)
}

/// A quotient between zero and one, its rounding error, and the sign to use it with.
struct Quotient {
    u: f64,
    lost: f64,
    sign: f64,
}

impl Quotient {
    /// Divides the smaller by the larger of two positive numbers.
    fn new(smaller: f64, larger: f64) -> Self {
        let u = smaller / larger;
        let product = larger * u;
        let product_lost = larger.mul_add(u, -product);
        let lost = ((smaller - product) - product_lost) / larger;
        Self { u, lost, sign: 1.0 }
    }

    fn negated(self) -> Self {
        Self { sign: -1.0, ..self }
    }
}

/// The polynomial of [`SMALL`] in `u^2`.
#[inline]
fn small_poly(u2: f64) -> f64 {
    let c = &SMALL;
    c[5].mul_add(u2, c[4]).mul_add(u2, c[3]).mul_add(u2, c[2]).mul_add(u2, c[1]).mul_add(u2, c[0])
}

/// The table row for a `u` in `[1/16, 1]`.
#[inline]
fn row(u: f64) -> [f64; 7] {
    /// Adding this to a small double leaves its nearest integer in the low bits of the sum: 2^52.
    const TO_INTEGER: f64 = (1u64 << 52) as f64;
    const INTEGER_MASK: u64 = 0x1ff;
    const FIRST: usize = 16;
    let index = ((256.0 * u + TO_INTEGER).to_bits() & INTEGER_MASK) as usize;
    ATAN[index - FIRST].map(f64::from_bits)
}

/// The arc tangent of a quotient.
fn atan(quotient: Quotient) -> f64 {
    let Quotient { u, lost, .. } = quotient;
    if u < WITHOUT_TABLE {
        let u2 = u * u;
        return u + (u * u2).mul_add(small_poly(u2), lost);
    }
    let [centre, value, c1, c2, c3, c4, c5] = row(u);
    let distance = u - centre;
    let v = distance + lost;
    let v_lost = if distance.abs() > lost.abs() { (distance - v) + lost } else { (lost - v) + distance };
    let poly = c5.mul_add(v, c4).mul_add(v, c3).mul_add(v, c2);
    let rest = v_lost.mul_add(c1, (v * v) * poly);
    value + v.mul_add(c1, rest)
}

/// `offset + offset_low +- atan(quotient)`, with the sign of the quotient.
fn offset_atan(offset: f64, offset_low: f64, quotient: Quotient) -> f64 {
    let Quotient { u, lost, sign } = quotient;
    if u < WITHOUT_TABLE {
        let u2 = u * u;
        let cubic = (u * u2) * small_poly(u2);
        let high = offset + sign * u;
        let high_lost = (offset - high) + sign * u;
        let low = ((offset_low + high_lost) + sign * lost) + sign * cubic;
        return high + low;
    }
    let [centre, value, c1, c2, c3, c4, c5] = row(u);
    let v = (u - centre) + lost;
    let poly = c5.mul_add(v, c4).mul_add(v, c3).mul_add(v, c2).mul_add(v, c1);
    (offset + sign * value) + poly.mul_add(sign * v, offset_low)
}
