//! Where a finished file goes: a name in a folder that was opened when the request was checked.
//!
//! Between the check and the end of an encode lie minutes. The folder's name may lead elsewhere by then; its handle does not.
//! The file appears under its name complete or not at all.

#![expect(
    clippy::disallowed_methods,
    reason = "the command line names outputs by path; a server hands over the opened folder"
)]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TuneError;

/// A file that is to be written.
#[derive(Clone, Debug)]
pub struct OutputFile {
    folder: Arc<folder::Handle>,
    name: OsString,
    /// For people.
    path: PathBuf,
    overwrite: bool,
}

impl OutputFile {
    /// A file by its path, as the user of a command line names it: what is there already is replaced.
    pub fn at(path: &Path) -> Result<Self, TuneError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(|error| TuneError::io(parent, error))?;
        let folder = folder::open(parent).map_err(|error| TuneError::io(parent, error))?;
        Self::new(folder, path, true)
    }

    /// A file in a folder that was opened and checked by somebody else.
    pub fn in_folder(folder: folder::Handle, path: &Path, overwrite: bool) -> Result<Self, TuneError> {
        Self::new(folder, path, overwrite)
    }

    fn new(folder: folder::Handle, path: &Path, overwrite: bool) -> Result<Self, TuneError> {
        let name = path.file_name().map(OsStr::to_owned).ok_or_else(|| TuneError::Invalid {
            name: "output",
            value: path.display().to_string(),
            reason: "it names no file".to_owned(),
        })?;
        Ok(Self { folder: Arc::new(folder), name, path: path.to_owned(), overwrite })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the content of a finished file, which stays where it is.
    pub(crate) fn receive(&self, from: &Path) -> Result<(), TuneError> {
        folder::copy_into(&self.folder, &self.name, from, self.overwrite)
            .map_err(|error| TuneError::io(&self.path, error))
    }
}

#[cfg(unix)]
mod folder {
    use super::{OsStr, Path};
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, unlinkat};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;

    pub type Handle = std::os::fd::OwnedFd;

    pub fn open(path: &Path) -> io::Result<Handle> {
        Ok(openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// A copy under a name of its own, which is then given the wanted name.
    pub fn copy_into(folder: &Handle, name: &OsStr, from: &Path, overwrite: bool) -> io::Result<()> {
        let part = format!(".visus-{}-{:x}.part", std::process::id(), unique());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(folder, &part, flags, Mode::from_raw_mode(0o600))?);
        let copied = File::open(from).and_then(|mut from| io::copy(&mut from, &mut file));
        let named = copied.and_then(|_| {
            // A result is for whoever may read the folder.
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))?;
            rename(folder, part.as_ref(), name, overwrite)
        });
        named.inspect_err(|_| {
            // What cannot be removed either is reported by its first error.
            let _ = unlinkat(folder, &part, AtFlags::empty());
        })
    }

    fn rename(folder: &Handle, from: &OsStr, to: &OsStr, overwrite: bool) -> io::Result<()> {
        if overwrite {
            return Ok(renameat(folder, from, folder, to)?);
        }
        match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot say it in one step; a second name never replaces a file either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
                Ok(unlinkat(folder, from, AtFlags::empty())?)
            }
            other => Ok(other?),
        }
    }

    fn unique() -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

/// Without folders that can be opened, names are all there is.
#[cfg(not(unix))]
mod folder {
    use super::{OsStr, Path};
    use std::io;

    pub type Handle = std::path::PathBuf;

    pub fn open(path: &Path) -> io::Result<Handle> {
        path.canonicalize()
    }

    pub fn copy_into(folder: &Handle, name: &OsStr, from: &Path, overwrite: bool) -> io::Result<()> {
        let to = folder.join(name);
        let mut copy = tempfile::Builder::new().prefix(".visus-").tempfile_in(folder)?;
        io::copy(&mut std::fs::File::open(from)?, copy.as_file_mut())?;
        let kept = if overwrite { copy.persist(&to) } else { copy.persist_noclobber(&to) };
        kept.map(drop).map_err(|error| error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_swapped_gets_nothing() {
        let place = tempfile::tempdir().unwrap();
        let [films, elsewhere, from] = ["films", "elsewhere", "from"].map(|name| place.path().join(name));
        std::fs::create_dir(&films).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(&from, "encode").unwrap();
        let output = OutputFile::at(&films.join("out.mp4")).unwrap();
        let moved = place.path().join("moved");
        std::fs::rename(&films, &moved).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&elsewhere, &films).unwrap();
        #[cfg(unix)]
        {
            output.receive(&from).unwrap();
            assert_eq!(std::fs::read_to_string(moved.join("out.mp4")).unwrap(), "encode");
            assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_there_is_replaced_only_where_that_was_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        std::fs::write(&from, "new").unwrap();
        let path = place.path().join("out.mp4");
        std::fs::write(&path, "old").unwrap();
        let folder = || folder::open(place.path()).unwrap();
        let careful = OutputFile::in_folder(folder(), &path, false).unwrap();
        assert!(careful.receive(&from).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        OutputFile::in_folder(folder(), &path, true).unwrap().receive(&from).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2, "no part is left");
    }
}
