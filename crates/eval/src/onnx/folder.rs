//! The folder of a model, opened once: files in it are reached from there, whatever its name leads to later.

use std::fs::File;
use std::io;
use std::path::{Component, Path};

/// An opened folder.
#[derive(Debug)]
pub struct Folder(place::Handle);

impl Folder {
    /// Opens a folder by its name.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        place::open(path).map(Self)
    }

    /// Takes a folder that was opened and checked by somebody else.
    pub fn from_handle(handle: place::Handle) -> Self {
        Self(handle)
    }

    /// Opens a regular file below the folder. Symbolic links and `..` are refused, and so is what is not a file: a named
    /// pipe would keep us waiting for ever.
    pub fn file(&self, name: &str) -> io::Result<File> {
        let mut parts = Vec::new();
        for part in Path::new(name).components() {
            match part {
                Component::Normal(part) => parts.push(part),
                Component::CurDir => {}
                _ => return Err(outside()),
            }
        }
        let file = place::below(&self.0, &parts)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }
}

fn outside() -> io::Error {
    io::Error::other("it must lie in the model's own folder")
}

#[cfg(unix)]
mod place {
    use super::{File, Path, io, outside};
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::Errno;
    use std::ffi::OsStr;

    pub type Handle = std::os::fd::OwnedFd;

    pub fn open(path: &Path) -> io::Result<Handle> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, path, flags, Mode::empty())?)
    }

    pub fn below(folder: &Handle, parts: &[&OsStr]) -> io::Result<File> {
        let never = || io::Error::other("it has no name");
        let (last, folders) = parts.split_last().ok_or_else(never)?;
        let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = folder.try_clone()?;
        for part in folders {
            at = openat(&at, *part, through, Mode::empty()).map_err(no_links)?;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(openat(&at, *last, flags, Mode::empty()).map_err(no_links)?))
    }

    /// A link in place of a folder is not one, and in place of a file it is one too many.
    fn no_links(error: Errno) -> io::Error {
        if matches!(error, Errno::LOOP | Errno::NOTDIR) { outside() } else { error.into() }
    }
}

/// Without folders that can be opened, names are resolved and compared.
#[cfg(not(unix))]
mod place {
    use super::{File, Path, io};
    use std::ffi::OsStr;

    pub type Handle = std::path::PathBuf;

    pub fn open(path: &Path) -> io::Result<Handle> {
        path.canonicalize()
    }

    pub fn below(folder: &Handle, parts: &[&OsStr]) -> io::Result<File> {
        let path = parts.iter().fold(folder.clone(), |path, part| path.join(part)).canonicalize()?;
        if !path.starts_with(folder) {
            return Err(super::outside());
        }
        File::open(path)
    }
}
