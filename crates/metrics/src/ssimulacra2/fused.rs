//! Fused multiply-add in `f32`, on processors with and without it.

/// How `a * b + c` is computed with a single rounding. All ways give the same bits; kernels are generic over them, so
/// that they can be compiled once more for processors that turn out to have the instruction.
pub trait Fused {
    fn fused(a: f32, b: f32, c: f32) -> f32;
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
    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let certain = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
        if certain { Instruction::fused(a, b, c) } else { by_double(a, b, c) }
    }
}

/// In `f64` the product is exact, and the sum is rounded once before it is rounded to `f32`. That is once too often only
/// if the first rounding ended midway between two `f32` numbers, or below the normal ones, which have fewer bits.
#[inline(always)]
fn by_double(a: f32, b: f32, c: f32) -> f32 {
    const DROPPED: u64 = (1 << 29) - 1;
    const MIDWAY: u64 = 1 << 28;
    let sum = f64::from(a) * f64::from(b) + f64::from(c);
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
        let (fused, double) = (a.mul_add(b, c), by_double(a, b, c));
        fused.to_bits() == double.to_bits() || (fused.is_nan() && double.is_nan())
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
