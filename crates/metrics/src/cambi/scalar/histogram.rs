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
    /// The rows in the windows, in a ring.
    held: Vec<Held>,
    /// Rows that came and rows that left.
    came: usize,
    left: usize,
}

/// Where a run that is no longer than a window is counted.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    /// The line of counts in the first tile.
    line: u32,
    /// The first of the numbers that are added there, among those of all shapes.
    shape: u32,
}

/// The runs of a row as they were counted, so that they can be taken away again.
#[derive(Clone, Debug)]
struct Held {
    /// Those that reach all tiles that a run can reach are at the end, those that reach one less at the beginning.
    spots: Vec<Spot>,
    few: usize,
    all: usize,
    /// Runs that are longer than a window.
    long: Vec<Run>,
}

impl Histogram {
    /// Memory for `levels` levels with steps of up to `margin`, for rows of up to `width` pixels.
    pub fn new(levels: usize, margin: usize, width: usize, window: usize) -> Self {
        let rows = levels + 2 * margin;
        let shapes = Shapes::new(window);
        // Runs are counted beyond the picture as well.
        let counts = vec![Counts::default(); rows * (width.div_ceil(TILE) + shapes.tiles)];
        // A row comes before the one that it takes the place of leaves.
        let held = vec![Held::new(width, window); window + 1];
        Self { counts, margin, rows, window, width, shapes, held, came: 0, left: 0 }
    }

    /// Begins a picture of rows that are no wider than memory was made for. All rows of the last one were removed.
    pub fn start(&mut self, width: usize) {
        debug_assert!(self.counts.iter().all(|counts| counts.0 == [0; TILE]), "something is left over");
        (self.width, self.came, self.left) = (width, 0, 0);
    }

    /// Where the counts in a tile are of all levels that a step from this one may lead to.
    #[inline(always)]
    pub fn line(&self, level: u16, tile: usize) -> u32 {
        (tile * self.rows + usize::from(level)) as u32
    }

    /// Counts of a level in the middle, between those of all levels that a step may lead to.
    #[inline(always)]
    pub fn around(&self, line: u32) -> &[Counts] {
        &self.counts[line as usize..][..2 * self.margin + 1]
    }

    /// Counts a row that comes into the windows. It leaves them with [`remove`](Histogram::remove), after those before it.
    #[inline(always)]
    pub fn add(&mut self, runs: &[Run]) {
        let slot = self.came % self.held.len();
        self.came += 1;
        match self.shapes.tiles {
            2 => self.hold::<2>(slot, runs),
            3 => self.hold::<3>(slot, runs),
            _ => self.held[slot].hold_as_long(runs),
        }
        self.count_held(slot, u16::wrapping_add);
    }

    /// Counts the row that was in the windows for longest: it leaves them.
    #[inline(always)]
    pub fn remove(&mut self) {
        let slot = self.left % self.held.len();
        self.left += 1;
        self.count_held(slot, u16::wrapping_sub);
    }

    /// Finds out where runs are counted. They reach `TILES` tiles or one less; which of both cannot be guessed, so that they are
    /// sorted without a branch.
    #[inline(always)]
    fn hold<const TILES: usize>(&mut self, slot: usize, runs: &[Run]) {
        // Numbers that writing to the lists cannot change, and ones that need not be kept in memory.
        let (window, rows, margin, stride) = (self.window, self.rows, self.margin, self.shapes.stride);
        let reach = window / 2;
        let held = &mut self.held[slot];
        held.long.clear();
        let spots = &mut held.spots[..];
        let (end, mut few, mut all) = (spots.len() - 1, 0, 0);
        for run in runs {
            if usize::from(run.len) > window {
                held.long.push(*run);
                continue;
            }
            let columns = run.columns();
            let first = columns.start.saturating_sub(reach) / TILE;
            let last = (columns.end - 1 + reach) / TILE;
            let line = first * rows + margin + usize::from(run.level);
            let shape = usize::from(run.len) * stride + (first + 1) * TILE + reach - columns.start;
            let spot = Spot { line: line as u32, shape: shape as u32 };
            spots[few] = spot;
            spots[end - all] = spot;
            let reaches_all = last - first + 1 == TILES;
            few += usize::from(!reaches_all);
            all += usize::from(reaches_all);
        }
        (held.few, held.all) = (few, all);
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
        let Held { spots, few, all, .. } = &held[slot];
        for spot in &spots[..*few] {
            count_spot::<FEW>(counts, *rows, spot, &shapes.pixels, &change);
        }
        for spot in &spots[spots.len() - all..] {
            count_spot::<ALL>(counts, *rows, spot, &shapes.pixels, &change);
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

impl Held {
    /// For rows of up to `width` pixels. A run begins in each pixel at most; one more is written before it is dropped.
    fn new(width: usize, window: usize) -> Self {
        let long = Vec::with_capacity(width / window + 1);
        Self { spots: vec![Spot::default(); width + 1], few: 0, all: 0, long }
    }

    fn hold_as_long(&mut self, runs: &[Run]) {
        (self.few, self.all) = (0, 0);
        self.long.clear();
        self.long.extend_from_slice(runs);
    }
}

#[inline(always)]
fn count_spot<const TILES: usize>(
    counts: &mut [Counts],
    rows: usize,
    spot: &Spot,
    shapes: &[u16],
    change: impl Fn(u16, u16) -> u16,
) {
    let mut at = spot.line as usize;
    let shape = &shapes[spot.shape as usize..][..TILES * TILE];
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
