//! The sum of the strongest values of a picture.
//!
//! libvmaf moves the strongest values to the front with a quickselect and adds them up in the order in which that
//! leaves them. As long as such a sum needs no rounding its order does not matter, and the values can be selected by
//! counting. Only sums that may be rounded are made in libvmaf's way; that takes large pictures full of strong banding.

use super::scalar::strengths::Strengths;

/// Strengths are 0, or lie between 0.5 and 2^14: a pair of counts `p`, `q` of at least 1 gives `p * q / (p + q)`.
const SMALLEST: f32 = 0.5;
const LIMIT: f32 = 16384.0;

/// Low bits of a value that the first count ignores and the second one resolves.
const FINE_BITS: u32 = 14;
/// Zero has the first bin for itself.
const FIRST_BIN: u32 = (SMALLEST.to_bits() >> FINE_BITS) - 1;
const BINS: usize = ((LIMIT.to_bits() >> FINE_BITS) - FIRST_BIN) as usize;

/// Partial sums side by side, for vector instructions.
const LANES: usize = 8;

/// Counters for the selection.
#[derive(Clone, Debug)]
pub struct Pooling {
    coarse: Vec<u32>,
    fine: Vec<u32>,
    /// The strength at every pixel; empty until it is needed.
    plane: Vec<f32>,
}

/// Values in several slices.
pub trait Parts<'a>: Iterator<Item = &'a [f32]> + Clone {}

impl<'a, T: Iterator<Item = &'a [f32]> + Clone> Parts<'a> for T {}

/// A sum of positive values, the smallest one in it, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    total: f64,
    smallest: f32,
    count: usize,
}

impl Pooling {
    pub fn new() -> Self {
        Self { coarse: vec![0; BINS], fine: vec![0; 1 << FINE_BITS], plane: Vec::new() }
    }

    /// The mean of the `count` largest strengths of a picture of this size. Its bands tell theirs, of which `all` is the sum; all
    /// others are 0.
    #[inline(always)]
    pub fn mean_of_largest(
        &mut self,
        bands: &[Strengths],
        all: Sum,
        (width, height): (usize, usize),
        count: usize,
    ) -> f64 {
        let total = self.sum_of_largest(bands.iter().map(Strengths::values), all, count);
        let total = total.unwrap_or_else(|| {
            self.plane.clear();
            self.plane.resize(width * height, 0.0);
            bands.iter().for_each(|band| band.spread(width, &mut self.plane));
            ordered_sum(&mut self.plane, count)
        });
        total / count as f64
    }

    /// The sum of the `count` largest values, or the sum of all if they are fewer. `None` if it may need rounding: then it
    /// depends on the order.
    #[inline(always)]
    pub fn sum_of_largest<'a>(&mut self, parts: impl Parts<'a>, all: Sum, count: usize) -> Option<f64> {
        let mut sum = all;
        if sum.count > count {
            let floor = self.nth_largest(parts.clone(), count);
            sum = Sum::of_values_above(parts, floor);
            sum.repeat(floor, count - sum.count);
        }
        sum.is_exact().then_some(sum.total)
    }

    /// The value that `count - 1` values stand before. It must be positive.
    #[inline(always)]
    fn nth_largest<'a>(&mut self, parts: impl Parts<'a>, count: usize) -> f32 {
        self.coarse.fill(0);
        parts.clone().flatten().for_each(|value| self.coarse[coarse_bin(*value)] += 1);
        let (bin, left) = bin_of_nth(&self.coarse, count);
        self.fine.fill(0);
        let same_bin = parts.flatten().filter(|value| coarse_bin(**value) == bin);
        same_bin.for_each(|value| self.fine[fine_bin(*value)] += 1);
        let (fine, _) = bin_of_nth(&self.fine, left);
        f32::from_bits((bin as u32 + FIRST_BIN) << FINE_BITS | fine as u32)
    }
}

impl Sum {
    const NOTHING: Self = Self { total: 0.0, smallest: f32::INFINITY, count: 0 };

    /// The sum of all positive values.
    #[inline(always)]
    pub fn of(values: &[f32]) -> Self {
        Self::of_values_above(std::iter::once(values), 0.0)
    }

    /// The sum of sums. It is rounded in another way than if all values were added up, which is as good: see [`is_exact`].
    pub fn join(sums: impl Iterator<Item = Self>) -> Self {
        sums.fold(Self::NOTHING, |one, two| Self {
            total: one.total + two.total,
            smallest: one.smallest.min(two.smallest),
            count: one.count + two.count,
        })
    }

