//! Threads that share the work on frames.
//!
//! A run over few and large frames has one pool of them, for as long as it lasts. Reading a frame, the metrics of a frame and
//! the parts that a metric cuts its rows into all go into the same queues, so that an idle thread helps with whatever is left.
//! A thread that waits for the last pieces of its own work does others meanwhile: nested work cannot lock itself out.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use visus_metrics::Spread;

use crate::error::{EngineError, Role};

/// While it waits, a thread may have begun work of other frames: these calls lie on top of each other.
const STACK_BYTES: usize = 8 << 20;

/// Threads that a machine of fewer processors may have all the same.
const ALWAYS: usize = 16;

/// The threads of a run. Clones share them.
#[derive(Clone)]
pub(crate) struct FrameThreads {
    /// Missing where each frame is worked on by the thread that has it.
    pool: Option<Arc<ThreadPool>>,
}

impl FrameThreads {
    /// The caller's thread alone.
    pub fn none() -> Self {
        Self { pool: None }
    }

    /// So many threads, which take the caller's work over while it waits; with one there is nothing to take over. Far more than
    /// there are processors are never started: each would have scratch memory of its own, and wait for a processor.
    pub fn new(count: usize) -> Result<Self, EngineError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let count = count.min(processors.max(ALWAYS));
        if count <= 1 {
            return Ok(Self::none());
        }
        let threads = ThreadPoolBuilder::new()
            .num_threads(count)
            .stack_size(STACK_BYTES)
            .thread_name(|index| format!("frame {index}"));
        let pool = threads.build().map_err(|error| {
            let source = io::Error::other(error);
            EngineError::Start { who: Role::Worker, source }
        })?;
        Ok(Self { pool: Some(Arc::new(pool)) })
    }
}

impl fmt::Debug for FrameThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameThreads({})", self.width())
    }
}

impl Spread for FrameThreads {
    fn width(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// A panic keeps its message on the way to the caller's thread.
    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let Some(pool) = self.pool.as_ref().filter(|_| count > 0) else {
            return (0..count).for_each(work);
        };
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
        pool.scope(|scope| {
            for _ in 1..self.width().min(count) {
                scope.spawn(|_| take_turns());
            }
            take_turns();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    fn threads(count: usize) -> FrameThreads {
        FrameThreads::new(count).unwrap()
    }

    #[test]
    fn every_piece_is_done_once() {
        for count in [1, 2, 5] {
            let threads = threads(count);
            assert_eq!(threads.width(), count);
            for pieces in [0, 1, 17] {
                let done = Mutex::new(Vec::new());
                threads.each(pieces, &|piece| done.lock().unwrap().push(piece));
                let mut done = done.into_inner().unwrap();
                done.sort_unstable();
                assert_eq!(done, (0..pieces).collect::<Vec<_>>(), "{count} threads");
            }
        }
    }

    #[test]
    fn a_panic_keeps_its_message() {
        let work = |piece: usize| assert!(piece != 3, "piece three");
        for count in [1, 4] {
            let threads = threads(count);
            let panic = catch_unwind(AssertUnwindSafe(|| threads.each(8, &work))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"piece three"));
            // The threads are there for other work.
            let done = AtomicUsize::new(0);
            threads.each(8, &|_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 8);
        }
    }

    #[test]
    fn there_are_never_many_more_threads_than_processors() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(threads(1000).width(), 1000.min(processors.max(ALWAYS)));
    }

    /// Frames side by side, each with metrics side by side, each of which splits its rows.
    #[test]
    fn work_within_work_ends() {
        let threads = threads(3);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    threads.each(5, &|_| {
                        threads.each(7, &|_| {
                            threads.each(3, &|_| {
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    });
                });
            }
        });
        assert_eq!(done.into_inner(), 4 * 5 * 7 * 3);
    }
}
