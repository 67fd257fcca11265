//! Chooses the kernel of a level, once per extractor.

use visus_video::Plane;

use super::scalar::{self, Row};
use super::vector::{self, Scratch};
use crate::Level;
#[cfg(target_arch = "aarch64")]
use crate::simd::neon::Neon;
use crate::simd::{Target, Vector, Words};
#[cfg(target_arch = "x86_64")]
use crate::simd::{avx2::Avx2, avx512::Avx512};

/// The kernel of a level, with its scratch.
#[derive(Debug)]
pub struct Kernel {
    width: usize,
    depth: u32,
    /// The level's features; the vectors below are a part of them.
    target: Target,
    vectors: Option<Vectors>,
    /// For small pictures, and for samples beyond their depth.
    plain: Row,
}

#[derive(Debug)]
enum Vectors {
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2, Scratch),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512, Scratch),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon, Scratch),
}

impl Vectors {
    fn new(level: Level, width: usize) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let avx512 = |s| Self::Avx512(s, Scratch::new(width, Avx512::WORDS));
            let avx2 = |s| Self::Avx2(s, Scratch::new(width, Avx2::WORDS));
            Avx512::new(level).map(avx512).or_else(|| Avx2::new(level).map(avx2))
        }
        #[cfg(target_arch = "aarch64")]
        {
            Neon::new(level).map(|s| Self::Neon(s, Scratch::new(width, Neon::WORDS)))
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = (level, width);
            None
        }
    }
}

impl Kernel {
    pub fn new(level: Level, width: usize, height: usize, depth: u32) -> Self {
        // Differences of 16-bit samples do not fit the words of the vector kernel.
        let suits = width.min(height) >= vector::SMALLEST_SIDE && depth < 16;
        let vectors = if suits { Vectors::new(level, width) } else { None };
        Self { width, depth, target: Target::new(level), vectors, plain: Row::new(width) }
    }

    /// See [`scalar::blurred_difference`].
    pub fn blurred_difference<T: Words>(&mut self, earlier: Plane<'_, T>, current: Plane<'_, T>) -> u64 {
        debug_assert_eq!(current.width(), self.width);
        let (target, depth) = (self.target, self.depth);
        let sum = match &mut self.vectors {
            #[cfg(target_arch = "x86_64")]
            Some(Vectors::Avx512(s, scratch)) => in_vectors(*s, target, earlier, current, depth, scratch),
            #[cfg(target_arch = "x86_64")]
            Some(Vectors::Avx2(s, scratch)) => in_vectors(*s, target, earlier, current, depth, scratch),
            #[cfg(target_arch = "aarch64")]
            Some(Vectors::Neon(s, scratch)) => in_vectors(*s, target, earlier, current, depth, scratch),
            None => None,
        };
        sum.unwrap_or_else(|| {
            target.run(
                #[inline(always)]
                || scalar::blurred_difference(earlier, current, depth, &mut self.plain),
            )
        })
    }
}

fn in_vectors<S: Vector, T: Words>(
    s: S,
    target: Target,
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    depth: u32,
    scratch: &mut Scratch,
) -> Option<u64> {
    target.run(
        #[inline(always)]
        || vector::blurred_difference(s, earlier, current, depth, scratch),
    )
}
