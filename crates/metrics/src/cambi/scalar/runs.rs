//! Runs of pixels of one level, the form in which a scale's picture is searched for banding.
//!
//! Flat surroundings are what the mask keeps, so there are far fewer runs than pixels, and both counting and measuring
//! treat a run at once.

use super::super::steps::NO_LEVEL;
use super::mode::levels_row;
use super::spans::{SPAN, part, part_mut, spans};
use crate::simd::{Target, highest_bits};
#[cfg(target_arch = "x86_64")]
use {super::super::avx512::mark_runs, crate::simd::avx512::Avx512};

/// Pixels whose changes are looked at together, a bit each.
const GROUP: usize = 64;

/// Neighbouring pixels of a row with the same level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Run {
    pub level: u16,
    pub start: u16,
    pub len: u16,
}

impl Run {
    /// Its columns.
    #[inline(always)]
    pub fn columns(&self) -> std::ops::Range<usize> {
        let start = usize::from(self.start);
        start..start + usize::from(self.len)
    }
}

/// The runs of a picture, row by row. Pixels without a level are in none.
#[derive(Clone, Debug)]
pub struct RunRows {
    #[cfg(target_arch = "x86_64")]
    avx512: Option<Avx512>,
    runs: Vec<Run>,
    /// Where the rows end.
    ends: Vec<usize>,
    /// The levels of a row, where they change, where its runs begin and end, a bit or a number for each, and the runs: scratch.
    levels: Vec<u16>,
    changes: Vec<u8>,
    #[cfg(target_arch = "x86_64")]
    bits: [Vec<u64>; 2],
    #[cfg(target_arch = "x86_64")]
    run_starts: Vec<u16>,
    run_ends: Vec<u16>,
    row: Vec<Run>,
}

impl RunRows {
    /// Memory for pictures of up to this size.
    pub fn new(width: usize, height: usize, target: Target) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        Self {
            #[cfg(target_arch = "x86_64")]
            avx512: target.avx512(),
            #[cfg(target_arch = "x86_64")]
            bits: [(); 2].map(|()| vec![0; width / GROUP + 1]),
            #[cfg(target_arch = "x86_64")]
            run_starts: vec![0; width + 1 + AT_ONCE],
            levels: vec![0; width],
            runs: Vec::with_capacity(width * height),
            ends: Vec::with_capacity(height),
            changes: vec![0; width.next_multiple_of(GROUP)],
            run_ends: vec![0; width + 1 + AT_ONCE],
            row: vec![Run { level: 0, start: 0, len: 0 }; width + 1],
        }
    }

    /// Begins a picture.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
    }

    /// Adds the next row. Its levels are samples from `base` on, which are kept by the mask.
    #[inline(always)]
    pub fn push(&mut self, row: &[u16], mask: &[u8], base: u16, levels: u16) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512 {
            let words = row.len() / GROUP + 1;
            let [starts, ends] = self.bits.each_mut().map(|bits| &mut bits[..words]);
            mark_runs(avx512, row, mask, (base, levels), starts, ends);
            let found = find_bits(starts.iter().copied(), &mut self.run_starts);
            find_bits(ends.iter().copied(), &mut self.run_ends);
            let (starts, ends) = (&self.run_starts[..found], &self.run_ends[..found]);
            self.runs.extend(starts.iter().zip(ends).map(
                #[inline(always)]
                |(start, end)| Run {
                    level: row[usize::from(*start)] - base,
                    start: *start,
                    len: end - start,
                },
            ));
            return self.ends.push(self.runs.len());
        }
        levels_row(row, mask, base, levels, &mut self.levels[..row.len()]);
        let levels = &self.levels[..row.len()];
        let changes = &mut self.changes[..levels.len().next_multiple_of(GROUP)];
        mark_changes(levels, changes);
        let runs = find_runs(levels, changes, &mut self.run_ends, &mut self.row);
        self.runs.extend_from_slice(runs);
        self.ends.push(self.runs.len());
    }

    /// How many there are in all rows.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// The runs of row `y`; rows below the picture are empty.
    #[inline(always)]
    pub fn row(&self, y: usize) -> &[Run] {
        let end = |y: usize| self.ends.get(y).copied().unwrap_or(self.runs.len());
        let start = if y == 0 { 0 } else { end(y - 1) };
        &self.runs[start..end(y)]
    }
}

/// Marks a change: its highest bit is what counts.
const MARK: u8 = 0xff;

