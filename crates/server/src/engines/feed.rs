//! Frames of a source as Y4M in a pipe, for a child that reads files by name.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::thread::JoinHandle;

use visus_scoring::OpenedFile;
use visus_video::{Frame, Source, Y4mWriter};

use crate::ToolError;
use crate::error::chain;

/// Frames per second of a stream whose own rate is not known; no score depends on it.
const ASSUMED_RATE: (u32, u32) = (25, 1);

/// A source on its way into a pipe.
#[derive(Debug)]
pub struct Feed {
    thread: JoinHandle<Result<(), ToolError>>,
}

/// Starts to write, and says where a child can read.
pub fn start(source: Box<dyn Source>) -> io::Result<(OpenedFile, Feed)> {
    let (reader, writer) = pipe()?;
    let place = OpenedFile::new(&reader, Path::new(""))?;
    if place.path().as_os_str().is_empty() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "pipes have no names on this system"));
    }
    let body = move || write(source, writer);
    let thread = std::thread::Builder::new().name("feed".to_owned()).spawn(body)?;
    Ok((place, Feed { thread }))
}

#[cfg(unix)]
fn pipe() -> io::Result<(File, File)> {
    use std::os::fd::OwnedFd;
    let (reader, writer) = io::pipe()?;
    Ok((File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer))))
}

#[cfg(not(unix))]
fn pipe() -> io::Result<(File, File)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "pipes have no names on this system"))
}

impl Feed {
    /// Waits for the end; to be called once nobody holds the reading end any more.
    pub fn finish(self) -> Result<(), ToolError> {
        self.thread
            .join()
            .unwrap_or_else(|_| Err(ToolError::Failed("a decoder's thread broke down".to_owned())))
    }
}

fn write(mut source: Box<dyn Source>, pipe: File) -> Result<(), ToolError> {
    let format = *source.format();
    let rate = source.frame_rate().unwrap_or(ASSUMED_RATE);
    let mut frame = Frame::new(format);
    let Some(mut out) =
        unless_closed(Y4mWriter::new(BufWriter::with_capacity(1 << 20, pipe), &format, rate))?
    else {
        return Ok(());
    };
    while source.read(&mut frame).map_err(|error| ToolError::Failed(chain(&error)))? {
        if unless_closed(out.write(&frame))?.is_none() {
            return Ok(());
        }
    }
    unless_closed(out.finish())?;
    Ok(())
}

/// A reader that has had enough is no fault.
fn unless_closed<T>(result: io::Result<T>) -> Result<Option<T>, ToolError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        Err(error) => Err(ToolError::Failed(format!("frames cannot be handed on: {error}"))),
    }
}
