//! Helping hands: how the work on one frame is shared among threads that somebody else has.

/// Lets whoever works on a frame split that work. The engine brings the threads; readers and metrics have none.
pub trait Spread: Sync {
    /// How many pieces may run at the same time.
    fn width(&self) -> usize;
    /// Calls `work` with each number below `count` once, possibly at the same time. Returns when all calls have. Pieces are
    /// begun in any order, but whoever has threads begins them by rising number, so that what has to be brought into
    /// order afterwards does not pile up.
    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync));
}

/// One piece after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Spread for Alone {
    fn width(&self) -> usize {
        1
    }

    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(work);
    }
}
