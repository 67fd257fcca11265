//! Parts of a file that several hands read at the same time.
//!
//! One thread copies some 5 GB/s out of the system's cache, and the first touch of a frame's memory costs as much again: with
//! few and large frames nothing hides that.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Spread;

/// As large as a huge page: each is touched first by one thread.
const PART_BYTES: usize = 2 << 20;

/// Fills slices with the bytes that follow one another in a file. Whether there were enough.
pub fn read(file: &File, position: u64, slices: Vec<&mut [u8]>, hands: &dyn Spread) -> bool {
    let mut parts = Vec::new();
    let mut at = position;
    for part in slices.into_iter().flat_map(|slice| slice.chunks_mut(PART_BYTES)) {
        let length = part.len() as u64;
        parts.push(Mutex::new((at, part)));
        at += length;
    }
    let complete = AtomicBool::new(true);
    hands.each(parts.len(), &|index| {
        let mut part = parts[index].lock().unwrap_or_else(PoisonError::into_inner);
        let (at, bytes) = &mut *part;
        if file.read_exact_at(bytes, *at).is_err() {
            complete.store(false, Ordering::Relaxed);
        }
    });
    complete.into_inner()
}
