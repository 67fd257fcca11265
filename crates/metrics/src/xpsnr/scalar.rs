//! Kernels in plain Rust, compiled for every CPU level: sums over a part of a row. Loops and not iterator chains: what
//! stays a call would not be compiled for the level of its caller.
//!
//! A part is as long as a block is wide or high, at most about 1500 samples, so that sums of its absolute values fit 32 bits even
//! for samples of 16 bits. That keeps the loops narrow enough for vector instructions to pay.

use std::ops::Range;

use visus_video::{Plane, Sample};

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

/// Sums that run side by side.
const LANES: usize = 32;

/// Rows of a block whose terms fit the sums of [`LANES`] columns.
const ROWS_AT_ONCE: usize = 1024;

/// Terms that a row of a block has for one sum: it has about 1500 samples at most.
const TERMS_PER_ROW: usize = 48;
const _: () = assert!(ROWS_AT_ONCE * TERMS_PER_ROW * 255 * 255 <= u32::MAX as usize);

/// Blocks that are summed side by side, so that rows are read from end to end.
const BLOCKS_AT_ONCE: usize = 32;

/// A row of blocks: its rows, and the columns of each block.
#[derive(Clone, Debug)]
pub struct BlockRow<'a> {
    pub down: Range<usize>,
    pub across: &'a [Range<usize>],
}

