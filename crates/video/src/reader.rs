//! The reader of files and streams: frames one after another, with a header line before each in Y4M.

use std::fmt;
use std::io;

use crate::input::{Input, Shortfall};
use crate::layout::{FileLayout, rounding_matters};
use crate::y4m::{self, FrameHeader};
use crate::{Alone, ChromaRounding, Format, Frame, Info, PlaneSet, ReadError, Source, Spread, Warning};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Bare,
    Y4m,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
}

/// Fewer frames of Y4M are passed over one by one, so that every header among them is looked at.
const FEWEST_JUMPED: u64 = 64;

/// Reads Y4M or raw planar video; made by [`open_y4m`](crate::open_y4m), [`open_raw`](crate::open_raw) and their kin.
pub struct Reader {
    input: Input,
    format: Format,
    layout: FileLayout,
    framing: Framing,
    info: Info,
    total: Option<u64>,
    frames: u64,
    state: State,
}

/// Why a frame did not come to be.
enum Stop {
    Short(Shortfall),
    Lost(String),
    LongHeader,
}

impl From<Shortfall> for Stop {
    fn from(shortfall: Shortfall) -> Self {
        Self::Short(shortfall)
    }
}

impl Reader {
    pub(crate) fn y4m(mut input: Input) -> Result<Self, ReadError> {
        let mut header = y4m::read_header(&mut input)?;
        let layout = FileLayout::new(header.format, ChromaRounding::Up);
        let layout = if header.alpha { layout.with_alpha() } else { layout };
        header.info.rounding = rounding_matters(&header.format).then_some(ChromaRounding::Up);
        Self::new(input, header.format, layout, header.info, Framing::Y4m).checked()
    }

    pub(crate) fn raw(input: Input, format: Format, rounding: ChromaRounding) -> Result<Self, ReadError> {
        let rounding = decide_rounding(&format, rounding, input.length());
        let layout = FileLayout::new(format, rounding);
        let rounding = rounding_matters(&format).then_some(rounding);
        let mut info = Info { rounding, ..Info::default() };
        info.warnings.extend(input.length().and_then(|length| uneven_length(length, layout.bytes())));
        Self::new(input, format, layout, info, Framing::Bare).checked()
    }

    fn new(input: Input, format: Format, layout: FileLayout, info: Info, framing: Framing) -> Self {
        Self { input, format, layout, framing, info, total: None, frames: 0, state: State::Open }
    }

    /// Counts the frames. An input that is known to be too short for even one fails now, before anyone makes room
    /// for a frame of the size that its header claims.
    fn checked(mut self) -> Result<Self, ReadError> {
        let Some(length) = self.input.length() else { return Ok(self) };
        let rest = length.saturating_sub(self.input.position());
        let total = rest / (self.frame_header_bytes() + self.layout.bytes());
        if rest > 0 && total == 0 {
            return Err(self.too_short());
        }
        self.total = Some(total);
        Ok(self)
    }

    fn too_short(&mut self) -> ReadError {
        self.skip(1).err().unwrap_or_else(|| ReadError::Open {
            file: self.input.name().to_owned(),
            source: io::Error::other("the file changed while it was opened"),
        })
    }

    /// The length of the next frame's header, as far as it is in sight; others are most likely as long.
    fn frame_header_bytes(&self) -> u64 {
        match self.framing {
            Framing::Bare => 0,
            Framing::Y4m => {
                let in_sight = y4m::frame_header_ahead(self.input.ahead());
                in_sight.unwrap_or(y4m::SHORTEST_FRAME_HEADER) as u64
            }
        }
    }

    /// Passes over many frames at once; how many. Frames of Y4M may have headers of different length, but where the input is as
    /// long as frames with the shortest header are together, all have that one. It is looked for where the jump ends.
    fn jump(&mut self, count: u64) -> Result<u64, ReadError> {
        let bytes = y4m::SHORTEST_FRAME_HEADER as u64 + self.layout.bytes();
        let rest = self.input.length().map(|length| length.saturating_sub(self.input.position()));
        let is_even = rest.is_some_and(|rest| rest.is_multiple_of(bytes) && rest / bytes >= count);
        if self.framing != Framing::Y4m || self.state != State::Open || count < FEWEST_JUMPED || !is_even {
            return Ok(0);
        }
        let start = self.input.position();
        let passed = self.input.pass_to(count * bytes, y4m::SHORTEST_FRAME_HEADER_WORDS);
        let passed = passed.map_err(|error| self.explain(Stop::Short(Shortfall::Io(error)), start, 0))?;
        self.frames += if passed { count } else { 0 };
        Ok(if passed { count } else { 0 })
    }

