//! The thread that reads one file.

use std::cell::Cell;

use crossbeam_channel::Sender;
use visus_video::{Frame, Pool, PooledFrame, ReadError};

use crate::sync::Stream;
use crate::sync::signature::{Grid, Signature};
use crate::sync::threads::guarded;

/// A frame with its signature, the end of the file, or why it cannot be read.
pub type Fed = Result<Option<(PooledFrame, Option<Signature>)>, ReadError>;

/// Reads one file to its end, or until nobody listens. A source that panics is an error, not the end of its file.
pub fn feed(stream: Stream, pool: &Pool, look: Option<Grid>, fed: &Sender<Fed>) {
    let (file, frames) = (stream.source.name().to_owned(), Cell::new(0));
    let died = |reason: String| {
        let reason = format!("the thread that decodes it died: {reason}");
        let _ = fed.send(Err(ReadError::Decoder { file, frame: frames.get(), reason }));
    };
    guarded(|| read_all(stream, pool, look, fed, &frames), died);
}

fn read_all(mut stream: Stream, pool: &Pool, look: Option<Grid>, fed: &Sender<Fed>, frames: &Cell<u64>) {
    if let Err(error) = stream.source.skip(stream.skip) {
        let _ = fed.send(Err(error));
        return;
    }
    while let Some(mut frame) = pool.take() {
        let read = stream.source.read(&mut frame).map(|more| {
            let signature = |frame: &Frame| look.map(|grid| Signature::of(frame, stream.range, grid));
            more.then(|| (signature(&frame), frame)).map(|(signature, frame)| (frame, signature))
        });
        let last = !matches!(read, Ok(Some(_)));
        if fed.send(read).is_err() || last {
            return;
        }
        frames.set(frames.get() + 1);
    }
}
