//! How often each level occurs in the window around every pixel of a row, kept while the window slides down.
//!
//! A pixel that enters or leaves counts for all windows that it lies in: as many as the window is wide. A whole run of
//! pixels can be counted at once: the number of its pixels that a window holds grows by one per column until the run is
//! used up or the window is full, stays, and falls again. So a run costs its length plus the window's, where pixel by
//! pixel it would cost their product.
//!
//! Counts are kept in tiles of [`TILE`] columns, one cache line for each level, the lines of neighbouring levels one
//! after the other: what a pixel is compared with lies together, and a tile is never split between vectors.

use std::ops::Range;

use super::runs::Run;

/// Columns of a tile: a cache line of counts.
pub const TILE: usize = 32;

/// Counts of one level in the windows around the columns of a tile.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Counts(pub [u16; TILE]);

/// Counts per tile, level and column. There are empty levels below the first and above the last one, so that no step
/// from a level leads outside. Between pictures everything is zero.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<Counts>,
    /// For the same tiles and levels, how many runs are counted there.
    runs: Vec<u16>,
    margin: usize,
    /// Levels with the empty ones.
    rows: usize,
    window: usize,
    width: usize,
}

impl Histogram {
    /// Memory for `levels` levels with steps of up to `margin`, for rows of up to `width` pixels.
    pub fn new(levels: usize, margin: usize, width: usize, window: usize) -> Self {
        let rows = levels + 2 * margin;
        let counts = vec![Counts::default(); rows * width.div_ceil(TILE)];
        let runs = vec![0; counts.len()];
        Self { counts, runs, margin, rows, window, width }
    }

    /// Begins a picture of rows that are no wider than memory was made for. All rows of the last one were removed.
    pub fn start(&mut self, width: usize) {
        debug_assert!(self.counts.iter().all(|counts| counts.0 == [0; TILE]), "something is left over");
        self.width = width;
    }

    /// Counts in a tile of a level, between those of all levels that a step may lead to.
    #[inline(always)]
    pub fn around(&self, level: u16, tile: usize) -> &[Counts] {
        &self.counts[self.places_around(level, tile)]
    }

    /// Whether one of the levels that a step from `level` may lead to occurs in the windows around a tile's columns. It
    /// need not be those of the run that asks.
    #[inline(always)]
    pub fn may_have_neighbours(&self, level: u16, tile: usize) -> bool {
        let runs = &self.runs[self.places_around(level, tile)];
        let (below, above) = (&runs[..self.margin], &runs[self.margin + 1..]);
        // The same twice: of a known length it is one load for each side.
        match (<&[u16; USUAL]>::try_from(below), <&[u16; USUAL]>::try_from(above)) {
            (Ok(below), Ok(above)) => any(below) | any(above),
            _ => any(below) | any(above),
        }
    }

    #[inline(always)]
    fn places_around(&self, level: u16, tile: usize) -> Range<usize> {
        let first = tile * self.rows + usize::from(level);
        first..first + 2 * self.margin + 1
    }

    /// Counts a row that comes into the windows.
    #[inline(always)]
    pub fn add(&mut self, runs: &[Run]) {
        for run in runs {
            self.count(run, u16::wrapping_add);
        }
    }

    /// Counts a row that leaves the windows.
    #[inline(always)]
    pub fn remove(&mut self, runs: &[Run]) {
        for run in runs {
            self.count(run, u16::wrapping_sub);
        }
    }

    /// Widths stay below 2^15, because wider pictures have windows that are refused.
    #[inline(always)]
    fn count(&mut self, run: &Run, change: impl Fn(u16, u16) -> u16) {
        let (start, end) = (usize::from(run.start), usize::from(run.start + run.len));
        let reach = self.window / 2;
        let first = start.saturating_sub(reach) / TILE;
        let last = (end - 1 + reach).min(self.width - 1) / TILE;
        let most = usize::from(run.len).min(self.window) as i16;
        let column = (first * TILE) as i16;
        let mut rising = column + (reach + 1) as i16 - start as i16;
        let mut falling = (end + reach) as i16 - column;
        let mut at = first * self.rows + self.margin + usize::from(run.level);
        for _ in first..=last {
            let counts = &mut self.counts[at].0;
            for lane in 0..TILE {
                let pixels = (rising + lane as i16).min(most).min(falling - lane as i16).max(0);
                counts[lane] = change(counts[lane], pixels as u16);
            }
            self.runs[at] = change(self.runs[at], 1);
            rising += TILE as i16;
            falling -= TILE as i16;
            at += self.rows;
        }
    }
}

/// Steps by default, which are worth code of their own.
const USUAL: usize = 4;

#[inline(always)]
fn any(runs: &[u16]) -> bool {
    let mut any = 0;
    for runs in runs {
        any |= runs;
    }
    any != 0
}