    /// Takes one frame by `take`; keeps count, and remembers how it ended.
    fn next(
        &mut self,
        take: impl FnOnce(&FileLayout, &mut Input) -> Result<(), Shortfall>,
    ) -> Result<bool, ReadError> {
        match self.state {
            State::Open => {}
            State::Ended => return Ok(false),
            State::Failed => return Err(ReadError::Failed { file: self.input.name().to_owned() }),
        }
        let start = self.input.position();
        let mut header_bytes = 0;
        let step = self.step(&mut header_bytes, take);
        match step {
            Ok(true) => self.frames += 1,
            Ok(false) => self.state = State::Ended,
            Err(_) => self.state = State::Failed,
        }
        step.map_err(|stop| self.explain(stop, start, header_bytes))
    }

    fn step(
        &mut self,
        header_bytes: &mut u64,
        take: impl FnOnce(&FileLayout, &mut Input) -> Result<(), Shortfall>,
    ) -> Result<bool, Stop> {
        let start = self.input.position();
        if self.framing == Framing::Y4m {
            let header = y4m::read_frame_header(&mut self.input);
            *header_bytes = (self.input.position() - start).max(y4m::SHORTEST_FRAME_HEADER as u64);
            match header? {
                FrameHeader::Good => {}
                FrameHeader::End => return Ok(false),
                FrameHeader::TooLong => return Err(Stop::LongHeader),
                FrameHeader::Lost(found) => return Err(Stop::Lost(found)),
            }
        }
        match take(&self.layout, &mut self.input) {
            Ok(()) => Ok(true),
            Err(Shortfall::End) if self.input.position() == start => Ok(false),
            Err(shortfall) => Err(shortfall.into()),
        }
    }

    /// The error for a frame that begins at byte `start` and whose header takes `header_bytes`.
    fn explain(&self, stop: Stop, start: u64, header_bytes: u64) -> ReadError {
        let (file, frame, byte) = (self.input.name().to_owned(), self.frames, start);
        match stop {
            Stop::Short(Shortfall::End) => {
                let got = self.input.position() - start;
                let expected = header_bytes + self.layout.bytes();
                ReadError::Truncated { file, frame, whole_frames: frame, byte, expected, got }
            }
            Stop::Short(Shortfall::Io(source)) => {
                ReadError::Io { file, frame, byte: self.input.position(), source }
            }
            Stop::Lost(found) => ReadError::LostFraming { file, frame, byte, found },
            Stop::LongHeader => ReadError::FrameHeader { file, frame, byte, limit: y4m::LONGEST_LINE as u64 },
        }
    }
}

impl Source for Reader {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        self.input.name()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.frames
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.read_planes(frame, PlaneSet::ALL, &Alone)
    }

    fn read_planes(
        &mut self,
        frame: &mut Frame,
        planes: PlaneSet,
        hands: &dyn Spread,
    ) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        self.next(|layout, input| {
            if hands.width() > 1 && layout.read_spread(input, frame, planes, hands)? {
                return Ok(());
            }
            layout.read(input, frame, planes)
        })
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let jumped = self.jump(count)?;
        for done in jumped..count {
            if !self.next(|layout, input| input.pass(layout.bytes()))? {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.total
    }

    fn fork(&self) -> Option<Box<dyn Source>> {
        let input = self.input.fork()?;
        let Self { format, layout, framing, total, frames, state, .. } = *self;
        Some(Box::new(Self { input, format, layout, framing, info: self.info.clone(), total, frames, state }))
    }

    /// What has a length can seek, and what can seek does not wait.
    fn never_blocks(&self) -> bool {
        self.input.length().is_some()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.input.name();
        write!(f, "Reader({name:?}, {}, frame {}, {:?})", self.format, self.frames, self.state)
    }
}

fn decide_rounding(format: &Format, wanted: ChromaRounding, length: Option<u64>) -> ChromaRounding {
    use ChromaRounding::{Auto, Down, Up};
    let fills = |rounding| {
        length.is_some_and(|length| length.is_multiple_of(FileLayout::new(*format, rounding).bytes()))
    };
    match wanted {
        Auto if !fills(Up) && fills(Down) => Down,
        Auto => Up,
        Up | Down => wanted,
    }
}

fn uneven_length(length: u64, frame_bytes: u64) -> Option<Warning> {
    let (whole_frames, rest) = (length / frame_bytes, length % frame_bytes);
    (rest > 0).then_some(Warning::Length { length, frame_bytes, whole_frames, rest })
}
