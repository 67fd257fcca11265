//! The memory of pictures, and a pool that keeps it for the next ones.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use visus_video::Buffer;

use crate::handles::lock;

/// A cache line, and the widest vectors.
const ALIGN: usize = 64;

/// Memory of one picture, zeros at first. C writes into it through pointers before it is scored; nobody writes afterwards.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block is the only owner of its memory, which is not bound to a thread.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    /// `None` if there is not so much memory.
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and this is its only owner.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
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
    pub fn new(bytes: usize) -> Option<Self> {
        Some(Self { block: Some(Block::new(bytes)?), home: None })
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
            Some(block) => unsafe { std::slice::from_raw_parts(block.start.as_ptr(), block.layout.size()) },
            None => &[],
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.block {
            // SAFETY: as above, and the exclusive reference says that nobody else reads.
            Some(block) => unsafe {
                std::slice::from_raw_parts_mut(block.start.as_ptr(), block.layout.size())
            },
            None => &mut [],
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let (Some(block), Some(home)) = (self.block.take(), &self.home) {
            let mut free = lock(&home.free);
            if free.len() < home.most {
                free.push(block);
            }
        }
    }
}
