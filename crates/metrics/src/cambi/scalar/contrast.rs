//! How strong the banding is at every pixel of a run.
//!
//! A pixel sees a band edge if its window holds many pixels of its own level and many of a level one step away. For
//! counts `p` and `q` of these the strength is `weight * p * q / (p + q)`, and the strongest step counts.

use std::sync::LazyLock;

use super::super::steps::{Steps, sizes_and_weights};
use super::histogram::{Counts, Histogram, TILE};
use super::runs::Run;
use super::strengths::{GROUP, Strengths};

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
#[derive(Clone, Copy, Debug)]
pub struct Contrast<'a> {
    steps: &'a Steps,
    reciprocals: &'a [f32; TABLE],
}

impl<'a> Contrast<'a> {
    pub fn new(steps: &'a Steps) -> Self {
        Self { steps, reciprocals: &RECIPROCALS }
    }

    /// Adds the strengths at the pixels of the runs of row `y`, around which the histogram's windows lie.
    ///
    /// Mostly no window holds a level that is near enough, so that there is nothing to compute. Whether one does cannot be
    /// guessed by a processor, so that places are sieved without branches.
    #[inline(always)]
    pub fn add_row(
        self,
        runs: &[Run],
        y: usize,
        histogram: &Histogram,
        sieve: &mut Sieve,
        out: &mut Strengths,
    ) {
        let found = sieve.occupied(runs, histogram);
        for Place { run, group } in &sieve.places[..found] {
            let group = usize::from(*group);
            let strengths = self.strongest(Lanes::new(histogram, run, group), run.level);
            out.put(y, group, run, &strengths);
        }
    }

    /// The strength at the columns of a group, as if they were all of this level.
    #[inline(always)]
    fn strongest(self, lanes: Lanes<'_>, level: u16) -> [f32; GROUP] {
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
const USUAL: usize = 9;

impl<'a> Lanes<'a> {
    #[inline(always)]
    fn new(histogram: &'a Histogram, run: &Run, group: usize) -> Self {
        let around = histogram.around(run.level, group * GROUP / TILE);
        Self { around, at: group * GROUP % TILE }
    }

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

/// A group of columns in which a run lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    run: Run,
    group: u16,
}

/// Scratch: the places of a row at which there may be something to measure.
#[derive(Clone, Debug)]
pub struct Sieve {
    places: Vec<Place>,
}

impl Sieve {
    /// For rows of up to `width` pixels. A run begins in each pixel at most, and each group is begun once by one before it;
    /// two more are written before they are dropped.
    pub fn new(width: usize) -> Self {
        let nowhere = Place { run: Run { level: 0, start: 0, len: 0 }, group: 0 };
        Self { places: vec![nowhere; width + width.div_ceil(GROUP) + TILE / GROUP] }
    }

    /// Keeps the places whose windows hold a neighbouring level. How many there are.
    #[inline(always)]
    fn occupied(&mut self, runs: &[Run], histogram: &Histogram) -> usize {
        let mut found = 0;
        for run in runs {
            let columns = run.columns();
            for tile in columns.start / TILE..=(columns.end - 1) / TILE {
                let occupied = occupied_groups(histogram.around(run.level, tile), tile, run);
                for (group, occupied) in (tile * (TILE / GROUP)..).zip(occupied) {
                    self.places[found] = Place { run: *run, group: group as u16 };
                    found += usize::from(occupied);
                }
            }
        }
        found
    }
}

/// Whether any level but the one in the middle occurs at the columns of the run, for each group of a tile.
#[inline(always)]
fn occupied_groups(around: &[Counts], tile: usize, run: &Run) -> [bool; TILE / GROUP] {
    let any = match <&[Counts; USUAL]>::try_from(around) {
        // The same with a length that the compiler knows.
        Ok(usual) => any_beside(usual, USUAL / 2),
        Err(_) => any_beside(around, around.len() / 2),
    };
    let offset = ((tile * TILE) as u16).wrapping_sub(run.start);
    let mut inside = [0; TILE];
    for lane in 0..TILE {
        inside[lane] = if offset.wrapping_add(lane as u16) < run.len { any[lane] } else { 0 };
    }
    let mut occupied = [false; TILE / GROUP];
    for (occupied, counts) in occupied.iter_mut().zip(inside.as_chunks::<GROUP>().0) {
        *occupied = counts.iter().fold(0, |any, count| any | count) != 0;
    }
    occupied
}

/// The counts of all levels but the one in the middle, all their bits together.
#[inline(always)]
fn any_beside(around: &[Counts], middle: usize) -> [u16; TILE] {
    let mut any = [0; TILE];
    for step in 1..=middle {
        let (above, below) = (&around[middle + step].0, &around[middle - step].0);
        for lane in 0..TILE {
            any[lane] |= above[lane] | below[lane];
        }
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
