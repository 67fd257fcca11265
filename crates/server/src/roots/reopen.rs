//! Opening a resolved path where folders cannot be opened one from another: open, then look whether the path still
//! leads where it did.

#![expect(
    clippy::disallowed_methods,
    reason = "this system opens no folder from another; every name is compared again after it was opened"
)]

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::list::{Listed, not_a_folder};
use super::{PathError, resolve, shown};

pub fn open_regular(path: &Path) -> Result<File, PathError> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => PathError::Absent(shown(path)),
        kind => PathError::Unreadable { path: shown(path), reason: kind.to_string() },
    };
    if !std::fs::symlink_metadata(path).map_err(fail)?.is_file() {
        return Err(PathError::NotRegular(shown(path)));
    }
    let file = File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() || resolve::resolve(path) != path {
        return Err(PathError::NotRegular(shown(path)));
    }
    Ok(file)
}

/// The names in a folder, at most so many.
pub fn names(path: &Path, most: usize) -> Result<Vec<String>, PathError> {
    let entries = std::fs::read_dir(path).map_err(|_| PathError::Absent(shown(path)))?;
    if resolve::resolve(path) != path {
        return Err(PathError::Absent(shown(path)));
    }
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).take(most).collect())
}

/// Folders cannot be kept open here; names are compared once more when they are used.
pub type Folder = std::path::PathBuf;

pub fn open_with_folder(path: &Path) -> Result<(File, Folder), PathError> {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok((open_regular(path)?, folder))
}

/// What stands under a name that is to be written.
pub enum Entry {
    Absent,
    /// A regular file.
    Same(std::fs::Metadata),
    Other,
}

pub fn open_parent(path: &Path) -> Result<(Folder, Entry), PathError> {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let entry = match std::fs::symlink_metadata(path) {
        Err(_) => Entry::Absent,
        Ok(facts) if facts.is_file() => Entry::Same(facts),
        Ok(_) => Entry::Other,
    };
    Ok((folder, entry))
}

/// What lies in a folder; links and names that are no Unicode are left out.
pub fn list(path: &Path, most: usize) -> Result<Vec<Listed>, PathError> {
    if resolve::resolve(path) != path {
        return Err(not_a_folder(path));
    }
    let entries = std::fs::read_dir(path).map_err(|_| not_a_folder(path))?;
    let listed = |entry: std::fs::DirEntry| {
        let facts = entry.metadata().ok().filter(|facts| facts.is_dir() || facts.is_file())?;
        let name = entry.file_name().into_string().ok()?;
        let modified = facts.modified().ok();
        Some(Listed { name, is_folder: facts.is_dir(), bytes: facts.len(), modified })
    };
    Ok(entries.flatten().filter_map(listed).take(most).collect())
}

/// Length and time stand for the file itself.
pub fn is_same(entry: &std::fs::Metadata, file: &File) -> bool {
    let time = |facts: &std::fs::Metadata| facts.modified().ok();
    file.metadata().is_ok_and(|own| own.len() == entry.len() && time(&own) == time(entry))
}
