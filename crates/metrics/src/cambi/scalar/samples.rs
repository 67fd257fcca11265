//! From samples of any depth to 10 bits, and the filter that undoes dithering.

use visus_video::Sample;

use super::spans::{SPAN, part, part_mut, spans};
use crate::simd::prefetch;

/// How samples become 10-bit ones: shifted up, or rounded and shifted down. From 12 bits on the largest samples round
/// up to 1024, one more than 10 bits hold; they are left so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToTenBits {
    up: u32,
    down: u32,
}

impl ToTenBits {
    pub fn from_depth(depth: u8) -> Self {
        let depth = u32::from(depth);
        Self { up: 10u32.saturating_sub(depth), down: depth.saturating_sub(10) }
    }

    /// Whether samples are bytes: then [`sum_rows`] does what conversion and [`average_rows`] do.
    pub fn is_from_bytes(self) -> bool {
        self.up == 2
    }

    #[inline(always)]
    fn apply<T: Sample>(self, sample: T) -> u16 {
        let sample = Into::<u32>::into(sample) as u16;
        // Half of what is cut off, added one bit before the last is cut: 16 bits are enough.
        if self.down == 0 { sample << self.up } else { ((sample >> (self.down - 1)) + 1) >> 1 }
    }
}

/// The row as 10-bit samples.
#[inline(always)]
pub fn convert_row<T: Sample>(row: &[T], depth: ToTenBits, out: &mut [u16]) {
    for (out, sample) in out.iter_mut().zip(row) {
        *out = depth.apply(*sample);
    }
}

/// The samples at the given columns as 10-bit ones.
#[inline(always)]
pub fn pick_row<T: Sample>(row: &[T], columns: &[usize], depth: ToTenBits, out: &mut [u16]) {
    for (out, column) in out.iter_mut().zip(columns) {
        *out = depth.apply(row[*column]);
    }
}

/// All bits that occur in the row: it exceeds a peak of all ones exactly if one of its samples does.
#[inline(always)]
pub fn bits_in_row<T: Sample>(row: &[T]) -> u32 {
    row.iter().fold(0, |bits, sample| bits | Into::<u32>::into(*sample))
}

/// Replaces each sample by the mean of itself and its neighbours to the right, below, and below to the right.
#[inline(always)]
pub fn average_rows(row: &mut [u16], below: &[u16]) {
    let last = row.len() - 1;
    let below = &below[..=last];
    for x in 0..last {
        row[x] = (row[x] + row[x + 1] + below[x] + below[x + 1]) >> 2;
    }
    row[last] = (row[last] + below[last]) >> 1;
}

/// [`average_rows`] for samples of 8 bits that become 10: the four that are taken times 4 are divided by 4 again.
///
/// `soon` is a row that will be read some rows later. Asking for it here and there keeps the row that is read from having to
/// wait for memory.
#[inline(always)]
pub fn sum_rows<T: Sample>(row: &[T], below: &[T], soon: &[T], out: &mut [u16]) {
    let last = row.len() - 1;
    if let Some(spans) = spans(last) {
        for x in spans {
            prefetch(soon, x);
            *part_mut(out, x) = sums::<T, SPAN>(row, below, x);
        }
    } else {
        for x in 0..last {
            [out[x]] = sums(row, below, x);
        }
    }
    out[last] = 2 * (word(row[last]) + word(below[last]));
}

#[inline(always)]
fn word<T: Sample>(sample: T) -> u16 {
    Into::<u32>::into(sample) as u16
}

/// The sums of each sample and its three neighbours.
#[inline(always)]
fn sums<T: Sample, const N: usize>(row: &[T], below: &[T], x: usize) -> [u16; N] {
    let (left, right) = (part::<T, N>(row, x), part::<T, N>(row, x + 1));
    let (below_left, below_right) = (part::<T, N>(below, x), part::<T, N>(below, x + 1));
    let mut out = [0; N];
    for lane in 0..N {
        out[lane] = word(left[lane]) + word(right[lane]) + word(below_left[lane]) + word(below_right[lane]);
    }
    out
}

/// The same for the last row, which has none below.
#[inline(always)]
pub fn average_last_row(row: &mut [u16]) {
    for x in 0..row.len() - 1 {
        row[x] = (row[x] + row[x + 1]) >> 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_become_ten_bits() {
        for (depth, sample, ten) in [
            (8, 255u16, 1020),
            (9, 511, 1022),
            (10, 1023, 1023),
            (11, 2047, 1024),
            (11, 2044, 1022),
            (12, 4093, 1023),
            (12, 4094, 1024),
            (16, 65535, 1024),
            (16, 31, 0),
            (16, 32, 1),
        ] {
            let (mut converted, mut picked) = ([0], [0]);
            convert_row(&[sample], ToTenBits::from_depth(depth), &mut converted);
            pick_row(&[0, sample], &[1], ToTenBits::from_depth(depth), &mut picked);
            assert_eq!((converted, picked), ([ten], [ten]), "{depth}");
        }
    }

    #[test]
    fn sums_of_bytes_are_averages() {
        let rows: [Vec<u8>; 2] =
            [3, 7].map(|seed: u8| (0..70).map(|x| seed.wrapping_mul(x).wrapping_add(x)).collect());
        let ten = ToTenBits::from_depth(8);
        let mut converted = [[0; 70]; 2];
        rows.iter().zip(&mut converted).for_each(|(row, out)| convert_row(row, ten, out));
        let [mut truth, below] = converted;
        average_rows(&mut truth, &below);
        let mut found = [0; 70];
        sum_rows(&rows[0], &rows[1], &rows[1], &mut found);
        assert_eq!(found, truth);
        assert!(ten.is_from_bytes() && !ToTenBits::from_depth(9).is_from_bytes());
    }

    #[test]
    fn averages_look_right_and_down() {
        let mut row = [4, 8, 1024, 1024];
        average_rows(&mut row, &[1, 1, 1024, 1023]);
        assert_eq!(row, [(4 + 8 + 1 + 1) / 4, (8 + 1024 + 1 + 1024) / 4, 4095 / 4, 2047 / 2]);
        average_last_row(&mut row);
        assert_eq!(row, [(3 + 514) / 2, (514 + 1023) / 2, 1023, 1023]);
        let mut single = [7];
        average_rows(&mut single, &[4]);
        average_last_row(&mut single);
        assert_eq!(single, [5]);
    }

    #[test]
    fn bits_show_samples_above_the_peak() {
        assert!(bits_in_row(&[1023u16, 0, 512]) <= 1023);
        assert!(bits_in_row(&[1u16, 1024, 0]) > 1023);
        assert_eq!(bits_in_row(&[128u8, 3]), 131);
    }
}
