//! Table figures of the elementary functions.
//!
//! Tables hold the bits of doubles: a double read back with [`f64::from_bits`] costs nothing and
//! no decimal notation comes between the figure and its value. Layout is by hand, one row per
//! line, hence the `rustfmt::skip` marks.

pub mod atan;
pub mod exp;
pub mod log;
pub mod log2;
pub mod pow;
pub mod sincos;
pub mod single;
