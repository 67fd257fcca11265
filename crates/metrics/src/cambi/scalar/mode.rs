//! The mode filter, and every second sample.

use super::super::steps::NO_LEVEL;
use super::spans::{SPAN, part, part_mut, spans};

/// The value that occurs at least twice, or else the smallest.
#[inline(always)]
fn mode(a: u16, b: u16, c: u16) -> u16 {
    let smallest = a.min(b).min(c);
    let twice = if b == c { b } else { smallest };
    if (a == b) | (a == c) { a } else { twice }
}

/// The mode of each sample and its two neighbours in the row; the ends stay.
#[inline(always)]
pub fn mode_across(row: &[u16], out: &mut [u16]) {
    let last = row.len() - 1;
    out[0] = row[0];
    out[last] = row[last];
    let inner = last.saturating_sub(1);
    if let Some(spans) = spans(inner) {
        for x in spans {
            *part_mut(out, x + 1) = modes::<SPAN>(row, x);
        }
    } else {
        for x in 0..inner {
            [out[x + 1]] = modes(row, x);
        }
    }
}

/// The modes of three samples each, the first one from `x` on.
#[inline(always)]
fn modes<const N: usize>(row: &[u16], x: usize) -> [u16; N] {
    let (left, middle, right) =
        (part::<u16, N>(row, x), part::<u16, N>(row, x + 1), part::<u16, N>(row, x + 2));
    let mut out = [0; N];
    for lane in 0..N {
        out[lane] = mode(left[lane], middle[lane], right[lane]);
    }
    out
}

/// The mode of three rows.
#[inline(always)]
pub fn mode_down(above: &[u16], row: &[u16], below: &[u16], out: &mut [u16]) {
    for (((out, a), b), c) in out.iter_mut().zip(above).zip(row).zip(below) {
        *out = mode(*a, *b, *c);
    }
}

/// Numbers the samples from `base` on; [`NO_LEVEL`] where the mask is 0 or there is no such level.
#[inline(always)]
pub fn levels_row(row: &[u16], mask: &[u8], base: u16, levels: u16, out: &mut [u16]) {
    for ((out, sample), mask) in out.iter_mut().zip(row).zip(mask) {
        let level = sample.wrapping_sub(base);
        *out = if (*mask != 0) & (level < levels) { level } else { NO_LEVEL };
    }
}

/// Every second sample, from the first on.
#[inline(always)]
pub fn decimate_row<T: Copy>(row: &[T], out: &mut [T]) {
    let (pairs, rest) = row.as_chunks::<2>();
    for (out, pair) in out.iter_mut().zip(pairs) {
        *out = pair[0];
    }
    if let ([sample], Some(out)) = (rest, out.get_mut(pairs.len())) {
        *out = *sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(mut three: [u16; 3]) -> u16 {
        three.sort_unstable();
        if three[1] == three[2] { three[1] } else { three[0] }
    }

    #[test]
    fn modes_of_three() {
        for a in 0..4 {
            for b in 0..4 {
                for c in 0..4 {
                    assert_eq!(mode(a, b, c), truth([a, b, c]), "{a} {b} {c}");
                }
            }
        }
    }

    #[test]
    fn rows_keep_their_ends() {
        let row = [5, 5, 9, 1, 1024, 1024, 2];
        let mut out = [0; 7];
        mode_across(&row, &mut out);
        assert_eq!(out, [5, 5, 1, 1, 1024, 1024, 2]);
        mode_across(&row[..1], &mut out[..1]);
        assert_eq!(out[0], 5);
        mode_down(&[1, 2, 3], &[3, 2, 1], &[2, 9, 3], &mut out);
        assert_eq!(out[..3], [1, 2, 3]);
    }

    #[test]
    fn levels_are_the_band_under_the_mask() {
        let mut out = [0; 6];
        levels_row(&[9, 10, 12, 13, 1024, 11], &[1, 1, 1, 1, 1, 0], 10, 3, &mut out);
        assert_eq!(out, [NO_LEVEL, 0, 2, NO_LEVEL, NO_LEVEL, NO_LEVEL]);
    }

    #[test]
    fn decimation_starts_with_the_first() {
        let mut out = [0; 3];
        decimate_row(&[1, 2, 3, 4, 5], &mut out);
        assert_eq!(out, [1, 3, 5]);
    }
}
