//! Runs of pixels of one level, the form in which a scale's picture is searched for banding.
//!
//! Flat surroundings are what the mask keeps, so there are far fewer runs than pixels, and both counting and measuring
//! treat a run at once.

use super::super::steps::NO_LEVEL;

/// Pixels whose changes are looked at together, a bit each.
const GROUP: usize = 64;

/// Neighbouring pixels of a row with the same level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    row: Vec<Run>,
}

impl RunRows {
    /// Memory for pictures of up to this size.
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            runs: Vec::with_capacity(width * height),
            ends: Vec::with_capacity(height),
            changes: vec![0; width.next_multiple_of(GROUP)],
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
        let runs = find_runs(levels, changes, &mut self.row);
        self.runs.extend_from_slice(runs);
        self.ends.push(self.runs.len());
    }

    /// The runs of row `y`; rows below the picture are empty.
    #[inline(always)]
    pub fn row(&self, y: usize) -> &[Run] {
        let end = |y: usize| self.ends.get(y).copied().unwrap_or(self.runs.len());
        let start = if y == 0 { 0 } else { end(y - 1) };
        &self.runs[start..end(y)]
    }
}

/// 1 where the level differs from the one before.
#[inline(always)]
fn mark_changes(levels: &[u16], out: &mut [u8]) {
    out[0] = 0;
    for (out, pair) in out[1..].iter_mut().zip(levels.windows(2)) {
        *out = u8::from(pair[0] != pair[1]);
    }
    out[levels.len()..].fill(0);
}

/// `out` has room for one run per pixel and one more.
#[inline(always)]
fn find_runs<'a>(levels: &[u16], changes: &[u8], out: &'a mut [Run]) -> &'a [Run] {
    let (mut start, mut found) = (0, 0);
    let mut run_ends_at = |end: usize| {
        let run = Run { level: levels[start], start: start as u16, len: (end - start) as u16 };
        out[found] = run;
        found += usize::from(run.level != NO_LEVEL);
        start = end;
    };
    for (index, flags) in changes.as_chunks::<GROUP>().0.iter().enumerate() {
        let mut left = bits(flags);
        while left != 0 {
            run_ends_at(index * GROUP + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
    run_ends_at(levels.len());
    &out[..found]
}

/// Flags of 0 and 1 as bits, the first one lowest. Most groups have none.
#[inline(always)]
fn bits(flags: &[u8; GROUP]) -> u64 {
    if *flags == [0; GROUP] {
        return 0;
    }
    let mut bits = 0;
    for (index, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Flag i is bit 8i; bit 7 - i of the factor takes it to bit 56 + i, and nothing else reaches the highest byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * index);
    }
    bits
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
