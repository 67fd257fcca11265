//! Objects behind numbers that C holds as pointers.
//!
//! No number is given out twice, so one that is stale is never mistaken for another object.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The next number. They look like aligned pointers, but are never read through.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

/// All living objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    objects: Mutex<BTreeMap<usize, Arc<T>>>,
}

impl<T> Table<T> {
    pub const fn new() -> Self {
        Self { objects: Mutex::new(BTreeMap::new()) }
    }

    pub fn insert(&self, object: T) -> usize {
        let number = NEXT.fetch_add(16, Ordering::Relaxed);
        lock(&self.objects).insert(number, Arc::new(object));
        number
    }

    pub fn get(&self, number: usize) -> Option<Arc<T>> {
        lock(&self.objects).get(&number).map(Arc::clone)
    }

    pub fn remove(&self, number: usize) -> Option<Arc<T>> {
        lock(&self.objects).remove(&number)
    }
}

/// Whoever panicked while holding it has returned an error; the data are still usable.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
