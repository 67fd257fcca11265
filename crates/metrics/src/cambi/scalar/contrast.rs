//! How strong the banding is at every pixel of a run.
//!
//! A pixel sees a band edge if its window holds many pixels of its own level and many of a level one step away. For
//! counts `p` and `q` of these the strength is `weight * p * q / (p + q)`, and the strongest step counts.

use std::sync::LazyLock;

use super::super::steps::Steps;
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
        let digits = format!("{:.8e}", 1.0 / n as f64);
        *entry = digits.parse().expect("a number that was just printed");
    }
    table
});

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

    /// Adds the strengths at the pixels of the run, which lies in row `y`, around which the histogram's windows lie.
    ///
    /// Mostly no window holds a level that is near enough, so that there is nothing to compute.
    #[inline(always)]
    pub fn add_run(self, run: &Run, y: usize, histogram: &Histogram, out: &mut Strengths) {
        let columns = run.columns();
        for tile in columns.start / TILE..=(columns.end - 1) / TILE {
            if histogram.may_have_neighbours(run.level, tile) {
                self.add_tile(run, y, tile, histogram, out);
            }
        }
    }

    #[inline(always)]
    fn add_tile(self, run: &Run, y: usize, tile: usize, histogram: &Histogram, out: &mut Strengths) {
        let columns = run.columns();
        let first = columns.start.max(tile * TILE) / GROUP;
        let end = columns.end.min((tile + 1) * TILE).div_ceil(GROUP);
        let around = histogram.around(run.level, tile);
        for group in first..end {
            let lanes = Lanes { around, at: group * GROUP % TILE };
            if lanes.any_neighbours((group * GROUP) as u16, run) {
                out.put(y, group, run, &self.strongest(lanes, run.level));
            }
        }
    }

    /// The strength at the columns of a group, as if they were all of this level.
    #[inline(always)]
    fn strongest(self, lanes: Lanes<'_>, level: u16) -> [f32; GROUP] {
        let mut strongest = [0.0f32; GROUP];
        let middle = lanes.around.len() / 2;
        let own = lanes.row(middle);
        for (size, weight) in self.steps.at(level) {
            let (above, below) = (lanes.row(middle + size), lanes.row(middle - size));
            // Counts fit 15 bits, of which there is a signed maximum everywhere.
            let mut other = [0; GROUP];
            for lane in 0..GROUP {
                other[lane] = (above[lane] as i16).max(below[lane] as i16) as u16;
            }
            if other == [0; GROUP] {
                continue;
            }
            for lane in 0..GROUP {
                let product = (u32::from(own[lane] * weight) * u32::from(other[lane])) as i32 as f32;
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

impl Lanes<'_> {
    #[inline(always)]
    fn row(&self, row: usize) -> &[u16; GROUP] {
        let counts = &self.around[row].0;
        counts[self.at % TILE..].first_chunk().expect("a tile is made of whole groups")
    }

    /// Whether any level but the one in the middle occurs at the columns of the run, where the group begins at `column`.
    #[inline(always)]
    fn any_neighbours(&self, column: u16, run: &Run) -> bool {
        let any = if let Ok(usual) = <&[Counts; USUAL]>::try_from(self.around) {
            let lanes = Lanes { around: usual, at: self.at };
            lanes.any_beside(USUAL / 2)
        } else {
            self.any_beside(self.around.len() / 2)
        };
        let offset = column.wrapping_sub(run.start);
        let mut found = 0;
        for lane in 0..GROUP {
            let inside = offset.wrapping_add(lane as u16) < run.len;
            found |= if inside { any[lane] } else { 0 };
        }
        found != 0
    }

    /// The counts of all levels but the one in the middle, all their bits together.
    #[inline(always)]
    fn any_beside(&self, middle: usize) -> [u16; GROUP] {
        let mut any = [0; GROUP];
        for step in 1..=middle {
            let (above, below) = (self.row(middle + step), self.row(middle - step));
            for lane in 0..GROUP {
                any[lane] |= above[lane] | below[lane];
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_have_nine_digits() {
        let off: Vec<_> = (1..USED).filter(|n| RECIPROCALS[*n] != 1.0 / *n as f32).collect();
        assert_eq!((off.len(), off[0], off[41]), (42, 82, 4224));
        assert_eq!(RECIPROCALS[83].to_bits(), 0x3c4565c9);
        assert_eq!((RECIPROCALS[0], RECIPROCALS[2], RECIPROCALS[USED]), (0.0, 0.5, 0.0));
    }
}
