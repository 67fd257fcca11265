//! Results against recorded ones of the reference, bit for bit; these run on any platform.

mod vectors;

use super::log::log;
use super::{atan2, cos, exp, log2, log2f, log10, pow, powf, sin};

/// Whether a result is the recorded one; every NaN is as good as another.
fn agree(result: f64, recorded: f64) -> bool {
    result.to_bits() == recorded.to_bits() || (result.is_nan() && recorded.is_nan())
}

fn agree_single(result: f32, recorded: f32) -> bool {
    result.to_bits() == recorded.to_bits() || (result.is_nan() && recorded.is_nan())
}

fn check_unary(name: &str, function: fn(f64) -> f64, vectors: &[(u64, u64)]) {
    assert!(vectors.len() >= 200, "{name}: too few vectors");
    for &(x, recorded) in vectors {
        let (x, recorded) = (f64::from_bits(x), f64::from_bits(recorded));
        let result = function(x);
        assert!(agree(result, recorded), "{name}({x:e}) = {result:e}, not {recorded:e}");
    }
}

fn check_binary(name: &str, function: fn(f64, f64) -> f64, vectors: &[(u64, u64, u64)]) {
    assert!(vectors.len() >= 200, "{name}: too few vectors");
    for &(x, y, recorded) in vectors {
        let [x, y, recorded] = [x, y, recorded].map(f64::from_bits);
        let result = function(x, y);
        assert!(agree(result, recorded), "{name}({x:e}, {y:e}) = {result:e}, not {recorded:e}");
    }
}

#[test]
fn exp_matches_reference() {
    check_unary("exp", exp, vectors::EXP);
}

#[test]
fn log_matches_reference() {
    check_unary("log", log, vectors::LOG);
}

#[test]
fn log2_matches_reference() {
    check_unary("log2", log2, vectors::LOG2);
}

#[test]
fn log10_matches_reference() {
    check_unary("log10", log10, vectors::LOG10);
}

#[test]
fn sin_matches_reference() {
    check_unary("sin", sin, vectors::SIN);
}

#[test]
fn cos_matches_reference() {
    check_unary("cos", cos, vectors::COS);
}

#[test]
fn pow_matches_reference() {
    check_binary("pow", pow, vectors::POW);
}

#[test]
fn atan2_matches_reference() {
    check_binary("atan2", atan2, vectors::ATAN2);
}

#[test]
fn log2f_matches_reference() {
    for &(x, recorded) in vectors::LOG2F {
        let [x, recorded] = [x, recorded].map(f32::from_bits);
        let result = log2f(x);
        assert!(agree_single(result, recorded), "log2f({x:e}) = {result:e}, not {recorded:e}");
    }
}

#[test]
fn powf_matches_reference() {
    for &(x, y, recorded) in vectors::POWF {
        let [x, y, recorded] = [x, y, recorded].map(f32::from_bits);
        let result = powf(x, y);
        assert!(agree_single(result, recorded), "powf({x:e}, {y:e}) = {result:e}, not {recorded:e}");
    }
}

/// Angles beyond the range reduced as in the reference: the squares must still add up to one and
/// known values of huge arguments come out right.
#[test]
fn huge_angles_are_reduced_accurately() {
    // Of all doubles this one is nearest to a multiple of pi/2. Its cosine, correctly rounded:
    // here the reference itself is several units off.
    let worst = f64::from_bits(0x7506_ac5b_262c_a1ff);
    assert!(agree(cos(worst), f64::from_bits(0xbc21_4ae7_2e6b_a22f)));
    for exponent in [27, 64, 100, 500, 1023] {
        let x = f64::from_bits((1023 + exponent) << 52) * 1.25;
        let unit = sin(x).mul_add(sin(x), cos(x) * cos(x));
        assert!((unit - 1.0).abs() <= f64::EPSILON, "{x:e}: {unit:e}");
        assert!(agree(sin(-x), -sin(x)) && agree(cos(-x), cos(x)));
    }
}
