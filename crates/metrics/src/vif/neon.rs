//! The vector kernels for NEON.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use super::score::VifSums;
use super::vector::{self, Kind, Pixels, Ring, RowPair, Rows, Step, stages};
use crate::simd::neon::Neon;

stages!(Neon, "neon");
