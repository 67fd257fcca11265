//! Additions that keep both kinds of arithmetic units busy.
//!
//! Where rounded products are summed in `f64`, conversions and additions share the adders of a processor while its
//! multipliers idle. A fused multiply-add by 1 is an addition to the last bit, but some processors (AMD's since Zen)
//! run it on the multipliers.

use std::hint::black_box;

/// Adds two numbers.
pub trait Adder: Copy {
    fn add(self, sum: f64, term: f64) -> f64;
}

/// On the adders.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Adder for Plain {
    #[inline(always)]
    fn add(self, sum: f64, term: f64) -> f64 {
        sum + term
    }
}

/// On the multipliers. Slow where [`f64::mul_add`] is not an instruction.
#[derive(Clone, Copy, Debug)]
pub struct OnMultipliers {
    one: f64,
}

impl OnMultipliers {
    pub fn new() -> Self {
        // If the compiler knew the factor, it would make an addition of it.
        Self { one: black_box(1.0) }
    }

    /// The factor.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn one(self) -> f64 {
        self.one
    }
}

impl Adder for OnMultipliers {
    #[inline(always)]
    fn add(self, sum: f64, term: f64) -> f64 {
        term.mul_add(self.one, sum)
    }
}
