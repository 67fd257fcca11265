//! An object as something that can be read and sought in: pieces of it are fetched as they are needed, and the next one while
//! the last is used.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::bucket::{Bucket, ObjectFacts};
use crate::runtime::{runtime, wait};
use crate::{Address, RemoteError};

/// Large enough that a request's latency is small beside it, small enough that two per video are little memory.
const PIECE: u64 = 4 << 20;
/// The first piece after a jump: a header needs no more.
const FIRST: u64 = 64 << 10;

#[derive(Debug)]
struct Piece {
    start: u64,
    bytes: Bytes,
}

/// A piece that is on its way.
#[derive(Debug)]
struct Coming {
    start: u64,
    task: JoinHandle<Result<Bytes, RemoteError>>,
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads an object by ranges.
#[derive(Debug)]
pub struct RangeReader {
    bucket: Arc<Bucket>,
    facts: ObjectFacts,
    position: u64,
    piece: Option<Piece>,
    coming: Option<Coming>,
}

impl RangeReader {
    /// The object must still be the one that `facts` are of whenever it is read.
    pub fn new(bucket: Arc<Bucket>, facts: ObjectFacts) -> Self {
        Self { bucket, facts, position: 0, piece: None, coming: None }
    }

    /// A reader of the object at an address, if there is one.
    pub fn open(address: &Address) -> Result<Option<Self>, RemoteError> {
        let bucket = Bucket::open(address)?;
        Ok(bucket.facts("")?.map(|facts| Self::new(Arc::new(bucket), facts)))
    }

    fn piece_at(&self, start: u64, most: u64) -> Coming {
        let (bucket, facts) = (Arc::clone(&self.bucket), self.facts.clone());
        let end = start.saturating_add(most).min(facts.bytes);
        let fetch = async move { bucket.range("", &facts, start..end).await };
        // The runtime is there: it answered the first request.
        let task = runtime().map(|runtime| runtime.spawn(fetch));
        let task = task.unwrap_or_else(|_| unreachable!("a reader is made after the first request"));
        Coming { start, task }
    }

    /// Makes the piece with the current position the current one.
    fn fetch(&mut self) -> Result<(), RemoteError> {
        let follows =
            self.piece.as_ref().is_some_and(|piece| piece.start + piece.bytes.len() as u64 == self.position);
        let mut coming = match self.coming.take() {
            Some(coming) if coming.start == self.position => coming,
            _ => self.piece_at(self.position, if follows { PIECE } else { FIRST }),
        };
        let bytes = wait(async {
            let fetched = (&mut coming.task).await;
            fetched.map_err(|error| RemoteError::failed("a request", error))?
        })?;
        let next = self.position + bytes.len() as u64;
        self.piece = Some(Piece { start: self.position, bytes });
        // Who reads on from one piece to the next will want the one after it.
        if follows && next < self.facts.bytes {
            self.coming = Some(self.piece_at(next, PIECE));
        }
        Ok(())
    }

    fn here(&self) -> Option<&[u8]> {
        let piece = self.piece.as_ref()?;
        let offset = usize::try_from(self.position.checked_sub(piece.start)?).ok()?;
        piece.bytes.get(offset..).filter(|rest| !rest.is_empty())
    }
}

impl Read for RangeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || self.position >= self.facts.bytes {
            return Ok(0);
        }
        if self.here().is_none() {
            self.fetch()?;
        }
        let rest = self.here().unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for RangeReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.facts.bytes.checked_add_signed(distance),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
