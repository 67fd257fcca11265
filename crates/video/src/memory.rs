//! The memory that a picture lives in.
//!
//! A large picture has hundreds of pages, and the first touch of each is a trap into the system: with huge pages there
//! are a few. Where the system has none to give, or the picture is small, nothing changes. Huge pages are scarce, though:
//! for many pictures the system has to gather them, which takes longer than the traps.

use memmap2::MmapMut;

/// A huge page.
const HUGE_BYTES: usize = 2 << 20;

/// What a picture's memory is made of, where there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// For few pictures that are used again and again.
    Huge,
    /// For one of many.
    Small,
}

/// At least so many bytes, zeros at first, aligned for any sample.
#[derive(Debug)]
pub(crate) enum Memory {
    Heap(Vec<u64>),
    Mapped(MmapMut),
}

impl Memory {
    pub(crate) fn new(bytes: usize, pages: Pages) -> Self {
        // Whole huge pages: the system aligns no other length to them. What is never touched takes no memory.
        let whole = bytes.next_multiple_of(HUGE_BYTES);
        let huge = pages == Pages::Huge && bytes >= HUGE_BYTES;
        let mapped = if huge { MmapMut::map_anon(whole).ok() } else { None };
        match mapped {
            Some(mapped) => {
                // Only a wish: without it the pages are small.
                #[cfg(target_os = "linux")]
                let _ = mapped.advise(memmap2::Advice::HugePage);
                Self::Mapped(mapped)
            }
            None => Self::Heap(vec![0; bytes.div_ceil(8)]),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice(words),
            Self::Mapped(bytes) => bytes,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice_mut(words),
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        let pages = if matches!(self, Self::Mapped(_)) { Pages::Huge } else { Pages::Small };
        let mut copy = Self::new(self.bytes().len(), pages);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_is_zero_and_can_be_copied() {
        let sizes = [0, 8, 4095, HUGE_BYTES, HUGE_BYTES + 8];
        for (bytes, pages) in
            sizes.into_iter().flat_map(|bytes| [(bytes, Pages::Huge), (bytes, Pages::Small)])
        {
            let mut memory = Memory::new(bytes, pages);
            assert!(memory.bytes().len() >= bytes);
            assert!(memory.bytes().iter().all(|byte| *byte == 0));
            memory.bytes_mut().fill(7);
            let copy = memory.clone();
            memory.bytes_mut().fill(9);
            assert!(copy.bytes().iter().all(|byte| *byte == 7));
        }
    }
}
