//! Runs of pixels of one level, the form in which a scale's picture is searched for banding.
//!
//! Flat surroundings are what the mask keeps, so there are far fewer runs than pixels, and both counting and measuring
//! treat a run at once.

use super::super::steps::NO_LEVEL;
use super::spans::{SPAN, part, part_mut, spans};
use crate::simd::highest_bits;

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
    runs: Vec<Run>,
    /// Where the rows end.
    ends: Vec<usize>,
    /// Where a row's level changes, and its runs: scratch.
    changes: Vec<u8>,
    run_ends: Vec<u16>,
    row: Vec<Run>,
}

impl RunRows {
    /// Memory for pictures of up to this size.
    pub fn new(width: usize, height: usize) -> Self {
        Self {
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

    /// Adds the next row.
    #[inline(always)]
    pub fn push(&mut self, levels: &[u16]) {
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
    let count = find_ends(changes, ends);
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

/// The places of the changes, and how many there are. `out` has room for one per pixel and [`AT_ONCE`] more.
#[inline(always)]
fn find_ends(changes: &[u8], out: &mut [u16]) -> usize {
    let mut found = 0;
    for (index, flags) in changes.as_chunks::<GROUP>().0.iter().enumerate() {
        let mut left = highest_bits(flags);
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

    /// Pixel by pixel.
    fn truth(levels: &[u16]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (x, level) in levels.iter().enumerate().filter(|(_, level)| **level != NO_LEVEL) {
            match runs.last_mut() {
                Some(run) if run.level == *level && run.columns().end == x => run.len += 1,
                _ => runs.push(Run { level: *level, start: x as u16, len: 1 }),
            }
        }
        runs
    }

    #[test]
    fn runs_of_every_length_are_found() {
        for len in 1..70 {
            for shift in 0..4 {
                let levels: Vec<u16> = (0..300).map(|x| ((x + shift) / len % 3) as u16).collect();
                let gaps: Vec<u16> = levels.iter().map(|l| if *l == 1 { NO_LEVEL } else { *l }).collect();
                for row in [levels, gaps] {
                    let mut rows = RunRows::new(300, 1);
                    rows.push(&row);
                    assert_eq!(rows.row(0), truth(&row), "{len} {shift}");
                }
            }
        }
    }

    #[test]
    fn rows_are_kept_apart() {
        let mut rows = RunRows::new(3, 3);
        rows.push(&[1, 1, 1]);
        rows.push(&[NO_LEVEL; 3]);
        rows.push(&[1, 2, 2]);
        assert_eq!([0, 1, 2, 3].map(|y| rows.row(y).len()), [1, 0, 2, 0]);
        rows.clear();
        assert_eq!(rows.row(0).len(), 0);
    }
}
