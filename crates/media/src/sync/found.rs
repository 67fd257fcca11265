//! Pairs that were found once, for those who score parts of a long pair of videos.
//!
//! Who plans the parts reads both videos to their ends without scoring them ([`OpenPair::find`](crate::OpenPair::find)) and keeps
//! what pairing noted. Who scores a part then has no need to look at what lies before it: both files are opened at the part's
//! first frames, and frames are taken by their numbers.
//!
//! That a seek leads to the frame that was meant is not taken on trust: of every frame a print was kept, and a frame with another
//! print is an error. Whoever meets it scores the part as if no pairs had been found.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use visus_video::{ColourRange, Format, Frame, Info, ReadError, Source};

use crate::MediaError;
use crate::convert::Converter;
use crate::sync::log::{Log, Noted};
use crate::sync::signature::{Grid, Signature};

/// Pairs around a part that are kept with it: metrics look at neighbours.
const MARGIN: u64 = 64;

/// A number by which a frame is recognised.
pub(crate) type Print = u64;

/// Everything that pairing found about two videos, or about a part of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundPairs {
    /// The number of the first pair.
    first: u64,
    log: Log,
    /// The frames of every pair.
    prints: Vec<[Print; 2]>,
}

impl FoundPairs {
    /// Of two videos that were read to their ends.
    pub(crate) fn new(mut log: Log) -> Self {
        let prints = std::mem::take(&mut log.prints);
        Self { first: 0, log, prints }
    }

    /// The number of pairs up to the last one.
    pub fn end(&self) -> u64 {
        self.first + self.log.pairs.len() as u64
    }

    /// What it takes to score these pairs. A range without an end has the last one.
    pub fn part(&self, from: u64, to: Option<u64>) -> Self {
        let place = |pair: u64| pair.clamp(self.first, self.end()) - self.first;
        let within = place(from.saturating_sub(MARGIN))
            ..to.map_or(place(u64::MAX), |to| place(to.saturating_add(MARGIN)));
        let first = self.first + within.start;
        let places = within.start as usize..within.end as usize;
        Self { first, prints: self.prints[places].to_vec(), log: self.log.part(within, true) }
    }

    /// The log of the whole pair as far as it is known. Pairs before the first have their places and nothing else.
    pub(crate) fn log(&self) -> Option<Log> {
        let before = usize::try_from(self.first).ok().filter(|first| *first <= MOST)?;
        let mut pairs = vec![Noted::default(); before];
        if let (Some(last), Some(known)) = (pairs.last_mut(), self.log.before) {
            *last = known;
        }
        pairs.extend_from_slice(&self.log.pairs);
        Some(Log { pairs, before: None, ..self.log.clone() })
    }

    /// The frames of a side that are read, in order.
    pub(crate) fn numbers(&self, side: usize) -> Numbers {
        let frame = |pair: &Noted| [pair.reference, pair.distorted][side];
        let frames = self.log.pairs.iter().map(frame).collect();
        Numbers { first: self.first, frames, is_all: self.log.tail.is_some() }
    }

    /// Prints by the numbers of frames.
    pub(crate) fn prints(&self, side: usize) -> Arc<HashMap<u64, Print>> {
        let both = self.log.pairs.iter().zip(&self.prints);
        Arc::new(both.map(|(pair, prints)| ([pair.reference, pair.distorted][side], prints[side])).collect())
    }
}

/// More pairs than any video has: what is found comes from a file, which may be damaged.
const MOST: usize = 1 << 28;

/// Which frames of a file are read, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// The pair of the first one.
    pub first: u64,
    pub frames: Vec<u64>,
    /// No pair comes after the last one.
    pub is_all: bool,
}

/// Opens a side at a frame.
pub(crate) type OpenAt = Box<dyn FnOnce(u64) -> Result<Box<dyn Source>, MediaError> + Send>;

/// How frames of a side are recognised.
pub(crate) struct Recognition {
    pub prints: Arc<HashMap<u64, Print>>,
    pub range: ColourRange,
    pub grid: Grid,
    /// Frames that are left out before pairing; numbers count from behind them.
    pub skip: u64,
}

