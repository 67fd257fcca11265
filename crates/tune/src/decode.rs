//! Frames of a window of a file, at a wanted size and format, through a pipe from ffmpeg.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;

use visus_child::Stream;
use visus_engine::Cancel;
use visus_video::{ChromaRounding, Format, Source as Frames, raw_stream};

use crate::TuneError;
use crate::encoders::reason;
use crate::source::{Source, Window};
use crate::tools::{Files, Tools, file_url};

/// How pictures are enlarged to the size of the display: bicubic, with exact rounding.
const SCALER: &str = "flags=bicubic+accurate_rnd+full_chroma_int";

/// Frames of the source.
pub(crate) fn source(
    source: &Source,
    window: Window,
    tools: &Tools,
    cancel: &Cancel,
) -> Result<Box<dyn Frames>, TuneError> {
    let mut args = head();
    args.extend(source.input(window, None));
    args.extend(tail(&source.pix_fmt));
    open(source.place(), &source.path, &args, source.format, tools, cancel)
}

/// Frames of an encode, in the format of the source it was made from.
pub(crate) fn encode(
    path: &Path,
    source: &Source,
    scaled: bool,
    tools: &Tools,
    cancel: &Cancel,
) -> Result<Box<dyn Frames>, TuneError> {
    let mut args = head();
    args.extend(["-f".into(), "mov".into(), "-i".into(), file_url(path)]);
    if scaled {
        let (width, height) = source.size();
        args.extend(["-vf".into(), format!("scale={width}:{height}:{SCALER}").into()]);
    }
    args.extend(source.every_frame().map(OsString::from));
    args.extend(tail(&source.pix_fmt));
    open(path, path, &args, source.format, tools, cancel)
}

fn head() -> Vec<OsString> {
    ["-hide_banner", "-nostdin", "-v", "error"].map(OsString::from).to_vec()
}

fn tail(pix_fmt: &str) -> [OsString; 5] {
    ["-pix_fmt", pix_fmt, "-f", "rawvideo", "pipe:1"].map(OsString::from)
}

fn open(
    place: &Path,
    path: &Path,
    args: &[OsString],
    format: Format,
    tools: &Tools,
    cancel: &Cancel,
) -> Result<Box<dyn Frames>, TuneError> {
    let files = Files { read: &[place], folder: None };
    let pipe = Pipe { stream: tools.stream(args, files, cancel)?, ended: false };
    let reader = raw_stream(&path.to_string_lossy(), pipe, format, ChromaRounding::Up)
        .map_err(|error| TuneError::Score { what: path.display().to_string(), reason: error.to_string() })?;
    Ok(Box::new(reader))
}

/// ffmpeg's output; a decoder that failed is an error at its end, not a shorter video.
struct Pipe {
    stream: Stream,
    ended: bool,
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let count = self.stream.read(into)?;
        if count == 0 && !into.is_empty() {
            self.ended = true;
            let finished = self.stream.finish();
            if finished.code != 0 {
                return Err(io::Error::other(format!("ffmpeg: {}", reason(&finished.stderr))));
            }
        }
        Ok(count)
    }
}
