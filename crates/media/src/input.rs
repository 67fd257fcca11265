//! A video by name, and what kind of file it is.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use visus_video::Format;

use crate::{MediaError, Sequence};

/// A video by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Encoded(PathBuf),
    /// `-` is standard input.
    Y4m(PathBuf),
    Raw(PathBuf, Format),
    /// Numbered pictures, and what the user calls them.
    Sequence(PathBuf, Box<Sequence>),
}

impl Input {
    /// Raw if a format is given; else by the first bytes of a regular file: what is no Y4M is taken for encoded. Pipes
    /// and standard input are Y4M.
    pub fn detect(path: &Path, raw: Option<Format>) -> Self {
        if let Some(format) = raw {
            return Self::Raw(path.to_path_buf(), format);
        }
        let regular = path != Path::new("-") && path.metadata().is_ok_and(|metadata| metadata.is_file());
        let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("y4m"));
        if path == Path::new("-") || named || (!regular && path.exists() && !path.is_dir()) {
            return Self::Y4m(path.to_path_buf());
        }
        if begins_as_y4m(path) { Self::Y4m(path.to_path_buf()) } else { Self::Encoded(path.to_path_buf()) }
    }

    pub fn is_encoded(&self) -> bool {
        matches!(self, Self::Encoded(_) | Self::Sequence(..))
    }

    /// What is wrong if an input was opened before and cannot be opened again.
    pub(crate) fn inconsistent(&self, tools: bool, probed: bool) -> MediaError {
        let reason = match (tools, probed) {
            (false, _) => "ffmpeg was not looked for",
            (true, false) => "it was not probed",
            (true, true) => "it was given away already",
        };
        MediaError::open(self.path(), reason)
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Encoded(path) | Self::Y4m(path) | Self::Raw(path, _) | Self::Sequence(path, _) => path,
        }
    }
}

fn begins_as_y4m(path: &Path) -> bool {
    let mut magic = [0; 8];
    path.metadata().is_ok_and(|metadata| metadata.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && &magic == b"YUV4MPEG"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_input() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        assert!(Input::detect(&file("a.mp4", b"....ftypisom"), None).is_encoded());
        assert!(!Input::detect(&file("a.bin", b"YUV4MPEG2 W2 H2"), None).is_encoded());
        assert!(!Input::detect(Path::new("-"), None).is_encoded());
        assert!(Input::detect(Path::new("/nonexistent/a.mkv"), None).is_encoded());
    }
}
