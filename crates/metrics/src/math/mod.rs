//! Elementary functions with the same result on every platform.
//!
//! # Why
//!
//! A score must not depend on the C library of the machine that computes it. The `exp`, `pow`,
//! `log2`, ... of the standard library call the host's `libm`, and these libraries round the last
//! bit differently. The functions here use only IEEE 754 operations that are exactly specified
//! (addition, multiplication, division, fused multiply-add, conversions), so they give the same
//! bits everywhere.
//!
//! # What
//!
//! The bits they give are those of glibc 2.36 on x86-64 with FMA (with the fixes of its release
//! branch, which gave `log2` an FMA variant). None of these functions is correctly rounded in
//! every case: errors reach a little more than half a unit in the last place, in `log10` more. So
//! the reference is reached only by doing the same arithmetic in the same order, with the same
//! table figures, and fusing exactly the multiply-adds that were fused there. Every
//! [`f64::mul_add`] below is deliberate, and so is every place where a product and a sum stay
//! separate.
//!
//! The table driven functions follow the method published in Arm's *Optimized Routines*; `sin`,
//! `cos` and `atan2` follow the IBM *Accurate Mathematical Library*.
//!
//! # Limits
//!
//! * Rounding is to nearest, ties to even, as always in Rust.
//! * Where the result is NaN, its sign and payload are unspecified.
//! * `sin` and `cos` have the reference's bits for `|x| < 105_414_350`. Beyond that the argument
//!   is reduced by another method, at least as accurate; see `sin`.
//!
//! # Speed
//!
//! [`f64::mul_add`] is one instruction where the target has it and a slower, equally exact,
//! library call where it has not. [`exp`](fn@exp) and `log2` are inlined into their caller, so a caller compiled for a
//! target with FMA, or marked with that target feature, gets the fast form: about a tenth of the
//! time.

mod atan2;
mod exp;
mod log;
mod log2;
mod pow;
mod reduce;
mod single;
mod split;
mod tables;
#[cfg(test)]
mod tests;
mod trig;

pub(crate) use atan2::atan2;
pub use exp::exp;
pub(crate) use log::log10;
pub(crate) use log2::log2;
pub(crate) use pow::pow;
pub(crate) use single::{log2f, powf, powf_in_range};
pub(crate) use trig::{cos, sin};

/// The figures of [`powf`], for vectors that take its steps.
#[cfg(target_arch = "x86_64")]
pub(crate) mod powf_tables {
    pub(crate) use super::tables::single::{EXP2_POLY, EXP2_POWERS, LOG2_CENTRES, POWF_LOG2_POLY};
}
