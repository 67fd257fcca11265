//! The kernel compiled for AVX-512.
#![allow(unsafe_code)]

use visus_video::{Plane, Sample};

use super::scalar::{self, Row};

/// See [`scalar::blurred_difference`]. The caller has detected AVX-512.
pub fn blurred_difference<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    depth: u32,
    row: &mut Row,
) -> u64 {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn run<T: Sample>(earlier: Plane<'_, T>, current: Plane<'_, T>, depth: u32, row: &mut Row) -> u64 {
        scalar::blurred_difference(earlier, current, depth, row)
    }
    // SAFETY: this function is chosen only at a level for which these features were detected.
    unsafe { run(earlier, current, depth, row) }
}
