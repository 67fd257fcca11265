//! Numbers as C's `printf` writes them: feature names and reports are compared with libvmaf's text byte for byte.

/// `%.{precision}g`.
pub fn general(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return non_finite(value);
    }
    let precision = precision.max(1);
    let scientific = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.unsigned_abs());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    without_trailing_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// `%.{decimals}f`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { non_finite(value) }
}

fn non_finite(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" })
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_is_c_general() {
        for (value, precision, text) in [
            (1.0, 6, "1"),
            (0.5, 6, "0.5"),
            (1.05f32 as f64, 6, "1.05"),
            (100000.0, 6, "100000"),
            (1000000.0, 6, "1e+06"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (0.0, 6, "0"),
            (-0.0, 6, "-0"),
            (123456.5, 6, "123456"),
            (97.42804264261031, 17, "97.428042642610308"),
            (f64::NEG_INFINITY, 6, "-inf"),
            (f64::NAN.copysign(1.0), 6, "nan"),
        ] {
            assert_eq!(general(value, precision), text);
        }
    }

    #[test]
    fn fixed_is_c_fixed() {
        assert_eq!(fixed(0.1234565, 6), "0.123456");
        assert_eq!(fixed(0.1234575, 6), "0.123457");
        assert_eq!(fixed(2.5, 0), "2");
        assert_eq!(fixed(f64::NAN.copysign(-1.0), 6), "-nan");
    }
}
