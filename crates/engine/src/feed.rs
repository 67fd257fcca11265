//! Where a run's frames come from: readers on threads of their own, or reading in turn with the work.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use visus_video::{Pool, ReadError, Source};

use crate::pair::{Differs, Read};
use crate::run::PATIENCE;
use crate::{Cancel, Side};

/// One of the two inputs, and how it is read.
pub(crate) struct Input {
    pub source: Box<dyn Source>,
    pub side: Side,
    /// Frames to pass over first.
    pub skip: u64,
    /// Frames that may be alive at the same time.
    pub pool_size: usize,
    pub chroma: Chroma,
}

impl Input {
    /// See [`Source::is_at_hand`].
    pub fn is_at_hand(&self) -> bool {
        self.source.is_at_hand()
    }

    fn read(&mut self, pool: &Pool) -> Option<Read> {
        let mut frame = pool.take()?;
        let source = &mut self.source;
        let more =
            if self.chroma.is_wanted() { source.read(&mut frame) } else { source.read_luma(&mut frame) };
        Some(more.map(|more| more.then(|| Arc::new(frame))))
    }

    fn pass_over_skipped(&mut self) -> Result<(), ReadError> {
        self.source.skip(std::mem::take(&mut self.skip)).map(|_| ())
    }
}

/// When the planes beside luma are read.
#[derive(Clone, Debug)]
pub(crate) enum Chroma {
    Always,
    /// No metric looks at them, and once two pictures differ the question whether the inputs are identical is settled.
    Until(Differs),
}

impl Chroma {
    fn is_wanted(&self) -> bool {
        match self {
            Self::Always => true,
            Self::Until(differs) => !differs.is_set(),
        }
    }
}

/// The frames of one side, one after another.
pub(crate) trait Feed {
    /// The next frame. A halt, or a reader that vanished, looks like the end.
    fn next(&mut self, halt: &Cancel) -> Read;
}

/// Reads when it is asked.
pub(crate) struct Turn {
    input: Input,
    pool: Pool,
}

impl Turn {
    pub fn new(input: Input) -> Self {
        let pool = Pool::new(*input.source.format(), input.pool_size);
        Self { input, pool }
    }
}

impl Feed for Turn {
    fn next(&mut self, halt: &Cancel) -> Read {
        if halt.is_fired() {
            return Ok(None);
        }
        self.input.pass_over_skipped()?;
        self.input.read(&self.pool).unwrap_or(Ok(None))
    }
}

/// A thread that reads one input into frames of a pool. Dropping it lets the thread end.
pub(crate) struct Reader {
    frames: Receiver<Read>,
    pool: Pool,
}

impl Reader {
    pub fn start(input: Input) -> Self {
        let pool = Pool::new(*input.source.format(), input.pool_size);
        let side = input.side;
        // One frame read ahead; the pool bounds the rest.
        let (send, frames) = bounded(1);
        let lender = pool.clone();
        let thread = std::thread::Builder::new().name(format!("read {side}"));
        let spawned = thread.spawn({
            let send = send.clone();
            move || read_all(input, &lender, &send)
        });
        if let Err(error) = spawned {
            // Nobody else holds the sender yet, so there is room.
            let _ = send.send(Err(ReadError::Open { file: format!("{side} reader thread"), source: error }));
        }
        Self { frames, pool }
    }
}

impl Feed for &Reader {
    fn next(&mut self, halt: &Cancel) -> Read {
        while !halt.is_fired() {
            match self.frames.recv_timeout(PATIENCE) {
                Ok(read) => return read,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(None)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.pool.close();
    }
}

/// Reads until the end, an error, or until nobody listens.
fn read_all(mut input: Input, pool: &Pool, frames: &Sender<Read>) {
    if let Err(error) = input.pass_over_skipped() {
        let _ = frames.send(Err(error));
        return;
    }
    while let Some(read) = input.read(pool) {
        let last = !matches!(read, Ok(Some(_)));
        if frames.send(read).is_err() || last {
            return;
        }
    }
}