/// What a source says before it is opened.
pub(crate) struct Outside {
    pub name: String,
    pub info: Info,
    /// The format of the file, and the one in which frames are handed over.
    pub own: Format,
    pub target: Format,
    pub total: Option<u64>,
}

/// One side of pairs that are known, opened at the first frame that is asked for.
pub(crate) struct KnownSide {
    outside: Outside,
    numbers: Numbers,
    /// Until it is open.
    open: Option<OpenAt>,
    recognition: Recognition,
    converter: Option<Converter>,
    /// The file and the number of its next frame.
    opened: Option<(Box<dyn Source>, u64)>,
    /// A frame as it is in the file.
    raw: Frame,
    /// The pair that is handed over next.
    next: u64,
    read: u64,
}

impl KnownSide {
    pub fn new(
        outside: Outside,
        numbers: Numbers,
        open: OpenAt,
        recognition: Recognition,
        converter: Option<Converter>,
    ) -> Self {
        let raw = Frame::new(outside.own);
        Self {
            outside,
            numbers,
            open: Some(open),
            recognition,
            converter,
            opened: None,
            raw,
            next: 0,
            read: 0,
        }
    }

    fn failed(&self, reason: String) -> ReadError {
        ReadError::Decoder { file: self.outside.name.clone(), frame: self.read, reason }
    }

    /// The number of the next pair's frame; `None` behind the last pair.
    fn wanted(&self) -> Result<Option<u64>, ReadError> {
        let place = self.next.checked_sub(self.numbers.first).and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.numbers.frames.get(place)) {
            Some(number) => Ok(Some(*number)),
            None if place.is_some() && self.numbers.is_all => Ok(None),
            None => Err(self.failed(format!("pair {} is not among those that were found", self.next))),
        }
    }

    /// Reads the frame with this number, in the format of the file.
    fn take(&mut self, number: u64) -> Result<(), ReadError> {
        let (mut source, at) = match (self.opened.take(), self.open.take()) {
            (Some(opened), _) => opened,
            (None, Some(open)) => (open(number).map_err(|error| self.failed(error.to_string()))?, number),
            (None, None) => return Err(ReadError::Failed { file: self.outside.name.clone() }),
        };
        let ahead = number.checked_sub(at).ok_or_else(|| self.failed("pairs are out of order".to_owned()))?;
        let there = source.skip(ahead)? == ahead && source.read(&mut self.raw)?;
        if !there {
            return Err(self.failed(format!("it ended before frame {number}")));
        }
        self.opened = Some((source, number + 1));
        Ok(())
    }

    fn is_recognised(&self, number: u64) -> bool {
        let Recognition { prints, range, grid, .. } = &self.recognition;
        prints.get(&number).is_none_or(|print| *print == Signature::of(&self.raw, *range, *grid).print())
    }
}

impl Source for KnownSide {
    fn format(&self) -> &Format {
        &self.outside.target
    }

    fn name(&self) -> &str {
        &self.outside.name
    }

    fn info(&self) -> &Info {
        &self.outside.info
    }

    fn frames_read(&self) -> u64 {
        self.read
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        let Some(number) = self.wanted()? else { return Ok(false) };
        self.take(self.recognition.skip + number)?;
        if !self.is_recognised(number) {
            return Err(self.failed(format!("frame {number} is not the one that was paired")));
        }
        match &mut self.converter {
            Some(converter) => converter.apply(&self.raw, frame),
            None => frame.exchange(&mut self.raw),
        }
        (self.next, self.read) = (self.next + 1, self.read + 1);
        Ok(true)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let end = self.numbers.first + self.numbers.frames.len() as u64;
        let left = if self.numbers.is_all { end.saturating_sub(self.next) } else { u64::MAX };
        let skipped = count.min(left);
        (self.next, self.read) = (self.next + skipped, self.read + skipped);
        Ok(skipped)
    }

    fn total_frames(&self) -> Option<u64> {
        self.outside.total
    }
}
