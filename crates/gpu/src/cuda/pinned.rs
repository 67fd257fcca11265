//! Pinned memory for frames. Locking pages takes the system about as long as reading the frames does, so what one run
//! lets go of is kept for the next, up to a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use visus_video::{Allocator, Buffer};

use super::driver::{Context, Pinned};

/// Bytes that are kept while nobody uses them.
const MOST_KEPT: usize = 1 << 30;

/// Gives pinned memory to pools of frames; where the system has no more of it, they use ordinary memory.
#[derive(Debug)]
pub struct PinnedStock {
    context: Context,
    free: Mutex<Vec<Pinned>>,
    own: Weak<Self>,
}

impl PinnedStock {
    pub fn new(context: &Context) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            context: context.clone(),
            free: Mutex::new(Vec::new()),
            own: own.clone(),
        })
    }

    /// Nothing that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Vec<Pinned>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: usize) -> Option<Pinned> {
        let mut free = self.lock();
        let place = free.iter().position(|pinned| pinned.bytes().len() == bytes)?;
        Some(free.swap_remove(place))
    }

    fn keep(&self, pinned: Pinned) {
        let mut free = self.lock();
        let kept: usize = free.iter().map(|pinned| pinned.bytes().len()).sum();
        if kept + pinned.bytes().len() <= MOST_KEPT {
            free.push(pinned);
        } else if free.iter().all(|other| other.bytes().len() != pinned.bytes().len()) {
            // Full of what nobody asks for any more.
            let others = std::mem::replace(&mut *free, vec![pinned]);
            drop(free);
            drop(others);
        }
    }
}

impl Allocator for PinnedStock {
    fn allocate(&self, bytes: usize) -> Option<Box<dyn Buffer>> {
        let pinned = self.take(bytes).or_else(|| Pinned::new(&self.context, bytes).ok())?;
        Some(Box::new(Loan { pinned: Some(pinned), home: self.own.clone() }))
    }
}

/// Pinned memory that goes back to the stock.
struct Loan {
    /// Empty only while it is being dropped.
    pinned: Option<Pinned>,
    home: Weak<PinnedStock>,
}

impl Buffer for Loan {
    fn bytes(&self) -> &[u8] {
        self.pinned.as_ref().map_or(&[], Pinned::bytes)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.pinned.as_mut().map_or(&mut [], Pinned::bytes_mut)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let (Some(pinned), Some(home)) = (self.pinned.take(), self.home.upgrade()) {
            home.keep(pinned);
        }
    }
}
