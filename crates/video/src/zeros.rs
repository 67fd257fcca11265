//! Large memory for numbers of a worker: zeros at first, from the begin of a cache line on, in huge pages where that is worth it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::memory::{Memory, Pages};

/// Bytes of a cache line, and of the widest vectors.
const LINE_BYTES: usize = 64;

/// A number of which every pattern of bits is one.
pub trait Plain: Pod {}
impl<T: Pod> Plain for T {}

/// So many numbers: a slice in every other respect. Meant for memory as large as a picture, where the first touch of each
/// small page is a trap into the system; threads that touch pages at the same time even wait for each other there.
pub struct Zeros<T> {
    memory: Memory,
    /// Where the first number is, in bytes.
    start: usize,
    len: usize,
    number: PhantomData<T>,
}

impl<T: Plain> Zeros<T> {
    pub fn new(len: usize) -> Self {
        let memory = Memory::new(len * size_of::<T>() + LINE_BYTES, Pages::Huge);
        let address = memory.bytes().as_ptr().addr();
        let start = address.next_multiple_of(LINE_BYTES) - address;
        Self { memory, start, len, number: PhantomData }
    }
}

impl<T: Plain> Deref for Zeros<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory.bytes()[self.start..][..self.len * size_of::<T>()])
    }
}

impl<T: Plain> DerefMut for Zeros<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes = self.len * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self.memory.bytes_mut()[self.start..][..bytes])
    }
}

impl<T: Plain> Clone for Zeros<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> fmt::Debug for Zeros<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zeros({} numbers)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zero_at_first_and_begin_a_line() {
        for len in [0, 1, 77, (3 << 20) + 5] {
            let mut zeros = Zeros::<i16>::new(len);
            assert!(zeros.len() == len && zeros.iter().all(|number| *number == 0));
            assert!(zeros.as_ptr().addr().is_multiple_of(LINE_BYTES));
            zeros.fill(-7);
            let copy = zeros.clone();
            zeros.fill(1);
            assert!(copy.iter().all(|number| *number == -7) && copy.len() == len);
        }
    }
}
