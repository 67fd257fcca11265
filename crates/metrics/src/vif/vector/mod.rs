//! The kernels in vectors of any width.
//!
//! A scale is walked in steps of four rows. A step expands two new pairs of rows into planes of words (`kind`), filters
//! them and the pairs before them down the columns (`vertical`), then finishes row by row (`horizontal`) and adds up
//! the logarithms (`statistic`). Two rows of the next scale's picture fall off on the way. Rows and sums stay in the
//! second-level cache; nothing but those pictures is as large as a frame. With several hands, a scale is cut into stripes
//! of steps; their sums are exact, so that it does not show.
//!
//! The stages are generic; `avx512`, `avx2` and `neon` compile them for their level.

pub mod buffers;
mod horizontal;
mod kind;
mod simd_stages;
mod statistic;
mod vertical;
pub mod window;

use std::ops::Range;
use std::sync::Mutex;

use visus_video::{Plane, Zeros};

use buffers::MAX_WORDS;
pub use buffers::{Ring, Rows};
pub use horizontal::{horizontal, thin};
pub use kind::{Bytes, Deep, Full, Kind};
pub(super) use simd_stages::stages;
pub use statistic::{Pixels, add_row, share_row};
pub use vertical::{RowPair, Step, expand, vertical};

use super::scalar::{Limits, Sums, clear, mirrored};
use super::score::VifSums;
use super::{SCALES, vector::window::Window};
use crate::Spread;
use crate::bands::{self, lock};
use crate::simd::Vector;

/// The stages, compiled for a level.
pub trait Stages: Vector + Sync {
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
    fn add_row(self, pixels: &Pixels, width: usize, sums: &mut VifSums);
}

/// Pictures with a shorter side than this are left to the scalar kernels, which know the special cases of tiny ones.
pub const SMALLEST_SIDE: usize = 64;

/// Everything a frame needs, allocated once.
#[derive(Debug)]
pub struct Scratch {
    width: usize,
    depth: u32,
    /// One for each stripe that is worked on at the same time; there may be more stripes.
    hands: Vec<Hand>,
    /// Reference and distorted picture of scales 1 to 3.
    pictures: [[Picture; 2]; SCALES - 1],
}

/// What the work on a stripe needs.
#[derive(Debug)]
struct Hand {
    rings: [Ring; SCALES],
    rows: Rows,
    thin: Rows,
    pixels: Pixels,
    sums: Sums,
    in_range: bool,
}

impl Hand {
    fn new<S: Stages>(width: usize, depth: u32) -> Self {
        let planes = if depth == 8 { Bytes::PLANES } else { Deep::PLANES };
        let ring = |scale: usize, planes: usize, slots: usize| {
            let blocks = (width >> scale).div_ceil(S::WORDS);
            Ring::new(slots, blocks, 2 * planes * S::WORDS)
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
            sums: Sums::new(),
            in_range: true,
        }
    }
}

/// A picture whose rows are whole blocks.
#[derive(Debug)]
struct Picture {
    samples: Zeros<u16>,
    stride: usize,
    width: usize,
    height: usize,
}

impl Picture {
    fn new(width: usize, height: usize) -> Self {
        let stride = width.next_multiple_of(MAX_WORDS);
        Self { samples: Zeros::new(stride * height), stride, width, height }
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
        let picture = |scale: usize| {
            let picture = || Picture::new(width >> scale, height >> scale);
            [picture(), picture()]
        };
        let hands = vec![Hand::new::<S>(width, depth)];
        Self { width, depth, hands, pictures: [picture(1), picture(2), picture(3)] }
    }

