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
use crate::simd::Target;
#[cfg(target_arch = "x86_64")]
use {super::super::avx512::hold, crate::simd::avx512::Avx512};

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
    #[cfg(target_arch = "x86_64")]
    avx512: Option<Avx512>,
    counts: Vec<Counts>,
    margin: usize,
    /// Levels with the empty ones.
    rows: usize,
    window: usize,
    width: usize,
    shapes: Shapes,
    /// The rows in the windows, in a ring.
    held: Vec<Held>,
    /// Rows that came and rows that left.
    came: usize,
    left: usize,
}

/// The runs of a row as they are counted, so that they can be taken away again.
#[derive(Clone, Debug)]
pub struct Held {
    /// Where runs are counted that reach all tiles that a run can reach, and those that reach one less: the line of counts in the
    /// first tile, and 2^32 times the first of the numbers that are added there, among those of all shapes.
    pub all: Vec<u64>,
    pub all_count: usize,
    pub few: Vec<u64>,
    pub few_count: usize,
    /// Runs that are longer than a window.
    pub long: Vec<Run>,
}

/// What decides where a run is counted.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub window: usize,
    /// Levels of a tile, with empty ones: as many lines.
    pub rows: usize,
    /// Empty levels before the first.
    pub margin: usize,
    /// From the shapes of one length to those of the next.
    pub stride: usize,
    /// How many tiles a run can reach.
    pub tiles: usize,
}

