//! One budget of bytes for what a process takes in large pieces: pictures, scratch, tables, decoders.
//!
//! A failed allocation ends the whole process, so whoever is about to take much asks first. A [`Reservation`] stands for an
//! estimate of what will be taken, and gives it back when dropped. The process's own budget is without a limit until
//! somebody sets one; a server does, a command for one person need not.

use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait lasts before it looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many bytes are left. Clones share the same budget.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Clone, Copy, Debug)]
struct State {
    limit: u64,
    used: u64,
}

/// Why there is no room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// It would not fit into an empty budget either.
    #[error("{what} would take about {} of memory, more than the limit of {}", mebibytes(*bytes), mebibytes(*limit))]
    TooLarge { what: String, bytes: u64, limit: u64 },
    /// Others have the room now.
    #[error(
        "{what} would take about {} of memory, and {} of the limit of {} are in use; try again later",
        mebibytes(*bytes),
        mebibytes(*used),
        mebibytes(*limit)
    )]
    Full { what: String, bytes: u64, used: u64, limit: u64 },
    #[error("cancelled")]
    Cancelled,
}

/// Bytes in the unit that messages use.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

static PROCESS: LazyLock<Budget> = LazyLock::new(|| Budget::new(u64::MAX));

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Shared { state: Mutex::new(State { limit, used: 0 }), freed: Condvar::new() }))
    }

    /// The budget of this process.
    pub fn process() -> &'static Self {
        &PROCESS
    }

    /// Sets the limit. What is reserved stays reserved.
    pub fn set_limit(&self, limit: u64) {
        self.lock().limit = limit;
        self.0.freed.notify_all();
    }

    pub fn limit(&self) -> u64 {
        self.lock().limit
    }

    pub fn used(&self) -> u64 {
        self.lock().used
    }

    /// Room for `bytes`, now or not at all. `what` begins the sentence of a refusal.
    pub fn reserve(&self, bytes: u64, what: &str) -> Result<Reservation, OverBudget> {
        self.take(&mut self.lock(), bytes, what)
    }

    /// Room for `bytes`, for which others may be waited for.
    pub fn wait(
        &self,
        bytes: u64,
        what: &str,
        patience: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Reservation, OverBudget> {
        let until = Instant::now().checked_add(patience);
        let mut state = self.lock();
        loop {
            match self.take(&mut state, bytes, what) {
                Err(OverBudget::Full { .. }) if until.is_none_or(|until| Instant::now() < until) => {}
                other => return other,
            }
            if cancelled() {
                return Err(OverBudget::Cancelled);
            }
            let waited = self.0.freed.wait_timeout(state, LOOK_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many of `wanted` equal pieces there is room for beside `fixed` bytes, without taking it; at least one.
    pub fn pieces(&self, fixed: u64, piece: u64, wanted: usize) -> usize {
        let state = self.lock();
        let room = state.limit.saturating_sub(state.used).saturating_sub(fixed);
        let fitting = room.checked_div(piece).unwrap_or(u64::MAX);
        usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, wanted.max(1))
    }

    fn take(&self, state: &mut State, bytes: u64, what: &str) -> Result<Reservation, OverBudget> {
        let State { limit, used } = *state;
        if bytes > limit {
            return Err(OverBudget::TooLarge { what: what.to_owned(), bytes, limit });
        }
        if bytes > limit.saturating_sub(used) {
            return Err(OverBudget::Full { what: what.to_owned(), bytes, used, limit });
        }
        state.used = used.saturating_add(bytes);
        Ok(Reservation { budget: self.clone(), bytes })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room that is kept for somebody; dropping it gives it back.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.lock();
        state.used = state.used.saturating_sub(self.bytes);
        drop(state);
        self.budget.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_is_dropped_can_be_taken_again() {
        let budget = Budget::new(10 * MIB);
        let first = budget.reserve(6 * MIB, "a table").unwrap();
        let full = budget.reserve(5 * MIB, "a picture").unwrap_err();
        assert_eq!(
            full.to_string(),
            "a picture would take about 5 MiB of memory, and 6 MiB of the limit of 10 MiB are in use; try again later"
        );
        let never = budget.reserve(11 * MIB, "a film").unwrap_err();
        assert_eq!(
            never.to_string(),
            "a film would take about 11 MiB of memory, more than the limit of 10 MiB"
        );
        drop(first);
        assert_eq!((budget.used(), budget.reserve(10 * MIB, "").unwrap().bytes()), (0, 10 * MIB));
    }

    #[test]
    fn a_wait_ends_with_room_patience_or_cancellation() {
        let budget = Budget::new(10);
        let held = budget.reserve(10, "").unwrap();
        let short = Duration::from_millis(30);
        assert!(matches!(budget.wait(1, "", short, &|| false), Err(OverBudget::Full { .. })));
        assert_eq!(budget.wait(1, "", Duration::MAX, &|| true).unwrap_err(), OverBudget::Cancelled);
        assert!(matches!(budget.wait(11, "", Duration::MAX, &|| false), Err(OverBudget::TooLarge { .. })));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.wait(10, "", Duration::MAX, &|| false).unwrap().bytes());
            drop(held);
            assert_eq!(waiting.join().unwrap(), 10);
        });
    }

    #[test]
    fn pieces_fit_what_is_left() {
        let budget = Budget::new(100);
        assert_eq!(budget.pieces(20, 10, 64), 8);
        assert_eq!(budget.pieces(20, 10, 4), 4);
        assert_eq!(budget.pieces(200, 10, 4), 1);
        assert_eq!(Budget::new(u64::MAX).pieces(0, 0, 7), 7);
    }
}
