//! With how many digits numbers are written.

use std::fmt;
use std::str::FromStr;

use visus_metrics::printf;

/// How a score is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// libvmaf's: six decimals, or sixteen where six would show nothing of a small fraction.
    #[default]
    Legacy,
    /// So many significant digits; 17 are enough to give the number back exactly.
    Digits(u8),
}

/// A text that is no precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid precision '{0}': it must be legacy, max, full or a number of digits from 1 to 17")]
pub struct PrecisionError(String);

impl FromStr for Precision {
    type Err = PrecisionError;

    fn from_str(text: &str) -> Result<Self, PrecisionError> {
        match text {
            "legacy" => Ok(Self::Legacy),
            "max" | "full" => Ok(Self::Digits(17)),
            digits => match digits.parse() {
                Ok(digits @ 1..=17) => Ok(Self::Digits(digits)),
                _ => Err(PrecisionError(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Legacy => f.write_str("legacy"),
            Self::Digits(digits) => write!(f, "{digits}"),
        }
    }
}

impl Precision {
    /// Every digit that gives the number back.
    pub const EXACT: Self = Self::Digits(17);

    /// The number that the text stands for.
    pub fn rounded(self, value: f64) -> f64 {
        if self == Self::EXACT { value } else { self.text(value).parse().unwrap_or(value) }
    }

    /// The number as text; not a number and infinities as C writes them.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Digits(digits) => printf::general(value, usize::from(digits)),
            Self::Legacy if has_tiny_fraction(value) => printf::fixed(value, 16),
            Self::Legacy => printf::fixed(value, 6),
        }
    }
}

/// Whether the first digit behind the point that is not 0 comes after the sixth. The fraction is multiplied step by
/// step, with the rounding this brings, since that is what decides it in libvmaf.
fn has_tiny_fraction(value: f64) -> bool {
    let value = value.abs();
    // What does not fit C's int becomes its smallest value there, and the fraction then is large.
    if value.is_nan() || value >= 2_147_483_648.0 {
        return false;
    }
    let mut fraction = value - value.trunc();
    let mut steps = 0;
    while fraction < 1.0 && fraction != 0.0 {
        fraction *= 10.0;
        steps += 1;
    }
    steps > 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_shows_small_fractions_in_full() {
        for (value, text) in [
            (97.42804264261031, "97.428043"),
            (1.0000003152470829, "1.0000003152470829"),
            (0.0000009, "0.0000009000000000"),
            (0.000001, "0.000001"),
            (3.0, "3.000000"),
            (-0.25, "-0.250000"),
            (f64::INFINITY, "inf"),
            (f64::NAN.copysign(-1.0), "-nan"),
            (1e10, "10000000000.000000"),
        ] {
            assert_eq!(Precision::Legacy.text(value), text);
        }
    }

    #[test]
    fn digits_are_significant_ones() {
        assert_eq!(Precision::Digits(3).text(97.42804264261031), "97.4");
        assert_eq!("max".parse::<Precision>().unwrap().text(0.1), "0.10000000000000001");
        assert_eq!(Precision::Legacy.rounded(93.123_456_789), 93.123457);
        assert_eq!(Precision::EXACT.rounded(0.1 + 0.2), 0.1 + 0.2);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "0", "18", "six", "-1"] {
            assert!(text.parse::<Precision>().is_err(), "{text}");
        }
        assert_eq!("full".parse::<Precision>(), Ok(Precision::Digits(17)));
    }
}
