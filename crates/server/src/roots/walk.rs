//! Opening a resolved path so that no part of it may be a symbolic link at that moment.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::list::{Listed, not_a_folder};
use super::{PathError, shown};

/// Opens a regular file for reading. Each folder on the way is opened from the one before; a link in any place, the
/// last included, is refused, since a resolved path has none.
pub fn open_regular(path: &Path) -> Result<File, PathError> {
    open_with_folder(path).map(|(file, _)| file)
}

/// An opened folder.
pub type Folder = OwnedFd;

/// The same with the folder that it lies in.
pub fn open_with_folder(path: &Path) -> Result<(File, Folder), PathError> {
    open(path).map_err(|fault| path_error(path, fault))
}

/// The names in a folder that is opened part by part, like a file; at most so many.
pub fn names(path: &Path, most: usize) -> Result<Vec<String>, PathError> {
    let read = || {
        let (folder, _) = parent(&path.join("entry"))?;
        let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let entries = Dir::new(openat(&folder, ".", readable, Mode::empty())?)?;
        let names = entries.flatten().filter_map(|entry| Some(entry.file_name().to_str().ok()?.to_owned()));
        Ok(names.filter(|name| name != "." && name != "..").take(most).collect())
    };
    read().map_err(|fault| path_error(path, fault))
}

/// What stands under a name that is to be written.
pub enum Entry {
    Absent,
    /// A regular file.
    Same(Stat),
    Other,
}

/// The folder of a file to be written, and what stands there already.
pub fn open_parent(path: &Path) -> Result<(Folder, Entry), PathError> {
    let open = || {
        let (folder, name) = parent(path)?;
        let entry = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Entry::Absent,
            Err(error) => return Err(error.into()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Entry::Same(stat),
            Ok(_) => Entry::Other,
        };
        Ok((folder, entry))
    };
    open().map_err(|fault| path_error(path, fault))
}

/// What lies in a folder; links, devices and names that are no Unicode are left out. The folder is opened without following
/// links, and its entries are looked at from there.
pub fn list(path: &Path, most: usize) -> Result<Vec<Listed>, PathError> {
    let open = || -> Result<Vec<Listed>, Fault> {
        let (parent, name) = parent(path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let folder = openat(&parent, name, flags, Mode::empty())?;
        let mut listed = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if listed.len() < most && matches!(kind, FileType::RegularFile | FileType::Directory) {
                listed.push(Listed {
                    name: name.to_owned(),
                    is_folder: kind == FileType::Directory,
                    bytes: u64::try_from(stat.st_size).unwrap_or(0),
                    modified: u64::try_from(stat.st_mtime)
                        .ok()
                        .map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)),
                });
            }
        }
        Ok(listed)
    };
    open().map_err(|fault| match fault {
        Fault::Os(Errno::NOTDIR) | Fault::NotRegular => not_a_folder(path),
        fault => path_error(path, fault),
    })
}

/// Whether an entry is this opened file, under whatever name.
pub fn is_same(entry: &Stat, file: &File) -> bool {
    rustix::fs::fstat(file).is_ok_and(|own| (own.st_dev, own.st_ino) == (entry.st_dev, entry.st_ino))
}

fn path_error(path: &Path, fault: Fault) -> PathError {
    match fault {
        Fault::NotRegular => PathError::NotRegular(shown(path)),
        Fault::Os(Errno::NOENT | Errno::NOTDIR) => PathError::Absent(shown(path)),
        Fault::Os(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => PathError::Exhausted,
        Fault::Os(error) => {
            PathError::Unreadable { path: shown(path), reason: io::Error::from(error).kind().to_string() }
        }
    }
}

enum Fault {
    NotRegular,
    Os(Errno),
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Self {
        Self::Os(error)
    }
}

fn open(path: &Path) -> Result<(File, Folder), Fault> {
    let (folder, name) = parent(path)?;
    Ok((open_last(&folder, name)?, folder))
}

/// The folder of a path, opened, and the last part of the path.
fn parent(path: &Path) -> Result<(Folder, &OsStr), Fault> {
    let mut folder = openat(CWD, "/", folder_flags(), Mode::empty())?;
    let mut parts = path.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let mut part = parts.next().ok_or(Fault::NotRegular)?;
    for next in parts {
        folder = openat(&folder, part, folder_flags(), Mode::empty())?;
        part = next;
    }
    Ok((folder, part))
}

fn folder_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | path_only()
}

/// To pass through a folder, reading it need not be permitted.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn path_only() -> OFlags {
    OFlags::PATH
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn path_only() -> OFlags {
    OFlags::RDONLY
}

/// Looks before opening, since opening a device can have effects, and again after, since the entry may have changed.
/// Without blocking: a named pipe without a writer would hold us.
fn open_last(folder: &OwnedFd, name: &OsStr) -> Result<File, Fault> {
    let entry = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(entry.st_mode) != FileType::RegularFile {
        return Err(Fault::NotRegular);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        _ => Err(Fault::NotRegular),
    }
}