    #[inline(always)]
    fn of_values_above<'a>(parts: impl Parts<'a>, floor: f32) -> Self {
        let (mut totals, mut smallest, mut counts) = ([0.0; LANES], [f32::INFINITY; LANES], [0; LANES]);
        let mut add = |lane: usize, value: f32| {
            let above = value > floor;
            totals[lane] += f64::from(if above { value } else { 0.0 });
            counts[lane] += u32::from(above);
            let candidate = if above { value } else { f32::INFINITY };
            smallest[lane] = if candidate < smallest[lane] { candidate } else { smallest[lane] };
        };
        for values in parts {
            let (chunks, rest) = values.as_chunks::<LANES>();
            for chunk in chunks {
                for lane in 0..LANES {
                    add(lane, chunk[lane]);
                }
            }
            for value in rest {
                add(0, *value);
            }
        }
        Self {
            total: totals.iter().sum(),
            smallest: smallest.into_iter().fold(f32::INFINITY, f32::min),
            count: counts.iter().map(|count| *count as usize).sum(),
        }
    }

    /// Adds a value several times.
    #[inline(always)]
    fn repeat(&mut self, value: f32, times: usize) {
        self.total += f64::from(value) * times as f64;
        self.smallest = self.smallest.min(value);
        self.count += times;
    }

    #[inline(always)]
    fn is_exact(&self) -> bool {
        is_exact(self.total, self.smallest)
    }
}

/// Whether a sum with this smallest value is exact in any order: all values are multiples of the smallest one's unit, so
/// partial sums are exact while they stay below 2^53 of these. If they do not, `total` is rounded, but never by as much as
/// the margin.
pub fn is_exact(total: f64, smallest: f32) -> bool {
    const MARGIN: f64 = 1.0 - 1.0 / (1 << 20) as f64;
    let exponent = f32::from_bits(smallest.to_bits() & 0x7f80_0000);
    let unit = f64::from(exponent) / f64::from(1 << 23);
    total <= unit * (1u64 << 53) as f64 * MARGIN
}

fn coarse_bin(value: f32) -> usize {
    debug_assert!(value == 0.0 || (SMALLEST..LIMIT).contains(&value), "{value}");
    (value.to_bits() >> FINE_BITS).saturating_sub(FIRST_BIN) as usize
}

fn fine_bin(value: f32) -> usize {
    (value.to_bits() & ((1 << FINE_BITS) - 1)) as usize
}

/// The bin that holds the n-th largest value (from 1), and which of this bin's values it is.
fn bin_of_nth(bins: &[u32], n: usize) -> (usize, usize) {
    let mut left = n;
    for (bin, count) in bins.iter().enumerate().rev() {
        if left <= *count as usize {
            return (bin, left);
        }
        left -= *count as usize;
    }
    (0, left)
}

/// The sum of the `count` largest values in the order in which libvmaf adds them. `values` are those of all pixels.
pub fn ordered_sum(values: &mut [f32], count: usize) -> f64 {
    move_largest_to_front(values, count);
    values[..count].iter().map(|value| f64::from(*value)).sum()
}

/// Hoare's selection (CACM algorithm 65), always with the value at `count` as pivot: it decides the order in front of
/// it, and with that the rounding of the sum.
fn move_largest_to_front(values: &mut [f32], count: usize) {
    if count == values.len() {
        return;
    }
    let (mut left, mut right) = (0, values.len() as isize - 1);
    let target = count as isize;
    while left < right {
        let (ends, begins) = partition(values, left, right, values[count]);
        if ends < target {
            left = begins;
        }
        if target < begins {
            right = ends;
        }
    }
}

/// Swaps values from both ends until none above the pivot stands behind one below it. Returns where the upper part
/// ends and where the lower part begins; what lies between equals the pivot.
fn partition(values: &mut [f32], left: isize, right: isize, pivot: f32) -> (isize, isize) {
    let (mut low, mut high) = (left, right);
    while low <= high {
        while values[low as usize] > pivot {
            low += 1;
        }
        while values[high as usize] < pivot {
            high -= 1;
        }
        if low <= high {
            values.swap(low as usize, high as usize);
            low += 1;
            high -= 1;
        }
    }
    (high, low)
}
