//! The passes over strips, compiled with the features of a level.

/// Compiles [`add_luma`](super::strips::add_luma) for a level, whose features were detected before a value of it was made.
macro_rules! luma_pass {
    ($level:ty, $features:literal) => {
        pub fn add_luma(
            s: $level,
            pictures: &$crate::xpsnr::vectors::Luma<'_>,
            strips: &[$crate::xpsnr::strips::Strip],
            down: (std::ops::Range<usize>, std::ops::Range<usize>),
            out: &mut [$crate::xpsnr::vectors::Sums],
        ) {
            #[target_feature(enable = $features)]
            fn run(
                s: $level,
                pictures: &$crate::xpsnr::vectors::Luma<'_>,
                strips: &[$crate::xpsnr::strips::Strip],
                down: (std::ops::Range<usize>, std::ops::Range<usize>),
                out: &mut [$crate::xpsnr::vectors::Sums],
            ) {
                $crate::xpsnr::strips::add_luma(s, pictures, strips, down, out);
            }
            // SAFETY: the features were detected before `s` was made.
            unsafe { run(s, pictures, strips, down, out) }
        }
    };
}
pub(super) use luma_pass;

/// The same of [`add_errors`](super::strips::add_errors).
macro_rules! error_pass {
    ($level:ty, $features:literal) => {
        pub fn add_errors(
            s: $level,
            pair: [visus_video::Plane<'_, u8>; 2],
            strips: &[$crate::xpsnr::strips::Strip],
            down: std::ops::Range<usize>,
            out: &mut [u64],
        ) {
            #[target_feature(enable = $features)]
            fn run(
                s: $level,
                pair: [visus_video::Plane<'_, u8>; 2],
                strips: &[$crate::xpsnr::strips::Strip],
                down: std::ops::Range<usize>,
                out: &mut [u64],
            ) {
                $crate::xpsnr::strips::add_errors(s, pair, strips, down, out);
            }
            // SAFETY: the features were detected before `s` was made.
            unsafe { run(s, pair, strips, down, out) }
        }
    };
}
pub(super) use error_pass;
