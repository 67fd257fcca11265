//! The vector kernels for AVX-512.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use super::score::VifSums;
use super::vector::{self, Kind, Pixels, Ring, RowPair, Rows, Step, stages};
use crate::simd::avx512::Avx512;

stages!(Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni");
