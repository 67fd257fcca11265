//! The threads of a pair, and what becomes of one that dies.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use visus_engine::Cancel;
use visus_video::Pool;
use visus_video::budget::Reservation;

use crate::MediaError;

/// The threads of a pair. Dropping it ends them and with them the decoders.
pub struct Threads {
    pub(super) halt: Cancel,
    pools: [Pool; 2],
    handles: Mutex<Vec<JoinHandle<()>>>,
    /// What frames and decoders take.
    _room: Reservation,
}

impl Threads {
    pub fn new(halt: Cancel, pools: [Pool; 2], room: Reservation) -> Self {
        Self { halt, pools, handles: Mutex::new(Vec::new()), _room: room }
    }

    pub(super) fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), MediaError> {
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
            .map_err(|error| MediaError::ToolBroken { tool: "a thread", reason: error.to_string() })?;
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        Ok(())
    }

    /// Tells all threads to end, without waiting for them.
    pub(super) fn halt(&self) {
        self.halt.fire();
        self.pools.iter().for_each(Pool::close);
    }

    /// Ends what still runs and waits for it.
    pub fn end(&self) {
        self.halt();
        let handles: Vec<_> = self.handles.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        for handle in handles {
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({:?})", self.pools)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs the body of a thread. If it panics, `died` is told why; the panic goes no further.
pub(super) fn guarded(body: impl FnOnce(), died: impl FnOnce(String)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        let words = panic.downcast_ref::<&str>().map(ToString::to_string);
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        died(words.unwrap_or_else(|| "no reason was given".to_owned()));
    }
}
