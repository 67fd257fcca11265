//! The memory that a picture lives in.
//!
//! A large picture has hundreds of pages, and the first touch of each is a trap into the system: with huge pages there
//! are a few. Where the system has none to give, or the picture is small, nothing changes. Huge pages are scarce, though:
//! for many pictures the system has to gather them, which takes longer than the traps.
//!
//! Memory may also come from elsewhere: a device wants pinned pages, a caller has the picture already. [`Buffer`] is such
//! memory, [`Allocator`] is where a [`Pool`](crate::Pool) gets it. Safety is the implementor's: a buffer hands out
//! slices, and this crate checks that they are long enough and aligned before it relies on them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use memmap2::MmapMut;

use crate::lent::LentPicture;
use crate::remote::RemotePicture;

/// Memory from outside this crate that holds a picture. The slice must always be the same: same address, same length.
pub trait Buffer: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Ordinary memory is a buffer too, aligned for any sample.
impl Buffer for Vec<u64> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

/// Gives a [`Pool`](crate::Pool) its memory.
pub trait Allocator: Send + Sync {
    /// At least so many bytes, aligned for 16-bit samples. `None` if there are no more: the frame then lives in ordinary
    /// memory, which is slower for whoever wanted the other kind, and nothing else.
    fn allocate(&self, bytes: usize) -> Option<Box<dyn Buffer>>;
}

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
pub(crate) enum Memory {
    Heap(Vec<u64>),
    Mapped(MmapMut),
    Foreign(Box<dyn Buffer>),
    /// A buffer for each plane, at least one.
    Apart(Vec<Box<dyn Buffer>>),
    /// In a device's memory; writing makes a copy of the frame's own.
    Remote(Arc<dyn RemotePicture>),
    /// In memory of others that nobody writes; a frame gets memory of its own before somebody does.
    Lent(Arc<dyn LentPicture>),
    /// So many bytes that are allocated when somebody looks at them.
    Hollow(usize, OnceLock<Vec<u64>>),
}

impl Memory {
    pub(crate) fn new(bytes: usize, pages: Pages) -> Self {
        // Whole huge pages: the system aligns no other length to them. What is never touched takes no memory.
        let whole = bytes.next_multiple_of(HUGE_BYTES);
        let huge = pages == Pages::Huge && bytes >= HUGE_BYTES;
        let mapped = if huge { MmapMut::map_anon(whole).ok() } else { None };
        match mapped {
            Some(mapped) => {
                // Advice only: if the system ignores it, the pages are small.
                #[cfg(target_os = "linux")]
                let _ = mapped.advise(memmap2::Advice::HugePage);
                Self::Mapped(mapped)
            }
            None => Self::Heap(vec![0; bytes.div_ceil(8)]),
        }
    }

    /// Memory of this allocator, or ordinary memory where it has none to give or gives what cannot be used.
    pub(crate) fn from(allocator: &dyn Allocator, bytes: usize) -> Self {
        let usable = |buffer: &dyn Buffer| {
            let given = buffer.bytes();
            given.len() >= bytes && given.as_ptr().addr().is_multiple_of(align_of::<u16>())
        };
        match allocator.allocate(bytes) {
            Some(mut buffer) if usable(&*buffer) => {
                buffer.bytes_mut().fill(0);
                Self::Foreign(buffer)
            }
            _ => Self::new(bytes, Pages::Small),
        }
    }

    /// Nothing is allocated before somebody looks.
    pub(crate) fn hollow(bytes: usize) -> Self {
        Self::Hollow(bytes, OnceLock::new())
    }

    /// Memory of its own with what is there now, where it has none yet.
    fn make_own(&mut self) {
        let own = match self {
            Self::Remote(picture) => {
                let bytes = picture.host();
                let mut words = vec![0u64; bytes.len().div_ceil(8)];
                bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
                words
            }
            Self::Hollow(bytes, words) => words.take().unwrap_or_else(|| vec![0; bytes.div_ceil(8)]),
            _ => return,
        };
        *self = Self::Heap(own);
    }

    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Apart(_))
    }

    /// The memory that holds a plane.
    pub(crate) fn plane(&self, index: usize) -> &[u8] {
        match self {
            Self::Apart(buffers) => buffers.get(index).map_or(&[], |buffer| buffer.bytes()),
            Self::Lent(picture) if index < picture.format().planes() => picture.plane(index).0,
            Self::Lent(_) => &[],
            _ => self.bytes(),
        }
    }

    pub(crate) fn plane_mut(&mut self, index: usize) -> &mut [u8] {
        match self {
            Self::Apart(buffers) => buffers.get_mut(index).map_or(&mut [], |buffer| buffer.bytes_mut()),
            _ => self.bytes_mut(),
        }
    }

    /// Of planes that lie apart, luma's.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice(words),
            Self::Mapped(bytes) => bytes,
            Self::Foreign(buffer) => buffer.bytes(),
            Self::Apart(_) | Self::Lent(_) => self.plane(0),
            Self::Remote(picture) => picture.host(),
            Self::Hollow(bytes, words) => {
                bytemuck::cast_slice(words.get_or_init(|| vec![0; bytes.div_ceil(8)]))
            }
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.make_own();
        match self {
            Self::Heap(words) => bytemuck::cast_slice_mut(words),
            Self::Mapped(bytes) => bytes,
            Self::Foreign(buffer) => buffer.bytes_mut(),
            Self::Apart(_) => self.plane_mut(0),
            Self::Remote(_) | Self::Lent(_) | Self::Hollow(..) => &mut [],
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Heap(_) => "heap",
            Self::Mapped(_) => "mapped",
            Self::Foreign(_) => "foreign",
            Self::Apart(_) => "apart",
            Self::Lent(_) => "lent",
            Self::Remote(_) => return f.write_str("Memory(remote)"),
            Self::Hollow(..) => return f.write_str("Memory(hollow)"),
        };
        write!(f, "Memory({kind}, {} bytes)", self.bytes().len())
    }
}

/// A copy lives in ordinary memory, wherever the original does, unless that is where nobody writes. Planes that lie apart are
/// copied by their frame.
impl Clone for Memory {
    fn clone(&self) -> Self {
        match self {
            Self::Remote(picture) => return Self::Remote(Arc::clone(picture)),
            Self::Lent(picture) => return Self::Lent(Arc::clone(picture)),
            _ => {}
        }
        let pages = if matches!(self, Self::Mapped(_)) { Pages::Huge } else { Pages::Small };
        let mut copy = Self::new(self.bytes().len(), pages);
        copy.bytes_mut()[..self.bytes().len()].copy_from_slice(self.bytes());
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out memory that is too short, or none.
    struct Stingy(Option<usize>);

    impl Allocator for Stingy {
        fn allocate(&self, _bytes: usize) -> Option<Box<dyn Buffer>> {
            self.0.map(|words| Box::new(vec![1u64; words]) as Box<dyn Buffer>)
        }
    }

    #[test]
    fn memory_that_cannot_be_used_is_replaced() {
        for (given, foreign) in [(None, false), (Some(2), false), (Some(4), true)] {
            let memory = Memory::from(&Stingy(given), 32);
            assert_eq!(memory.is_foreign(), foreign, "{given:?} words");
            assert!(memory.bytes().len() >= 32 && memory.bytes().iter().all(|byte| *byte == 0));
            assert!(!memory.clone().is_foreign());
        }
    }

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
