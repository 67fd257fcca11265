//! A video as a request names it, and what kind it is.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use visus_media::Sequence;
use visus_video::{ChromaRounding, Format, ReadError, Source, raw_seekable, y4m_seekable};

use crate::inputs::split_stream;

/// One of the two videos.
#[derive(Debug)]
pub enum Video {
    /// A path; `-` is standard input.
    Path(PathBuf),
    /// A file that was opened and checked; the name is for people.
    File { name: PathBuf, file: File },
    /// A folder of numbered pictures that was opened and checked; the name may end in a pattern.
    Folder { name: PathBuf, folder: File },
    /// A clip in memory.
    Memory { name: String, bytes: Arc<[u8]> },
    /// Raw or Y4M video that is read through something else than a file, as from an object store.
    Elsewhere { name: String, bytes: Arc<dyn OpenBytes> },
}

/// Bytes that can be opened, read and sought in, as often as needed.
pub trait OpenBytes: std::fmt::Debug + Send + Sync {
    fn open(&self) -> std::io::Result<Box<dyn SeekableBytes>>;
}

/// What can be read and sought in.
pub trait SeekableBytes: Read + Seek + Send {}
impl<T: Read + Seek + Send> SeekableBytes for T {}

/// How a video's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Y4m,
    Raw(Format),
    Encoded,
    /// Numbered pictures of a folder.
    Pictures,
}

const Y4M_MAGIC: &[u8] = b"YUV4MPEG";

impl Video {
    /// What people call it.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) | Self::File { name: path, .. } | Self::Folder { name: path, .. } => {
                path.to_string_lossy().into_owned()
            }
            Self::Memory { name, .. } | Self::Elsewhere { name, .. } => name.clone(),
        }
    }

    /// The same video once more, to be read after this one.
    pub fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Path(path) => Self::Path(path.clone()),
            Self::File { name, file } => Self::File { name: name.clone(), file: file.try_clone()? },
            Self::Folder { name, folder } => Self::Folder { name: name.clone(), folder: folder.try_clone()? },
            Self::Memory { name, bytes } => Self::Memory { name: name.clone(), bytes: Arc::clone(bytes) },
            Self::Elsewhere { name, bytes } => {
                Self::Elsewhere { name: name.clone(), bytes: Arc::clone(bytes) }
            }
        })
    }

    /// Whether it can be read a second time.
    pub fn is_rereadable(&self) -> bool {
        match self {
            Self::Path(path) => {
                let (path, _) = split_stream(path);
                path.metadata().is_ok_and(|metadata| metadata.is_file()) || Sequence::is_meant_by(&path)
            }
            Self::File { .. } | Self::Folder { .. } | Self::Memory { .. } | Self::Elsewhere { .. } => true,
        }
    }

    /// Whether its first bytes are those of a Y4M file. Says no of what can be read once only.
    pub fn is_y4m(&self) -> bool {
        match self {
            Self::Path(path) => !is_stream(path) && begins_as_y4m(File::open(path).ok().as_mut()),
            Self::File { file, .. } => begins_as_y4m(file.try_clone().ok().as_mut()),
            Self::Folder { .. } => false,
            Self::Memory { bytes, .. } => bytes.starts_with(Y4M_MAGIC),
            Self::Elsewhere { bytes, .. } => begins_as_y4m(bytes.open().ok().as_mut()),
        }
    }

    /// What the header of a Y4M file says.
    pub fn y4m_format(&self) -> Result<Format, ReadError> {
        self.source(None).map(|source| *source.format())
    }

    /// Y4M by its first bytes, whatever else was said; raw if a format is given; else encoded. What cannot be looked at
    /// beforehand (standard input, a named pipe) is raw or Y4M.
    pub(crate) fn kind(&self, raw: Option<Format>) -> Kind {
        let otherwise = raw.map_or(Kind::Encoded, Kind::Raw);
        match self {
            Self::Path(path) if is_stream(path) => raw.map_or(Kind::Y4m, Kind::Raw),
            Self::Path(path) if Sequence::is_meant_by(path) => Kind::Pictures,
            Self::Folder { .. } => Kind::Pictures,
            _ if self.is_y4m() => Kind::Y4m,
            // A damaged Y4M file should be called that, not a video that ffmpeg cannot read.
            Self::Path(path) if raw.is_none() && has_ending(path, "y4m") => Kind::Y4m,
            Self::Path(_) => otherwise,
            Self::File { name, .. } if raw.is_none() && has_ending(name, "y4m") => Kind::Y4m,
            Self::File { .. } => otherwise,
            Self::Memory { .. } | Self::Elsewhere { .. } => raw.map_or(Kind::Y4m, Kind::Raw),
        }
    }

    pub(crate) fn is_standard_input(&self) -> bool {
        matches!(self, Self::Path(path) if path.as_os_str() == "-")
    }

    /// Whether it is a named pipe, whose writer may wait for the other video to be opened.
    pub(crate) fn is_named_pipe(&self) -> bool {
        matches!(self, Self::Path(path) if !self.is_standard_input() && is_stream(path))
    }

    /// Encoded video on standard input, in a file without a name: ffmpeg reads it more than once. Y4M stays where it is.
    pub(crate) fn spooled(self) -> std::io::Result<Self> {
        if visus_video::peek_stdin(Y4M_MAGIC.len())? == Y4M_MAGIC {
            return Ok(self);
        }
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut visus_video::stdin_bytes()?, &mut file)?;
        file.rewind()?;
        Ok(Self::File { name: PathBuf::from("-"), file })
    }

    /// Frames of raw or Y4M video, from the beginning.
    pub(crate) fn source(&self, raw: Option<Format>) -> Result<Box<dyn Source>, ReadError> {
        match self {
            Self::Path(path) => visus_video::open(path, raw),
            Self::File { name, file } => {
                let shown = name.to_string_lossy();
                let again = file.try_clone();
                let file = again.map_err(|source| ReadError::Open { file: shown.to_string(), source })?;
                visus_video::open_file(&shown, file, raw)
            }
            Self::Folder { name, .. } => visus_video::open(name, raw),
            Self::Memory { name, bytes } => reader(name, Cursor::new(Arc::clone(bytes)), raw),
            Self::Elsewhere { name, bytes } => {
                let opened = bytes.open();
                reader(name, opened.map_err(|source| ReadError::Open { file: name.clone(), source })?, raw)
            }
        }
    }
}

