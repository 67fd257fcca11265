//! How strong the banding is at every pixel of a run.
//!
//! A pixel sees a band edge if its window holds many pixels of its own level and many of a level one step away. For
//! counts `p` and `q` of these the strength is `weight * p * q / (p + q)`, and the strongest step counts.

use std::ops::Range;
use std::sync::LazyLock;

use super::super::steps::{Steps, sizes_and_weights};
use super::histogram::{Counts, Histogram, TILE};
use super::runs::Run;
use super::strengths::{GROUP, Strengths};
use crate::simd::Target;
#[cfg(target_arch = "x86_64")]
use {
    super::super::avx512::{cut, find_places, occupied_columns},
    crate::simd::avx512::Avx512,
};

/// Sums of two counts in one window stay below 4226; a power of two lets the index be masked instead of checked.
const TABLE: usize = 8192;
const USED: usize = 4226;

/// `1 / n` to nine significant decimal digits. libvmaf's table is written that way, and 42 of its entries are not the
/// nearest single precision number for it.
static RECIPROCALS: LazyLock<Box<[f32; TABLE]>> = LazyLock::new(|| {
    let mut table = Box::new([0.0; TABLE]);
    for (n, entry) in table.iter_mut().enumerate().take(USED).skip(1) {
        *entry = nine_digits_of_reciprocal(n as u64);
    }
    table
});

/// The digits are a whole number, rounded from a fraction that is never halfway between two; it and the power of ten are
/// exact as `f64`.
fn nine_digits_of_reciprocal(n: u64) -> f32 {
    let mut unit = 100_000_000;
    while unit / n < 100_000_000 {
        unit *= 10;
    }
    let digits = (2 * unit + n) / (2 * n);
    (digits as f64 / unit as f64) as f32
}

/// `1 / n` for every sum of two counts.
pub fn reciprocals() -> &'static [f32] {
    &RECIPROCALS[..USED]
}

/// The steps that count and the table that strengths are made with.
#[derive(Clone, Debug)]
pub struct Contrast<'a> {
    steps: &'a Steps,
    visible: Range<u16>,
    reciprocals: &'a [f32; TABLE],
}

impl<'a> Contrast<'a> {
    pub fn new(steps: &'a Steps) -> Self {
        Self { steps, visible: steps.visible(), reciprocals: &RECIPROCALS }
    }

    /// Adds the strengths at the pixels of the runs of row `y`, around which the histogram's windows lie.
    ///
    /// Mostly no window holds a level that is near enough, so that there is nothing to compute. Whether one does cannot be
    /// guessed by a processor, so that places are sieved without branches.
    #[inline(always)]
    pub fn add_row(
        &self,
        runs: &[Run],
        y: usize,
        histogram: &Histogram,
        sieve: &mut Sieve,
        out: &mut Strengths,
    ) {
        sieve.cut(runs, self.visible.clone(), histogram);
        let found = sieve.occupied(self.steps.least(), histogram);
        for place in &sieve.places[..found] {
            let (piece, part) = (sieve.pieces.get(*place as usize / PARTS), *place as usize % PARTS);
            let lanes = Lanes { around: histogram.around(piece.line), at: part * GROUP };
            let strengths = self.strongest(lanes, piece.level);
            let inside = (piece.inside >> (part * GROUP)) as u16;
            out.put(y, usize::from(piece.tile) * PARTS + part, inside, &strengths);
        }
    }

    /// The strength at the columns of a group, as if they were all of this level.
    #[inline(always)]
    fn strongest(&self, lanes: Lanes<'_>, level: u16) -> [f32; GROUP] {
        let mut strongest = [0.0f32; GROUP];
        let middle = lanes.around.len() / 2;
        let own = lanes.row(middle);
        let active = self.steps.active()[usize::from(level)];
        for (size, weight) in sizes_and_weights(active & lanes.occupied_steps()) {
            let (above, below) = (lanes.row(middle + size), lanes.row(middle - size));
            // Counts fit 15 bits, of which there is a signed maximum everywhere.
            let mut other = [0; GROUP];
            for lane in 0..GROUP {
                other[lane] = (above[lane] as i16).max(below[lane] as i16) as u16;
            }
            for lane in 0..GROUP {
                // The product of three whole numbers, rounded once: two of them fit a single without rounding.
                let product = f32::from(own[lane] * weight) * f32::from(other[lane]);
                let strength = product * self.reciprocals[usize::from(own[lane] + other[lane]) % TABLE];
                strongest[lane] = if strength > strongest[lane] { strength } else { strongest[lane] };
            }
        }
        strongest
    }
}

/// Counts in the windows around the columns of a group: those of a level in the middle, between its neighbours.
#[derive(Clone, Copy, Debug)]
struct Lanes<'a> {
    around: &'a [Counts],
    /// Where in a tile the group begins.
    at: usize,
}

