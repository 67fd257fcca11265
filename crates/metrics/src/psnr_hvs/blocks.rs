//! Blocks of a picture, dealt out to lanes.

use visus_video::{Plane, Sample};

use super::dct::Block;

/// Blocks overlap by one row and one column.
pub const STEP: usize = 7;
pub const SIDE: usize = 8;

/// Samples, several of which fit a word: one load takes them all, and vectors of words take them apart.
pub trait Packed: Sample {
    /// Words of a row of a block.
    const WORDS: usize = SIDE * Self::BITS as usize / 32;
    const BITS: u32;

    /// A word of a row, the first sample in its low bits.
    fn word(row: &[Self; SIDE], word: usize) -> u32;
}

impl Packed for u8 {
    const BITS: u32 = 8;

    #[inline(always)]
    fn word(row: &[u8; SIDE], word: usize) -> u32 {
        u32::from_le_bytes([row[4 * word], row[4 * word + 1], row[4 * word + 2], row[4 * word + 3]])
    }
}

impl Packed for u16 {
    const BITS: u32 = 16;

    #[inline(always)]
    fn word(row: &[u16; SIDE], word: usize) -> u32 {
        u32::from(row[2 * word]) | u32::from(row[2 * word + 1]) << 16
    }
}

/// Samples of the blocks `first..=last` from the left; lanes beyond repeat the last block.
#[inline(always)]
pub fn load_blocks<T: Packed, const LANES: usize>(
    plane: Plane<'_, T>,
    top: usize,
    first: usize,
    last: usize,
    out: &mut Block<i32, LANES>,
) {
    let mut words = [[[0u32; LANES]; SIDE / 2]; SIDE];
    for (y, words) in words.iter_mut().enumerate() {
        let row = plane.row(top + y);
        for lane in 0..LANES {
            let left = (first + lane).min(last) * STEP;
            let row = row[left..].first_chunk().expect("blocks lie inside the picture");
            for word in 0..T::WORDS {
                words[word][lane] = T::word(row, word);
            }
        }
    }
    for (words, out) in words.iter().zip(out.as_chunks_mut::<SIDE>().0) {
        take_apart::<T, LANES>(words, out);
    }
}

#[inline(always)]
fn take_apart<T: Packed, const LANES: usize>(
    words: &[[u32; LANES]; SIDE / 2],
    out: &mut [[i32; LANES]; SIDE],
) {
    let per_word = SIDE / T::WORDS;
    for lane in 0..LANES {
        for x in 0..SIDE {
            let word = words[x / per_word][lane] >> (T::BITS * (x % per_word) as u32);
            out[x][lane] = (word & ((1 << T::BITS) - 1)) as i32;
        }
    }
}
