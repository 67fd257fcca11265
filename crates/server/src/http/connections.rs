//! Which connections are open: how many, how many from one address, and which of them ask nothing now.
//!
//! Whoever opens connections and says nothing must not keep others out. A connection stands in a list before its first
//! request and between two; when there is no place for a new one, the one that has been silent for longest is closed. A
//! client that waits for an answer keeps its place.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connections that are open; clones share them.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    most_of_one: usize,
    state: Mutex<State>,
    closed: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    by_address: HashMap<IpAddr, usize>,
    /// Those that ask nothing now, the longest silent first.
    silent: BTreeMap<u64, (IpAddr, CancellationToken)>,
    next: u64,
}

/// The place of one connection; dropping it frees it.
#[derive(Debug)]
pub struct Seat {
    shared: Arc<Shared>,
    address: IpAddr,
    /// Its place in the list of silent ones: a new one each time.
    number: AtomicU64,
    evicted: CancellationToken,
}

/// A request that is answered; when the answer is written, the connection is silent again.
#[derive(Debug)]
pub struct Asking(Arc<Seat>);

impl Connections {
    pub fn new(most: usize, most_of_one: usize) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Shared { most, most_of_one, state, closed: Notify::new() }))
    }

    /// A place for a connection from this address; `None` if there is none, and nobody silent to give way.
    pub fn seat(&self, address: IpAddr) -> Option<Seat> {
        let mut state = self.0.lock();
        let of_one = state.by_address.get(&address).copied().unwrap_or(0);
        if of_one >= self.0.most_of_one {
            state.evict(|silent| silent == address)?;
        } else if state.open >= self.0.most {
            state.evict(|_| true)?;
        }
        state.open += 1;
        *state.by_address.entry(address).or_default() += 1;
        let (number, evicted) = (state.next, CancellationToken::new());
        state.next += 1;
        state.silent.insert(number, (address, evicted.clone()));
        Some(Seat { shared: Arc::clone(&self.0), address, number: AtomicU64::new(number), evicted })
    }

    /// Waits until none is open.
    pub async fn none(&self) {
        loop {
            let closed = self.0.closed.notified();
            if self.0.lock().open == 0 {
                return;
            }
            closed.await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Closes the connection that has been silent for longest. Its descriptor goes a moment later, and limits leave room
    /// for that.
    fn evict(&mut self, from: impl Fn(IpAddr) -> bool) -> Option<()> {
        let number =
            self.silent.iter().find(|(_, (address, _))| from(*address)).map(|(number, _)| *number)?;
        let (address, evicted) = self.silent.remove(&number)?;
        evicted.cancel();
        self.free(address);
        Some(())
    }

    fn free(&mut self, address: IpAddr) {
        self.open = self.open.saturating_sub(1);
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Seat {
    /// The client has asked something: it keeps its place for as long as the result lives.
    pub fn asks(self: &Arc<Self>) -> Asking {
        self.shared.lock().silent.remove(&self.number.load(Ordering::Relaxed));
        Asking(Arc::clone(self))
    }

    /// Fires when the connection has to give way.
    pub fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Seat { shared, address, number, evicted } = &*self.0;
        let mut state = shared.lock();
        if !evicted.is_cancelled() {
            number.store(state.next, Ordering::Relaxed);
            let place = state.next;
            state.next += 1;
            state.silent.insert(place, (*address, evicted.clone()));
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.silent.remove(&self.number.load(Ordering::Relaxed));
        // One that gave way was counted out then.
        if !self.evicted.is_cancelled() {
            state.free(self.address);
        }
        drop(state);
        self.shared.closed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn seat(connections: &Connections, address: IpAddr) -> Option<Arc<Seat>> {
        connections.seat(address).map(Arc::new)
    }

    #[test]
    fn the_longest_silent_gives_way() {
        let connections = Connections::new(3, 3);
        let seats: Vec<Arc<Seat>> = (0..3).map(|_| seat(&connections, A).unwrap()).collect();
        let first = seats[0].asks();
        let fourth = seat(&connections, B).unwrap();
        let gone: Vec<bool> = seats.iter().map(|seat| seat.evicted().is_cancelled()).collect();
        assert_eq!(gone, [false, true, false]);
        let others = [seats[2].asks(), fourth.asks()];
        assert!(connections.seat(B).is_none(), "nobody is silent");
        drop((first, others));
        drop((seats, fourth));
        assert!((0..2).map(|_| connections.seat(B)).all(|seat| seat.is_some()));
    }

    #[test]
    fn a_client_that_got_its_answer_is_silent_again() {
        let connections = Connections::new(2, 2);
        let (first, second) = (seat(&connections, A).unwrap(), seat(&connections, A).unwrap());
        drop(first.asks());
        let third = seat(&connections, B).unwrap();
        assert!(second.evicted().is_cancelled() && !first.evicted().is_cancelled(), "the first spoke later");
        let answered = third.asks();
        let fourth = seat(&connections, B);
        assert!(fourth.is_some() && first.evicted().is_cancelled() && !third.evicted().is_cancelled());
        drop((first, second, third, answered, fourth));
        assert_eq!(connections.0.lock().open, 0);
        assert!(connections.0.lock().silent.is_empty());
    }

    #[tokio::test]
    async fn one_address_has_its_share() {
        let connections = Connections::new(10, 2);
        let (first, second) = (seat(&connections, A).unwrap(), seat(&connections, A).unwrap());
        let third = seat(&connections, A).unwrap();
        assert!(first.evicted().is_cancelled() && !second.evicted().is_cancelled());
        let asking = (second.asks(), third.asks());
        assert!(connections.seat(A).is_none());
        assert!(connections.seat(B).is_some());
        drop((first, second, third, asking));
        connections.none().await;
    }
}
