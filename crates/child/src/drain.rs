//! Reading a child's output to its end, of which only the tail is kept.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::PATIENCE;

/// How much of each output is kept.
pub(crate) const TAIL_BYTES: usize = 256 << 10;

/// The end of an output so far; clones look at the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bytes.len().saturating_sub(TAIL_BYTES);
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn push(&self, piece: &[u8]) {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(piece);
        if bytes.len() > 2 * TAIL_BYTES {
            let surplus = bytes.len() - TAIL_BYTES;
            bytes.drain(..surplus);
        }
    }
}

/// Reads a pipe to its end on a thread of its own and keeps the tail, which can be looked at all the while.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    tail: Tail,
    ended: Option<Receiver<()>>,
}

impl Drain {
    pub fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let tail = Tail::default();
        let Some(mut pipe) = pipe else { return Self { tail, ended: None } };
        let (send, receive) = channel();
        let kept = tail.clone();
        let body = move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                kept.push(&piece[..count]);
            }
            // Nobody may be listening any more.
            let _ = send.send(());
        };
        let spawned = std::thread::Builder::new().name("drain".to_owned()).spawn(body);
        Self { tail, ended: spawned.is_ok().then_some(receive) }
    }

    pub fn tail(&self) -> Tail {
        self.tail.clone()
    }

    /// The tail, as text. A pipe that somebody still holds open is not waited for.
    pub fn take(&mut self) -> String {
        if let Some(ended) = self.ended.take() {
            let _ = ended.recv_timeout(PATIENCE);
        }
        self.tail.text()
    }
}
