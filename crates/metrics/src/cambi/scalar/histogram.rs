//! How often each level occurs in the window around every pixel of a row, kept while the window slides down.
//!
//! A pixel that enters or leaves counts for all windows that it lies in: as many as the window is wide. A whole run of
//! pixels can be counted at once: the number of its pixels that a window holds grows by one per column until the run is
//! used up or the window is full, stays, and falls again. So a run costs its length plus the window's, where pixel by
//! pixel it would cost their product.
//!
//! Counts are kept in tiles of [`TILE`] columns, one cache line for each level, the lines of neighbouring levels one
//! after the other: what a pixel is compared with lies together, and a tile is never split between vectors.

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
    margin: usize,
    /// Levels with the empty ones.
    rows: usize,
    window: usize,
    width: usize,
    shapes: Shapes,
}

impl Histogram {
    /// Memory for `levels` levels with steps of up to `margin`, for rows of up to `width` pixels.
    pub fn new(levels: usize, margin: usize, width: usize, window: usize) -> Self {
        let rows = levels + 2 * margin;
        let shapes = Shapes::new(window);
        // Runs are counted beyond the picture as well.
        let counts = vec![Counts::default(); rows * (width.div_ceil(TILE) + shapes.tiles)];
        Self { counts, margin, rows, window, width, shapes }
    }

    /// Begins a picture of rows that are no wider than memory was made for. All rows of the last one were removed.
    pub fn start(&mut self, width: usize) {
        debug_assert!(self.counts.iter().all(|counts| counts.0 == [0; TILE]), "something is left over");
        self.width = width;
    }

    /// Counts in a tile of a level, between those of all levels that a step may lead to.
    #[inline(always)]
    pub fn around(&self, level: u16, tile: usize) -> &[Counts] {
        let first = tile * self.rows + usize::from(level);
        &self.counts[first..first + 2 * self.margin + 1]
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

    #[inline(always)]
    fn count(&mut self, run: &Run, change: impl Fn(u16, u16) -> u16) {
        let is_long = usize::from(run.len) > self.window;
        match self.shapes.tiles {
            2 if !is_long => self.count_short::<2>(run, change),
            3 if !is_long => self.count_short::<3>(run, change),
            _ => self.count_any(run, change),
        }
    }

    /// Counts a run that is no longer than a window, in as many tiles as it can reach. It may reach fewer, but how many cannot
    /// be guessed, and a wrong guess takes longer than a tile.
    #[inline(always)]
    fn count_short<const TILES: usize>(&mut self, run: &Run, change: impl Fn(u16, u16) -> u16) {
        let reach = self.window / 2;
        let start = usize::from(run.start);
        let first = start.saturating_sub(reach) / TILE;
        let shape = self.shapes.of(run.len, first * TILE + reach, start);
        let mut at = first * self.rows + self.margin + usize::from(run.level);
        for pixels in &shape.as_chunks().0[..TILES] {
            let counts = &mut self.counts[at].0;
            *counts = changed(counts, pixels, &change);
            at += self.rows;
        }
    }

    #[inline(always)]
    fn count_any(&mut self, run: &Run, change: impl Fn(u16, u16) -> u16) {
        let reach = self.window / 2;
        let columns = run.columns();
        let first = columns.start.saturating_sub(reach) / TILE;
        let last = (columns.end - 1 + reach).min(self.width - 1) / TILE;
        for tile in first..=last {
            let pixels = pixels_in_windows(run, self.window, tile * TILE);
            let counts = &mut self.counts[tile * self.rows + self.margin + usize::from(run.level)].0;
            *counts = changed(counts, &pixels, &change);
        }
    }
}

#[inline(always)]
fn changed(counts: &[u16; TILE], pixels: &[u16; TILE], change: impl Fn(u16, u16) -> u16) -> [u16; TILE] {
    let mut out = [0; TILE];
    for lane in 0..TILE {
        out[lane] = change(counts[lane], pixels[lane]);
    }
    out
}

/// How many pixels of a run lie in the windows around the columns from `column` on. Widths stay below 2^15, because wider
/// pictures have windows that are refused.
#[inline(always)]
fn pixels_in_windows(run: &Run, window: usize, column: usize) -> [u16; TILE] {
    let columns = run.columns();
    let most = columns.len().min(window) as i16;
    let rising = (column + window / 2 + 1) as i16 - columns.start as i16;
    let falling = (columns.end + window / 2) as i16 - column as i16;
    let mut out = [0; TILE];
    for lane in 0..TILE {
        let pixels = (rising + lane as i16).min(most).min(falling - lane as i16);
        out[lane] = pixels.max(0) as u16;
    }
    out
}

/// For every length of a run up to that of a window, how many of its pixels lie in the windows around the columns from a
/// tile before the first one that holds any.
#[derive(Clone, Debug)]
struct Shapes {
    pixels: Vec<u16>,
    /// From one length to the next.
    stride: usize,
    /// How many tiles a run can reach.
    tiles: usize,
}

impl Shapes {
    fn new(window: usize) -> Self {
        // The longest one reaches over two windows, less a column, and may begin with the last column of a tile.
        let tiles = (2 * window - 1 + TILE - 1).div_ceil(TILE).max(2);
        let stride = (1 + tiles + 1) * TILE;
        let mut pixels = vec![0; (window + 1) * stride];
        for (len, pixels) in pixels.chunks_exact_mut(stride).enumerate().skip(1) {
            let span = window + len - 1;
            for (at, pixels) in pixels[TILE..][..span].iter_mut().enumerate() {
                *pixels = (at + 1).min(len).min(span - at) as u16;
            }
        }
        Self { pixels, stride, tiles }
    }

    /// Those for a run that begins at `start`, from the column on that lies as far before `column` as a window reaches.
    #[inline(always)]
    fn of(&self, len: u16, column: usize, start: usize) -> &[u16] {
        let from = usize::from(len) * self.stride;
        &self.pixels[from + TILE + column - start..from + self.stride]
    }
}
