//! Files that a child opens by a path, without a name that anybody else could use.
//!
//! On Linux the path leads through our own table of open files. So the child gets the file that was checked, whatever
//! its name stands for by now; and a temporary file needs no name at all: nothing can be left behind, however we end.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An open file and the path by which a child reaches it.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    path: PathBuf,
    /// Removes a file that had to have a name.
    _named: Option<tempfile::TempPath>,
}

impl OpenedFile {
    /// A path to an opened file. `name` is used where there is no other way.
    pub fn new(file: &File, name: &Path) -> io::Result<Self> {
        let file = file.try_clone()?;
        let path = through_table(&file).unwrap_or_else(|| name.to_path_buf());
        Ok(Self { file, path, _named: None })
    }

    /// An empty file that only we can read.
    pub fn temporary() -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        if let Some(path) = through_table(&file) {
            return Ok(Self { file, path, _named: None });
        }
        let (file, path) = tempfile::Builder::new().prefix("visus-").suffix(".json").tempfile()?.into_parts();
        Ok(Self { file, path: path.to_path_buf(), _named: Some(path) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }
}

/// The path of an open file in our table of open files, if children can use it.
#[cfg(target_os = "linux")]
fn through_table(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    path.metadata().is_ok().then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn through_table(_file: &File) -> Option<PathBuf> {
    None
}