    /// The sums of all scales, for each limit. Says no if a sample has more bits than `kind` takes; then the sums have
    /// no meaning.
    pub fn scales<S: Stages, K: Kind>(
        &mut self,
        s: S,
        kind: K,
        [reference, distorted]: [Plane<'_, K::Sample>; 2],
        limits: Limits<'_>,
        spread: &dyn Spread,
        sums: &mut Sums,
    ) -> bool {
        let stripes = stripes(reference.height(), spread);
        self.prepare::<S>(stripes.min(spread.width()), limits.gains.len(), spread);
        let Self { hands, pictures: [first, second, third], .. } = self;
        let work = Work { s, gain_limits: limits.gains, spread, stripes };
        let source = [Source::plane(reference), Source::plane(distorted)];
        if limits.skip_scale0 {
            work.scale::<K, 0, 1, false>(kind, source, hands, Some(&mut *first));
        } else {
            work.scale::<K, 0, 1, true>(kind, source, hands, Some(&mut *first));
        }
        if !hands.iter().all(|hand| hand.in_range) {
            return false;
        }
        // What was filtered fits its words.
        let source = first.each_ref().map(Source::picture);
        work.scale::<Full, 1, 2, true>(Full, source, hands, Some(&mut *second));
        let source = second.each_ref().map(Source::picture);
        work.scale::<Full, 2, 3, true>(Full, source, hands, Some(&mut *third));
        let source = third.each_ref().map(Source::picture);
        work.scale::<Full, 3, SCALES, true>(Full, source, hands, None);
        clear(sums, limits.gains.len());
        hands.iter().for_each(|hand| add(sums, &hand.sums));
        true
    }

    /// So many hands, with nothing summed up.
    fn prepare<S: Stages>(&mut self, count: usize, limits: usize, spread: &dyn Spread) {
        self.hands.truncate(count);
        let (missing, width, depth) = (count - self.hands.len(), self.width, self.depth);
        // Each is megabytes of zeros, which are written side by side too.
        self.hands.extend(bands::map(missing, spread, |_| Hand::new::<S>(width, depth)));
        for hand in &mut self.hands {
            clear(&mut hand.sums, limits);
            hand.in_range = true;
        }
    }
}

/// Rows that a stripe has at least: at its begin it reads rows again that the one before it has read.
const STRIPE_ROWS: usize = 64;

/// Stripes for each thread. VIF takes longest, and threads come to it when they are done with other metrics.
const STRIPES_PER_THREAD: usize = 3;

/// How many stripes a scale is cut into.
fn stripes(height: usize, spread: &dyn Spread) -> usize {
    let most = if spread.width() > 1 { STRIPES_PER_THREAD * spread.width() } else { 1 };
    most.clamp(1, (height / STRIPE_ROWS).max(1))
}

fn add(sums: &mut Sums, more: &Sums) {
    for (sum, more) in sums.iter_mut().flatten().zip(more.iter().flatten()) {
        sum.num_log += more.num_log;
        sum.den_log += more.den_log;
        sum.num_non_log += more.num_non_log;
        sum.den_non_log += more.den_non_log;
    }
}

/// What all stripes share.
struct Work<'a, S> {
    s: S,
    gain_limits: &'a [f64],
    spread: &'a dyn Spread,
    stripes: usize,
}

impl<S: Stages> Work<'_, S> {
    fn scale<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
        &self,
        kind: K,
        source: [Source<'_, K::Sample>; 2],
        hands: &mut [Hand],
        mut next: Option<&mut [Picture; 2]>,
    ) {
        let steps = source[0].height.div_ceil(4);
        if let (1, [hand]) = (self.stripes, &mut *hands) {
            let next = next.map(Next::whole);
            Stripe { s: self.s, gain_limits: self.gain_limits, hand, next }.walk::<K, SCALE, NEXT, MOMENTS>(
                kind,
                source,
                0..steps,
            );
            return;
        }
        let share = steps.div_ceil(self.stripes).max(1);
        let mut rest = next.as_mut().map(|next| Next::whole(next));
        let mut stripes = Vec::with_capacity(self.stripes);
        for first in (0..steps).step_by(share) {
            let range = first..(first + share).min(steps);
            let next = rest.as_mut().map(|rest| rest.take(2 * range.end));
            stripes.push((range, next));
        }
        let free: Mutex<Vec<&mut Hand>> = Mutex::new(hands.iter_mut().collect());
        bands::for_each(stripes, self.spread, |(range, next)| {
            let hand = lock(&free).pop().expect("no more stripes at the same time than hands");
            let mut stripe = Stripe { s: self.s, gain_limits: self.gain_limits, hand, next };
            stripe.walk::<K, SCALE, NEXT, MOMENTS>(kind, source, range);
            lock(&free).push(stripe.hand);
        });
    }
}

