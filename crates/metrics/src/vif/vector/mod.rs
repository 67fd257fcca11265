//! The kernels in vectors of any width.
//!
//! A scale is walked in steps of four rows. A step expands two new pairs of rows into planes of words (`kind`), filters
//! them and the pairs before them down the columns (`vertical`), then finishes row by row (`horizontal`) and adds up
//! the logarithms (`statistic`). Two rows of the next scale's picture fall off on the way. Rows and sums stay in the
//! second-level cache; nothing but those pictures is as large as a frame.
//!
//! The stages are generic; `avx512`, `avx2` and `neon` compile them for their level.

pub mod buffers;
mod horizontal;
mod kind;
mod simd_stages;
mod statistic;
mod vertical;
pub mod window;

use visus_video::Plane;

use buffers::MAX_WORDS;
pub use buffers::{Ring, Rows};
pub use horizontal::{horizontal, thin};
pub use kind::{Bytes, Deep, Full, Kind};
pub(super) use simd_stages::stages;
pub use statistic::{Pixels, add_row, share_row};
pub use vertical::{RowPair, Step, expand, vertical};

use super::scalar::{Limits, Residuals, Sums, clear, mirrored};
use super::{SCALES, vector::window::Window};
use crate::simd::{Lines, Vector};

/// The stages, compiled for a level.
pub trait Stages: Vector {
    fn expand<K: Kind>(self, kind: K, pair: &RowPair<'_, K::Sample>, number: isize, ring: &mut Ring) -> bool;
    fn vertical<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
        self,
        kind: K,
        step: &Step<'_, K::Sample>,
        ring: &mut Ring,
        rows: &mut Rows,
        thin: &mut Rows,
    ) -> bool;
    fn thin<const NEXT: usize>(self, rows: &Rows, row: usize, blocks: usize, out: &mut [u16]);
    fn horizontal<const SCALE: usize>(
        self,
        rows: &Rows,
        row: usize,
        width: usize,
        gain_limit: f64,
        pixels: &mut Pixels,
    );
    fn share_row(self, pixels: &mut Pixels, width: usize, gain_limit: f64);
    fn add_row(self, pixels: &Pixels, width: usize, sums: &mut Residuals);
}

/// Pictures with a shorter side than this are left to the scalar kernels, which know the special cases of tiny ones.
pub const SMALLEST_SIDE: usize = 64;

/// Everything a frame needs, allocated once.
#[derive(Debug)]
pub struct Scratch {
    rings: [Ring; SCALES],
    rows: Rows,
    thin: Rows,
    pixels: Pixels,
    /// Reference and distorted picture of scales 1 to 3.
    pictures: [[Picture; 2]; SCALES - 1],
}

/// A picture whose rows are whole blocks.
#[derive(Debug)]
struct Picture {
    samples: Lines<u16>,
    stride: usize,
    width: usize,
    height: usize,
}

impl Picture {
    fn new(width: usize, height: usize) -> Self {
        let stride = width.next_multiple_of(MAX_WORDS);
        Self { samples: Lines::new(stride * height), stride, width, height }
    }
}

/// Rows of a picture, at least as long as it is wide.
#[derive(Clone, Copy)]
struct Source<'a, T> {
    samples: &'a [T],
    stride: usize,
    width: usize,
    height: usize,
    /// Length of a row; what lies beyond `width` is readable but has no meaning.
    row: usize,
}

impl<'a, T> Source<'a, T> {
    fn plane(plane: Plane<'a, T>) -> Self {
        let (width, height) = (plane.width(), plane.height());
        Self { samples: plane.data(), stride: plane.stride(), width, height, row: width }
    }

    fn at(&self, row: isize) -> &'a [T] {
        &self.samples[mirrored(row, self.height) * self.stride..][..self.row]
    }
}

impl<'a> Source<'a, u16> {
    fn picture(picture: &'a Picture) -> Self {
        let Picture { samples, stride, width, height } = picture;
        Self { samples, stride: *stride, width: *width, height: *height, row: *stride }
    }
}

impl Scratch {
    pub fn new<S: Stages>(width: usize, height: usize, depth: u32) -> Self {
        let planes = if depth == 8 { Bytes::PLANES } else { Deep::PLANES };
        let ring = |scale: usize, planes: usize, slots: usize| {
            let blocks = (width >> scale).div_ceil(S::WORDS);
            Ring::new(slots, blocks, 2 * planes * S::WORDS)
        };
        let picture = |scale: usize| {
            let picture = || Picture::new(width >> scale, height >> scale);
            [picture(), picture()]
        };
        Self {
            rings: [
                ring(0, planes, Window::<0>::PAIRS + 1),
                ring(1, Full::PLANES, Window::<1>::PAIRS + 1),
                ring(2, Full::PLANES, Window::<2>::PAIRS + 1),
                ring(3, Full::PLANES, Window::<3>::PAIRS + 1),
            ],
            rows: Rows::new(32, width),
            thin: Rows::new(4, width),
            pixels: Pixels::new(width),
            pictures: [picture(1), picture(2), picture(3)],
        }
    }

