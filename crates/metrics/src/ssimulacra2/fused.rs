//! Fused multiply-add in `f32`, on processors with and without it.

/// How `a * b + c` is computed with a single rounding. All ways give the same bits; kernels are generic over them, so
/// that they can be compiled once more for processors that turn out to have the instruction.
pub trait Fused {
    /// Whether it goes by way of `f64`. A loop then pays for looking at every sum, because of the branch: better is
    /// [`watched`](Self::watched) for a group of numbers, and the group once more with [`fused`](Self::fused) if it was spoilt.
    const BY_DOUBLE: bool = false;

    fn fused(a: f32, b: f32, c: f32) -> f32;

    /// The same where it is known that going by way of `f64` gives the same.
    #[inline(always)]
    fn known(a: f32, b: f32, c: f32) -> f32 {
        Self::fused(a, b, c)
    }

    /// The same, unless `spoilt` is not 0 afterwards.
    #[inline(always)]
    fn watched(a: f32, b: f32, c: f32, spoilt: &mut u32) -> f32 {
        let _ = spoilt;
        Self::fused(a, b, c)
    }
}

/// By the processor's instruction. Where the compiler may not use it, this is a call into a library, and slow.
#[derive(Clone, Copy, Debug)]
pub struct Instruction;

impl Fused for Instruction {
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// By the instruction if every processor that the program is compiled for has it, and by way of `f64` if not.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Fused for Portable {
    const BY_DOUBLE: bool = !cfg!(any(target_feature = "fma", target_arch = "aarch64"));

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        if Self::BY_DOUBLE { by_double(a, b, c) } else { Instruction::fused(a, b, c) }
    }

    #[inline(always)]
    fn known(a: f32, b: f32, c: f32) -> f32 {
        if Self::BY_DOUBLE { double_sum(a, b, c) as f32 } else { Instruction::fused(a, b, c) }
    }

    #[inline(always)]
    fn watched(a: f32, b: f32, c: f32, spoilt: &mut u32) -> f32 {
        if Self::BY_DOUBLE { watched_double(a, b, c, spoilt) } else { Instruction::fused(a, b, c) }
    }
}

#[inline(always)]
fn double_sum(a: f32, b: f32, c: f32) -> f64 {
    f64::from(a) * f64::from(b) + f64::from(c)
}

/// What [`by_double`] looks for, without a branch and in words of 32 bits: vectors without AVX have no more. Zeros count as
/// spoilt too, which saves a look at the sum: what is below the normal numbers may have become one.
#[inline(always)]
fn watched_double(a: f32, b: f32, c: f32, spoilt: &mut u32) -> f32 {
    const DROPPED: u32 = (1 << 29) - 1;
    const MIDWAY: u32 = 1 << 28;
    const LEAST: i32 = f32::MIN_POSITIVE.to_bits() as i32;
    let sum = double_sum(a, b, c);
    let rounded = sum as f32;
    let is_midway = sum.to_bits() as u32 & DROPPED == MIDWAY;
    let is_small = (rounded.to_bits() & !(1 << 31)) as i32 <= LEAST;
    *spoilt |= u32::from(is_midway) | u32::from(is_small);
    rounded
}

/// In `f64` the product is exact, and the sum is rounded once before it is rounded to `f32`. That is once too often only
/// if the first rounding ended midway between two `f32` numbers, or below the normal ones, which have fewer bits.
#[inline(always)]
fn by_double(a: f32, b: f32, c: f32) -> f32 {
    const DROPPED: u64 = (1 << 29) - 1;
    const MIDWAY: u64 = 1 << 28;
    let sum = double_sum(a, b, c);
    if sum.to_bits() & DROPPED == MIDWAY || sum.abs() < f64::from(f32::MIN_POSITIVE) {
        return a.mul_add(b, c);
    }
    sum as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(a: f32, b: f32, c: f32) -> bool {
        let fused = a.mul_add(b, c);
        let equal = |other: f32| fused.to_bits() == other.to_bits() || (fused.is_nan() && other.is_nan());
        let mut spoilt = 0;
        let watched = watched_double(a, b, c, &mut spoilt);
        equal(by_double(a, b, c)) && (spoilt != 0 || equal(watched))
    }

    #[test]
    fn a_sum_that_is_rounded_to_midway_is_not_rounded_again() {
        // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is midway between two numbers; the rest decides, and does not fit into f64.
        let a = 1.0 + 2f32.powi(-12);
        for rest in [2f32.powi(-60), -2f32.powi(-60), 2f32.powi(-80), -2f32.powi(-80)] {
            assert_eq!(by_double(a, a, rest) > 1.0 + 2f32.powi(-11), rest > 0.0, "{rest}");
            assert!(same(a, a, rest), "{rest}");
        }
        assert!(
            same(a, a, 0.0)
                && same(0.0, 1.0, -0.0)
                && same(2f32.powi(-75), a * 2f32.powi(-74), 2f32.powi(-149))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn both_ways_agree(a: f32, b: f32, c: f32) {
            prop_assert!(same(a, b, c), "{} {} {}", a, b, c);
        }

        #[test]
        fn both_ways_agree_where_much_cancels(a in -2f32..2.0, b in -2f32..2.0, bits in 0u32..64) {
            let near = ((f64::from(a) * f64::from(b)) as f32).to_bits().wrapping_add(bits);
            prop_assert!(same(a, b, -f32::from_bits(near)), "{} {} {}", a, b, bits);
        }
    }
}
