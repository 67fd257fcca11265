//! Where a run's frames come from: readers on threads of their own, or reading in turn with the work.
//!
//! A source is foreign code as far as a run is concerned: it may block, fail or panic. What it does is caught here, once
//! for all modes of reading, so that a reader that dies is an error which names it and never the end of the video.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use visus_video::{Allocator, Format, PlaneSet, Pool, ReadError, SharedFrame, Source};

use crate::Cancel;
use crate::error::{EngineError, Role, Side, guarded};
use crate::frame_threads::FrameThreads;
use crate::pair::Differs;
use crate::run::PATIENCE;

/// What a reader hands over: a frame, the clean end (`None`), or why there is none.
pub(crate) type Read = Result<Option<SharedFrame>, EngineError>;

/// One of the two inputs, and how it is read.
pub(crate) struct Input {
    pub source: Box<dyn Source>,
    pub side: Side,
    /// Frames to pass over first.
    pub skip: u64,
    /// Frames to pass over between two that are read: those of other readers.
    pub between: u64,
    pub planes: PlaneReading,
    pub pool: Pool,
    /// Help with each frame.
    pub hands: FrameThreads,
}

/// The memory that frames are read into.
pub(crate) fn frame_pool(format: Format, count: usize, allocator: Option<&Arc<dyn Allocator>>) -> Pool {
    match allocator {
        Some(allocator) => Pool::with_allocator(format, count, Arc::clone(allocator)),
        None => Pool::new(format, count),
    }
}

impl Input {
    /// See [`Source::never_blocks`].
    pub fn never_blocks(&self) -> bool {
        self.source.never_blocks()
    }

    /// The next frame; `None` if the pool was closed, so that nobody waits for one.
    fn read(&mut self) -> Option<Read> {
        if let Err(error) = self.pass_over_skipped() {
            return Some(Err(error));
        }
        let mut frame = self.pool.take()?;
        let (planes, hands) = (self.planes.wanted(), self.hands.clone());
        let more = self.ask(|source| source.read_planes(&mut frame, planes, &hands));
        self.skip = self.between;
        Some(more.map(|more| more.then(|| SharedFrame::from(frame))))
    }

    /// So many inputs that read every n-th frame each, if the source can be read by several; else this one.
    fn split(self, count: usize) -> Vec<Self> {
        let forks: Option<Vec<_>> = (1..count).map(|_| self.source.fork()).collect();
        let Some(forks) = forks.filter(|_| self.between == 0) else { return vec![self] };
        let between = forks.len() as u64;
        let other = |(source, place): (Box<dyn Source>, u64)| Self {
            source,
            side: self.side,
            skip: self.skip.saturating_add(place),
            between,
            planes: self.planes.clone(),
            pool: self.pool.clone(),
            hands: self.hands.clone(),
        };
        let others: Vec<Self> = forks.into_iter().zip(1..).map(other).collect();
        std::iter::once(Self { between, ..self }).chain(others).collect()
    }

    fn pass_over_skipped(&mut self) -> Result<(), EngineError> {
        match std::mem::take(&mut self.skip) {
            0 => Ok(()),
            skip => self.ask(|source| source.skip(skip)).map(|_| ()),
        }
    }

    /// Asks the source for something. It is not asked again after an error or a panic.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut dyn Source) -> Result<T, ReadError>,
    ) -> Result<T, EngineError> {
        let Self { source, side, .. } = self;
        let failed = |source| EngineError::Read { side: *side, source };
        guarded(&Role::Reader(*side), || question(&mut **source).map_err(failed))
    }
}

/// Which planes are read. Those that no metric looks at are read until two pictures differ: then the question whether the
/// inputs are identical is settled.
#[derive(Clone, Debug)]
pub(crate) struct PlaneReading {
    pub looked_at: PlaneSet,
    pub differs: Differs,
}

impl PlaneReading {
    fn wanted(&self) -> PlaneSet {
        if self.differs.is_set() { self.looked_at } else { PlaneSet::ALL }
    }
}

/// The frames of one side, one after another.
pub(crate) trait Feed: Send {
    /// The next frame. At a halt there is none, which nobody takes for the end: whoever fired it ends the run.
    fn next(&mut self, halt: &Cancel) -> Read;
}

/// Reads when it is asked, on the thread that asks.
pub(crate) struct DirectReader(pub Input);

impl Feed for DirectReader {
    fn next(&mut self, halt: &Cancel) -> Read {
        if halt.is_fired() {
            return Ok(None);
        }
        self.0.read().unwrap_or(Ok(None))
    }
}

/// Frames that a reader's thread holds: one that waits to be taken, one that is being read.
pub(crate) const FRAMES_AHEAD: usize = 2;

/// A thread that reads one input into frames of a pool. Dropping it lets the thread end.
pub(crate) struct ReaderThread {
    side: Side,
    frames: Receiver<Read>,
    pool: Pool,
}

impl ReaderThread {
    pub fn start(input: Input) -> Result<Self, EngineError> {
        let (side, pool) = (input.side, input.pool.clone());
        // One frame read ahead; the pool bounds the rest.
        let (send, frames) = bounded(1);
        let thread = std::thread::Builder::new().name(format!("read {side}"));
        let spawned = thread.spawn(move || read_all(input, &send));
        spawned.map_err(|source| EngineError::Start { who: Role::Reader(side), source })?;
        Ok(Self { side, frames, pool })
    }
}

impl Feed for ReaderThread {
    fn next(&mut self, halt: &Cancel) -> Read {
        while !halt.is_fired() {
            match self.frames.recv_timeout(PATIENCE) {
                Ok(read) => return read,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let reason = "its thread ended without a word".to_owned();
                    return Err(EngineError::Died { who: Role::Reader(self.side), reason });
                }
            }
        }
        Ok(None)
    }
}

/// Threads that read one input by turns. A frame comes from the thread whose turn it is, so order, end and errors are
/// those of a single reader.
pub(crate) struct ReaderThreads {
    threads: Vec<ReaderThread>,
    due: usize,
}

impl ReaderThreads {
    /// So many threads, or one where the source can only be read once. Each holds up to [`FRAMES_AHEAD`] frames.
    pub fn start(input: Input, count: usize) -> Result<Self, EngineError> {
        let threads = input.split(count).into_iter().map(ReaderThread::start).collect::<Result<_, _>>()?;
        Ok(Self { threads, due: 0 })
    }
}

impl Feed for ReaderThreads {
    fn next(&mut self, halt: &Cancel) -> Read {
        let due = self.due;
        self.due = (due + 1) % self.threads.len();
        self.threads[due].next(halt)
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        self.pool.close();
    }
}

/// Reads until the end, an error, or until nobody listens.
fn read_all(mut input: Input, frames: &Sender<Read>) {
    while let Some(read) = input.read() {
        let last = !matches!(read, Ok(Some(_)));
        if frames.send(read).is_err() || last {
            return;
        }
    }
}
