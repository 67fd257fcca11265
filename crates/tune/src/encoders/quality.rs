//! A quality setting, in quarters: some encoders take fractions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A quality setting such as 23 or 23.25.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "f64")]
pub struct Quality(i32);

/// Parts of a whole number.
pub(super) const PARTS: i32 = 4;

impl Quality {
    pub(super) const fn of_quarters(quarters: i32) -> Self {
        Self(quarters)
    }

    pub(super) const fn quarters(self) -> i32 {
        self.0
    }

    /// Without its fraction.
    pub const fn whole(self) -> i32 {
        self.0.div_euclid(PARTS)
    }

    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(PARTS)
    }

    const fn is_whole(self) -> bool {
        self.0 % PARTS == 0
    }
}

impl From<i32> for Quality {
    fn from(whole: i32) -> Self {
        Self(whole.saturating_mul(PARTS))
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() { self.whole().fmt(f) } else { self.value().fmt(f) }
    }
}

impl Serialize for Quality {
    /// Whole numbers without a point.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_whole() {
            serializer.serialize_i32(self.whole())
        } else {
            serializer.serialize_f64(self.value())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_point() {
        let text = |quality: Quality| (quality.to_string(), serde_json::to_string(&quality).unwrap());
        assert_eq!(text(23.into()), ("23".into(), "23".into()));
        assert_eq!(text(Quality::of_quarters(93)), ("23.25".into(), "23.25".into()));
        assert_eq!(text(Quality::of_quarters(-2)), ("-0.5".into(), "-0.5".into()));
        assert_eq!(Quality::of_quarters(95).whole(), 23);
    }
}
