//! The kernel in plain Rust: difference of two planes, 5×5 blur, sum of absolute values.

use visus_video::{Plane, Sample};

/// The blur's taps; they sum to 2^16.
pub const TAPS: [i64; 5] = [3571, 16004, 26386, 16004, 3571];
const RADIUS: usize = 2;

/// One row of the vertically blurred difference, with mirrored columns on both sides.
#[derive(Debug)]
pub struct Row(Vec<i32>);

impl Row {
    pub fn new(width: usize) -> Self {
        Self(vec![0; width + 2 * RADIUS])
    }
}

/// Sum over all pixels of the blurred difference's absolute value, in 1/256 of a level (of 8 bits).
pub fn blurred_difference<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    depth: u32,
    row: &mut Row,
) -> u64 {
    let height = current.height();
    (0..height)
        .map(|y| {
            let any = vertical(earlier, current, y, depth, &mut row.0);
            // Rows without change are common in still scenes.
            if any { horizontal(&mut row.0) } else { 0 }
        })
        .sum()
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
fn vertical<T: Sample>(
    earlier: Plane<'_, T>,
    current: Plane<'_, T>,
    y: usize,
    depth: u32,
    out: &mut [i32],
) -> bool {
    let rows: [(&[T], &[T]); 5] = std::array::from_fn(|k| {
        let row = mirrored(y, k as isize - RADIUS as isize, current.height());
        (earlier.row(row), current.row(row))
    });
    let round = 1i64 << (depth - 1);
    let mut any = 0;
    let width = current.width();
    for (x, out) in out[RADIUS..RADIUS + width].iter_mut().enumerate() {
        let mut sum = round;
        for (tap, (earlier, current)) in TAPS.iter().zip(rows) {
            let (a, b): (i32, i32) = (earlier[x].into(), current[x].into());
            sum += tap * i64::from(a - b);
        }
        *out = (sum >> depth) as i32;
        any |= *out;
    }
    any != 0
}

/// Blurs along the row and sums the absolute values.
fn horizontal(row: &mut [i32]) -> u64 {
    let width = row.len() - 2 * RADIUS;
    for distance in 1..=RADIUS {
        let left = mirrored(0, -(distance as isize), width);
        let right = mirrored(width - 1, distance as isize, width);
        row[RADIUS - distance] = row[RADIUS + left];
        row[RADIUS + width - 1 + distance] = row[RADIUS + right];
    }
    row.windows(5)
        .map(|window| {
            let sum: i64 = TAPS.iter().zip(window).map(|(tap, value)| tap * i64::from(*value)).sum();
            ((sum + (1 << 15)) >> 16).unsigned_abs()
        })
        .sum()
}
