//! The memory of pictures, and a pool that keeps it for the next ones.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use memmap2::MmapMut;
use visus_video::Buffer;

use crate::handles::lock;

/// A cache line, and the widest vectors.
const ALIGN: usize = 64;

/// A huge page.
const HUGE_BYTES: usize = 2 << 20;

/// Memory of one picture, zeros at first. C writes into it through pointers before it is scored; nobody writes afterwards.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    length: usize,
    owner: Owner,
}

/// Who frees a block.
#[derive(Debug)]
enum Owner {
    Heap(Layout),
    /// Large pictures lie in huge pages where the system has some: fewer traps and fewer entries of the processor's tables.
    Mapped {
        _pages: MmapMut,
    },
}

// SAFETY: the block is the only owner of its memory, which is not bound to a thread.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    /// `None` if there is not so much memory.
    fn new(bytes: usize) -> Option<Self> {
        let length = bytes.max(1);
        if let Some(mapped) = Self::mapped(length) {
            return Some(mapped);
        }
        let layout = Layout::from_size_align(length, ALIGN).ok()?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, length, owner: Owner::Heap(layout) })
    }

    /// Whole huge pages: the system aligns no other length to them.
    fn mapped(length: usize) -> Option<Self> {
        if length < HUGE_BYTES {
            return None;
        }
        let mut pages = MmapMut::map_anon(length.checked_next_multiple_of(HUGE_BYTES)?).ok()?;
        // Advice only: if the system ignores it, the pages are small.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Some(Self {
            start: NonNull::new(pages.as_mut_ptr())?,
            length,
            owner: Owner::Mapped { _pages: pages },
        })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Owner::Heap(layout) = self.owner {
            // SAFETY: it was allocated with this layout, and this is its only owner.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

/// Blocks of pictures that were scored, for the next ones of the same size: pages that are new to a process cost more than the
/// metrics' own reading of them. They are kept while there is a context.
#[derive(Debug)]
struct Spare {
    contexts: usize,
    blocks: Vec<Block>,
}

static SPARE: Mutex<Spare> = Mutex::new(Spare { contexts: 0, blocks: Vec::new() });

/// Bytes of spare blocks, at most.
const MOST_SPARE: usize = 128 << 20;

impl Spare {
    /// A block of this size. It is cleared from `clear_from` on: programs write luma, but some leave chroma as it is, which must
    /// not be that of another picture.
    fn take(bytes: usize, clear_from: usize) -> Option<Block> {
        let mut spare = lock(&SPARE);
        if spare.blocks.last()?.length != bytes.max(1) {
            return None;
        }
        let block = spare.blocks.pop()?;
        drop(spare);
        let from = clear_from.min(block.length);
        // SAFETY: the block has that many bytes, and nobody else has it.
        unsafe { block.start.as_ptr().add(from).write_bytes(0, block.length - from) };
        Some(block)
    }

    fn keep(block: Block) {
        let mut spare = lock(&SPARE);
        let size = block.length;
        if spare.blocks.last().is_some_and(|kept| kept.length != size) {
            spare.blocks.clear();
        }
        if spare.contexts > 0 && (spare.blocks.len() + 1) * size <= MOST_SPARE {
            spare.blocks.push(block);
        }
    }
}

/// While one exists, the memory of pictures is used again.
#[derive(Debug)]
pub struct Reuse(());

impl Reuse {
    pub fn new() -> Self {
        lock(&SPARE).contexts += 1;
        Self(())
    }
}

impl Drop for Reuse {
    fn drop(&mut self) {
        let mut spare = lock(&SPARE);
        spare.contexts -= 1;
        if spare.contexts == 0 {
            spare.blocks = Vec::new();
        }
    }
}

/// Keeps blocks of one size.
#[derive(Debug)]
pub struct Pool {
    bytes: usize,
    most: usize,
    free: Mutex<Vec<Block>>,
}

impl Pool {
    /// A pool with so many blocks, all of them allocated. `None` if there is not so much memory.
    pub fn new(bytes: usize, count: usize) -> Option<Arc<Self>> {
        let blocks: Option<Vec<Block>> = (0..count).map(|_| Block::new(bytes)).collect();
        Some(Arc::new(Self { bytes, most: count, free: Mutex::new(blocks?) }))
    }

    /// A block of the pool, or a new one where all are in use: frames in flight are bounded by `vmaf_read_pictures`, and a
    /// caller who waits here would wait for frames that the next pair needs.
    pub fn take(self: &Arc<Self>) -> Option<Memory> {
        let kept = lock(&self.free).pop();
        let block = kept.or_else(|| Block::new(self.bytes))?;
        Some(Memory { block: Some(block), home: Some(Arc::clone(self)) })
    }
}

/// A picture's memory; a pool gets it back in the end, if it came from one.
#[derive(Debug)]
pub struct Memory {
    /// Empty only while it is being dropped.
    block: Option<Block>,
    home: Option<Arc<Pool>>,
}

impl Memory {
    /// Zeros from `clear_from` on; before it, zeros or what a picture had there.
    pub fn new(bytes: usize, clear_from: usize) -> Option<Self> {
        let block = Spare::take(bytes, clear_from).or_else(|| Block::new(bytes))?;
        Some(Self { block: Some(block), home: None })
    }

    /// For C to write through.
    pub fn start(&self) -> *mut u8 {
        self.block.as_ref().map_or(std::ptr::null_mut(), |block| block.start.as_ptr())
    }
}

impl Buffer for Memory {
    fn bytes(&self) -> &[u8] {
        match &self.block {
            // SAFETY: the block has that many initialised bytes, and nobody writes while the picture is being scored.
            Some(block) => unsafe { std::slice::from_raw_parts(block.start.as_ptr(), block.length) },
            None => &[],
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.block {
            // SAFETY: as above, and the exclusive reference says that nobody else reads.
            Some(block) => unsafe { std::slice::from_raw_parts_mut(block.start.as_ptr(), block.length) },
            None => &mut [],
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match (self.block.take(), &self.home) {
            (Some(block), Some(home)) => {
                let mut free = lock(&home.free);
                if free.len() < home.most {
                    free.push(block);
                }
            }
            (Some(block), None) => Spare::keep(block),
            (None, _) => {}
        }
    }
}
