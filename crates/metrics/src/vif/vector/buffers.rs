//! The memory that the stages hand on to each other.

use crate::simd::{Grid, GridMut, Lines};

/// Words of the widest vectors; a block is never larger.
pub const MAX_WORDS: usize = 32;

/// The longest window's radius.
const MAX_RADIUS: usize = 8;

/// Words in front of a row: room for mirrored columns, and a whole cache line, so that blocks stay aligned.
const MARGIN: usize = 32;

/// The planes of the row pairs that the window reaches, each pair in the slot of its number. A block of a pair holds,
/// plane by plane, the lanes of its even columns, then the same for the odd ones.
#[derive(Debug)]
pub struct Ring {
    pub words: Lines<i16>,
    pub blocks: usize,
    slots: usize,
    /// Words per block.
    block: usize,
}

impl Ring {
    pub fn new(slots: usize, blocks: usize, block: usize) -> Self {
        Self { words: Lines::new(slots * blocks * block), blocks, slots, block }
    }

    /// The slot of a pair.
    fn start(&self, pair: isize) -> usize {
        pair.rem_euclid(self.slots as isize) as usize * self.blocks * self.block
    }

    /// Consecutive pairs from `first` on; those that the ring has no slot for are the first ones again.
    pub fn pairs<const COUNT: usize>(&mut self, first: isize) -> GridMut<'_, i16, COUNT> {
        let starts = std::array::from_fn(|i| self.start(first + i as isize));
        GridMut::new(&mut self.words, starts, self.blocks * self.block)
    }
}

/// Rows of words with margins on both sides.
#[derive(Debug)]
pub struct Rows {
    words: Lines<i16>,
    stride: usize,
}

impl Rows {
    /// Rows of at most `width` columns, rounded up to blocks.
    pub fn new(count: usize, width: usize) -> Self {
        let stride = width.next_multiple_of(MAX_WORDS) + 2 * MARGIN;
        Self { words: Lines::new(count * stride), stride }
    }

    /// All rows without their margins.
    pub fn all<const COUNT: usize>(&mut self) -> GridMut<'_, i16, COUNT> {
        let starts = std::array::from_fn(|row| row * self.stride + MARGIN);
        GridMut::new(&mut self.words, starts, self.stride - 2 * MARGIN)
    }

    /// Rows from `first` on, beginning `radius` columns left of the picture.
    pub fn windows<const COUNT: usize>(&self, first: usize, radius: usize) -> Grid<'_, i16, COUNT> {
        let starts = std::array::from_fn(|row| (first + row) * self.stride + MARGIN - radius);
        Grid::new(&self.words, starts, self.stride - MARGIN)
    }

    /// Mirrors columns around the first and the last one of the rows that `width` columns are filled of.
    pub fn mirror(&mut self, width: usize) {
        // Always the longest window's radius: a fixed count is a handful of instructions, and what is more than needed is
        // not read.
        for row in self.words.chunks_exact_mut(self.stride) {
            mirror_left(&mut row[MARGIN - MAX_RADIUS..][..2 * MAX_RADIUS + 1]);
            mirror_right(&mut row[MARGIN + width - 1 - MAX_RADIUS..][..2 * MAX_RADIUS + 1]);
        }
    }
}

/// Mirrors what stands after the piece's middle to the places before it.
#[inline]
fn mirror_left(piece: &mut [i16]) {
    let (before, after) = piece.split_at_mut(MAX_RADIUS);
    before.copy_from_slice(&after[1..]);
    before.reverse();
}

/// Mirrors what stands before the piece's middle to the places after it.
#[inline]
fn mirror_right(piece: &mut [i16]) {
    let (before, after) = piece.split_at_mut(MAX_RADIUS);
    after[1..].copy_from_slice(before);
    after[1..].reverse();
}
