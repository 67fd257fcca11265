//! Chooses the vector kernels of a level, once per extractor.

use std::ops::Range;
#[cfg(target_arch = "x86_64")]
use std::sync::Arc;

use visus_video::{Plane, Sample};

use super::groups::Paired;
use super::layout::Layout;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, bytes::Bytes, strips::Strip};
use crate::Level;
#[cfg(target_arch = "x86_64")]
use crate::simd::{avx2::Avx2, avx512::Avx512};

/// Samples that may be bytes: those have kernels.
pub trait Samples: Sample + Paired {
    fn bytes(plane: Plane<'_, Self>) -> Option<Plane<'_, u8>>;
}

impl Samples for u8 {
    fn bytes(plane: Plane<'_, Self>) -> Option<Plane<'_, u8>> {
        Some(plane)
    }
}

impl Samples for u16 {
    fn bytes(_: Plane<'_, Self>) -> Option<Plane<'_, u8>> {
        None
    }
}

/// Luma of a pair, and of the pictures before its source. The second one is there if second differences are asked for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other machines have no kernels"))]
pub struct Luma<'a> {
    pub source: Plane<'a, u8>,
    pub distorted: Plane<'a, u8>,
    pub before: Plane<'a, u8>,
    pub earlier: Option<Plane<'a, u8>>,
}

/// Sums of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub spatial: u64,
    pub temporal: u64,
    pub error: u64,
}

/// Kernels for pictures of one format. Without any, what is asked of them is refused.
#[derive(Clone, Debug, Default)]
pub struct Vectors {
    #[cfg(target_arch = "x86_64")]
    kernels: Option<Arc<Kernels>>,
}

#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
struct Kernels {
    /// Squared errors alone take little but memory, at either level.
    avx2: Avx2,
    avx512: Option<Avx512>,
    /// For all sums at once; none for pictures whose activity is measured on groups of pixels.
    luma: Vec<Strip>,
    /// For squared errors, in luma and in chroma; none for planes that are narrower than a vector.
    errors: [Vec<Strip>; 2],
}

#[cfg(target_arch = "x86_64")]
impl Vectors {
    /// `across` are the columns of blocks in luma and in chroma, of rows as long as `widths`.
    pub fn new(level: Level, layout: &Layout, across: &[Vec<Range<usize>>; 2], widths: [usize; 2]) -> Self {
        let avx512 = Avx512::new(level);
        let avx2 = if avx512.is_some() { Avx2::new(Level::Avx2) } else { Avx2::new(level) };
        let Some(avx2) = avx2 else { return Self::default() };
        let lanes = if avx512.is_some() { Avx512::LANES } else { Avx2::LANES };
        let blocks = |kind: usize| {
            let active = |(column, across): (usize, &Range<usize>)| {
                [across.clone(), if kind == 0 { layout.active_across(column) } else { across.clone() }]
            };
            across[kind].iter().enumerate().map(active).collect::<Vec<_>>()
        };
        let cut = |kind: usize, lanes: usize| {
            if widths[kind] < lanes { Vec::new() } else { Strip::cut(&blocks(kind), widths[kind], lanes) }
        };
        let luma = if layout.grouped { Vec::new() } else { cut(0, lanes) };
        let errors = [cut(0, Avx2::LANES), cut(1, Avx2::LANES)];
        Self { kernels: Some(Arc::new(Kernels { avx2, avx512, luma, errors })) }
    }

    /// Adds all sums of a row of blocks of luma, or of some of its rows, of which the second have a spatial activity. False
    /// if there is no kernel for it.
    pub fn add_luma(
        &self,
        pictures: &Luma<'_>,
        down: (Range<usize>, Range<usize>),
        out: &mut [Sums],
    ) -> bool {
        let Some(kernels) = self.kernels.as_deref().filter(|kernels| !kernels.luma.is_empty()) else {
            return false;
        };
        match kernels.avx512 {
            Some(avx512) => avx512::add_luma(avx512, pictures, &kernels.luma, down, out),
            None => avx2::add_luma(kernels.avx2, pictures, &kernels.luma, down, out),
        }
        true
    }

    /// Adds the squared errors of a row of blocks, or of some of its rows; `kind` is 0 for luma, 1 for chroma. False if
    /// there is no kernel for it.
    pub fn add_errors(
        &self,
        pair: [Plane<'_, u8>; 2],
        down: Range<usize>,
        kind: usize,
        out: &mut [u64],
    ) -> bool {
        let Some(kernels) = self.kernels.as_deref().filter(|kernels| !kernels.errors[kind].is_empty()) else {
            return false;
        };
        avx2::add_errors(kernels.avx2, pair, &kernels.errors[kind], down, out);
        true
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Vectors {
    pub fn new(_: Level, _: &Layout, _: &[Vec<Range<usize>>; 2], _: [usize; 2]) -> Self {
        Self::default()
    }

    pub fn add_luma(&self, _: &Luma<'_>, _: (Range<usize>, Range<usize>), _: &mut [Sums]) -> bool {
        false
    }

    pub fn add_errors(&self, _: [Plane<'_, u8>; 2], _: Range<usize>, _: usize, _: &mut [u64]) -> bool {
        false
    }
}