fn reader(
    name: &str,
    bytes: impl Read + Seek + Send + 'static,
    raw: Option<Format>,
) -> Result<Box<dyn Source>, ReadError> {
    Ok(match raw {
        Some(format) => Box::new(raw_seekable(name, bytes, format, ChromaRounding::Auto)?),
        None => Box::new(y4m_seekable(name, bytes)?),
    })
}

/// Standard input, a named pipe, a terminal: what can be read once only.
fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// Leaves the file at its beginning.
fn begins_as_y4m(file: Option<&mut (impl Read + Seek)>) -> bool {
    let Some(file) = file else { return false };
    let mut start = [0; Y4M_MAGIC.len()];
    let is = file.rewind().and_then(|()| file.read_exact(&mut start)).is_ok() && start == Y4M_MAGIC;
    let _ = file.rewind();
    is
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    #[test]
    fn kinds_of_video() {
        let folder = tempfile::tempdir().unwrap();
        let format = Format::new(2, 2, Chroma::C420, 8).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let opened = File::open(&path).unwrap();
            [Video::Path(path.clone()), Video::File { name: path, file: opened }]
        };
        for (name, bytes, raw, expected) in [
            ("a.mp4", &b"....ftypisom"[..], None, Kind::Encoded),
            ("a.bin", b"YUV4MPEG2 W2 H2", None, Kind::Y4m),
            ("b.bin", b"YUV4MPEG2 W2 H2", Some(format), Kind::Y4m),
            ("a.yuv", b"123456", Some(format), Kind::Raw(format)),
            ("short.y4m", b"YUV", None, Kind::Y4m),
            ("c.y4m", b"123456", Some(format), Kind::Raw(format)),
        ] {
            for video in file(name, bytes) {
                assert_eq!(video.kind(raw), expected, "{video:?}");
            }
        }
        assert_eq!(Video::Path("-".into()).kind(None), Kind::Y4m);
        assert_eq!(Video::Path("/nonexistent/a.mkv".into()).kind(None), Kind::Encoded);
        assert!(!Video::Path("-".into()).is_rereadable());
    }
}
