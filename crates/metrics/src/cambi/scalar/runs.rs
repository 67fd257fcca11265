//! Runs of pixels of one level, the form in which a scale's picture is searched for banding.
//!
//! Flat surroundings are what the mask keeps, so there are far fewer runs than pixels, and both counting and measuring
//! treat a run at once.

use super::super::steps::NO_LEVEL;

/// Bytes that are looked at together.
const WORD: usize = 8;

/// Neighbouring pixels of a row with the same level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub level: u16,
    pub start: u16,
    pub len: u16,
}

impl Run {
    /// Its columns.
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
    pixels: usize,
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
            pixels: 0,
            changes: vec![0; width.next_multiple_of(WORD)],
            row: vec![Run { level: 0, start: 0, len: 0 }; width + 1],
        }
    }

    /// Begins a picture.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
        self.pixels = 0;
    }

    /// Adds the next row.
    pub fn push(&mut self, levels: &[u16]) {
        let changes = &mut self.changes[..levels.len().next_multiple_of(WORD)];
        mark_changes(levels, changes);
        let runs = find_runs(levels, changes, &mut self.row);
        self.pixels += runs.iter().map(|run| usize::from(run.len)).sum::<usize>();
        self.runs.extend_from_slice(runs);
        self.ends.push(self.runs.len());
    }

    /// The runs of row `y`; rows below the picture are empty.
    pub fn row(&self, y: usize) -> &[Run] {
        let end = |y: usize| self.ends.get(y).copied().unwrap_or(self.runs.len());
        let start = if y == 0 { 0 } else { end(y - 1) };
        &self.runs[start..end(y)]
    }

    /// How many pixels have a level.
    pub fn pixels(&self) -> usize {
        self.pixels
    }
}

/// 1 where the level differs from the one before.
fn mark_changes(levels: &[u16], out: &mut [u8]) {
    out[0] = 0;
    for (out, pair) in out[1..].iter_mut().zip(levels.windows(2)) {
        *out = u8::from(pair[0] != pair[1]);
    }
    out[levels.len()..].fill(0);
}

/// `changes` is looked at by words, because most of them are 0. `out` has room for one run per pixel and one more.
fn find_runs<'a>(levels: &[u16], changes: &[u8], out: &'a mut [Run]) -> &'a [Run] {
    let (mut start, mut found) = (0, 0);
    let mut run_ends_at = |end: usize| {
        let run = Run { level: levels[start], start: start as u16, len: (end - start) as u16 };
        out[found] = run;
        found += usize::from(run.level != NO_LEVEL);
        start = end;
    };
    for (index, word) in changes.as_chunks::<WORD>().0.iter().enumerate() {
        let mut left = u64::from_le_bytes(*word);
        while left != 0 {
            run_ends_at(index * WORD + left.trailing_zeros() as usize / 8);
            left &= left - 1;
        }
    }
    run_ends_at(levels.len());
    &out[..found]
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
                    assert_eq!(rows.pixels(), row.iter().filter(|l| **l != NO_LEVEL).count());
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
        assert_eq!((rows.row(0).len(), rows.pixels()), (0, 0));
    }
}
