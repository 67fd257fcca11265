//! Tables of features and opinion scores: Parquet or CSV, only the columns that are wanted.

mod csv_file;
mod pages;
mod parquet_file;
#[cfg(test)]
mod tests;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;

use crate::error::TableError;
pub use write::{Cell, TableWriter};

/// Larger files are not read.
const MAX_BYTES: u64 = 8 << 30;
/// More rows are not read.
const MAX_ROWS: u64 = 100_000_000;

/// Columns of a table.
#[derive(Debug, Default)]
pub struct Table {
    /// The file, for people.
    pub name: String,
    pub rows: usize,
    /// The names of all columns of the file.
    pub known: Vec<String>,
    numbers: Vec<(String, Vec<f64>)>,
    key: Option<Texts>,
}

/// What is read of a table.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Columns of numbers, where they are there.
    pub numbers: &'a dyn Fn(&str) -> bool,
    /// A column of texts, where it is there.
    pub key: &'a str,
}

impl std::fmt::Debug for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Texts in one piece; some may be missing.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    missing: Vec<usize>,
}

impl Texts {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn push(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => self.bytes.extend_from_slice(text),
            None => self.missing.push(self.ends.len()),
        }
        self.ends.push(self.bytes.len());
    }

    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let end = *self.ends.get(row)?;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let missing = start == end && self.missing.binary_search(&row).is_ok();
        (!missing).then(|| &self.bytes[start..end])
    }
}

impl Table {
    /// Reads a file; its ending says what it is.
    pub fn open(path: &Path, wanted: Wanted<'_>) -> Result<Self, TableError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| TableError::Read { table: name.clone(), source })?;
        Self::read(name, path, file, wanted)
    }

    /// Reads an opened file under a name for people.
    pub fn read(name: String, path: &Path, file: File, wanted: Wanted<'_>) -> Result<Self, TableError> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let bytes = read_all(&name, file)?;
        match ending.as_deref() {
            Some("csv") => csv_file::read(name, &bytes, wanted),
            Some("parquet" | "pq") => parquet_file::read(name, bytes, wanted),
            _ => Err(TableError::Ending { path: path.to_path_buf() }),
        }
    }

    /// A column of numbers; what is missing is NaN.
    pub fn numbers(&self, column: &str) -> Option<&[f64]> {
        self.numbers.iter().find(|(name, _)| name == column).map(|(_, values)| values.as_slice())
    }

    pub fn key(&self) -> Option<&Texts> {
        self.key.as_ref()
    }
}

fn read_all(name: &str, file: File) -> Result<Bytes, TableError> {
    let fail = |source| TableError::Read { table: name.to_owned(), source };
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > MAX_BYTES {
        return Err(TableError::TooLarge { table: name.to_owned(), bytes, limit: MAX_BYTES });
    }
    let mut content = Vec::with_capacity(bytes as usize);
    file.take(MAX_BYTES).read_to_end(&mut content).map_err(fail)?;
    Ok(content.into())
}
