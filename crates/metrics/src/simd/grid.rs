//! Several rows of one slice, walked together.
//!
//! A kernel that reads or writes many rows at the same column would check each access against its own row, and every
//! check is a branch that keeps the compiler from arranging the arithmetic around it. Here the rows are checked once,
//! and one check per column serves all of them.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::marker::PhantomData;

use super::Number;

/// Refuses rows that do not lie inside a slice of `total` values. Not inlined: the compiler would spend minutes on what
/// follows from so many comparisons.
#[inline(never)]
fn check(total: usize, starts: &[usize], len: usize) {
    let last = starts.iter().max().copied().unwrap_or(0);
    assert!(last <= total && len <= total - last, "{len} values from {last} on are not among {total}");
}

/// Equally long rows to read.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a, T, const ROWS: usize> {
    rows: [*const T; ROWS],
    len: usize,
    values: PhantomData<&'a [T]>,
}

impl<'a, T: Number, const ROWS: usize> Grid<'a, T, ROWS> {
    /// Rows of `len` values that start at `starts`.
    ///
    /// # Panics
    /// If a row does not lie inside the slice.
    pub fn new(values: &'a [T], starts: [usize; ROWS], len: usize) -> Self {
        check(values.len(), &starts, len);
        let first = values.as_ptr();
        Self { rows: starts.map(|start| first.wrapping_add(start)), len, values: PhantomData }
    }

    /// Rows that lie in different slices, all cut to the shortest one's length.
    pub fn of(rows: [&'a [T]; ROWS]) -> Self {
        let len = rows.iter().map(|row| row.len()).min().unwrap_or(0);
        Self { rows: rows.map(<[T]>::as_ptr), len, values: PhantomData }
    }

    /// The values of all rows from `column` on.
    ///
    /// # Panics
    /// If they do not lie inside the rows.
    #[inline(always)]
    pub fn at(&self, column: usize, len: usize) -> [&'a [T]; ROWS] {
        assert!(column <= self.len && len <= self.len - column);
        let mut cells: [&[T]; ROWS] = [&[]; ROWS];
        for (cell, row) in cells.iter_mut().zip(self.rows) {
            // SAFETY: each row points to `self.len` values that are borrowed for `'a`, and `column + len` is not more.
            *cell = unsafe { std::slice::from_raw_parts(row.add(column), len) };
        }
        cells
    }
}

/// Equally long rows to read and write.
#[derive(Debug)]
pub struct GridMut<'a, T, const ROWS: usize> {
    rows: [*mut T; ROWS],
    len: usize,
    values: PhantomData<&'a mut [T]>,
}

impl<'a, T: Number, const ROWS: usize> GridMut<'a, T, ROWS> {
    /// Rows of `len` values that start at `starts`. They may overlap.
    ///
    /// # Panics
    /// If a row does not lie inside the slice.
    pub fn new(values: &'a mut [T], starts: [usize; ROWS], len: usize) -> Self {
        check(values.len(), &starts, len);
        let first = values.as_mut_ptr();
        Self { rows: starts.map(|start| first.wrapping_add(start)), len, values: PhantomData }
    }

    /// The cells of all rows from `column` on, `len` values each.
    ///
    /// # Panics
    /// If they do not lie inside the rows.
    #[inline(always)]
    pub fn at(&mut self, column: usize, len: usize) -> Cells<'_, T, ROWS> {
        assert!(column <= self.len && len <= self.len - column);
        Cells { rows: &self.rows, column, len, values: PhantomData }
    }
}

/// One cell per row.
#[derive(Debug)]
pub struct Cells<'a, T, const ROWS: usize> {
    rows: &'a [*mut T; ROWS],
    column: usize,
    len: usize,
    values: PhantomData<&'a mut [T]>,
}

impl<T: Number, const ROWS: usize> Cells<'_, T, ROWS> {
    #[inline(always)]
    pub fn get(&self, row: usize) -> &[T] {
        // SAFETY: the row is borrowed exclusively by the grid and shared with nothing but other calls of `get`; the cell
        // was checked to lie inside it.
        unsafe { std::slice::from_raw_parts(self.rows[row].add(self.column), self.len) }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, row: usize) -> &mut [T] {
        // SAFETY: the row is borrowed exclusively by the grid, and the grid by this call, so that no other cell can be
        // looked at meanwhile, overlapping or not; the cell was checked to lie inside its row.
        unsafe { std::slice::from_raw_parts_mut(self.rows[row].add(self.column), self.len) }
    }
}