/// Rows of the next scale's two pictures, from row `first` on.
struct Next<'a> {
    rows: [&'a mut [u16]; 2],
    first: usize,
    stride: usize,
    width: usize,
    height: usize,
}

impl<'a> Next<'a> {
    fn whole(pictures: &'a mut [Picture; 2]) -> Self {
        let Picture { stride, width, height, .. } = pictures[0];
        Self {
            rows: pictures.each_mut().map(|picture| &mut picture.samples[..]),
            first: 0,
            stride,
            width,
            height,
        }
    }

    /// Takes the rows before `end` out.
    fn take(&mut self, end: usize) -> Next<'a> {
        let end = end.min(self.height);
        let count = (end - self.first) * self.stride;
        let rows = self.rows.each_mut().map(|rows| {
            let (taken, rest) = std::mem::take(rows).split_at_mut(count);
            *rows = rest;
            taken
        });
        let first = std::mem::replace(&mut self.first, end);
        Next { rows, first, stride: self.stride, width: self.width, height: self.height }
    }
}

/// A part of the picture, some steps long.
struct Stripe<'a, S> {
    s: S,
    gain_limits: &'a [f64],
    hand: &'a mut Hand,
    next: Option<Next<'a>>,
}

impl<S: Stages> Stripe<'_, S> {
    fn walk<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
        &mut self,
        kind: K,
        source: [Source<'_, K::Sample>; 2],
        steps: Range<usize>,
    ) {
        let (width, height) = (source[0].width, source[0].height);
        let reach = Window::<SCALE>::REACH as isize;
        let pair = |number: isize| RowPair {
            reference: [source[0].at(2 * number), source[0].at(2 * number + 1)],
            distorted: [source[1].at(2 * number), source[1].at(2 * number + 1)],
        };
        let mut in_range = true;
        let first = 2 * steps.start as isize;
        for number in first - reach..first + reach {
            in_range &= self.s.expand(kind, &pair(number), number, &mut self.hand.rings[SCALE]);
        }
        for index in steps {
            let fresh = 2 * index as isize + reach;
            let step = Step {
                index: index as isize,
                fresh: [pair(fresh), pair(fresh + 1)],
                soon: [pair(fresh + 2), pair(fresh + 3)],
            };
            let Hand { rings, rows, thin, .. } = &mut *self.hand;
            in_range &=
                self.s.vertical::<K, SCALE, NEXT, MOMENTS>(kind, &step, &mut rings[SCALE], rows, thin);
            self.thin_rows::<NEXT>(2 * index, width);
            if MOMENTS {
                self.hand.rows.mirror(width);
                for row in 0..4.min(height - 4 * index) {
                    self.add_row::<SCALE>(row, width);
                }
            }
        }
        self.hand.in_range &= in_range;
    }

    /// Finishes a row. The first limit's shares fall off on the way; further limits start from the same moments.
    fn add_row<const SCALE: usize>(&mut self, row: usize, width: usize) {
        let Hand { rows, pixels, sums, .. } = &mut *self.hand;
        for (index, gain_limit) in self.gain_limits.iter().enumerate() {
            if index == 0 {
                self.s.horizontal::<SCALE>(rows, row, width, *gain_limit, pixels);
            } else {
                self.s.share_row(pixels, width, *gain_limit);
            }
            self.s.add_row(pixels, width, &mut sums[index][SCALE]);
        }
    }

    /// The next scale's rows `first` and `first + 1`, as far as it has them.
    fn thin_rows<const NEXT: usize>(&mut self, first: usize, width: usize) {
        let Some(next) = &mut self.next else { return };
        self.hand.thin.mirror(width);
        for (plane, rows) in next.rows.iter_mut().enumerate() {
            for row in 0..2.min(next.height.saturating_sub(first)) {
                let blocks = next.width.div_ceil(S::LANES);
                let out = &mut rows[(first + row - next.first) * next.stride..][..next.stride];
                self.s.thin::<NEXT>(&self.hand.thin, 2 * row + plane, blocks, out);
            }
        }
    }
}
