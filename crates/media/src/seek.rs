//! Both videos from any frame on, for who looks at samples of them.
//!
//! Frames of raw and Y4M files have their places. Containers with an index lead to the frame by its time, to which ffmpeg
//! decodes from the key frame before; that is exact where frames are evenly spaced. Everything else must be read from its
//! beginning and is refused here.

use visus_engine::{Cancel, Side};
use visus_video::{Format, Frame, Info, ReadError, Source};

use crate::convert::{Converter, Shape};
use crate::geometry::{self, range};
use crate::open::{PairOptions, Probed};
use crate::{DecodeOptions, Facts, MediaError, software};

/// Containers whose index leads to the frame.
const INDEXED: [&str; 2] = ["mov", "matroska"];

impl Probed {
    /// How many pairs there are if frames are paired one after another, from these frames on; the reason where they cannot be,
    /// or cannot be reached without reading what lies before.
    pub fn frames_in_step(&self, skip: [u64; 2]) -> Result<u64, String> {
        let [reference, distorted] = &self.facts;
        let frames = |facts: &Facts, skip: u64| facts.frames.map(|frames| frames.saturating_sub(skip));
        let (Some(first), Some(second)) = (frames(reference, skip[0]), frames(distorted, skip[1])) else {
            return Err("the number of frames is not known".to_owned());
        };
        if first != second {
            return Err(format!("the reference has {first} frames, the distorted video {second}"));
        }
        if let (Some(a), Some(b)) = (reference.rate(), distorted.rate())
            && (a / b - 1.0).abs() > 0.001
        {
            return Err(format!("{a:.3} against {b:.3} frames per second"));
        }
        for (place, facts) in self.facts.iter().enumerate() {
            self.reachable(place, facts).map_err(|reason| format!("{}: {reason}", facts.file))?;
        }
        Ok(first)
    }

    /// Why the frames of a side cannot be reached by their numbers.
    pub(crate) fn reachable(&self, place: usize, facts: &Facts) -> Result<(), &'static str> {
        let Some(probe) = &facts.probe else {
            let rereadable = self.opened[place].as_ref().is_some_and(|source| source.fork().is_some());
            return if rereadable { Ok(()) } else { Err("it can be read only once") };
        };
        let container = probe.container.split(',').next().unwrap_or_default();
        if probe.variable_rate {
            return Err("its frames are not evenly spaced in time");
        }
        if !INDEXED.contains(&container) || probe.opening.is_pictures() {
            return Err(
                "its frames cannot be reached by their number; containers with an index (MP4, MOV, Matroska) have them",
            );
        }
        if probe.filters.contains("bwdif") || self.is_rate_declared(place) {
            return Err("its frames are not those of the file (deinterlacing, a declared frame rate)");
        }
        Ok(())
    }

    /// Both from these frames on, in the shape in which they are compared.
    pub fn open_at(
        &self,
        options: &PairOptions,
        start: [u64; 2],
        cancel: &Cancel,
    ) -> Result<[Box<dyn Source>; 2], MediaError> {
        let target = geometry::target(&self.facts, options.scale, options.display)?;
        let open = |place: usize| -> Result<Box<dyn Source>, MediaError> {
            let facts = &self.facts[place];
            let source = self.source_at(place, options, start[place], cancel)?;
            let own = Shape { format: facts.format, range: range(facts) };
            Ok(match Converter::new(own, target, options.scaler) {
                Some(converter) => Box::new(Converted::new(source, converter, target)),
                None => source,
            })
        };
        let reference = open(0).map_err(|error| error.on(Side::Reference))?;
        let distorted = open(1).map_err(|error| error.on(Side::Distorted))?;
        Ok([reference, distorted])
    }

    fn source_at(
        &self,
        place: usize,
        options: &PairOptions,
        start: u64,
        cancel: &Cancel,
    ) -> Result<Box<dyn Source>, MediaError> {
        if let Some(source) = &self.opened[place] {
            let once = || self.inputs[place].inconsistent(true, true);
            let mut source = source.fork().ok_or_else(once)?;
            source.skip(start)?;
            return Ok(source);
        }
        let (Some(tools), Some(probe)) = (&self.tools, &self.facts[place].probe) else {
            return Err(self.inputs[place].inconsistent(self.tools.is_some(), false));
        };
        let decode = DecodeOptions {
            forgive: options.forgive,
            upright: self.upright,
            rgb: self.rgb,
            cancel: cancel.clone(),
            start,
            in_process: options.in_process,
            ..DecodeOptions::default()
        };
        Ok(software::open(tools, probe, &decode)?.0)
    }
}

/// A source in another shape.
struct Converted {
    source: Box<dyn Source>,
    converter: Converter,
    format: Format,
    info: Info,
    own: Frame,
}

impl Converted {
    fn new(source: Box<dyn Source>, converter: Converter, target: Shape) -> Self {
        let info = Info { range: Some(target.range), ..source.info().clone() };
        let own = Frame::new(*source.format());
        Self { source, converter, format: target.format, info, own }
    }
}

impl Source for Converted {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        let more = self.source.read(&mut self.own)?;
        if more {
            self.converter.apply(&self.own, frame);
        }
        Ok(more)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.source.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.source.total_frames()
    }
}
