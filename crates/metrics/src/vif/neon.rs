//! The vector kernels for NEON.
#![allow(unsafe_code)]

use super::score::VifSums;
use super::vector::{self, Kind, Pixels, Ring, RowPair, Rows, Step, stages};
use crate::simd::neon::Neon;

stages!(Neon, "neon");
