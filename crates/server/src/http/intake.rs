//! Room for what clients send: bodies of all requests together take a bounded share of the memory.
//!
//! A body is counted while it arrives and for as long as anybody holds it. Whoever announces much and sends slowly must
//! not keep others out: when there is no room, the body that has been arriving for longest gives way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio_util::sync::CancellationToken;

/// The bodies that are held now; clones share the room.
#[derive(Clone, Debug)]
pub struct Intake(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// Bodies that are not complete yet, the oldest first.
    arriving: BTreeMap<u64, CancellationToken>,
    next: u64,
}

/// A body that arrives; dropping it gives its room back.
#[derive(Debug)]
pub struct Arriving {
    room: Room,
    bytes: Vec<u8>,
    given_way: CancellationToken,
}

/// The room of one body.
#[derive(Debug)]
struct Room {
    shared: Arc<Shared>,
    number: u64,
    bytes: usize,
}

/// A complete body with its room.
struct Held {
    bytes: Vec<u8>,
    _room: Room,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Intake {
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, state: Mutex::default() }))
    }

    /// A body that begins to arrive.
    pub fn begin(&self) -> Arriving {
        let mut state = self.0.lock();
        let (number, given_way) = (state.next, CancellationToken::new());
        state.next += 1;
        state.arriving.insert(number, given_way.clone());
        let room = Room { shared: Arc::clone(&self.0), number, bytes: 0 };
        Arriving { room, bytes: Vec::new(), given_way }
    }

    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.0.lock().used
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arriving {
    /// Takes a piece, if there is room for it. An older body gives way where there is none; its bytes go a moment later.
    pub fn add(&mut self, piece: &[u8]) -> bool {
        let mut state = self.room.shared.lock();
        if state.used.saturating_add(piece.len()) > self.room.shared.most {
            let Some((_, oldest)) = state.arriving.pop_first() else { return false };
            oldest.cancel();
            if self.given_way.is_cancelled() {
                return false;
            }
        }
        state.used += piece.len();
        drop(state);
        self.room.bytes += piece.len();
        self.bytes.extend_from_slice(piece);
        true
    }

    /// Fires when this body has to give way.
    pub fn given_way(&self) -> CancellationToken {
        self.given_way.clone()
    }

    /// The whole body. Its room is free when the last copy is dropped.
    pub fn complete(self) -> Bytes {
        let Self { room, mut bytes, .. } = self;
        room.shared.lock().arriving.remove(&room.number);
        bytes.shrink_to_fit();
        Bytes::from_owner(Held { bytes, _room: room })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.arriving.remove(&self.number);
        state.used = state.used.saturating_sub(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_free_when_the_last_copy_is_dropped() {
        let intake = Intake::new(100);
        let mut body = intake.begin();
        assert!(body.add(b"0123456789") && body.add(b"ab"));
        let whole = body.complete();
        assert_eq!((&whole[..], intake.used()), (&b"0123456789ab"[..], 12));
        let copy = whole.clone();
        drop(whole);
        assert_eq!(intake.used(), 12);
        drop(copy);
        assert_eq!(intake.used(), 0);
    }

    #[test]
    fn the_oldest_that_still_arrives_gives_way() {
        let intake = Intake::new(100);
        let (mut slow, mut done, mut next) = (intake.begin(), intake.begin(), intake.begin());
        assert!(slow.add(&[0; 50]) && done.add(&[0; 40]));
        let done = done.complete();
        assert!(next.add(&[0; 30]));
        assert!(slow.given_way().is_cancelled() && !next.given_way().is_cancelled());
        drop(slow);
        assert_eq!(intake.used(), 70);
        assert!(!next.add(&[0; 40]), "there is nobody older, and what is complete stays");
        drop((next, done));
        assert_eq!(intake.used(), 0);
    }
}
