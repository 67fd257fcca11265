//! One side of a pair, as the engine reads it.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use visus_video::{Format, Frame, Info, PooledFrame, ReadError, Source};

use crate::convert::{Converter, Shape};
use crate::sync::Stream;
use crate::sync::threads::Threads;

/// What the pairing thread hands over: a frame, the end, or why there is no more.
pub type Given = Result<Option<PooledFrame>, ReadError>;

pub struct Paired {
    given: Receiver<Given>,
    name: String,
    info: Info,
    format: Format,
    converter: Option<Converter>,
    frames: u64,
    pub total: Option<u64>,
    ended: bool,
    threads: Arc<Threads>,
    remote: bool,
}

impl Paired {
    pub fn new(stream: &Stream, given: Receiver<Given>, threads: &Arc<Threads>) -> Self {
        let own = Shape { format: *stream.source.format(), range: stream.range };
        let total = stream.source.total_frames().map(|total| total.saturating_sub(stream.skip));
        Self {
            given,
            name: stream.source.name().to_owned(),
            info: stream.source.info().clone(),
            format: stream.target.format,
            converter: Converter::new(own, stream.target, stream.scaler),
            frames: 0,
            total,
            ended: false,
            threads: Arc::clone(threads),
            remote: stream.source.is_remote(),
        }
    }

    fn next(&mut self) -> Given {
        if self.ended {
            return Ok(None);
        }
        let given = self.given.recv().unwrap_or_else(|_| Err(self.left_alone()));
        self.ended = !matches!(given, Ok(Some(_)));
        self.frames += u64::from(!self.ended);
        given
    }

    /// The pairing thread is gone without a word: it was ended from outside, or it died.
    fn left_alone(&self) -> ReadError {
        let stopped = self.threads.halt.is_fired();
        let reason = if stopped { "reading was stopped" } else { "the thread that pairs frames died" };
        ReadError::Decoder { file: self.name.clone(), frame: self.frames, reason: reason.to_owned() }
    }
}

impl Source for Paired {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.frames
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        let Some(mut given) = self.next()? else { return Ok(false) };
        match &mut self.converter {
            Some(converter) => converter.apply(&given, frame),
            None => frame.exchange(&mut given),
        }
        Ok(true)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for done in 0..count {
            if self.next()?.is_none() {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.total
    }

    fn is_remote(&self) -> bool {
        self.remote && self.converter.is_none()
    }
}

impl Drop for Paired {
    fn drop(&mut self) {
        // One that has come to its end leaves the other one its last frames.
        if !self.ended {
            self.threads.halt();
        }
    }
}
