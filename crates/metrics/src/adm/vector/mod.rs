//! The kernels of CPU levels with vectors. They are written once, over the operations of [`Vector`](crate::simd::Vector) and
//! [`AdmVector`].
//!
//! Rows are worked on in whole registers: scratch rows are longer than what is read of them, and what is computed behind
//! the last column is masked out of the sums.

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

mod long;
mod ops;
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
use super::scale::{LowPlane, run};
use super::score::AdmSums;

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
    plan.columns[0].input >= MIN_WIDTH && plan.long.iter().all(|long| long.weights_fit())
}

/// Scratch for one worker.
#[derive(Debug)]
pub struct Vectors<V> {
    lanes: V,
    first_low: [LowPlane<i16>; 2],
    second_low: [long::SplitPlane; 2],
    third_low: [long::SplitPlane; 2],
    fixed: [long::Fixed; SCALES - 1],
    short: short::Rows,
    long: long::Rows,
    /// For frames whose samples exceed the bit depth: made with the first of them.
    scalar: Option<Box<Scalar>>,
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
            short: short::Rows::new(&plan.columns[0], V::WORDS),
            long: long::Rows::new(&plan.columns[1], V::WORDS),
            scalar: None,
        }
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Source>(&mut self, plan: &Plan, pictures: [Plane<'_, S>; 2]) -> [AdmSums; SCALES] {
        let mut steps = short::Steps::new(self.lanes, plan, pictures, &mut self.first_low, &mut self.short);
        let first = run(&plan.rows[0], &plan.short, &mut steps);
        let [second, third, fourth] = if steps.exceeds() {
            let scalar = self.scalar.get_or_insert_with(|| Box::new(Scalar::new(plan)));
            scalar.later_sums(plan, self.first_low.each_ref().map(LowPlane::view))
        } else {
            self.later_sums(plan)
        };
        [first, second, third, fourth]
    }

    fn later_sums(&mut self, plan: &Plan) -> [AdmSums; SCALES - 1] {
        let Self { lanes, first_low: first, second_low: second, third_low: third, fixed, long, .. } = self;
        let (v, [a, b, c]) = (*lanes, fixed);
        let mut steps = long::Steps::<V, _, 15>::new(v, plan, 1, a, first, Some(second), long);
        let second_sums = run(&plan.rows[1], &plan.long[0], &mut steps);
        let mut steps = long::Steps::<V, _, 16>::new(v, plan, 2, b, second, Some(third), long);
        let third_sums = run(&plan.rows[2], &plan.long[1], &mut steps);
        let mut steps = long::Steps::<V, _, 15>::new(v, plan, 3, c, third, None, long);
        [second_sums, third_sums, run(&plan.rows[3], &plan.long[2], &mut steps)]
    }
}
