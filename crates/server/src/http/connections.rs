//! Which connections are open: how many, how many from one address, and which of them have asked nothing yet.
//!
//! Whoever opens connections and says nothing must not keep others out. A connection waits for its first request in a list;
//! when there is no place for a new one, the one that has waited longest is closed. A client that has asked something
//! keeps its place.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
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
    /// Those that have asked nothing yet, the oldest first.
    silent: BTreeMap<u64, (IpAddr, CancellationToken)>,
    next: u64,
}

/// The place of one connection; dropping it frees it.
#[derive(Debug)]
pub struct Seat {
    shared: Arc<Shared>,
    address: IpAddr,
    number: u64,
    evicted: CancellationToken,
}

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
        Some(Seat { shared: Arc::clone(&self.0), address, number, evicted })
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
    /// The client has asked something.
    pub fn speaks(&self) {
        self.shared.lock().silent.remove(&self.number);
    }

    /// Fires when the connection has to give way.
    pub fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.silent.remove(&self.number);
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

    #[test]
    fn the_longest_silent_gives_way() {
        let connections = Connections::new(3, 3);
        let seats: Vec<Seat> = (0..3).map(|_| connections.seat(A).unwrap()).collect();
        seats[0].speaks();
        let fourth = connections.seat(B).unwrap();
        let gone: Vec<bool> = seats.iter().map(|seat| seat.evicted().is_cancelled()).collect();
        assert_eq!(gone, [false, true, false]);
        seats[2].speaks();
        fourth.speaks();
        assert!(connections.seat(B).is_none(), "nobody is silent");
        drop(seats);
        assert!((0..2).map(|_| connections.seat(B)).all(|seat| seat.is_some()));
    }

    #[tokio::test]
    async fn one_address_has_its_share() {
        let connections = Connections::new(10, 2);
        let (first, second) = (connections.seat(A).unwrap(), connections.seat(A).unwrap());
        let third = connections.seat(A).unwrap();
        assert!(first.evicted().is_cancelled() && !second.evicted().is_cancelled());
        second.speaks();
        third.speaks();
        assert!(connections.seat(A).is_none());
        assert!(connections.seat(B).is_some());
        drop((first, second, third));
        connections.none().await;
    }
}