/// [`MARK`] where the level differs from the one before.
#[inline(always)]
fn mark_changes(levels: &[u16], out: &mut [u8]) {
    out[0] = 0;
    let pairs = levels.len() - 1;
    if let Some(spans) = spans(pairs) {
        for x in spans {
            *part_mut(out, x + 1) = changes::<SPAN>(levels, x);
        }
    } else {
        for x in 0..pairs {
            [out[x + 1]] = changes(levels, x);
        }
    }
    out[levels.len()..].fill(0);
}

#[inline(always)]
fn changes<const N: usize>(levels: &[u16], x: usize) -> [u8; N] {
    let (before, after) = (part::<u16, N>(levels, x), part::<u16, N>(levels, x + 1));
    let mut out = [0; N];
    for lane in 0..N {
        out[lane] = if before[lane] != after[lane] { MARK } else { 0 };
    }
    out
}

/// `out` has room for one run per pixel and one more.
#[inline(always)]
fn find_runs<'a>(levels: &[u16], changes: &[u8], ends: &mut [u16], out: &'a mut [Run]) -> &'a [Run] {
    let words = changes.as_chunks::<GROUP>().0.iter().map(highest_bits);
    let count = find_bits(words, ends);
    ends[count] = levels.len() as u16;
    let (mut start, mut found) = (0, 0);
    for end in &ends[..=count] {
        let run = Run { level: levels[usize::from(start)], start, len: end - start };
        out[found] = run;
        found += usize::from(run.level != NO_LEVEL);
        start = *end;
    }
    &out[..found]
}

/// Changes that are written down at a time: how many there are cannot be guessed, but rarely are there more.
const AT_ONCE: usize = 4;

/// The places of the bits that are set, and how many there are. `out` has room for one per pixel and [`AT_ONCE`] more.
#[inline(always)]
fn find_bits(words: impl Iterator<Item = u64>, out: &mut [u16]) -> usize {
    let mut found = 0;
    for (index, mut left) in words.enumerate() {
        let mut count = left.count_ones() as usize;
        loop {
            for out in &mut out[found..found + AT_ONCE] {
                *out = (index * GROUP) as u16 + left.trailing_zeros() as u16;
                left &= left.wrapping_sub(1);
            }
            found += count.min(AT_ONCE);
            if count <= AT_ONCE {
                break;
            }
            count -= AT_ONCE;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::level_tests;

    const BASE: u16 = 5;
    const LEVELS: u16 = 3;

    /// Pixel by pixel.
    fn truth(row: &[u16], mask: &[u8]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let kept = |x: usize| mask[x] != 0 && (BASE..BASE + LEVELS).contains(&row[x]);
        for x in (0..row.len()).filter(|x| kept(*x)) {
            let level = row[x] - BASE;
            match runs.last_mut() {
                Some(run) if run.level == level && run.columns().end == x => run.len += 1,
                _ => runs.push(Run { level, start: x as u16, len: 1 }),
            }
        }
        runs
    }

    level_tests! {
        fn runs_of_every_length_are_found(level) {
            for width in [1, 2, 63, 64, 65, 128, 129, 300] {
                for len in 1..70 {
                    for shift in 0..6 {
                        let row: Vec<u16> = (0..width).map(|x| BASE - 1 + (x + shift) / len % 5).collect();
                        let gaps: Vec<u8> = (0..width).map(|x| u8::from((x + shift) % 7 != 0)).collect();
                        for mask in [vec![1; row.len()], gaps, vec![0; row.len()]] {
                            let mut rows = RunRows::new(row.len(), 1, Target::new(level));
                            rows.push(&row, &mask, BASE, LEVELS);
                            assert_eq!(rows.row(0), truth(&row, &mask), "{width} {len} {shift}");
                        }
                    }
                }
            }
        }

        fn rows_are_kept_apart(level) {
            let mut rows = RunRows::new(3, 3, Target::new(level));
            rows.push(&[6, 6, 6], &[1; 3], BASE, LEVELS);
            rows.push(&[6, 6, 6], &[0; 3], BASE, LEVELS);
            rows.push(&[6, 7, 7], &[1; 3], BASE, LEVELS);
            assert_eq!([0, 1, 2, 3].map(|y| rows.row(y).len()), [1, 0, 2, 0]);
            rows.clear();
            assert_eq!(rows.row(0).len(), 0);
        }
    }
}
