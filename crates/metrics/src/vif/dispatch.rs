//! Chooses the kernels of a level, once per extractor.

use visus_video::Plane;

use super::scalar::{self, Limits, Sums};
use super::vector::{self, Bytes, Deep, Full, Stages};
use crate::{Level, Spread};

/// From the luma of a pair to the sums of all scales.
pub trait Kernels: Send {
    fn bytes(
        &mut self,
        reference: Plane<'_, u8>,
        distorted: Plane<'_, u8>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    );

    fn words(
        &mut self,
        reference: Plane<'_, u16>,
        distorted: Plane<'_, u16>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    );
}

/// The best kernels of a level for pictures of one size and depth.
pub fn kernels(level: Level, width: usize, height: usize, depth: u32) -> Box<dyn Kernels> {
    // The vector kernels have no planes for 15 bits, and nobody has such pictures.
    if width.min(height) < vector::SMALLEST_SIDE || depth == 15 {
        return Box::new(Scalar::new(width, height, depth));
    }
    #[cfg(target_arch = "x86_64")]
    {
        use crate::simd::avx2::{Avx2, AvxVnni};
        use crate::simd::avx512::Avx512;
        if let Some(s) = Avx512::new(level) {
            return in_vectors(s, width, height, depth);
        }
        if let Some(s) = AvxVnni::new(level) {
            return in_vectors(s, width, height, depth);
        }
        if let Some(s) = Avx2::new(level) {
            return in_vectors(s, width, height, depth);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(s) = crate::simd::neon::Neon::new(level) {
        return in_vectors(s, width, height, depth);
    }
    let _ = level;
    Box::new(Scalar::new(width, height, depth))
}

/// The kernels in vectors of one kind.
pub fn in_vectors<S: Stages>(s: S, width: usize, height: usize, depth: u32) -> Box<dyn Kernels> {
    Box::new(Vectors::new(s, width, height, depth))
}

struct Scalar {
    scratch: scalar::Scratch,
    depth: u32,
}

impl Scalar {
    fn new(width: usize, height: usize, depth: u32) -> Self {
        Self { scratch: scalar::Scratch::new(width, height), depth }
    }
}

impl Kernels for Scalar {
    fn bytes(
        &mut self,
        reference: Plane<'_, u8>,
        distorted: Plane<'_, u8>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    ) {
        let _ = spread;
        self.scratch.scales(reference, distorted, self.depth, limits, sums);
    }

    fn words(
        &mut self,
        reference: Plane<'_, u16>,
        distorted: Plane<'_, u16>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    ) {
        let _ = spread;
        self.scratch.scales(reference, distorted, self.depth, limits, sums);
    }
}

struct Vectors<S> {
    s: S,
    scratch: vector::Scratch,
    /// For frames with samples beyond their depth. Made when the first one comes.
    fallback: Option<Scalar>,
    depth: u32,
}

impl<S: Stages> Vectors<S> {
    fn new(s: S, width: usize, height: usize, depth: u32) -> Self {
        Self { s, scratch: vector::Scratch::new::<S>(width, height, depth), fallback: None, depth }
    }
}

impl<S: Stages> Kernels for Vectors<S> {
    fn bytes(
        &mut self,
        reference: Plane<'_, u8>,
        distorted: Plane<'_, u8>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    ) {
        let in_range = self.scratch.scales(self.s, Bytes, [reference, distorted], limits, spread, sums);
        debug_assert!(in_range, "every byte is a sample");
    }

    fn words(
        &mut self,
        reference: Plane<'_, u16>,
        distorted: Plane<'_, u16>,
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    ) {
        let (depth, pictures) = (self.depth, [reference, distorted]);
        let in_range = if depth == 16 {
            self.scratch.scales(self.s, Full, pictures, limits, spread, sums)
        } else {
            self.scratch.scales(self.s, Deep { depth }, pictures, limits, spread, sums)
        };
        if !in_range {
            let fallback = || Scalar::new(reference.width(), reference.height(), depth);
            self.fallback.get_or_insert_with(fallback).words(reference, distorted, limits, spread, sums);
        }
    }
}
