//! The kernels of CPU levels with vectors. They are written once, over the operations of [`Vector`](crate::simd::Vector) and
//! [`AdmVector`].
//!
//! Rows are worked on in whole registers: scratch rows are longer than what is read of them, and what is computed behind
//! the last column is masked out of the sums.
//!
//! Where a frame is shared among threads, each scale is cut into parts of rows (`parts`).

/// `[f(0), f(1)]` without a closure: what a closure does is compiled for the CPU level only if it happens to be inlined.
macro_rules! two {
    (|$i:ident| $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
        ]
    };
}

/// `[f(0), f(1), f(2)]` in the same way.
macro_rules! three {
    (|$i:ident| $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
            {
                let $i = 2;
                $value
            },
        ]
    };
}

/// And with four.
macro_rules! four {
    (|$i:ident| $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
            {
                let $i = 2;
                $value
            },
            {
                let $i = 3;
                $value
            },
        ]
    };
}

/// Calls a method with the kind of gain limit, and whether AIM is computed, as constants that it is compiled for.
macro_rules! by_gain {
    ($gain:expr, $aim:expr, $this:ident.$method:ident($($argument:expr),*)) => {
        match ($gain, $aim) {
            (Gain::None, false) => $this.$method::<NONE, false>($($argument),*),
            (Gain::None, true) => $this.$method::<NONE, true>($($argument),*),
            (Gain::Hundred, false) => $this.$method::<HUNDRED, false>($($argument),*),
            (Gain::Hundred, true) => $this.$method::<HUNDRED, true>($($argument),*),
            (Gain::Other, false) => $this.$method::<OTHER, false>($($argument),*),
            (Gain::Other, true) => $this.$method::<OTHER, true>($($argument),*),
        }
    };
}

mod csf;
mod long;
mod ops;
mod parts;
mod short;

pub use ops::AdmVector;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub use ops::{TO_INTEGER, TO_SHARE};
pub use short::Source;

use visus_video::Plane;

use super::decouple::Gain;
use super::geometry::SCALES;
use super::plan::Plan;
use super::scalar::Scalar;
use super::scale::{LowPlane, run_part};
use super::score::AdmSums;
use crate::Spread;
use parts::Parts;

/// [`Gain`] as a constant.
const NONE: u8 = Gain::None as u8;
const HUNDRED: u8 = Gain::Hundred as u8;
const OTHER: u8 = Gain::Other as u8;

/// Words of the widest register.
const MAX_WORDS: usize = 32;

/// The narrowest picture that is worth it. Its coarsest scale still has more than two columns.
const MIN_WIDTH: usize = 64;

/// Whether the kernels are defined for a plan.
pub fn suits(plan: &Plan) -> bool {
    // Weights from one half on (mode 1 has such) are too large for signed products.
    // And the largest unsigned word is no sum of two signed ones.
    plan.columns[0].input >= MIN_WIDTH
        && plan.short.weights().iter().all(|weight| *weight < u16::MAX)
        && plan.long.iter().all(|long| long.weights_fit())
}

/// Scratch for one worker.
#[derive(Debug)]
pub struct Vectors<V> {
    lanes: V,
    first_low: [LowPlane<i16>; 2],
    second_low: [long::SplitPlane; 2],
    third_low: [long::SplitPlane; 2],
    fixed: [long::Fixed; SCALES - 1],
    /// One for each part of a scale that is worked on at the same time.
    rows: Vec<PartRows>,
    /// For frames whose samples exceed the bit depth: made with the first of them.
    scalar: Option<Box<Scalar>>,
}

/// The scratch rows of a part.
#[derive(Debug)]
struct PartRows {
    short: short::Rows,
    long: long::Rows,
}

impl PartRows {
    fn new<V: AdmVector>(plan: &Plan) -> Self {
        let [first, second, ..] = &plan.columns;
        Self { short: short::Rows::new(first, V::WORDS), long: long::Rows::new(second, V::WORDS) }
    }
}

