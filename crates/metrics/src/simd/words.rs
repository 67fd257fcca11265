//! Samples of either size as vectors of words.

use visus_video::Sample;

use super::{Number, Vector};

/// How samples are read in words.
pub trait Words: Sample + Number {
    fn load<S: Vector>(s: S, row: &[Self], at: usize) -> S::Int;
}

impl Words for u8 {
    #[inline(always)]
    fn load<S: Vector>(s: S, row: &[Self], at: usize) -> S::Int {
        s.load_bytes(row, at)
    }
}

impl Words for u16 {
    #[inline(always)]
    fn load<S: Vector>(s: S, row: &[Self], at: usize) -> S::Int {
        s.load(row, at)
    }
}

/// A vector of words from `at` on; beyond the row's end there are zeros.
#[inline(always)]
pub fn load_words<S: Vector, T: Words>(s: S, row: &[T], at: usize) -> S::Int {
    if at + S::WORDS <= row.len() {
        return T::load(s, row, at);
    }
    let mut block = [T::default(); 32];
    let rest = row.get(at..).unwrap_or(&[]);
    block[..rest.len()].copy_from_slice(rest);
    T::load(s, &block, 0)
}
