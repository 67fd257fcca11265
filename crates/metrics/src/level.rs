//! Which instructions the kernels may use.

use std::fmt;
use std::str::FromStr;

/// A CPU level. Chosen once at the start and passed down as a value, so that a test, a user and a server choose it in
/// the same way. Levels are ordered: a higher one includes the lower ones of the same architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Plain Rust, on every machine.
    Scalar,
    /// aarch64 with NEON.
    Neon,
    /// x86-64 with AVX2 and FMA. VIF and motion also use AVX-VNNI where there is.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
}

impl Level {
    /// The best level of this machine.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            // Whatever has AVX2 counts bits as well.
            let bits = has!("bmi1") && has!("bmi2") && has!("popcnt");
            let avx2 = has!("avx2") && has!("fma") && bits;
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            if avx2 && wide && has!("avx512vnni") {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self::Neon;
        }
        Self::Scalar
    }

    /// Every level that this machine can run, lowest first.
    pub fn available() -> Vec<Self> {
        let best = Self::detect();
        let all = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];
        let native = |level: &Self| match level {
            Self::Scalar => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Avx2 | Self::Avx512 => cfg!(target_arch = "x86_64"),
        };
        all.into_iter().filter(|level| native(level) && *level <= best).collect()
    }

    /// This machine's best level, held down to `wanted`. A level can be lowered, never raised.
    pub fn lowered_to(self, wanted: Self) -> Self {
        Self::available().into_iter().filter(|level| *level <= self.min(wanted)).max().unwrap_or(Self::Scalar)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512]
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| format!("unknown CPU level '{text}': it must be scalar, neon, avx2 or avx512"))
    }
}
