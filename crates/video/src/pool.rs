//! A bounded pool of frames: the memory that pictures live in, and the back-pressure on readers.
//!
//! A reader takes a frame, fills it and passes it on; when the last user lets go, the memory comes back. A reader that
//! runs ahead finds the pool empty and waits, so the number of frames never exceeds the count given at the start.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Allocator, Format, Frame};

/// Pools of more frames than this are those that look far ahead; 86 frames of 1080p in huge pages took half a second more
/// to make than in small ones.
const FEW: usize = 32;

/// Hands out at most `count` frames of one format. Clones share the same frames.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    format: Format,
    count: usize,
    memory: PoolMemory,
    stock: Mutex<Stock>,
    returned: Condvar,
}

/// Where the memory of a pool's frames comes from.
enum PoolMemory {
    Ordinary,
    From(Arc<dyn Allocator>),
    /// From the sources that are read: pictures in memory of a device or of a decoder.
    OfSources,
}

struct Stock {
    free: Vec<Frame>,
    /// Frames that were never needed so far and so were never allocated.
    unmade: usize,
    closed: bool,
}

impl Pool {
    /// A pool of `count` frames, at least one. Nothing is allocated before it is taken.
    pub fn new(format: Format, count: usize) -> Self {
        Self::with_memory(format, count, PoolMemory::Ordinary)
    }

    /// Frames without memory of their own, for sources that hand over pictures in memory of a device or of a decoder. A picture
    /// goes back to where it came from together with its frame.
    pub fn hollow(format: Format, count: usize) -> Self {
        Self::with_memory(format, count, PoolMemory::OfSources)
    }

    /// The same with memory of an allocator, such as pinned memory that a device copies from.
    pub fn with_allocator(format: Format, count: usize, allocator: Arc<dyn Allocator>) -> Self {
        Self::with_memory(format, count, PoolMemory::From(allocator))
    }

    fn with_memory(format: Format, count: usize, memory: PoolMemory) -> Self {
        let count = count.max(1);
        let stock = Mutex::new(Stock { free: Vec::new(), unmade: count, closed: false });
        Self { shared: Arc::new(Shared { format, count, memory, stock, returned: Condvar::new() }) }
    }

    /// Waits for a frame; `None` once the pool is closed. The frame holds zeros or an earlier picture.
    pub fn take(&self) -> Option<PooledFrame> {
        let mut stock = self.shared.lock();
        while !stock.closed && stock.is_empty() {
            stock = self.shared.returned.wait(stock).unwrap_or_else(PoisonError::into_inner);
        }
        self.draw(stock)
    }

    /// A frame if one is free at this moment.
    pub fn try_take(&self) -> Option<PooledFrame> {
        self.draw(self.shared.lock())
    }

    /// Ends the pool: all who wait and all who come later get `None`. Frames in use stay valid.
    pub fn close(&self) {
        let mut stock = self.shared.lock();
        stock.closed = true;
        stock.free = Vec::new();
        self.shared.returned.notify_all();
    }

    pub fn format(&self) -> &Format {
        &self.shared.format
    }

    /// The most frames that can be out at the same time.
    pub fn count(&self) -> usize {
        self.shared.count
    }

    /// Frames that were allocated so far.
    pub fn allocated(&self) -> usize {
        self.shared.count - self.shared.lock().unmade
    }

    fn draw(&self, mut stock: MutexGuard<'_, Stock>) -> Option<PooledFrame> {
        if stock.closed || stock.is_empty() {
            return None;
        }
        // The frame that came back last is the one that may still be in the caches.
        let used = stock.free.pop();
        if used.is_none() {
            stock.unmade -= 1;
        }
        drop(stock);
        let frame = used.unwrap_or_else(|| self.shared.make());
        Some(PooledFrame { frame: Some(frame), home: Arc::clone(&self.shared) })
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} x {})", self.shared.count, self.shared.format)
    }
}

impl Shared {
    /// No code that can panic runs under the lock, so a poisoned lock still guards a whole stock.
    fn lock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self) -> Frame {
        match &self.memory {
            PoolMemory::From(allocator) => Frame::allocated(self.format, &**allocator),
            PoolMemory::OfSources => Frame::hollow(self.format),
            PoolMemory::Ordinary if self.count > FEW => Frame::one_of_many(self.format),
            PoolMemory::Ordinary => Frame::new(self.format),
        }
    }

    fn give_back(&self, mut frame: Frame) {
        frame.let_go();
        let mut stock = self.lock();
        if !stock.closed {
            stock.free.push(frame);
            self.returned.notify_one();
        }
    }
}

impl Stock {
    fn is_empty(&self) -> bool {
        self.free.is_empty() && self.unmade == 0
    }
}

/// A frame on loan from a [`Pool`]; dropping it gives the memory back. Make a [`SharedFrame`] of it to share it.
pub struct PooledFrame {
    /// Empty only while it is being dropped.
    frame: Option<Frame>,
    home: Arc<Shared>,
}

impl Deref for PooledFrame {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        self.frame.as_ref().expect("a loan holds its frame until it is dropped")
    }
}

impl DerefMut for PooledFrame {
    fn deref_mut(&mut self) -> &mut Frame {
        self.frame.as_mut().expect("a loan holds its frame until it is dropped")
    }
}

impl Drop for PooledFrame {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.home.give_back(frame);
        }
    }
}

impl fmt::Debug for PooledFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PooledFrame({})", self.home.format)
    }
}

/// A frame that several users share, from a pool or not. It is read-only from here on; when the last user drops it, a
/// pooled frame's memory goes back to its pool and any other frame is freed.
#[derive(Clone)]
pub struct SharedFrame(Arc<Holder>);

