//! The mode filter, and every second sample.

use super::super::steps::NO_LEVEL;
use super::spans::{SPAN, part, part_mut, spans};
use crate::simd::Target;
#[cfg(target_arch = "x86_64")]
use {
    super::super::avx512::{decimate_flags, decimate_samples},
    crate::simd::avx512::Avx512,
};

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

/// How every second sample of a row is taken, from the first on.
#[derive(Clone, Copy, Debug)]
pub struct Decimation {
    #[cfg(target_arch = "x86_64")]
    avx512: Option<Avx512>,
}

impl Decimation {
    pub fn new(target: Target) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        Self {
            #[cfg(target_arch = "x86_64")]
            avx512: target.avx512(),
        }
    }

    #[inline(always)]
    pub fn samples(self, row: &[u16], out: &mut [u16]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512 {
            return decimate_samples(avx512, row, out);
        }
        decimate_row(row, out);
    }

    /// The same for flags of the mask.
    #[inline(always)]
    pub fn flags(self, row: &[u8], out: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512 {
            return decimate_flags(avx512, row, out);
        }
        decimate_row(row, out);
    }
}

#[inline(always)]
fn decimate_row<T: Copy>(row: &[T], out: &mut [T]) {
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
    use crate::simd::level_tests;

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

    level_tests! {
        fn decimation_starts_with_the_first(level) {
            let decimation = Decimation::new(Target::new(level));
            for width in [1, 5, 31, 32, 33, 63, 64, 65, 130, 200] {
                let row: Vec<u16> = (0..width).map(|x| x * 7).collect();
                let flags: Vec<u8> = row.iter().map(|sample| *sample as u8).collect();
                let (mut samples, mut halves) = (vec![0; row.len().div_ceil(2)], vec![0; row.len().div_ceil(2)]);
                decimation.samples(&row, &mut samples);
                decimation.flags(&flags, &mut halves);
                assert_eq!(samples, (0..width).step_by(2).map(|x| x * 7).collect::<Vec<_>>());
                assert_eq!(halves, samples.iter().map(|sample| *sample as u8).collect::<Vec<_>>());
            }
        }
    }
}
