//! One stream on several decoders at once.
//!
//! A GPU may have several decoding engines, but a decoder keeps one of them busy. So the stream is cut where decoding can begin
//! anew ([`Cutter`]), and its segments go to several decoders in turn, each with a thread of its own. Pictures come out in
//! order: those of the first segment as they are decoded, those of later ones are kept until it is their turn.
//!
//! What is kept is bounded twice: a decoder that is `room` pictures ahead of its reader waits, and [`VideoDecoder::next`] waits
//! instead of asking for more of the stream while [`MOST_BYTES`] of it have not been decoded. Neither can wait for ever: the
//! segment whose pictures are due is never behind another one in its decoder, and all of its bytes come before those of others.

mod cut;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use visus_video::RemotePicture;

use crate::decoder::{VideoCodec, VideoDecoder};
use crate::error::DeviceError;
use cut::{Cutter, Piece};

/// Bytes of a stream that wait to be decoded.
const MOST_BYTES: usize = 32 << 20;

/// A stream that several decoders share.
pub struct Engines {
    cutter: Cutter,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Who reads pictures waits here.
    reader: Condvar,
    /// Each decoder waits at its own, so that nobody wakes for nothing.
    lanes: Vec<Condvar>,
}

#[derive(Default)]
struct State {
    /// Segments that are fed, decoded or shown; the pictures of the first are due.
    segments: VecDeque<Segment>,
    /// The number of the first segment.
    first: usize,
    /// Bytes of all segments that no decoder has taken yet.
    bytes: usize,
    ended: bool,
    failed: Option<DeviceError>,
    /// Nobody wants pictures any more.
    stopped: bool,
}

/// A part of the stream that needs no other.
#[derive(Default)]
struct Segment {
    data: VecDeque<Vec<u8>>,
    fed_all: bool,
    pictures: VecDeque<Arc<dyn RemotePicture>>,
    decoded_all: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the decoder of a segment.
    fn wake_lane(&self, segment: usize) {
        self.lanes[segment % self.lanes.len()].notify_one();
    }

    fn wake_all(&self) {
        self.reader.notify_one();
        self.lanes.iter().for_each(Condvar::notify_one);
    }
}

fn wait<'a>(place: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    place.wait(state).unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The number of the last segment, if there is one.
    fn last(&self) -> usize {
        (self.first + self.segments.len()).saturating_sub(1)
    }

    fn segment(&mut self, number: usize) -> Option<&mut Segment> {
        self.segments.get_mut(number.checked_sub(self.first)?)
    }
}

impl Engines {
    /// Shares a stream among these decoders. Each keeps up to `room` pictures that are not due yet.
    pub fn new(
        codec: VideoCodec,
        decoders: Vec<Box<dyn VideoDecoder>>,
        room: usize,
    ) -> Result<Self, DeviceError> {
        let lanes = decoders.iter().map(|_| Condvar::new()).collect();
        let shared = Arc::new(Shared { state: Mutex::default(), reader: Condvar::new(), lanes });
        let mut engines = Self { cutter: Cutter::new(codec), shared, threads: Vec::new() };
        for (number, decoder) in decoders.into_iter().enumerate() {
            let lane = Lane { shared: Arc::clone(&engines.shared), decoder, number, room };
            let name = format!("decoder {number}");
            let thread = std::thread::Builder::new().name(name).spawn(move || lane.run());
            let reason = |error: std::io::Error| DeviceError::Decoder { reason: error.to_string() };
            engines.threads.push(thread.map_err(reason)?);
        }
        Ok(engines)
    }

    fn add(&self, pieces: Vec<Piece>, ended: bool) -> Result<(), DeviceError> {
        let mut state = self.shared.lock();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        for piece in pieces {
            match piece {
                Piece::Cut => self.close_last(&mut state),
                Piece::Data(data) => {
                    state.bytes += data.len();
                    if state.segments.back().is_none_or(|last| last.fed_all) {
                        state.segments.push_back(Segment::default());
                    }
                    let number = state.last();
                    let Some(last) = state.segments.back_mut() else { continue };
                    last.data.push_back(data);
                    self.shared.wake_lane(number);
                }
            }
        }
        if ended {
            state.ended = true;
            self.close_last(&mut state);
            self.shared.wake_all();
        }
        Ok(())
    }

