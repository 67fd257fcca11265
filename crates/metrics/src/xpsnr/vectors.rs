//! Chooses the vector kernels of a level, once per extractor.

use std::ops::Range;
use std::sync::Arc;

use visus_video::{Plane, Sample};

use super::groups::Paired;
use super::layout::Layout;
use super::strips::Strip;
use crate::Level;
use level::Kernels;

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

/// Vector kernels and how they cut pictures of one format. Without any, what is asked of them is refused.
#[derive(Clone, Debug, Default)]
pub struct Vectors(Option<Arc<Cut>>);

#[derive(Debug)]
struct Cut {
    kernels: Kernels,
    /// For all sums at once; none for pictures whose activity is measured on groups of pixels.
    luma: Vec<Strip>,
    /// For squared errors, in luma and in chroma; none for planes that are narrower than a vector.
    errors: [Vec<Strip>; 2],
}

impl Vectors {
    /// `across` are the columns of blocks in luma and in chroma, of rows as long as `widths`.
    pub fn new(level: Level, layout: &Layout, across: &[Vec<Range<usize>>; 2], widths: [usize; 2]) -> Self {
        let Some(kernels) = Kernels::new(level) else { return Self::default() };
        let blocks = |kind: usize| {
            let active = |(column, across): (usize, &Range<usize>)| {
                [across.clone(), if kind == 0 { layout.active_across(column) } else { across.clone() }]
            };
            across[kind].iter().enumerate().map(active).collect::<Vec<_>>()
        };
        let cut = |kind: usize, lanes: usize| {
            if widths[kind] < lanes { Vec::new() } else { Strip::cut(&blocks(kind), widths[kind], lanes) }
        };
        // Spatial activity needs a column more on either side.
        let narrow = widths[0] < kernels.luma_lanes() + 2;
        let luma = if layout.grouped || narrow { Vec::new() } else { cut(0, kernels.luma_lanes()) };
        let errors = [cut(0, Kernels::ERROR_LANES), cut(1, Kernels::ERROR_LANES)];
        Self(Some(Arc::new(Cut { kernels, luma, errors })))
    }

    /// Adds all sums of a row of blocks of luma, or of some of its rows, of which the second have a spatial activity. False
    /// if there is no kernel for it.
    pub fn add_luma(
        &self,
        pictures: &Luma<'_>,
        down: (Range<usize>, Range<usize>),
        out: &mut [Sums],
    ) -> bool {
        let Some(cut) = self.0.as_deref().filter(|cut| !cut.luma.is_empty()) else { return false };
        cut.kernels.add_luma(pictures, &cut.luma, down, out);
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
        let Some(cut) = self.0.as_deref().filter(|cut| !cut.errors[kind].is_empty()) else { return false };
        cut.kernels.add_errors(pair, &cut.errors[kind], down, out);
        true
    }
}

#[cfg(target_arch = "x86_64")]
mod level {
    use super::{Level, Luma, Plane, Range, Strip, Sums};
    use crate::simd::{avx2::Avx2, avx512::Avx512};
    use crate::xpsnr::{avx2, avx512, bytes::Bytes};

    /// Squared errors alone take little but memory, so AVX2 does them at either level.
    #[derive(Debug)]
    pub struct Kernels {
        avx2: Avx2,
        avx512: Option<Avx512>,
    }

    impl Kernels {
        pub const ERROR_LANES: usize = Avx2::LANES;

        pub fn new(level: Level) -> Option<Self> {
            let avx512 = Avx512::new(level);
            let avx2 = if avx512.is_some() { Avx2::new(Level::Avx2) } else { Avx2::new(level) };
            Some(Self { avx2: avx2?, avx512 })
        }

        pub fn luma_lanes(&self) -> usize {
            if self.avx512.is_some() { Avx512::LANES } else { Avx2::LANES }
        }

        pub fn add_luma(
            &self,
            pictures: &Luma<'_>,
            strips: &[Strip],
            down: (Range<usize>, Range<usize>),
            out: &mut [Sums],
        ) {
            match self.avx512 {
                Some(avx512) => avx512::add_luma(avx512, pictures, strips, down, out),
                None => avx2::add_luma(self.avx2, pictures, strips, down, out),
            }
        }

        pub fn add_errors(
            &self,
            pair: [Plane<'_, u8>; 2],
            strips: &[Strip],
            down: Range<usize>,
            out: &mut [u64],
        ) {
            avx2::add_errors(self.avx2, pair, strips, down, out);
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod level {
    use super::{Level, Luma, Plane, Range, Strip, Sums};
    use crate::simd::neon::Neon;
    use crate::xpsnr::{bytes::Bytes, neon};

    #[derive(Debug)]
    pub struct Kernels(Neon);

    impl Kernels {
        pub const ERROR_LANES: usize = Neon::LANES;

        pub fn new(level: Level) -> Option<Self> {
            Neon::new(level).map(Self)
        }

        pub fn luma_lanes(&self) -> usize {
            Neon::LANES
        }

        pub fn add_luma(
            &self,
            pictures: &Luma<'_>,
            strips: &[Strip],
            down: (Range<usize>, Range<usize>),
            out: &mut [Sums],
        ) {
            neon::add_luma(self.0, pictures, strips, down, out);
        }

        pub fn add_errors(
            &self,
            pair: [Plane<'_, u8>; 2],
            strips: &[Strip],
            down: Range<usize>,
            out: &mut [u64],
        ) {
            neon::add_errors(self.0, pair, strips, down, out);
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod level {
    use super::{Level, Luma, Plane, Range, Strip, Sums};

    /// Other machines have none.
    #[derive(Debug)]
    pub enum Kernels {}

    impl Kernels {
        pub const ERROR_LANES: usize = 1;

        pub fn new(_: Level) -> Option<Self> {
            None
        }

        pub fn luma_lanes(&self) -> usize {
            match *self {}
        }

        pub fn add_luma(&self, _: &Luma<'_>, _: &[Strip], _: (Range<usize>, Range<usize>), _: &mut [Sums]) {
            match *self {}
        }

        pub fn add_errors(&self, _: [Plane<'_, u8>; 2], _: &[Strip], _: Range<usize>, _: &mut [u64]) {
            match *self {}
        }
    }
}
