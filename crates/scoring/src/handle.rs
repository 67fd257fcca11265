//! Files that are used through an open handle, so that what was checked is what is read.
//!
//! On Linux a child process reaches such a file by a path through our own table of open files: it gets the file that was
//! checked, whatever its name stands for by now. A temporary file needs no name at all, so nothing can be left behind.

use std::fs::File;
use std::io::{self, Read, Seek};

use visus_engine::{ModelSpec, NamedModel};

use crate::ScoreError;

pub use visus_child::OpenedFile;

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
