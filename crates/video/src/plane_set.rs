//! Which planes of a picture somebody looks at, so that the others need not be read.

use std::ops::{BitOr, Range};

/// A choice of luma, chroma, both or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneSet {
    pub luma: bool,
    pub chroma: bool,
}

impl PlaneSet {
    pub const NONE: Self = Self { luma: false, chroma: false };
    pub const LUMA: Self = Self { luma: true, chroma: false };
    pub const CHROMA: Self = Self { luma: false, chroma: true };
    pub const ALL: Self = Self { luma: true, chroma: true };

    /// The numbers of the chosen planes of a picture that has `count`; luma is plane 0.
    pub fn range(self, count: usize) -> Range<usize> {
        let first = usize::from(!self.luma).min(count);
        let end = if self.chroma { count } else { usize::from(self.luma).min(count) };
        first..end.max(first)
    }
}

impl BitOr for PlaneSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { luma: self.luma || other.luma, chroma: self.chroma || other.chroma }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_numbered_from_luma() {
        let numbers = |set: PlaneSet, count| set.range(count).collect::<Vec<_>>();
        assert_eq!(numbers(PlaneSet::ALL, 3), [0, 1, 2]);
        assert_eq!(numbers(PlaneSet::LUMA, 3), [0]);
        assert_eq!(numbers(PlaneSet::CHROMA, 3), [1, 2]);
        assert_eq!(numbers(PlaneSet::CHROMA, 1), []);
        assert_eq!(numbers(PlaneSet::ALL, 1), [0]);
        assert_eq!(numbers(PlaneSet::NONE, 3), []);
        assert_eq!(PlaneSet::LUMA | PlaneSet::CHROMA, PlaneSet::ALL);
        assert_eq!(PlaneSet::LUMA | PlaneSet::NONE, PlaneSet::LUMA);
    }
}
