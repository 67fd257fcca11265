//! Bytes with a name and a position: files, pipes, standard input and memory, read in large pieces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use crate::parts;
use crate::{ReadError, Spread};

/// Large enough that a system call costs little, and small: each frame's header fills the buffer with the begin of the
/// picture, which is then copied once more.
const BUFFER_BYTES: usize = 64 << 10;

/// Why a piece of the input could not be had.
#[derive(Debug)]
pub(crate) enum Shortfall {
    End,
    Io(io::Error),
}

impl From<io::Error> for Shortfall {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file that several readers read at places of their own.
#[cfg(unix)]
struct SharedFile {
    file: Arc<File>,
    position: u64,
}

#[cfg(unix)]
impl Read for SharedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        let count = self.file.read_at(into, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(unix)]
impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.file.metadata()?.len().checked_add_signed(distance),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

enum Bytes {
    Seekable(Box<dyn ReadSeek>),
    Stream(Box<dyn Read + Send>),
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Seekable(inner) => inner.read(into),
            Self::Stream(inner) => inner.read(into),
        }
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Seekable(inner) => inner.seek(to),
            Self::Stream(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// What was read of standard input to find out what it is; whoever opens it reads this first.
static PEEKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// The first bytes of standard input, at most `most` of them; they are not taken away from who opens it as `-` later. Waits
/// for them.
pub fn peek_stdin(most: usize) -> io::Result<Vec<u8>> {
    let mut seen = PEEKED.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < most {
        let missing = (most - seen.len()) as u64;
        stdin_file()?.take(missing).read_to_end(&mut seen)?;
    }
    Ok(seen.clone())
}

/// All of standard input, those bytes included that were looked at before.
pub fn stdin_bytes() -> io::Result<impl Read> {
    let seen = std::mem::take(&mut *PEEKED.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(io::Cursor::new(seen).chain(stdin_file()?))
}

/// Where a video's bytes come from. Positions count from where the input stood when it was opened.
pub(crate) struct Input {
    name: String,
    bytes: BufReader<Bytes>,
    position: u64,
    /// Known for what can seek. A file may have grown since, so this is a lower bound and never ends a read.
    length: Option<u64>,
    /// What can be read by several.
    #[cfg(unix)]
    shared: Option<Arc<File>>,
}

impl Input {
    /// Opens a file; `-` is standard input. A named pipe waits here for its writer.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.to_string_lossy().into_owned();
        let opened = if name == "-" { Self::stdin(&name) } else { Self::file_at(&name, File::open(path)) };
        opened.map_err(|source| ReadError::Open { file: name, source })
    }

    pub(crate) fn stream(name: &str, bytes: impl Read + Send + 'static) -> Self {
        Self::new(name, Bytes::Stream(Box::new(bytes)), None)
    }

    pub(crate) fn seekable(name: &str, mut bytes: impl ReadSeek + 'static) -> io::Result<Self> {
        let start = bytes.stream_position()?;
        let end = bytes.seek(SeekFrom::End(0))?;
        bytes.seek(SeekFrom::Start(start))?;
        let length = end.saturating_sub(start);
        Ok(Self::new(name, Bytes::Seekable(Box::new(bytes)), Some(length)))
    }

    fn new(name: &str, bytes: Bytes, length: Option<u64>) -> Self {
        let bytes = BufReader::with_capacity(BUFFER_BYTES, bytes);
        Self {
            name: name.to_owned(),
            bytes,
            position: 0,
            length,
            #[cfg(unix)]
            shared: None,
        }
    }

    /// A file that is read from its beginning; its position stays where it is.
    #[cfg(unix)]
    pub(crate) fn file_at(name: &str, file: io::Result<File>) -> io::Result<Self> {
        let file = file?;
        if !file.metadata()?.is_file() {
            return Self::file(name, Ok(file));
        }
        let file = Arc::new(file);
        let input = Self::seekable(name, SharedFile { file: Arc::clone(&file), position: 0 })?;
        Ok(Self { shared: Some(file), ..input })
    }

    #[cfg(not(unix))]
    pub(crate) fn file_at(name: &str, file: io::Result<File>) -> io::Result<Self> {
        let mut file = file?;
        if file.metadata()?.is_file() {
            file.rewind()?;
        }
        Self::file(name, Ok(file))
    }

    /// Another reader of the same bytes, at the same place.
    #[cfg(unix)]
    pub(crate) fn fork(&self) -> Option<Self> {
        let file = Arc::clone(self.shared.as_ref()?);
        let bytes = SharedFile { file: Arc::clone(&file), position: self.position };
        let input = Self::new(&self.name, Bytes::Seekable(Box::new(bytes)), self.length);
        Some(Self { position: self.position, shared: Some(file), ..input })
    }

    #[cfg(not(unix))]
    pub(crate) fn fork(&self) -> Option<Self> {
        None
    }

    fn file(name: &str, file: io::Result<File>) -> io::Result<Self> {
        let file = file?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.is_file() { Self::seekable(name, file) } else { Ok(Self::stream(name, file)) }
    }

    /// The descriptor itself: `Stdin` would put its own small buffer between, and hide a redirected file's length.
    fn stdin(name: &str) -> io::Result<Self> {
        let seen = std::mem::take(&mut *PEEKED.lock().unwrap_or_else(PoisonError::into_inner));
        if seen.is_empty() {
            Self::file(name, stdin_file())
        } else {
            Ok(Self::stream(name, io::Cursor::new(seen).chain(stdin_file()?)))
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// What lies ahead in the buffer, without waiting for more.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.bytes.buffer()
    }

    /// Reads until `into` is full or the input ends; returns how many bytes there were. Pieces that are larger than
    /// the buffer go past it.
    pub(crate) fn read_up_to(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.bytes.read(&mut into[done..]) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    self.position += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    pub(crate) fn read_exact(&mut self, into: &mut [u8]) -> Result<(), Shortfall> {
        let got = self.read_up_to(into)?;
        if got == into.len() { Ok(()) } else { Err(Shortfall::End) }
    }

    /// Fills these slices with the bytes that follow one another `ahead` bytes from here, by several hands, and stays where it
    /// is. Whether that was possible, and there were enough bytes.
    #[cfg(unix)]
    pub(crate) fn read_parts(&self, ahead: u64, slices: Vec<&mut [u8]>, hands: &dyn Spread) -> bool {
        let (Some(file), Some(start)) = (&self.shared, self.position.checked_add(ahead)) else {
            return false;
        };
        parts::read(file, start, slices, hands)
    }

    #[cfg(not(unix))]
    pub(crate) fn read_parts(&self, _ahead: u64, _slices: Vec<&mut [u8]>, _hands: &dyn Spread) -> bool {
        false
    }

    /// Passes over `count` bytes: by seeking where they are known to exist, else by reading them.
    pub(crate) fn pass(&mut self, count: u64) -> Result<(), Shortfall> {
        let end = self.position.checked_add(count).ok_or(Shortfall::End)?;
        let known = self.length.is_some_and(|length| end <= length);
        if let (true, Ok(distance)) = (known, i64::try_from(count)) {
            self.bytes.seek_relative(distance)?;
            self.position = end;
        }
        while self.position < end {
            let most = end - self.position;
            let piece = self.fill()?.len() as u64;
            self.consume(piece.min(most) as usize);
        }
        Ok(())
    }

    /// Passes over `count` bytes if these words follow them, else stays where it is. Whether it passed.
    pub(crate) fn pass_to(&mut self, count: u64, words: &[u8]) -> io::Result<bool> {
        let (Some(end), Some(length), Ok(distance)) =
            (self.position.checked_add(count), self.length, i64::try_from(count))
        else {
            return Ok(false);
        };
        if end >= length {
            return Ok(false);
        }
        self.bytes.seek_relative(distance)?;
        self.position = end;
        if matches!(self.fill(), Ok(piece) if piece.starts_with(words)) {
            return Ok(true);
        }
        self.bytes.seek_relative(-distance)?;
        self.position = end - count;
        Ok(false)
    }

    /// Reads to the next newline, which is consumed and not returned. Stops after `limit` bytes, newline included;
    /// the second value says whether the newline was found.
    pub(crate) fn line(&mut self, limit: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut line = Vec::new();
        while line.len() < limit {
            let piece = match self.fill() {
                Ok(piece) => &piece[..piece.len().min(limit - line.len())],
                Err(Shortfall::End) => break,
                Err(Shortfall::Io(error)) => return Err(error),
            };
            let newline = piece.iter().position(|byte| *byte == b'\n');
            let taken = newline.unwrap_or(piece.len());
            line.extend_from_slice(&piece[..taken]);
            self.consume(taken + usize::from(newline.is_some()));
            if newline.is_some() {
                return Ok((line, true));
            }
        }
        Ok((line, false))
    }

    fn fill(&mut self) -> Result<&[u8], Shortfall> {
        while let Err(error) = self.bytes.fill_buf() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Shortfall::Io(error));
            }
        }
        match self.bytes.buffer() {
            [] => Err(Shortfall::End),
            piece => Ok(piece),
        }
    }

    fn consume(&mut self, count: usize) {
        self.bytes.consume(count);
        self.position += count as u64;
    }
}
