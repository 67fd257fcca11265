//! Strips at the edges of a picture.

use std::ops::Range;

use visus_video::Plane;

use super::bytes::WIDEST;
use super::strips::ROWS_AT_ONCE;

/// Rows of a strip at the left or right edge, with a column of zeros beyond it.
pub struct Padded([u8; PADDED * (ROWS_AT_ONCE + 2)]);

const PADDED: usize = 2 * WIDEST;

impl Padded {
    /// Rows of `len` columns from the one left of `at` on.
    #[inline(always)]
    pub fn new(plane: Plane<'_, u8>, rows: Range<usize>, at: usize, len: usize) -> Self {
        let mut padded = [0; PADDED * (ROWS_AT_ONCE + 2)];
        let (first, last) = (at.saturating_sub(1), plane.width().min(at + len - 1));
        for (y, row) in rows.zip(padded.chunks_exact_mut(PADDED)) {
            row[first + 1 - at..][..last - first].copy_from_slice(&plane.row(y)[first..last]);
        }
        Self(padded)
    }

    pub fn plane(&self) -> Plane<'_, u8> {
        Plane::new(&self.0, PADDED, ROWS_AT_ONCE + 2, PADDED)
    }
}
