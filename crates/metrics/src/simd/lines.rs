//! Memory in whole cache lines.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::Number;

/// Also the width of the widest vectors.
const LINE_BYTES: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

/// Numbers whose first one starts at a cache line: a slice in every other respect. Vectors at multiples of their own
/// length never cross a line.
#[derive(Clone, Default)]
pub struct Lines<T> {
    lines: Vec<Line>,
    len: usize,
    number: PhantomData<T>,
}

impl<T: Number> Lines<T> {
    /// `len` zeros.
    pub fn new(len: usize) -> Self {
        let lines = (len * size_of::<T>()).div_ceil(LINE_BYTES);
        Self { lines: vec![Line([0; LINE_BYTES]); lines], len, number: PhantomData }
    }
}

impl<T: Number> Deref for Lines<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `lines` holds `len` numbers' worth of initialised bytes, aligned for any number; all bit patterns are
        // values of a `Number`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Number> DerefMut for Lines<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the lines are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl<T> fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lines({} numbers)", self.len)
    }
}
