//! The kernel in plain Rust: difference of two planes, 5×5 blur, sum of absolute values.
//!
//! All sums fit 32 bits: where a value has 17 bits, its upper sixteen and its lowest one are filtered apart.
//! [`blurred_row`] is inlined into the vector kernels, which leave rows with extreme changes to it.

use std::ops::Range;

use visus_video::{Plane, Sample};

/// The blur's taps; they sum to 2^16.
pub const TAPS: [i32; 5] = [3571, 16004, 26386, 16004, 3571];
const RADIUS: usize = 2;

/// One row of the vertically blurred difference, with mirrored columns on both sides.
#[derive(Debug)]
pub struct Row(Vec<i32>);

impl Row {
    pub fn new(width: usize) -> Self {
        Self(vec![0; width + 2 * RADIUS])
    }
}

/// Sum over all pixels of some rows of the blurred difference's absolute value, in 1/256 of a level (of 8 bits).
#[inline(always)]
pub fn blurred_difference<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    rows: Range<usize>,
    depth: u32,
    row: &mut Row,
) -> u64 {
    rows.map(|y| blurred_row(earlier, current, y, depth, row)).sum()
}

/// What row `y` adds to the sum.
#[inline(always)]
pub fn blurred_row<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    y: usize,
    depth: u32,
    row: &mut Row,
) -> u64 {
    // Rows without change are common in still scenes.
    if vertical(earlier, current, y, depth, &mut row.0) { horizontal(&mut row.0) } else { 0 }
}

/// The row `offset` away from `y`, mirrored around the first and the last row.
#[inline]
pub fn mirrored(y: usize, offset: isize, height: usize) -> usize {
    let row = y as isize + offset;
    let last = height as isize - 1;
    let row = if row < 0 { -row } else { row };
    let row = if row > last { 2 * last - row } else { row };
    // A picture of two rows is mirrored twice.
    row.unsigned_abs().min(last as usize)
}

/// Blurs the difference down the columns of row `y`; says whether anything is left of it.
#[inline(always)]
fn vertical<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    y: usize,
    depth: u32,
    out: &mut [i32],
) -> bool {
    let width = current.width();
    let rows: [(&[T], &[T]); 5] = std::array::from_fn(|k| {
        let row = mirrored(y, k as isize - RADIUS as isize, current.height());
        (&earlier.row(row)[..width], &current.row(row)[..width])
    });
    let mut any = 0;
    for (x, out) in out[RADIUS..RADIUS + width].iter_mut().enumerate() {
        let differences: [i32; 5] = std::array::from_fn(|k| {
            let (a, b): (i32, i32) = (rows[k].0[x].into(), rows[k].1[x].into());
            a - b
        });
        *out = rounded_sum(&differences, depth);
        any |= *out;
    }
    any != 0
}

/// `(Σ tap·value + 2^(shift-1)) >> shift` for values of up to 17 bits and shifts from 8 on.
#[inline(always)]
fn rounded_sum(values: &[i32; 5], shift: u32) -> i32 {
    let (mut upper, mut lowest) = (0, 1 << (shift - 1));
    for (tap, value) in TAPS.iter().zip(values) {
        upper += tap * (value >> 1);
        lowest += tap * (value & 1);
    }
    (upper + (lowest >> 1)) >> (shift - 1)
}

/// Blurs along the row and sums the absolute values.
#[inline(always)]
fn horizontal(row: &mut [i32]) -> u64 {
    let width = row.len() - 2 * RADIUS;
    for distance in 1..=RADIUS {
        let left = mirrored(0, -(distance as isize), width);
        let right = mirrored(width - 1, distance as isize, width);
        row[RADIUS - distance] = row[RADIUS + left];
        row[RADIUS + width - 1 + distance] = row[RADIUS + right];
    }
    // Less than 2^16 per pixel and at most 2^15 pixels: a row's sum fits 32 bits.
    let mut sum = 0u32;
    for x in 0..width {
        let window: [i32; 5] = std::array::from_fn(|k| row[x + k]);
        sum += rounded_sum(&window, 16).unsigned_abs();
    }
    u64::from(sum)
}
