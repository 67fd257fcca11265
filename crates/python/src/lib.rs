//! The native half of the Python package `visus`.
//!
//! It is a front end like the others: it turns Python's arguments into a [`ScoreRequest`](visus_scoring::ScoreRequest) or
//! pushes frames into a [`FrameScorer`](visus_scoring::FrameScorer), and hands results back. What users import, with types
//! and documentation, is written in Python (`python/visus`); tables and objects cross the border as bytes and JSON, because
//! Python has better tools for both.
//!
//! Long calls run on a thread of their own, without the interpreter's lock, while the calling thread waits for Ctrl-C and
//! hands on progress ([`wait`]).
#![deny(unsafe_code)]

mod failure;
mod features;
mod frame;
mod memory;
mod options;
mod report;
mod scorer;
mod tables;
mod tune;
mod wait;
mod worst;

/// What stands as the version in reports, as the command line has it.
const VERSION: &str = concat!("visus-", env!("CARGO_PKG_VERSION"));

/// Scores, reports and searches; use the package `visus` around it.
#[pyo3::pymodule]
mod _visus {
    #[pymodule_export]
    use crate::features::features;
    #[pymodule_export]
    use crate::options::{check_format, cpu_level};
    #[pymodule_export]
    use crate::report::{Report, diff, read_report, score};
    #[pymodule_export]
    use crate::scorer::Scorer;
    #[pymodule_export]
    use crate::tables::{metrics, models};
    #[pymodule_export]
    use crate::tune::{compare, search};
    #[pymodule_export]
    use crate::wait::Cancel;
    #[pymodule_export]
    use crate::worst::worst;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
