//! Threads that share the work on one frame.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use visus_metrics::Spread;

/// So many threads, started for each piece of work and gone after it: meant for few and large frames, where starting a
/// thread costs nothing beside the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameThreads {
    count: usize,
}

impl FrameThreads {
    pub fn new(count: usize) -> Self {
        Self { count: count.max(1) }
    }
}

impl Spread for FrameThreads {
    fn width(&self) -> usize {
        self.count
    }

    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let take_turns = || {
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn >= count {
                    return;
                }
                work(turn);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.count.min(count)).map(|_| scope.spawn(take_turns)).collect();
            take_turns();
            for other in others {
                // A panic keeps its message on the way to the caller's thread.
                other.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_piece_is_done_once() {
        for threads in [1, 2, 5] {
            let done = Mutex::new(Vec::new());
            FrameThreads::new(threads).each(17, &|piece| done.lock().unwrap().push(piece));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..17).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn a_panic_keeps_its_message() {
        let work = |piece: usize| assert!(piece != 3, "piece three");
        for threads in [1, 4] {
            let panic = std::panic::catch_unwind(|| FrameThreads::new(threads).each(8, &work)).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"piece three"));
        }
    }
}