    /// The segment that was fed is complete.
    fn close_last(&self, state: &mut State) {
        let number = state.last();
        if let Some(last) = state.segments.back_mut() {
            last.fed_all = true;
            self.shared.wake_lane(number);
        }
    }
}

impl VideoDecoder for Engines {
    fn feed(&mut self, data: &[u8]) -> Result<(), DeviceError> {
        let mut pieces = Vec::new();
        self.cutter.feed(data, &mut pieces);
        self.add(pieces, false)
    }

    fn end(&mut self) -> Result<(), DeviceError> {
        let mut pieces = Vec::new();
        self.cutter.end(&mut pieces);
        self.add(pieces, true)
    }

    fn next(&mut self) -> Result<Option<Arc<dyn RemotePicture>>, DeviceError> {
        let mut state = self.shared.lock();
        loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            if let Some(segment) = state.segments.front_mut() {
                if let Some(picture) = segment.pictures.pop_front() {
                    self.shared.wake_lane(state.first);
                    return Ok(Some(picture));
                }
                if segment.decoded_all {
                    state.segments.pop_front();
                    state.first += 1;
                    continue;
                }
            } else if state.ended {
                return Ok(None);
            }
            if !state.ended && state.bytes < MOST_BYTES {
                return Ok(None);
            }
            state = wait(&self.shared.reader, state);
        }
    }

    fn restart(&mut self) -> Result<(), DeviceError> {
        Err(DeviceError::Decoder { reason: "a shared stream cannot begin anew".to_owned() })
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.wake_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A decoder, and the segments that it gets: every n-th, if there are n of them.
struct Lane {
    shared: Arc<Shared>,
    decoder: Box<dyn VideoDecoder>,
    /// Of the segment that it decodes.
    number: usize,
    room: usize,
}

impl Lane {
    fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let done = catch_unwind(AssertUnwindSafe(|| self.decode_all())).unwrap_or_else(|_| {
            Err(DeviceError::Decoder { reason: "our part of the decoder panicked".to_owned() })
        });
        if let Err(error) = done {
            shared.lock().failed.get_or_insert(error);
            shared.wake_all();
        }
    }

    fn decode_all(&mut self) -> Result<(), DeviceError> {
        while let Some(data) = self.data() {
            match data {
                Some(data) => {
                    self.decoder.feed(&data)?;
                    self.show(false)?;
                }
                None => {
                    self.decoder.end()?;
                    self.show(true)?;
                    self.decoder.restart()?;
                    self.number += self.shared.lanes.len();
                }
            }
        }
        Ok(())
    }

    /// The next bytes of the segment, `Some(None)` behind its last; `None` when there is nothing more to do. Waits while
    /// there are pictures enough.
    fn data(&self) -> Option<Option<Vec<u8>>> {
        let mut state = self.shared.lock();
        loop {
            let over = state.ended && self.number >= state.first + state.segments.len();
            if state.stopped || state.failed.is_some() || over {
                return None;
            }
            let room = self.room;
            if let Some(segment) = state.segment(self.number).filter(|segment| segment.pictures.len() < room)
            {
                if let Some(data) = segment.data.pop_front() {
                    state.bytes -= data.len();
                    if state.bytes < MOST_BYTES && state.bytes + data.len() >= MOST_BYTES {
                        self.shared.reader.notify_one();
                    }
                    return Some(Some(data));
                }
                if segment.fed_all {
                    return Some(None);
                }
            }
            state = wait(&self.shared.lanes[self.number % self.shared.lanes.len()], state);
        }
    }

    /// Hands over what the decoder has.
    fn show(&mut self, is_last: bool) -> Result<(), DeviceError> {
        let mut pictures = VecDeque::new();
        while let Some(picture) = self.decoder.next()? {
            pictures.push_back(picture);
        }
        if pictures.is_empty() && !is_last {
            return Ok(());
        }
        let mut state = self.shared.lock();
        if let Some(segment) = state.segment(self.number) {
            segment.pictures.append(&mut pictures);
            segment.decoded_all = is_last;
        }
        if self.number == state.first {
            self.shared.reader.notify_one();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
