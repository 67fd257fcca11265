//! Kernels in plain Rust, compiled for every CPU level: sums over a part of a row. Loops and not iterator chains: what
//! stays a call would not be compiled for the level of its caller.
//!
//! A part is as long as a block is wide or high, at most about 1500 samples, so that sums of its absolute values fit 32 bits even
//! for samples of 16 bits. That keeps the loops narrow enough for vector instructions to pay.

use visus_video::Sample;

#[inline(always)]
fn value<T: Sample>(sample: T) -> i32 {
    sample.into()
}

/// A sample of 8 bits; the values that are made of it fit 16 bits, of which vectors hold twice as many.
#[inline(always)]
fn byte<T: Sample>(sample: T) -> i16 {
    value(sample) as i16
}

/// Whether samples are bytes.
#[inline(always)]
fn is_narrow<T: Sample>() -> bool {
    size_of::<T>() == 1
}

/// The sum of squared differences.
#[inline(always)]
pub fn squared_error<T: Sample>(a: &[T], b: &[T]) -> u64 {
    let b = &b[..a.len()];
    if is_narrow::<T>() {
        let mut sum = 0;
        for x in 0..a.len() {
            let difference = i32::from(byte(a[x]) - byte(b[x]));
            sum += (difference * difference) as u32;
        }
        return sum.into();
    }
    let mut sum = 0;
    for x in 0..a.len() {
        let difference = value(a[x]).abs_diff(value(b[x]));
        sum += u64::from(difference * difference);
    }
    sum
}

/// Adds the absolute high-pass values of a row to the sums of its columns, except for the first and the last one. Rows of
/// a block are added up column by column, so that there is one sum along rows for all of them.
#[inline(always)]
pub fn add_high_pass<T: Sample>(above: &[T], row: &[T], below: &[T], sums: &mut [u32]) {
    let len = row.len().saturating_sub(2);
    let (above, below, sums) = (&above[..row.len()], &below[..row.len()], &mut sums[..row.len()]);
    if is_narrow::<T>() {
        for x in 0..len {
            let sides = byte(row[x]) + byte(row[x + 2]) + byte(above[x + 1]) + byte(below[x + 1]);
            let corners = byte(above[x]) + byte(above[x + 2]) + byte(below[x]) + byte(below[x + 2]);
            sums[x + 1] += u32::from((12 * byte(row[x + 1]) - 2 * sides - corners).unsigned_abs());
        }
        return;
    }
    for x in 0..len {
        let sides = value(row[x]) + value(row[x + 2]) + value(above[x + 1]) + value(below[x + 1]);
        let corners = value(above[x]) + value(above[x + 2]) + value(below[x]) + value(below[x + 2]);
        sums[x + 1] += (12 * value(row[x + 1]) - 2 * sides - corners).unsigned_abs();
    }
}

/// Column sums of the six rows that the high-pass for groups of 2x2 pixels looks at: weighted for the two columns of the
/// group, for the columns beside it and for the outer columns. The entries behind the last column repeat it.
#[derive(Clone, Debug)]
pub struct GroupColumns {
    centre: Vec<i32>,
    beside: Vec<i32>,
    outer: Vec<i32>,
}

impl GroupColumns {
    /// For rows of `width` samples.
    pub fn new(width: usize) -> Self {
        let column = || vec![0; width + 2];
        Self { centre: column(), beside: column(), outer: column() }
    }

    /// Adds up columns. The group lies in the third and fourth row.
    #[inline(always)]
    pub fn fill<T: Sample>(&mut self, rows: [&[T]; 6]) {
        let width = self.centre.len() - 2;
        let rows = rows.map(|row| &row[..width]);
        for x in 0..width {
            let pair = |a: usize, b: usize| value(rows[a][x]) + value(rows[b][x]);
            let (inner, near, far) = (pair(2, 3), pair(1, 4), pair(0, 5));
            self.centre[x] = 12 * inner - 3 * near - far;
            self.beside[x] = -3 * inner - 2 * near - far;
            self.outer[x] = -inner - near;
        }
        for column in [&mut self.centre, &mut self.beside, &mut self.outer] {
            let last = column[width - 1];
            column[width..].fill(last);
        }
    }

    /// The sum of absolute values for the groups that begin at every second column of the range, which starts at 2 or
    /// later.
    #[inline(always)]
    pub fn high_pass(&self, columns: std::ops::Range<usize>) -> u64 {
        let group = |x: usize| {
            self.centre[x]
                + self.centre[x + 1]
                + self.beside[x - 1]
                + self.beside[x + 2]
                + self.outer[x - 2]
                + self.outer[x + 3]
        };
        let mut sum = 0u32;
        for x in columns.step_by(2) {
            sum += group(x).unsigned_abs();
        }
        sum.into()
    }
}

/// The sum of absolute differences to the picture before.
#[inline(always)]
pub fn first_difference<T: Sample>(now: &[T], before: &[T]) -> u64 {
    let before = &before[..now.len()];
    let mut sum = 0;
    for x in 0..now.len() {
        sum += value(now[x]).abs_diff(value(before[x]));
    }
    sum.into()
}

/// The sum of absolute differences between the last two differences.
#[inline(always)]
pub fn second_difference<T: Sample>(now: &[T], before: &[T], earlier: &[T]) -> u64 {
    let (before, earlier) = (&before[..now.len()], &earlier[..now.len()]);
    let mut sum = 0;
    if is_narrow::<T>() {
        for x in 0..now.len() {
            sum += u32::from((byte(now[x]) - 2 * byte(before[x]) + byte(earlier[x])).unsigned_abs());
        }
        return sum.into();
    }
    for x in 0..now.len() {
        sum += (value(now[x]) - 2 * value(before[x]) + value(earlier[x])).unsigned_abs();
    }
    sum.into()
}

/// Two rows of one picture.
pub type RowPair<'a, T> = [&'a [T]; 2];

/// [`first_difference`] of the sums of 2x2 pixels. At an odd end the last column counts twice.
#[inline(always)]
pub fn first_group_difference<T: Sample>(now: RowPair<'_, T>, before: RowPair<'_, T>) -> u64 {
    sum_of_groups([now, before], |[now, before]| now.abs_diff(before))
}

/// [`second_difference`] of the sums of 2x2 pixels.
#[inline(always)]
pub fn second_group_difference<T: Sample>(
    now: RowPair<'_, T>,
    before: RowPair<'_, T>,
    earlier: RowPair<'_, T>,
) -> u64 {
    let change = |[now, before, earlier]: [i32; 3]| (now - 2 * before + earlier).unsigned_abs();
    sum_of_groups([now, before, earlier], change)
}

/// Adds up what `change` makes of the 2x2 sums at the same place in several pictures.
#[inline(always)]
fn sum_of_groups<T: Sample, const N: usize>(
    pictures: [RowPair<'_, T>; N],
    change: impl Fn([i32; N]) -> u32,
) -> u64 {
    let len = pictures[0][0].len();
    let columns = pictures.map(|rows| rows.map(|row| row[..len].as_chunks::<2>()));
    let pair = |[a, b]: [T; 2]| value(a) + value(b);
    let mut sum = 0;
    for i in 0..len / 2 {
        sum += change(columns.map(|[(upper, _), (lower, _)]| pair(upper[i]) + pair(lower[i])));
    }
    if len % 2 == 1 {
        sum += change(columns.map(|[(_, upper), (_, lower)]| 2 * (value(upper[0]) + value(lower[0]))));
    }
    sum.into()
}
