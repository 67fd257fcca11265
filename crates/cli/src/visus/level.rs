//! The CPU level that a person asked for.

use visus_metrics::Level;

/// The variable that lowers the level: `scalar`, `avx2`, `avx512` or `neon`.
pub const VARIABLE: &str = "VISUS_CPU";

/// This machine's best level, lowered by the environment. A text that names no level is told and ignored.
pub fn from_environment() -> Level {
    let best = Level::detect();
    match std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) {
        None => best,
        Some(text) => match text.parse::<Level>() {
            Ok(level) => best.lowered_to(level),
            Err(error) => {
                eprintln!("{VARIABLE}: {error}");
                best
            }
        },
    }
}
