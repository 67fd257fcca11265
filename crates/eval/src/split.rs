//! Which rows belong to which split, decided by each row's key alone.

use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::EvalError;

/// A part of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    Train,
    Val,
    #[default]
    Test,
    All,
}

impl Split {
    pub const NAMES: [&'static str; 4] = ["train", "val", "test", "all"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
            Self::All => "all",
        }
    }

    /// Where a key belongs: the first 8 bytes of a SHA-256, big-endian, as a part of 2^64. Below 0.1 is test, below 0.2
    /// is val, the rest is train.
    pub fn of(key: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(b"vmaf-train-splits-v1:").chain_update(key).finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        let part = u64::from_be_bytes(first) as f64 / 2f64.powi(64);
        match part {
            part if part < 0.1 => Self::Test,
            part if part < 0.2 => Self::Val,
            _ => Self::Train,
        }
    }

    pub fn contains(self, key: &[u8]) -> bool {
        self == Self::All || Self::of(key) == self
    }
}

impl FromStr for Split {
    type Err = EvalError;

    fn from_str(text: &str) -> Result<Self, EvalError> {
        let known = [Self::Train, Self::Val, Self::Test, Self::All];
        known.into_iter().find(|split| split.name() == text).ok_or_else(|| EvalError::Split(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fall_where_a_plain_calculation_puts_them() {
        // hashlib.sha256(b"vmaf-train-splits-v1:" + key).digest()[:8] over 2^64.
        for (key, split) in KNOWN {
            assert_eq!(Split::of(key.as_bytes()), split, "{key}");
        }
    }

    const KNOWN: [(&str, Split); 7] = [
        ("", Split::Test),
        ("a", Split::Train),
        ("ü", Split::Train),
        ("clip_3", Split::Val),
        ("clip_9", Split::Test),
        ("clip_10", Split::Val),
        ("clip_11", Split::Test),
    ];

    #[test]
    fn words() {
        assert_eq!("val".parse::<Split>().ok(), Some(Split::Val));
        let error = "foo".parse::<Split>().unwrap_err().to_string();
        assert_eq!(error, "split must be one of ('train', 'val', 'test', 'all'); got 'foo'");
    }
}