/// The levels around one for steps of up to 4, which is the default.
pub const USUAL: usize = 9;

impl Lanes<'_> {
    /// Bit `d` says whether any of these windows holds a level `d + 1` away.
    #[inline(always)]
    fn occupied_steps(&self) -> u32 {
        match self.around.len() / 2 {
            // The same with a number that the compiler knows.
            4 => self.occupied_up_to(4),
            largest => self.occupied_up_to(largest),
        }
    }

    /// All steps are looked at before one is measured: which of them occur cannot be guessed, so that a branch for each would
    /// cost more.
    #[inline(always)]
    fn occupied_up_to(&self, largest: usize) -> u32 {
        let mut steps = 0;
        for size in 1..=largest {
            let (above, below) = (self.row(largest + size), self.row(largest - size));
            let mut any = [0; GROUP];
            for lane in 0..GROUP {
                any[lane] = above[lane] | below[lane];
            }
            steps |= u32::from(any.iter().fold(0, |any, count| any | count) != 0) << (size - 1);
        }
        steps
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &[u16; GROUP] {
        let counts = &self.around[row].0;
        counts[self.at % TILE..].first_chunk().expect("a tile is made of whole groups")
    }
}

/// Runs that are cut before kernels have another try.
const AT_ONCE: usize = 16;

/// Groups of a tile.
const PARTS: usize = TILE / GROUP;

/// The part of a run that lies in one tile.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where the histogram has the counts around it.
    line: u32,
    /// A bit for each column of the tile, set for those of the run.
    inside: u32,
    level: u16,
    tile: u16,
}

/// Pieces of a row, in lists of one length: this many are used.
#[derive(Clone, Debug)]
pub struct Pieces {
    pub lines: Vec<u32>,
    pub insides: Vec<u32>,
    /// The level, and 2^16 times the tile.
    pub levels_and_tiles: Vec<u32>,
    pub count: usize,
}

impl Pieces {
    fn new(most: usize) -> Self {
        let list = || vec![0; most];
        Self { lines: list(), insides: list(), levels_and_tiles: list(), count: 0 }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Piece {
        let level_and_tile = self.levels_and_tiles[index];
        let (level, tile) = (level_and_tile as u16, (level_and_tile >> 16) as u16);
        Piece { line: self.lines[index], inside: self.insides[index], level, tile }
    }

    /// Writes a piece down behind as many others.
    #[inline(always)]
    fn put(&mut self, index: usize, piece: Piece) {
        self.lines[index] = piece.line;
        self.insides[index] = piece.inside;
        self.levels_and_tiles[index] = u32::from(piece.level) | u32::from(piece.tile) << 16;
    }

    /// Writes the pieces of a run down behind as many others. How many there are then, if those of this run are `kept`. Most runs
    /// end in the tile in which they began; a second piece is written anyway, which costs less than a wrong guess.
    #[inline(always)]
    fn cut(&mut self, mut count: usize, run: &Run, rows: usize, kept: bool) -> usize {
        let (start, last) = (usize::from(run.start), usize::from(run.start + run.len - 1));
        let level = run.level;
        let piece = |tile: usize, inside: u32| {
            let line = (tile * rows + usize::from(level)) as u32;
            Piece { line, inside, level, tile: tile as u16 }
        };
        let (from, to) = (u32::MAX << (start % TILE), u32::MAX >> (TILE - 1 - last % TILE));
        let (first_tile, last_tile) = (start / TILE, last / TILE);
        let is_one = first_tile == last_tile;
        self.put(count, piece(first_tile, if is_one { from & to } else { from }));
        count += usize::from(kept);
        for tile in first_tile + 1..last_tile {
            self.put(count, piece(tile, u32::MAX));
            count += usize::from(kept);
        }
        self.put(count, piece(last_tile, to));
        count + usize::from(kept & !is_one)
    }
}

/// Scratch for a row.
#[derive(Clone, Debug)]
pub struct Sieve {
    #[cfg(target_arch = "x86_64")]
    avx512: Option<Avx512>,
    pieces: Pieces,
    /// For each piece, a bit for each column that has something to measure.
    occupied: Vec<u32>,
    /// The groups in which there are such columns: [`PARTS`] times the piece, and which one of its tile.
    places: Vec<u32>,
}

impl Sieve {
    /// For rows of up to `width` pixels. A run begins in each pixel at most, and each group is begun once by one before it. A
    /// vector may be written before it is dropped.
    pub fn new(width: usize, target: Target) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        let most = |columns| width + width.div_ceil(columns) + GROUP;
        Self {
            #[cfg(target_arch = "x86_64")]
            avx512: target.avx512(),
            pieces: Pieces::new(most(TILE)),
            occupied: vec![0; most(TILE)],
            places: vec![0; most(GROUP)],
        }
    }

