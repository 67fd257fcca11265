//! Chooses the kernel of a level, once per extractor.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use visus_video::Plane;

use super::scalar;
use super::vector::{self, Scratch};
#[cfg(target_arch = "aarch64")]
use crate::simd::neon::Neon;
use crate::simd::{Target, Vector, Words};
#[cfg(target_arch = "x86_64")]
use crate::simd::{
    avx2::{Avx2, AvxVnni},
    avx512::Avx512,
};
use crate::{Level, Spread};

/// Rows that a part of a frame has at least: it reads four more.
const PART_ROWS: usize = 64;

/// The kernel of a level, with its scratch.
#[derive(Debug)]
pub struct Kernel {
    width: usize,
    depth: u32,
    /// The level's features; the vectors below are a part of them.
    target: Target,
    /// None for small pictures; samples beyond their depth are also left to the plain kernel.
    vectors: Option<Vectors>,
    /// One for each part of a frame that is worked on at the same time.
    scratch: Vec<Mutex<Scratch>>,
}

#[derive(Clone, Copy, Debug)]
enum Vectors {
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(AvxVnni),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Vectors {
    fn new(level: Level) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let vnni = || AvxVnni::new(level).map(Self::AvxVnni);
            Avx512::new(level).map(Self::Avx512).or_else(vnni).or_else(|| Avx2::new(level).map(Self::Avx2))
        }
        #[cfg(target_arch = "aarch64")]
        {
            Neon::new(level).map(Self::Neon)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = level;
            None
        }
    }

    /// Words of a vector.
    fn words(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) | Self::AvxVnni(_) => Avx2::WORDS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Avx512::WORDS,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => Neon::WORDS,
        }
    }
}

/// Two planes, and how deep their samples are.
#[derive(Clone, Copy)]
struct Planes<'a, T> {
    earlier: Plane<'a, T>,
    current: Plane<'a, T>,
    depth: u32,
}

impl Kernel {
    pub fn new(level: Level, width: usize, height: usize, depth: u32) -> Self {
        // Differences of 16-bit samples do not fit the words of the vector kernel.
        let suits = width.min(height) >= vector::SMALLEST_SIDE && depth < 16;
        let vectors = if suits { Vectors::new(level) } else { None };
        Self { width, depth, target: Target::new(level), vectors, scratch: Vec::new() }
    }

    /// The sum of [`scalar::blurred_difference`] over all rows.
    pub fn blurred_difference<T: Words>(
        &mut self,
        earlier: Plane<'_, T>,
        current: Plane<'_, T>,
        spread: &dyn Spread,
    ) -> u64 {
        debug_assert_eq!(current.width(), self.width);
        let (target, vectors) = (self.target, self.vectors);
        let planes = Planes { earlier, current, depth: self.depth };
        self.prepare(current.height(), spread);
        let sum = vectors.and_then(|vectors| {
            self.in_parts(current.height(), spread, &|rows, scratch| match vectors {
                #[cfg(target_arch = "x86_64")]
                Vectors::Avx512(s) => planes.in_vectors(s, target, rows, scratch),
                #[cfg(target_arch = "x86_64")]
                Vectors::Avx2(s) => planes.in_vectors(s, target, rows, scratch),
                #[cfg(target_arch = "x86_64")]
                Vectors::AvxVnni(s) => planes.in_vectors(s, target, rows, scratch),
                #[cfg(target_arch = "aarch64")]
                Vectors::Neon(s) => planes.in_vectors(s, target, rows, scratch),
            })
        });
        let plain = || {
            self.in_parts(current.height(), spread, &|rows, scratch| {
                Some(planes.plain(target, rows, scratch))
            })
        };
        sum.or_else(plain).unwrap_or(0)
    }

    /// Scratch for as many parts as there are to be.
    fn prepare(&mut self, height: usize, spread: &dyn Spread) {
        let parts = spread.width().clamp(1, (height / PART_ROWS).max(1));
        let words = self.vectors.map_or(1, Vectors::words);
        self.scratch.resize_with(parts, || Mutex::new(Scratch::new(self.width, words)));
    }

    /// The sum over all rows, unless a part has none.
    fn in_parts(
        &self,
        height: usize,
        spread: &dyn Spread,
        work: &(dyn Fn(Range<usize>, &mut Scratch) -> Option<u64> + Sync),
    ) -> Option<u64> {
        // Parts begin at even rows.
        let share = height.div_ceil(2).div_ceil(self.scratch.len()) * 2;
        let part = |index: usize| {
            let rows = (index * share).min(height)..((index + 1) * share).min(height);
            work(rows, &mut self.scratch[index].lock().unwrap_or_else(PoisonError::into_inner))
        };
        if self.scratch.len() == 1 {
            return part(0);
        }
        let total = Mutex::new(Some(0));
        spread.each(self.scratch.len(), &|index| {
            let sum = part(index);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            *total = total.zip(sum).map(|(total, sum)| total + sum);
        });
        total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Words> Planes<'_, T> {
    fn in_vectors<S: Vector>(
        self,
        s: S,
        target: Target,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) -> Option<u64> {
        let Self { earlier, current, depth } = self;
        target.run(
            #[inline(always)]
            || vector::blurred_difference(s, earlier, current, rows, depth, scratch),
        )
    }

    fn plain(self, target: Target, rows: Range<usize>, scratch: &mut Scratch) -> u64 {
        let Self { earlier, current, depth } = self;
        target.run(
            #[inline(always)]
            || scalar::blurred_difference(earlier, current, rows, depth, &mut scratch.plain),
        )
    }
}