enum Holder {
    Pooled(PooledFrame),
    Own(Frame),
}

impl From<PooledFrame> for SharedFrame {
    fn from(frame: PooledFrame) -> Self {
        Self(Arc::new(Holder::Pooled(frame)))
    }
}

impl From<Frame> for SharedFrame {
    fn from(frame: Frame) -> Self {
        Self(Arc::new(Holder::Own(frame)))
    }
}

impl Deref for SharedFrame {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        match &*self.0 {
            Holder::Pooled(frame) => frame,
            Holder::Own(frame) => frame,
        }
    }
}

impl fmt::Debug for SharedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedFrame({})", self.format())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::Chroma;

    /// Long enough that a waiter would have shown up if it had not waited.
    const A_WHILE: Duration = Duration::from_millis(50);
    const TOO_LONG: Duration = Duration::from_secs(30);

    fn pool(count: usize) -> Pool {
        Pool::new(Format::new(16, 8, Chroma::C420, 8).unwrap(), count)
    }

    #[test]
    fn allocates_only_what_is_used_at_the_same_time() {
        let pool = pool(3);
        assert_eq!(pool.allocated(), 0);
        for _ in 0..10 {
            drop(pool.take().unwrap());
        }
        assert_eq!(pool.allocated(), 1);
        let held = [pool.take().unwrap(), pool.take().unwrap(), pool.take().unwrap()];
        assert_eq!(pool.allocated(), 3);
        assert!(pool.try_take().is_none());
        drop(held);
        assert!(pool.try_take().is_some());
        assert_eq!(pool.allocated(), 3);
    }

    #[test]
    fn the_same_memory_comes_back() {
        let pool = pool(1);
        let mut frame = pool.take().unwrap();
        frame.plane_mut_u8(0).unwrap().row_mut(3)[5] = 77;
        drop(frame);
        let frame = pool.take().unwrap();
        let crate::PlaneView::U8(plane) = frame.plane(0) else { panic!("8-bit frame expected") };
        assert_eq!(plane.row(3)[5], 77);
    }

    #[test]
    fn a_taker_waits_until_the_last_share_is_dropped() {
        let pool = pool(1);
        let share = Arc::new(pool.take().unwrap());
        let other = Arc::clone(&share);
        let (sender, receiver) = mpsc::channel();
        let waiter = thread::spawn({
            let pool = pool.clone();
            move || sender.send(pool.take().is_some()).unwrap()
        });
        drop(share);
        assert!(receiver.recv_timeout(A_WHILE).is_err());
        drop(other);
        assert_eq!(receiver.recv_timeout(TOO_LONG), Ok(true));
        waiter.join().unwrap();
    }

    #[test]
    fn closing_wakes_all_who_wait() {
        let pool = pool(1);
        let held = pool.take().unwrap();
        let (sender, receiver) = mpsc::channel();
        let waiters = [0; 3].map(|_| {
            let (pool, sender) = (pool.clone(), sender.clone());
            thread::spawn(move || sender.send(pool.take().is_none()).unwrap())
        });
        assert!(receiver.recv_timeout(A_WHILE).is_err());
        pool.close();
        for _ in 0..3 {
            assert_eq!(receiver.recv_timeout(TOO_LONG), Ok(true));
        }
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!(held.format(), pool.format());
        drop(held);
        assert!(pool.take().is_none() && pool.try_take().is_none());
    }

    #[test]
    fn a_frame_outlives_its_pool() {
        let pool = pool(2);
        let frame = pool.take().unwrap();
        drop(pool);
        assert_eq!(frame.format().width(), 16);
    }

    #[test]
    fn a_shared_frame_goes_back_with_its_last_user() {
        let pool = pool(1);
        let shared = SharedFrame::from(pool.take().unwrap());
        let other = shared.clone();
        drop(shared);
        assert!(pool.try_take().is_none());
        assert_eq!(other.format(), pool.format());
        drop(other);
        assert!(pool.try_take().is_some());
        assert_eq!(SharedFrame::from(Frame::new(*pool.format())).format(), pool.format());
    }

    /// Counts what it gave out.
    struct Counting(std::sync::atomic::AtomicUsize);

    impl Allocator for Counting {
        fn allocate(&self, bytes: usize) -> Option<Box<dyn crate::Buffer>> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Some(Box::new(vec![7u64; bytes.div_ceil(8)]))
        }
    }

    #[test]
    fn an_allocator_gives_the_memory_of_every_frame_once() {
        let allocator = Arc::new(Counting(0.into()));
        let format = Format::new(16, 8, Chroma::C420, 10).unwrap();
        let pool = Pool::with_allocator(format, 2, Arc::clone(&allocator) as Arc<dyn Allocator>);
        for _ in 0..5 {
            let (mut a, b) = (pool.take().unwrap(), pool.take().unwrap());
            assert!(a.has_foreign_memory() && b.has_foreign_memory());
            a.plane_mut_u16(2).unwrap().row_mut(3)[7] = 1023;
        }
        assert_eq!(allocator.0.load(std::sync::atomic::Ordering::SeqCst), 2);
    }

    #[test]
    fn a_count_of_zero_still_gives_one_frame() {
        let pool = pool(0);
        assert_eq!(pool.count(), 1);
        assert!(pool.take().is_some());
    }

    #[test]
    fn many_threads_never_hold_more_than_the_count() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let pool = pool(4);
        let (out, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let frame = pool.take().unwrap();
                        most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        out.fetch_sub(1, Ordering::SeqCst);
                        drop(frame);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 4 && pool.allocated() <= 4);
    }
}