impl BlockRow<'_> {
    /// Adds to the sum of each block what `term` makes of the bytes at the same place in several pictures. Sums run down the
    /// columns, and are added up along rows once: blocks are few vectors wide.
    #[inline(always)]
    fn add_bytes<T: Sample, const N: usize>(
        &self,
        pictures: [Plane<'_, T>; N],
        out: &mut [u64],
        term: impl Fn([i16; N]) -> u16,
    ) {
        for (across, out) in self.across.chunks(BLOCKS_AT_ONCE).zip(out.chunks_mut(BLOCKS_AT_ONCE)) {
            for first in self.down.clone().step_by(ROWS_AT_ONCE) {
                let mut sums = [[0; LANES]; BLOCKS_AT_ONCE];
                for y in first..self.down.end.min(first + ROWS_AT_ONCE) {
                    let rows = pictures.map(|picture| picture.row(y));
                    for (across, sums) in across.iter().zip(&mut sums) {
                        add_bytes(rows.map(|row| &row[across.clone()]), sums, &term);
                    }
                }
                for (out, sums) in out.iter_mut().zip(&sums) {
                    for sum in sums {
                        *out += u64::from(*sum);
                    }
                }
            }
        }
    }

    /// Adds to the sum of each block what `of` makes of its part of each row.
    #[inline(always)]
    fn add_rows<T: Sample, const N: usize>(
        &self,
        pictures: [Plane<'_, T>; N],
        out: &mut [u64],
        of: impl Fn([&[T]; N]) -> u64,
    ) {
        for y in self.down.clone() {
            let rows = pictures.map(|picture| picture.row(y));
            for (across, out) in self.across.iter().zip(&mut *out) {
                *out += of(rows.map(|row| &row[across.clone()]));
            }
        }
    }

    /// Adds the squared differences.
    #[inline(always)]
    pub fn add_squared_errors<T: Sample>(&self, pictures: [Plane<'_, T>; 2], out: &mut [u64]) {
        if is_narrow::<T>() {
            // Its 16 bits are those of the square.
            return self.add_bytes(pictures, out, |[a, b]| (a - b).wrapping_mul(a - b) as u16);
        }
        self.add_rows(pictures, out, |[a, b]| {
            // Halves of squares, whose sums fit 32 bits.
            let (mut low, mut high) = (0u32, 0u32);
            for x in 0..a.len() {
                let difference = value(a[x]).abs_diff(value(b[x]));
                let square = difference * difference;
                low += square & 0xffff;
                high += square >> 16;
            }
            (u64::from(high) << 16) + u64::from(low)
        });
    }

    /// Adds the absolute differences to the picture before.
    #[inline(always)]
    pub fn add_first_differences<T: Sample>(&self, pictures: [Plane<'_, T>; 2], out: &mut [u64]) {
        if is_narrow::<T>() {
            return self.add_bytes(pictures, out, |[now, before]| (now - before).unsigned_abs());
        }
        self.add_rows(pictures, out, |[now, before]| {
            let mut sum = 0;
            for x in 0..now.len() {
                sum += value(now[x]).abs_diff(value(before[x]));
            }
            sum.into()
        });
    }

    /// Adds the absolute differences between the last two differences. Pictures are the latest one first.
    #[inline(always)]
    pub fn add_second_differences<T: Sample>(&self, pictures: [Plane<'_, T>; 3], out: &mut [u64]) {
        if is_narrow::<T>() {
            let term = |[now, before, earlier]: [i16; 3]| (now - 2 * before + earlier).unsigned_abs();
            return self.add_bytes(pictures, out, term);
        }
        self.add_rows(pictures, out, |[now, before, earlier]| {
            let mut sum = 0;
            for x in 0..now.len() {
                sum += (value(now[x]) - 2 * value(before[x]) + value(earlier[x])).unsigned_abs();
            }
            sum.into()
        });
    }
}

/// What is left behind the last whole vector goes to the first sums.
#[inline(always)]
fn add_bytes<T: Sample, const N: usize>(
    parts: [&[T]; N],
    sums: &mut [u32; LANES],
    term: impl Fn([i16; N]) -> u16,
) {
    let len = parts[0].len();
    let cells = parts.map(|part| part[..len].as_chunks::<LANES>());
    for cell in 0..len / LANES {
        for lane in 0..LANES {
            sums[lane] += u32::from(term(cells.map(|(cells, _)| byte(cells[cell][lane]))));
        }
    }
    for x in 0..len % LANES {
        sums[x] += u32::from(term(cells.map(|(_, rest)| byte(rest[x]))));
    }
}

/// Sums of the absolute high-pass values of columns. Rows of a block are added up column by column, so that there is one sum along
/// rows for all of them. Of bytes, sums of some rows fit 16 bits, of which vectors hold twice as many.
#[derive(Clone, Debug)]
pub struct HighPass {
    sums: Vec<u32>,
    /// Of the latest rows.
    short_sums: Vec<u16>,
    rows: usize,
    /// `above + 2 row + below`.
    smoothed: Vec<i16>,
}

/// Rows whose values fit a short sum: each is 12 * 255 at most.
const SHORT_ROWS: usize = u16::MAX as usize / (12 * 255);

impl HighPass {
    /// For rows of `width` samples.
    pub fn new(width: usize) -> Self {
        Self { sums: vec![0; width], short_sums: vec![0; width], rows: 0, smoothed: vec![0; width] }
    }

    pub fn clear(&mut self) {
        self.sums.fill(0);
        self.short_sums.fill(0);
        self.rows = 0;
    }

    /// Adds a row, except for its first and last column.
    #[inline(always)]
    pub fn add<T: Sample>(&mut self, above: &[T], row: &[T], below: &[T]) {
        let (width, len) = (self.sums.len(), row.len().saturating_sub(2));
        let (above, row, below) = (&above[..width], &row[..width], &below[..width]);
        if is_narrow::<T>() {
            self.add_bytes(above, row, below);
            return;
        }
        let sums = &mut self.sums[..width];
        for x in 0..len {
            let sides = value(row[x]) + value(row[x + 2]) + value(above[x + 1]) + value(below[x + 1]);
            let corners = value(above[x]) + value(above[x + 2]) + value(below[x]) + value(below[x + 2]);
            sums[x + 1] += (12 * value(row[x + 1]) - 2 * sides - corners).unsigned_abs();
        }
    }

    /// The high-pass is 16 times a sample less a smoothing by 1, 2, 1 in both directions.
    #[inline(always)]
    fn add_bytes<T: Sample>(&mut self, above: &[T], row: &[T], below: &[T]) {
        let width = row.len();
        let smoothed = &mut self.smoothed[..width];
        for x in 0..width {
            smoothed[x] = byte(above[x]) + 2 * byte(row[x]) + byte(below[x]);
        }
        let sums = &mut self.short_sums[..width];
        for x in 0..width.saturating_sub(2) {
            let smooth = smoothed[x] + 2 * smoothed[x + 1] + smoothed[x + 2];
            sums[x + 1] += (16 * byte(row[x + 1]) - smooth).unsigned_abs();
        }
        self.rows += 1;
        if self.rows == SHORT_ROWS {
            self.lengthen();
        }
    }

    #[inline(always)]
    fn lengthen(&mut self) {
        for (sum, short) in self.sums.iter_mut().zip(&mut self.short_sums) {
            *sum += u32::from(*short);
            *short = 0;
        }
        self.rows = 0;
    }

    /// The sums of the columns.
    #[inline(always)]
    pub fn sums(&mut self) -> &[u32] {
        self.lengthen();
        &self.sums
    }
}
