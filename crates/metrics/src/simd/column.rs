//! Parts of rows that lie above each other.
//!
//! A kernel that goes down a plane would check every row against the plane. Here they are checked once, and a row's number against
//! how many there are, which the compiler sees for itself in a loop over them.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::marker::PhantomData;
use std::ops::Range;

use visus_video::Plane;

/// The same columns of some rows, checked once for all of them.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    first: *const u8,
    stride: usize,
    rows: usize,
    len: usize,
    samples: PhantomData<&'a [u8]>,
}

impl<'a> Column<'a> {
    /// `len` columns from `at` on.
    ///
    /// # Panics
    /// If the plane does not have them.
    #[inline(always)]
    pub fn new(plane: Plane<'a, u8>, rows: Range<usize>, at: usize, len: usize) -> Self {
        assert!(rows.end <= plane.height() && at + len <= plane.width());
        let samples = &plane.row(rows.start)[at..];
        Self { first: samples.as_ptr(), stride: plane.stride(), rows: rows.len(), len, samples: PhantomData }
    }

    /// Some of these columns.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn part(&self, at: usize, len: usize) -> Self {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: `at` columns are there in the first row.
        Self { first: unsafe { self.first.add(at) }, len, ..*self }
    }

    #[inline(always)]
    pub fn row(&self, index: usize) -> &'a [u8] {
        assert!(index < self.rows);
        // SAFETY: the plane that is borrowed has this row, and its columns are inside of it.
        unsafe { std::slice::from_raw_parts(self.first.add(index * self.stride), self.len) }
    }
}
