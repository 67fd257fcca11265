//! Parts of rows that lie above each other.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::marker::PhantomData;
use std::ops::Range;

use visus_video::Plane;

use super::bytes::WIDEST;
use super::strips::ROWS_AT_ONCE;

/// The same columns of some rows, checked once for all of them.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    first: *const u8,
    stride: usize,
    rows: usize,
    len: usize,
    samples: PhantomData<&'a [u8]>,
}

impl<'a> Column<'a> {
    /// `len` columns from `at` on.
    #[inline(always)]
    pub fn new(plane: Plane<'a, u8>, rows: Range<usize>, at: usize, len: usize) -> Self {
        assert!(rows.end <= plane.height() && at + len <= plane.width());
        let samples = &plane.row(rows.start)[at..];
        Self { first: samples.as_ptr(), stride: plane.stride(), rows: rows.len(), len, samples: PhantomData }
    }

    #[inline(always)]
    pub fn row(&self, index: usize) -> &'a [u8] {
        assert!(index < self.rows);
        // SAFETY: the plane that is borrowed has this row, and its columns are inside of it.
        unsafe { std::slice::from_raw_parts(self.first.add(index * self.stride), self.len) }
    }
}

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
