//! Files that are used through an open handle, so that what was checked is what is read.
//!
//! On Linux a child process reaches such a file by a path through our own table of open files: it gets the file that was
//! checked, whatever its name stands for by now. A temporary file needs no name at all, so nothing can be left behind.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use visus_engine::{ModelSpec, NamedModel};

use crate::ScoreError;

/// An open file, and the path by which a child process reaches it.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    path: PathBuf,
    /// Removes a file that had to have a name.
    _named: Option<tempfile::TempPath>,
}

impl OpenedFile {
    /// A path to an open file. `name` is used where there is no other way.
    pub fn new(file: &File, name: &Path) -> io::Result<Self> {
        let file = file.try_clone()?;
        let path = through_table(&file).unwrap_or_else(|| name.to_path_buf());
        Ok(Self { file, path, _named: None })
    }

    /// An empty file that only this user can read.
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

/// The path of an open file in our table of open files, if child processes can use it.
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

/// A model's file that a front end has opened.
#[derive(Debug)]
pub struct ModelFile {
    pub file: File,
    /// What reports and errors call it.
    pub label: String,
    /// Larger files are refused.
    pub max_bytes: u64,
}

impl ModelFile {
    pub fn load(&self, spec: &ModelSpec) -> Result<NamedModel, ScoreError> {
        let fail = |reason: String| ScoreError::ModelFile { label: self.label.clone(), reason };
        let text = self.text().map_err(|error| fail(error.to_string()))?;
        NamedModel::from_json(spec, self.label.clone(), &text)
            .map_err(|error| ScoreError::Plan(visus_engine::PlanError::Load(error)))
    }

    fn text(&self) -> io::Result<String> {
        let mut file = &self.file;
        file.rewind()?;
        let mut text = String::new();
        let read = file.take(self.max_bytes + 1).read_to_string(&mut text)?;
        if read as u64 > self.max_bytes {
            return Err(io::Error::other(format!(
                "it has more than {} bytes, the limit for a model",
                self.max_bytes
            )));
        }
        Ok(text)
    }
}
