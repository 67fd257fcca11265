//! What every kernel file shares: loads and stores that check their bounds, memory that starts at a cache line, and the
//! macro that makes one test per CPU level.
//!
//! The intrinsics themselves are safe inside a `#[target_feature]` function; only memory access is not. It stands here,
//! so that a kernel file is left with a single kind of unsafe block: the call from safe code into its first
//! `#[target_feature]` function, sound because [`Level`](crate::Level) was detected. A bounds check costs nothing where
//! the compiler can see the length: cut slices to one common length before a loop.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod adder;
#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
mod bits;
mod column;
mod grid;
mod lines;
#[cfg(target_arch = "aarch64")]
pub mod neon;
mod target;
#[cfg(test)]
mod tests;
mod vector;
mod words;
#[cfg(target_arch = "x86_64")]
pub mod x86;

pub use adder::{Adder, OnMultipliers, Plain};
pub use bits::highest_bits;
pub use column::Column;
pub use grid::{Cells, Grid, GridMut};
pub use lines::Lines;
pub use target::Target;
pub use vector::{Splats, Vector};
pub use words::{Words, load_words};

/// Numbers that vectors are made of: no padding, every bit pattern is a value.
///
/// # Safety
/// Implementors must be plain numbers in that sense, of at most eight bytes.
pub unsafe trait Number: Copy + Default + 'static {}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a primitive number has no padding and no invalid bit patterns.
            unsafe impl Number for $number {}
        )*
    };
}
numbers!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Asks for the cache line of a value that will be read soon, on machines where plain code can; beyond the end it does nothing.
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE belongs to every x86-64 processor.
    unsafe {
        x86::prefetch(values, at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// The same into the second level of the caches, for what is read so much later that the first would have lost it by then.
#[inline(always)]
pub fn prefetch_l2<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE belongs to every x86-64 processor.
    unsafe {
        x86::prefetch_l2(values, at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Operations of a level that are an expression of intrinsics. Used in an `impl` for a proof that the level was detected.
macro_rules! operations {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $result:ty { $body:expr })*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $kind),*) -> $result {
                // SAFETY: the features were detected before `self` was made.
                unsafe { $body }
            }
        )*
    };
}
pub(crate) use operations;

/// Makes one test per CPU level that this architecture has; a level that the machine lacks is passed over
/// unless `VISUS_REQUIRE` names it.
///
/// ```ignore
/// level_tests! {
///     fn sums_equal_the_truth(level) {
///         assert_eq!(sums(level), truth());
///     }
/// }
/// ```
#[cfg(test)]
macro_rules! level_tests {
    ($(fn $name:ident($level:ident) $body:block)*) => {
        $(
            mod $name {
                #[allow(unused_imports, reason = "not every test uses what stands around it")]
                use super::*;

                fn check($level: $crate::Level) $body

                #[test]
                fn scalar() {
                    check($crate::Level::Scalar);
                }

                #[cfg(target_arch = "aarch64")]
                #[test]
                fn neon() {
                    $crate::simd::with_level($crate::Level::Neon, check);
                }

                #[cfg(target_arch = "x86_64")]
                #[test]
                fn avx2() {
                    $crate::simd::with_level($crate::Level::Avx2, check);
                }

                #[cfg(target_arch = "x86_64")]
                #[test]
                fn avx512() {
                    $crate::simd::with_level($crate::Level::Avx512, check);
                }
            }
        )*
    };
}
#[cfg(test)]
pub(crate) use level_tests;

/// Runs `check` where the machine has the level; see [`pass_over`](crate::testing::pass_over).
#[cfg(test)]
pub fn with_level(level: crate::Level, check: impl FnOnce(crate::Level)) {
    if crate::Level::available().contains(&level) {
        check(level);
    } else {
        crate::testing::pass_over(&level.to_string());
    }
}
