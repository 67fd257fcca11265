//! Which instructions the kernels may use.

use visus_metrics::Level;

use crate::RequestError;

/// The variable that lowers the level: `scalar`, `avx2`, `avx512` or `neon`.
pub const VARIABLE: &str = "VISUS_CPU";

/// The best level of this machine, lowered by the environment. A value that names no level is an error, in every front end:
/// whoever sets the variable wants to know that it has no effect.
pub fn from_environment() -> Result<Level, RequestError> {
    lowered(std::env::var(VARIABLE).ok().as_deref())
}

/// The same for a value that was read elsewhere.
pub fn lowered(value: Option<&str>) -> Result<Level, RequestError> {
    let best = Level::detect();
    match value.filter(|text| !text.is_empty()) {
        None => Ok(best),
        Some(text) => match text.parse::<Level>() {
            Ok(level) => Ok(best.lowered_to(level)),
            Err(error) => Err(RequestError::CpuLevel(format!("{VARIABLE}={text:?}: {error}"))),
        },
    }
}

/// The level that libvmaf's bits for AVX2 and AVX-512 (`--cpumask`) leave.
pub fn masked(level: Level, cpumask: u64) -> Level {
    const AVX2: u64 = 1 << 3;
    const AVX512: u64 = 1 << 4;
    if cpumask & AVX2 != 0 {
        level.lowered_to(Level::Scalar)
    } else if cpumask & AVX512 != 0 {
        level.lowered_to(Level::Avx2)
    } else {
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_names_no_level_is_an_error() {
        assert_eq!(lowered(None), Ok(Level::detect()));
        assert_eq!(lowered(Some("")), Ok(Level::detect()));
        assert_eq!(lowered(Some("scalar")), Ok(Level::Scalar));
        let error = lowered(Some("nonsense")).unwrap_err().to_string();
        assert!(error.starts_with("VISUS_CPU=\"nonsense\": ") && error.contains("scalar"), "{error}");
    }

    #[test]
    fn masks_lower_the_level() {
        assert_eq!(masked(Level::Scalar, 0), Level::Scalar);
        assert_eq!(masked(Level::detect(), u64::MAX), Level::Scalar);
    }
}
