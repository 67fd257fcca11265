//! Kernels in plain Rust: sums over a part of a row.
//!
//! A part is as long as a block is wide, at most about 1500 samples, so that sums of its absolute values fit 32 bits even
//! for samples of 16 bits. That keeps the loops narrow enough for vector instructions to pay.

use visus_video::Sample;

#[inline]
fn value<T: Sample>(sample: T) -> i32 {
    sample.into()
}

/// The sum of squared differences.
pub fn squared_error<T: Sample>(a: &[T], b: &[T]) -> u64 {
    let square = |(a, b): (&T, &T)| {
        let difference = value(*a).abs_diff(value(*b));
        difference * difference
    };
    let squares = a.iter().zip(b).map(square);
    if size_of::<T>() == 1 { squares.sum::<u32>().into() } else { squares.map(u64::from).sum() }
}

/// The sum of absolute high-pass values in the middle row. The rows begin one pixel before the first value and end one
/// after the last.
pub fn high_pass<T: Sample>(above: &[T], row: &[T], below: &[T]) -> u64 {
    let len = row.len().saturating_sub(2);
    let (above, below) = (&above[..row.len()], &below[..row.len()]);
    let mut sum = 0;
    for x in 0..len {
        let at = |row: &[T], x: usize| value(row[x]);
        let sides = at(row, x) + at(row, x + 2) + at(above, x + 1) + at(below, x + 1);
        let corners = at(above, x) + at(above, x + 2) + at(below, x) + at(below, x + 2);
        sum += (12 * at(row, x + 1) - 2 * sides - corners).unsigned_abs();
    }
    sum.into()
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
    pub fn high_pass(&self, columns: std::ops::Range<usize>) -> u64 {
        let group = |x: usize| {
            self.centre[x]
                + self.centre[x + 1]
                + self.beside[x - 1]
                + self.beside[x + 2]
                + self.outer[x - 2]
                + self.outer[x + 3]
        };
        columns.step_by(2).map(|x| group(x).unsigned_abs()).sum::<u32>().into()
    }
}

/// The sum of absolute differences to the picture before.
pub fn first_difference<T: Sample>(now: &[T], before: &[T]) -> u64 {
    now.iter().zip(before).map(|(now, before)| value(*now).abs_diff(value(*before))).sum::<u32>().into()
}

/// The sum of absolute differences between the last two differences.
pub fn second_difference<T: Sample>(now: &[T], before: &[T], earlier: &[T]) -> u64 {
    let change = |((now, before), earlier): ((&T, &T), &T)| {
        (value(*now) - 2 * value(*before) + value(*earlier)).unsigned_abs()
    };
    now.iter().zip(before).zip(earlier).map(change).sum::<u32>().into()
}

/// Two rows of one picture.
pub type RowPair<'a, T> = [&'a [T]; 2];

/// [`first_difference`] of the sums of 2x2 pixels. At an odd end the last column counts twice.
pub fn first_group_difference<T: Sample>(now: RowPair<'_, T>, before: RowPair<'_, T>) -> u64 {
    sum_of_groups([now, before], |[now, before]| now.abs_diff(before))
}

/// [`second_difference`] of the sums of 2x2 pixels.
pub fn second_group_difference<T: Sample>(
    now: RowPair<'_, T>,
    before: RowPair<'_, T>,
    earlier: RowPair<'_, T>,
) -> u64 {
    let change = |[now, before, earlier]: [i32; 3]| (now - 2 * before + earlier).unsigned_abs();
    sum_of_groups([now, before, earlier], change)
}

/// Adds up what `change` makes of the 2x2 sums at the same place in several pictures.
#[inline]
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
