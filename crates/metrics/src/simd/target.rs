//! Plain code, compiled once for each CPU level.
//!
//! The compiler vectorises loops over slices, but only with the instructions that the surrounding function may use.
//! [`Target::run`] calls a closure from inside a `#[target_feature]` function of the level: the closure, and every
//! `#[inline(always)]` function below it, is then compiled for that level. Rust never fuses a product and a sum on its
//! own, so results do not depend on the level; a deliberate [`f64::mul_add`] becomes one instruction where the level
//! has it.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "kernels: see the SAFETY notes"))]

use crate::Level;

/// A level that this machine was found to have. Made once per extractor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target(Level);

impl Target {
    /// The level, or the best one below it that the machine has.
    pub fn new(level: Level) -> Self {
        let below = Level::available().into_iter().filter(|available| *available <= level);
        Self(below.max().unwrap_or(Level::Scalar))
    }

    /// Whether [`f64::mul_add`] is an instruction, and vectors have four lanes of `f64` or more.
    pub fn is_wide(self) -> bool {
        matches!(self.0, Level::Avx2 | Level::Avx512)
    }

    /// Proof of AVX-512, where this is the level.
    #[cfg(target_arch = "x86_64")]
    pub fn avx512(self) -> Option<super::avx512::Avx512> {
        super::avx512::Avx512::new(self.0)
    }

    /// How many `f32` a vector holds.
    pub fn lanes_of_singles(self) -> usize {
        match self.0 {
            Level::Avx512 => 16,
            Level::Avx2 => 8,
            Level::Scalar | Level::Neon => 4,
        }
    }

    /// Calls `kernel`, which must be marked `#[inline(always)]` to become part of the level's code. Worth it for a
    /// plane or a frame; for a row the call costs as much as it brings.
    #[inline]
    pub fn run<R>(self, kernel: impl FnOnce() -> R) -> R {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level was detected when `self` was made.
            Level::Avx512 => unsafe { avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level was detected when `self` was made.
            Level::Avx2 => unsafe { avx2(kernel) },
            // On aarch64 NEON belongs to every target, so there is nothing to add.
            _ => kernel(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi1,bmi2,popcnt")]
fn avx512<R>(kernel: impl FnOnce() -> R) -> R {
    kernel()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
fn avx2<R>(kernel: impl FnOnce() -> R) -> R {
    kernel()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::level_tests;

    level_tests! {
        fn products_and_sums_stay_apart(level) {
            // 1 + 2^-30, squared: the last bit is lost unless the product is fused with the difference.
            let values = [1.0 + 2.0f64.powi(-30); 37];
            let mut rests = [0.0; 37];
            let mut fused = [0.0; 37];
            Target::new(level).run(
                #[inline(always)]
                || {
                    for ((rest, fused), value) in rests.iter_mut().zip(&mut fused).zip(values) {
                        *rest = value * value - (1.0 + 2.0f64.powi(-29));
                        *fused = value.mul_add(value, -(1.0 + 2.0f64.powi(-29)));
                    }
                },
            );
            assert_eq!(rests, [0.0; 37]);
            assert_eq!(fused, [2.0f64.powi(-60); 37]);
        }
    }

    #[test]
    fn a_target_is_never_above_the_machine() {
        for level in [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512] {
            let Target(chosen) = Target::new(level);
            assert!(chosen <= level && Level::available().contains(&chosen));
        }
    }
}