    /// Cuts the runs into pieces, without those of levels that no step counts at.
    #[inline(always)]
    fn cut(&mut self, runs: &[Run], visible: Range<u16>, histogram: &Histogram) {
        let rows = histogram.rows();
        self.pieces.count = 0;
        let mut left = runs;
        while !left.is_empty() {
            #[cfg(target_arch = "x86_64")]
            if let Some(avx512) = self.avx512 {
                left = &left[cut(avx512, left, visible.clone(), rows, &mut self.pieces)..];
            }
            // As many as may be cut at once, where one of them is too long for that.
            let now;
            (now, left) = left.split_at(left.len().min(AT_ONCE));
            // A number in memory would have to be read again after each piece.
            let mut count = self.pieces.count;
            for run in now {
                count = self.pieces.cut(count, run, rows, visible.contains(&run.level));
            }
            self.pieces.count = count;
        }
    }

    /// Finds the places whose windows hold a neighbouring level that counts. How many there are.
    ///
    /// Counts may have to come from afar. So that the processor can ask for those of many pieces at a time, nothing here waits for
    /// them but the result itself.
    #[inline(always)]
    fn occupied(&mut self, least: &[u8], histogram: &Histogram) -> usize {
        let count = self.pieces.count;
        let least = |piece: &Piece| usize::from(least[usize::from(piece.level)]);
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512.filter(|_| histogram.steps() == USUAL / 2) {
            for index in 0..count {
                let piece = self.pieces.get(index);
                let around = histogram.around(piece.line).first_chunk().expect("as many as usual");
                self.occupied[index] = occupied_columns(avx512, around, least(&piece)) & piece.inside;
            }
            return find_places(avx512, &self.occupied[..count], &mut self.places);
        }
        for index in 0..count {
            let piece = self.pieces.get(index);
            let around = histogram.around(piece.line);
            self.occupied[index] = occupied_groups(around, least(&piece), piece.inside);
        }
        let (places, mut found) = (&mut self.places[..], 0);
        for (index, occupied) in self.occupied[..count].iter().enumerate() {
            let place = (index * PARTS) as u32;
            places[found] = place;
            found += usize::from(*occupied as u16 != 0);
            places[found] = place + 1;
            found += usize::from(occupied >> GROUP != 0);
        }
        found
    }
}

/// Whether any level that is at least a step of this size away occurs at the columns inside: for each group of the tile the
/// bit of its first column is set then.
#[inline(always)]
fn occupied_groups(around: &[Counts], least: usize, inside: u32) -> u32 {
    let any = match <&[Counts; USUAL]>::try_from(around) {
        // The same with a length that the compiler knows.
        Ok(usual) => any_beside(usual, USUAL / 2, least),
        Err(_) => any_beside(around, around.len() / 2, least),
    };
    // The columns are next to each other.
    let (start, len) = (inside.trailing_zeros() as u16, inside.count_ones() as u16);
    let mut found = [0; TILE];
    for lane in 0..TILE {
        found[lane] = if (lane as u16).wrapping_sub(start) < len { any[lane] } else { 0 };
    }
    let mut occupied = 0;
    for (group, counts) in found.as_chunks::<GROUP>().0.iter().enumerate() {
        occupied |= u32::from(counts.iter().fold(0, |any, count| any | count) != 0) << (group * GROUP);
    }
    occupied
}

/// The counts of all levels that are at least a step of this size away from the one in the middle, all their bits together.
/// Where a smaller step has its turn, lines are looked at a second time that are needed anyway: that is quicker than to
/// look at fewer, whose number cannot be guessed, and than to fetch lines that do not count.
#[inline(always)]
fn any_beside(around: &[Counts], middle: usize, least: usize) -> [u16; TILE] {
    let mut any = [0; TILE];
    for step in 1..=middle {
        let step = step.max(least).min(middle);
        let (above, below) = (&around[middle + step].0, &around[middle - step].0);
        let mut more = [0; TILE];
        for lane in 0..TILE {
            more[lane] = any[lane] | above[lane] | below[lane];
        }
        any = more;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_have_nine_digits() {
        for n in 1..USED {
            let truth: f32 = format!("{:.8e}", 1.0 / n as f64).parse().unwrap();
            assert_eq!(RECIPROCALS[n], truth, "{n}");
        }
        let off: Vec<_> = (1..USED).filter(|n| RECIPROCALS[*n] != 1.0 / *n as f32).collect();
        assert_eq!((off.len(), off[0], off[41]), (42, 82, 4224));
        assert_eq!(RECIPROCALS[83].to_bits(), 0x3c4565c9);
        assert_eq!((RECIPROCALS[0], RECIPROCALS[2], RECIPROCALS[USED]), (0.0, 0.5, 0.0));
    }
}
