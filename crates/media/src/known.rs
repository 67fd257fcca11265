//! Pairs that are found once and read many times: finding them, and opening both videos at any of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use visus_engine::{Cancel, Side};
use visus_video::{Format, Pool, Source};

use crate::control::OpenPair;
use crate::convert::{Converter, Shape};
use crate::geometry::range;
use crate::open::{PairOptions, Probed, tone_mapped};
use crate::sync::findings::Sync;
use crate::sync::found::{FoundPairs, KnownSide, Numbers, OpenAt, Outside, Print, Recognition};
use crate::sync::log::Log;
use crate::sync::signature::Grid;
use crate::sync::threads::Threads;
use crate::sync::{Started, lock};
use crate::{DecodeOptions, MediaError, compare, decode, memory, software};

/// Frames of each side that are held where pairs are known: one on its way.
const HELD: usize = 1;

/// Pairs that are to be read by the numbers of their frames.
pub(crate) struct Known {
    numbers: [Numbers; 2],
    prints: [Arc<HashMap<u64, Print>>; 2],
    log: Log,
}

impl OpenPair {
    /// Reads both videos to their ends, for what pairing finds; they must have been opened for it
    /// ([`finding`](PairOptions::finding)). `passed` is called after every pair.
    pub fn find(mut self, passed: &mut dyn FnMut()) -> Result<FoundPairs, MediaError> {
        while self.reference.skip(1)? == 1 && self.distorted.skip(1)? == 1 {
            passed();
        }
        self.distorted.skip(1)?;
        self.control.finish();
        Ok(FoundPairs::new(std::mem::take(&mut *lock(&self.control.log))))
    }
}

impl Probed {
    /// Whether pairs that were found can be read by the numbers of their frames; the reason if not.
    pub fn can_be_reached(&self, options: &PairOptions) -> Result<(), String> {
        if options.sync == Sync::Off {
            return Err("frames are paired one after another".to_owned());
        }
        if options.forgive || options.hwaccel.is_some() || options.device.is_some() {
            return Err("its damage is ignored, or hardware decodes it".to_owned());
        }
        for (place, facts) in self.facts.iter().enumerate() {
            self.reachable(place, facts).map_err(|reason| format!("{}: {reason}", facts.file))?;
        }
        Ok(())
    }

    /// The pairs that are to be read by number, if there are any.
    pub(crate) fn known(&self, options: &PairOptions) -> Option<Known> {
        let found = options.found.as_ref()?;
        // Alternatives of doubtful pairs are read as they are, whatever pairing would find.
        if let Some(pairs) = &options.pairs {
            let side = |frames: Vec<u64>| Numbers { first: 0, frames, is_all: true };
            let (reference, distorted) = pairs.iter().copied().unzip();
            let log = Log { sync: options.sync, ..Log::default() };
            let (numbers, prints) =
                ([side(reference), side(distorted)], [0, 1].map(|side| found.prints(side)));
            return Some(Known { numbers, prints, log });
        }
        self.can_be_reached(options).ok()?;
        let log = found.log()?;
        let (numbers, prints) =
            ([0, 1].map(|side| found.numbers(side)), [0, 1].map(|side| found.prints(side)));
        Some(Known { numbers, prints, log })
    }

    /// Opens both at the first pair that is asked for.
    pub(crate) fn open_known(mut self, known: Known, options: &PairOptions) -> Result<OpenPair, MediaError> {
        let Known { numbers, prints, log } = known;
        let target = self.target(options)?;
        for facts in &mut self.facts {
            facts.not_on_device.clone_from(&options.not_on_device);
        }
        let halt = Cancel::new();
        let decode = self.decode_options(options, &halt);
        let comparability = compare::facts(&self.facts[0], &self.facts[1], options.sync);
        let conversions = self.conversions(target, options.scaler);
        let formats = self.facts.each_ref().map(|facts| facts.format);
        let total = self.pairs_to_expect(options, &log);
        let room = memory::reserve([&formats[0], &formats[1]], &target.format, HELD, &options.cancel)?;
        let threads = Arc::new(Threads::new(halt, formats.map(|format| Pool::hollow(format, HELD)), room));
        let grid = Grid::for_formats(&formats[0], &formats[1]);
        let mut side = |place: usize, numbers: Numbers| -> Result<Box<dyn Source>, MediaError> {
            let range = self.decoded_range(place);
            let recognition =
                Recognition { prints: Arc::clone(&prints[place]), range, grid, skip: options.skip[place] };
            let converter = Converter::new(Shape { format: formats[place], range }, target, options.scaler);
            let outside = self.outside(place, target.format, &decode, total)?;
            let open = self.opener(place, &decode)?;
            Ok(Box::new(KnownSide::new(outside, numbers, open, recognition, converter)))
        };
        let [first, second] = numbers;
        let reference = side(0, first).map_err(|error| error.on(Side::Reference))?;
        let distorted = side(1, second).map_err(|error| error.on(Side::Distorted))?;
        let started = Started { sources: [reference, distorted], log: Arc::new(Mutex::new(log)), threads };
        let pair = self.started(started, options, comparability, conversions, [None, None]);
        // As while frames are read one after another: nothing is known of pairs before they are scored.
        pair.control.scored(0..0, false);
        Ok(pair)
    }

    /// What a side says of itself, as if it were open.
    fn outside(
        &self,
        place: usize,
        target: Format,
        decode: &DecodeOptions,
        total: Option<u64>,
    ) -> Result<Outside, MediaError> {
        let facts = &self.facts[place];
        let (name, info) = match (&self.opened[place], &facts.probe) {
            (Some(source), _) => (source.name().to_owned(), source.info().clone()),
            (None, Some(probe)) => (probe.file.clone(), decode::info(probe, decode)),
            (None, None) => return Err(self.inputs[place].inconsistent(self.tools.is_some(), false)),
        };
        Ok(Outside { name, info, own: facts.format, target, total })
    }

    /// Opens a side at a frame.
    fn opener(&mut self, place: usize, decode: &DecodeOptions) -> Result<OpenAt, MediaError> {
        if let Some(mut source) = self.opened[place].take() {
            return Ok(Box::new(move |start| {
                source.skip(start)?;
                Ok(source)
            }));
        }
        let (Some(tools), Some(probe)) = (self.tools.clone(), self.facts[place].probe.clone()) else {
            return Err(self.inputs[place].inconsistent(self.tools.is_some(), false));
        };
        let (mapped, range, decode) = (self.tone_map[place], range(&self.facts[place]), decode.clone());
        Ok(Box::new(move |start| {
            let decode = DecodeOptions { start, ..decode };
            let (decoder, _) = software::open(&tools, &probe, &decode)?;
            Ok(tone_mapped(decoder, mapped, range))
        }))
    }

    /// The number of pairs by what the files say, as it is expected while their ends have not been seen.
    fn pairs_to_expect(&self, options: &PairOptions, log: &Log) -> Option<u64> {
        let start =
            log.start.map_or([0, 0], |start| [start.skip_reference as u64, start.skip_distorted as u64]);
        let left = |side: usize| {
            let frames = match &self.opened[side] {
                Some(source) => source.total_frames(),
                None => self.facts[side].probe.as_ref()?.frames,
            };
            Some(frames?.saturating_sub(options.skip[side]).saturating_sub(start[side]))
        };
        Some(left(0)?.min(left(1)?))
    }
}
