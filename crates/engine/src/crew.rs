//! Threads that share the work on one frame.

use std::sync::atomic::{AtomicUsize, Ordering};

use visus_metrics::Spread;

/// So many hands, brought for each piece of work and gone after it: meant for few and large frames, where starting a
/// thread costs nothing beside the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    hands: usize,
}

impl Crew {
    pub fn new(hands: usize) -> Self {
        Self { hands: hands.max(1) }
    }
}

impl Spread for Crew {
    fn width(&self) -> usize {
        self.hands
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
            for _ in 1..self.hands.min(count) {
                scope.spawn(take_turns);
            }
            take_turns();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_piece_is_done_once() {
        for hands in [1, 2, 5] {
            let done = Mutex::new(Vec::new());
            Crew::new(hands).each(17, &|piece| done.lock().unwrap().push(piece));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..17).collect::<Vec<_>>(), "{hands} hands");
        }
    }
}
