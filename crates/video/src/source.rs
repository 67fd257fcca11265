//! Where frames come from: what every source can do, and the ways to open one.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::input::Input;
use crate::reader::Reader;
use crate::{ChromaRounding, Format, Frame, Info, PlaneSet, ReadError, Spread};

/// A sequence of frames of one format, read once from front to back.
pub trait Source: Send {
    fn format(&self) -> &Format;

    /// The source as the user named it.
    fn name(&self) -> &str;

    /// What else is known about the video, warnings included.
    fn info(&self) -> &Info;

    /// Whether a frame can take this source's pictures.
    fn check_frame(&self, frame: &Frame) -> Result<(), ReadError> {
        let (expected, got) = (*self.format(), *frame.format());
        if expected == got {
            return Ok(());
        }
        Err(ReadError::WrongFrame { file: self.name().to_owned(), expected, got })
    }

    /// Frames taken so far, read or skipped: the index of the next frame.
    fn frames_read(&self) -> u64;

    /// Fills `frame` with the next picture; `false` is the regular end. The samples are those of the file, also where
    /// they exceed the bit depth. After `false` or an error the content of `frame` is unspecified, and an error
    /// never turns into a regular end on the next call.
    ///
    /// A source that has the picture in a frame of its own may hand over that frame's memory in exchange, by
    /// [`Frame::exchange`], instead of copying it.
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError>;

    /// The same for a caller who looks at these planes alone: the content of the others is unspecified afterwards. Several hands
    /// share the reading if the source can be read that way, which is worth it where frames are few and large.
    fn read_planes(
        &mut self,
        frame: &mut Frame,
        planes: PlaneSet,
        hands: &dyn Spread,
    ) -> Result<bool, ReadError> {
        let _ = (planes, hands);
        self.read(frame)
    }

    /// Passes over up to `count` frames and says how many there were; fewer is the regular end.
    fn skip(&mut self, count: u64) -> Result<u64, ReadError>;

    /// Whole frames from the first to the last, as the length of the input said when it was opened; `None` for pipes.
    /// Meant for progress: frame headers of varying length, or a file that still grows, make it differ from what
    /// [`read`](Self::read) will give.
    fn total_frames(&self) -> Option<u64>;

    /// Whether [`read`](Self::read) never waits for anybody: frames come from a file or from memory, not from a pipe or
    /// another program.
    fn never_blocks(&self) -> bool {
        false
    }

    /// Whether [`read`](Self::read) hands over pictures that lie in memory of a device or of a decoder, so that frames need none of
    /// their own.
    fn is_remote(&self) -> bool {
        false
    }

    /// Another reader of the same frames that stands where this one stands and goes on by itself: so several threads can
    /// read one file. `None` for what can only be read once.
    fn fork(&self) -> Option<Box<dyn Source>> {
        None
    }

    /// Frames per second, as a ratio.
    fn frame_rate(&self) -> Option<(u32, u32)> {
        self.info().frame_rate
    }
}

/// Opens raw video if a format is given, else Y4M. The path `-` is standard input; named pipes work and are waited for.
///
/// Two inputs cannot both be standard input; that is for the caller to refuse.
pub fn open(path: impl AsRef<Path>, raw: Option<Format>) -> Result<Box<dyn Source>, ReadError> {
    Ok(match raw {
        Some(format) => Box::new(open_raw(path, format)?),
        None => Box::new(open_y4m(path)?),
    })
}

/// The same for a file that is open already, from its beginning, wherever it stands.
pub fn open_file(name: &str, file: File, raw: Option<Format>) -> Result<Box<dyn Source>, ReadError> {
    let input = Input::file_at(name, Ok(file)).map_err(|source| cannot_open(name, source))?;
    Ok(Box::new(match raw {
        Some(format) => Reader::raw(input, format, ChromaRounding::Auto)?,
        None => Reader::y4m(input)?,
    }))
}

/// Opens a Y4M file.
pub fn open_y4m(path: impl AsRef<Path>) -> Result<Reader, ReadError> {
    Reader::y4m(Input::open(path.as_ref())?)
}

/// Opens raw planar video. Odd sizes are read as [`ChromaRounding::Auto`] says.
pub fn open_raw(path: impl AsRef<Path>, format: Format) -> Result<Reader, ReadError> {
    open_raw_rounded(path, format, ChromaRounding::Auto)
}

/// Opens raw planar video whose odd-sized chroma lies in the file as the caller says.
pub fn open_raw_rounded(
    path: impl AsRef<Path>,
    format: Format,
    rounding: ChromaRounding,
) -> Result<Reader, ReadError> {
    Reader::raw(Input::open(path.as_ref())?, format, rounding)
}

/// Y4M from anything that can be read, such as a pipe from another program.
pub fn y4m_stream(name: &str, bytes: impl Read + Send + 'static) -> Result<Reader, ReadError> {
    Reader::y4m(Input::stream(name, bytes))
}

/// Raw planar video from anything that can be read.
pub fn raw_stream(
    name: &str,
    bytes: impl Read + Send + 'static,
    format: Format,
    rounding: ChromaRounding,
) -> Result<Reader, ReadError> {
    Reader::raw(Input::stream(name, bytes), format, rounding)
}

/// Y4M from something whose length can be known, read as a file would be.
pub fn y4m_seekable(name: &str, bytes: impl Read + Seek + Send + 'static) -> Result<Reader, ReadError> {
    Reader::y4m(Input::seekable(name, bytes).map_err(|source| cannot_open(name, source))?)
}

/// Raw planar video from something whose length can be known, read as a file would be.
pub fn raw_seekable(
    name: &str,
    bytes: impl Read + Seek + Send + 'static,
    format: Format,
    rounding: ChromaRounding,
) -> Result<Reader, ReadError> {
    let input = Input::seekable(name, bytes).map_err(|source| cannot_open(name, source))?;
    Reader::raw(input, format, rounding)
}

fn cannot_open(name: &str, source: io::Error) -> ReadError {
    ReadError::Open { file: name.to_owned(), source }
}
