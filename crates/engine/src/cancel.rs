//! A switch that ends a run from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between the one who waits and the ones who work. Once fired it stays fired.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn fire(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_fired(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