impl Histogram {
    /// Memory for `levels` levels with steps of up to `margin`, for rows of up to `width` pixels.
    pub fn new(levels: usize, margin: usize, width: usize, window: usize, target: Target) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        let rows = levels + 2 * margin;
        let shapes = Shapes::new(window);
        // Runs are counted beyond the picture as well.
        let counts = vec![Counts::default(); rows * (width.div_ceil(TILE) + shapes.tiles)];
        // A row comes before the one that it takes the place of leaves.
        let held = (0..=window).map(|_| Held::new(width, window, shapes.are_sorted())).collect();
        Self {
            #[cfg(target_arch = "x86_64")]
            avx512: target.avx512(),
            counts,
            margin,
            rows,
            window,
            width,
            shapes,
            held,
            came: 0,
            left: 0,
        }
    }

    /// Begins a picture of rows that are no wider than memory was made for. All rows of the last one were removed.
    pub fn start(&mut self, width: usize) {
        debug_assert!(self.counts.iter().all(|counts| counts.0 == [0; TILE]), "something is left over");
        (self.width, self.came, self.left) = (width, 0, 0);
    }

    /// How many lines there are from one tile to the next.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The largest step from a level.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn steps(&self) -> usize {
        self.margin
    }

    /// Counts of a level in the middle, between those of all levels that a step may lead to. The line is the number of the
    /// level and that of all lines in the tiles before.
    #[inline(always)]
    pub fn around(&self, line: u32) -> &[Counts] {
        &self.counts[line as usize..][..2 * self.margin + 1]
    }

    /// Counts a row that comes into the windows. It leaves them with [`remove`](Histogram::remove), after those before it.
    #[inline(always)]
    pub fn add(&mut self, runs: &[Run]) {
        let slot = self.came % self.held.len();
        self.came += 1;
        self.hold(slot, runs);
        self.count_held(slot, u16::wrapping_add);
    }

    /// Counts the row that was in the windows for longest: it leaves them.
    #[inline(always)]
    pub fn remove(&mut self) {
        let slot = self.left % self.held.len();
        self.left += 1;
        self.count_held(slot, u16::wrapping_sub);
    }

    /// Finds out where runs are counted.
    #[inline(always)]
    fn hold(&mut self, slot: usize, runs: &[Run]) {
        let Shapes { stride, tiles, .. } = self.shapes;
        let places = Places { window: self.window, rows: self.rows, margin: self.margin, stride, tiles };
        let held = &mut self.held[slot];
        held.long.clear();
        if !self.shapes.are_sorted() {
            return held.long.extend_from_slice(runs);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512 {
            return hold(avx512, held, runs, places);
        }
        held.hold(runs, places);
    }

    #[inline(always)]
    fn count_held(&mut self, slot: usize, change: impl Fn(u16, u16) -> u16) {
        match self.shapes.tiles {
            2 => self.count_spots::<1, 2>(slot, &change),
            3 => self.count_spots::<2, 3>(slot, &change),
            _ => {}
        }
        for index in 0..self.held[slot].long.len() {
            let run = self.held[slot].long[index];
            self.count_long(&run, &change);
        }
    }

    #[inline(always)]
    fn count_spots<const FEW: usize, const ALL: usize>(
        &mut self,
        slot: usize,
        change: impl Fn(u16, u16) -> u16,
    ) {
        let Self { counts, rows, shapes, held, .. } = self;
        let held = &held[slot];
        for spot in &held.few[..held.few_count] {
            count_spot::<FEW>(counts, *rows, *spot, &shapes.pixels, &change);
        }
        for spot in &held.all[..held.all_count] {
            count_spot::<ALL>(counts, *rows, *spot, &shapes.pixels, &change);
        }
    }

    #[inline(always)]
    fn count_long(&mut self, run: &Run, change: impl Fn(u16, u16) -> u16) {
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

/// Kernels write a whole vector at the end of a list, whose rest is dropped.
const REST: usize = 8;

impl Held {
    /// For rows of up to `width` pixels: a run begins in each of them at most. Unless they are `sorted`, all runs count as long.
    fn new(width: usize, window: usize, sorted: bool) -> Self {
        let list = || vec![0; if sorted { width + REST } else { 0 }];
        let long = Vec::with_capacity(if sorted { width / window + 1 } else { width });
        Self { all: list(), all_count: 0, few: list(), few_count: 0, long }
    }

    /// Runs reach all tiles or one less; which of both cannot be guessed, so that they are sorted without a branch.
    #[inline(always)]
    fn hold(&mut self, runs: &[Run], places: Places) {
        let Places { window, rows, margin, stride, tiles } = places;
        let reach = window / 2;
        let (few, all) = (&mut self.few[..], &mut self.all[..]);
        // Numbers that need not be kept in memory while the lists are written.
        let (mut few_count, mut all_count) = (0, 0);
        for run in runs {
            if usize::from(run.len) > window {
                self.long.push(*run);
                continue;
            }
            let columns = run.columns();
            let first = columns.start.saturating_sub(reach) / TILE;
            let last = (columns.end - 1 + reach) / TILE;
            let line = first * rows + margin + usize::from(run.level);
            let shape = usize::from(run.len) * stride + (first + 1) * TILE + reach - columns.start;
            let spot = line as u64 | (shape as u64) << 32;
            few[few_count] = spot;
            all[all_count] = spot;
            let reaches_all = last - first + 1 == tiles;
            few_count += usize::from(!reaches_all);
            all_count += usize::from(reaches_all);
        }
        (self.few_count, self.all_count) = (few_count, all_count);
    }
}

#[inline(always)]
fn count_spot<const TILES: usize>(
    counts: &mut [Counts],
    rows: usize,
    spot: u64,
    shapes: &[u16],
    change: impl Fn(u16, u16) -> u16,
) {
    let mut at = spot as u32 as usize;
    let shape = &shapes[(spot >> 32) as usize..][..TILES * TILE];
    for pixels in shape.as_chunks().0 {
        let counts = &mut counts[at].0;
        *counts = changed(counts, pixels, &change);
        at += rows;
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
/// tile before the first one that holds any. That one lies as far before the run as a window reaches.
#[derive(Clone, Debug)]
struct Shapes {
    pixels: Vec<u16>,
    /// From one length to the next.
    stride: usize,
    /// How many tiles a run can reach.
    tiles: usize,
}

impl Shapes {
    /// Whether runs are sorted by the tiles that they reach, which is done for windows of up to 33 columns.
    fn are_sorted(&self) -> bool {
        matches!(self.tiles, 2 | 3)
    }

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
}
