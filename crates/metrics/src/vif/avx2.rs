//! The vector kernels for AVX2, with AVX-VNNI and without.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use super::score::VifSums;
use super::vector::{self, Kind, Pixels, Ring, RowPair, Rows, Step, stages};
use crate::simd::avx2::{Avx2, AvxVnni};

stages!(Avx2, "avx2,fma,bmi2");
stages!(AvxVnni, "avx2,fma,bmi2");