    /// The sums of all scales, for each limit. Says no if a sample has more bits than `kind` takes; then the sums have
    /// no meaning.
    pub fn scales<S: Stages, K: Kind>(
        &mut self,
        s: S,
        kind: K,
        reference: Plane<'_, K::Sample>,
        distorted: Plane<'_, K::Sample>,
        limits: Limits<'_>,
        sums: &mut Sums,
    ) -> bool {
        clear(sums, limits.gains.len());
        let Self { rings, rows, thin, pixels, pictures } = self;
        let mut walk = Walk { s, gain_limits: limits.gains, rows, thin, pixels, sums };
        let [first, second, third] = pictures;
        let source = [Source::plane(reference), Source::plane(distorted)];
        let in_range = if limits.skip_scale0 {
            walk.scale::<K, 0, 1, false>(kind, source, &mut rings[0], Some(&mut *first))
        } else {
            walk.scale::<K, 0, 1, true>(kind, source, &mut rings[0], Some(&mut *first))
        };
        if !in_range {
            return false;
        }
        // What was filtered fits its words.
        let source = first.each_ref().map(Source::picture);
        walk.scale::<Full, 1, 2, true>(Full, source, &mut rings[1], Some(&mut *second));
        let source = second.each_ref().map(Source::picture);
        walk.scale::<Full, 2, 3, true>(Full, source, &mut rings[2], Some(&mut *third));
        let source = third.each_ref().map(Source::picture);
        walk.scale::<Full, 3, SCALES, true>(Full, source, &mut rings[3], None);
        true
    }
}

/// What all scales share.
struct Walk<'a, S> {
    s: S,
    gain_limits: &'a [f64],
    rows: &'a mut Rows,
    thin: &'a mut Rows,
    pixels: &'a mut Pixels,
    sums: &'a mut Sums,
}

impl<S: Stages> Walk<'_, S> {
    fn scale<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
        &mut self,
        kind: K,
        source: [Source<'_, K::Sample>; 2],
        ring: &mut Ring,
        mut next: Option<&mut [Picture; 2]>,
    ) -> bool {
        let (width, height) = (source[0].width, source[0].height);
        let reach = Window::<SCALE>::REACH as isize;
        let pair = |number: isize| RowPair {
            reference: [source[0].at(2 * number), source[0].at(2 * number + 1)],
            distorted: [source[1].at(2 * number), source[1].at(2 * number + 1)],
        };
        let mut in_range = true;
        for number in -reach..reach {
            in_range &= self.s.expand(kind, &pair(number), number, ring);
        }
        for index in 0..height.div_ceil(4) as isize {
            let fresh = 2 * index + reach;
            let step = Step {
                index,
                fresh: [pair(fresh), pair(fresh + 1)],
                soon: [pair(fresh + 2), pair(fresh + 3)],
            };
            in_range &= self.s.vertical::<K, SCALE, NEXT, MOMENTS>(kind, &step, ring, self.rows, self.thin);
            if let Some(next) = &mut next {
                self.thin_rows::<NEXT>(2 * index as usize, width, next);
            }
            if MOMENTS {
                self.rows.mirror(width, Window::<SCALE>::RADIUS);
                for row in 0..4.min(height - 4 * index as usize) {
                    self.add_row::<SCALE>(row, width);
                }
            }
        }
        in_range
    }

    /// Finishes a row. The first limit's shares fall off on the way; further limits start from the same moments.
    fn add_row<const SCALE: usize>(&mut self, row: usize, width: usize) {
        for (index, gain_limit) in self.gain_limits.iter().enumerate() {
            if index == 0 {
                self.s.horizontal::<SCALE>(self.rows, row, width, *gain_limit, self.pixels);
            } else {
                self.s.share_row(self.pixels, width, *gain_limit);
            }
            self.s.add_row(self.pixels, width, &mut self.sums[index][SCALE]);
        }
    }

    /// The next scale's rows `first` and `first + 1`, as far as it has them.
    fn thin_rows<const NEXT: usize>(&mut self, first: usize, width: usize, next: &mut [Picture; 2]) {
        self.thin.mirror(width, Window::<NEXT>::RADIUS);
        for (plane, picture) in next.iter_mut().enumerate() {
            for row in 0..2.min(picture.height - picture.height.min(first)) {
                let blocks = picture.width.div_ceil(S::LANES);
                let out = &mut picture.samples[(first + row) * picture.stride..][..picture.stride];
                self.s.thin::<NEXT>(self.thin, 2 * row + plane, blocks, out);
            }
        }
    }
}