impl<V: AdmVector> Vectors<V> {
    pub fn new(lanes: V, plan: &Plan) -> Self {
        let size = |scale: usize| (plan.columns[scale].output, plan.rows[scale].output);
        let split = |scale: usize| std::array::from_fn(|_| long::SplitPlane::new(size(scale), V::WORDS));
        let (width, height) = size(0);
        Self {
            lanes,
            first_low: std::array::from_fn(|_| LowPlane::new(width, height, V::WORDS)),
            second_low: split(1),
            third_low: split(2),
            fixed: std::array::from_fn(|i| long::Fixed::new(&plan.columns[i + 1], V::WORDS)),
            rows: vec![PartRows::new::<V>(plan)],
            scalar: None,
        }
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Source>(
        &mut self,
        plan: &Plan,
        pictures: [Plane<'_, S>; 2],
        spread: &dyn Spread,
    ) -> [AdmSums; SCALES] {
        self.rows.resize_with(spread.width().max(1), || PartRows::new::<V>(plan));
        let (first, exceeds) = self.first_sums(plan, pictures, spread);
        let [second, third, fourth] = if exceeds {
            let scalar = self.scalar.get_or_insert_with(|| Box::new(Scalar::new(plan)));
            scalar.later_sums(plan, self.first_low.each_ref().map(LowPlane::view))
        } else {
            self.later_sums(plan, spread)
        };
        [first, second, third, fourth]
    }

    /// The sums of the first scale, and whether samples exceed the bit depth.
    fn first_sums<S: Source>(
        &mut self,
        plan: &Plan,
        pictures: [Plane<'_, S>; 2],
        spread: &dyn Spread,
    ) -> (AdmSums, bool) {
        let v = self.lanes;
        let mut lows = self.first_low.each_mut().map(LowPlane::rows_mut);
        let parts = Parts::new(&plan.rows[0], &mut self.rows, |rows, end| {
            let lows = lows.each_mut().map(|low| low.take(end));
            short::Steps::new(v, plan, pictures, lows, &mut rows.short)
        });
        parts.run(spread, |steps, part| (run_part(&plan.rows[0], part, &plan.short, steps), steps.exceeds()))
    }

    fn later_sums(&mut self, plan: &Plan, spread: &dyn Spread) -> [AdmSums; SCALES - 1] {
        let Self { lanes, first_low: first, second_low: second, third_low: third, fixed, rows, .. } = self;
        let work = Later { v: *lanes, plan, spread };
        [
            work.sums::<_, 15>(1, &fixed[0], first, Some(&mut *second), rows),
            work.sums::<_, 16>(2, &fixed[1], second, Some(&mut *third), rows),
            work.sums::<_, 15>(3, &fixed[2], third, None, rows),
        ]
    }
}

/// What the later scales share.
struct Later<'a, V> {
    v: V,
    plan: &'a Plan,
    spread: &'a dyn Spread,
}

impl<V: AdmVector> Later<'_, V> {
    fn sums<I: long::Input + Sync, const BITS: u32>(
        &self,
        scale: usize,
        fixed: &long::Fixed,
        inputs: &[I; 2],
        lows: Option<&mut [long::SplitPlane; 2]>,
        rows: &mut [PartRows],
    ) -> AdmSums {
        let (v, plan) = (self.v, self.plan);
        let (down, masking) = (&plan.rows[scale], &plan.long[scale - 1]);
        let mut lows = lows.map(|lows| lows.each_mut().map(long::SplitPlane::rows_mut));
        let parts = Parts::new(down, rows, |rows, end| {
            let lows = lows.as_mut().map(|lows| lows.each_mut().map(|low| low.take(end)));
            long::Steps::<V, I, BITS>::new(v, plan, scale, fixed, inputs, lows, &mut rows.long)
        });
        parts.run(self.spread, |steps, part| (run_part(down, part, masking, steps), false)).0
    }
}
