//! Tables of features and opinion scores: Parquet or CSV, only the columns that are wanted.

mod csv_file;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parquet_write;
#[cfg(test)]
mod tests;
mod transfer;
mod write;

use std::fs::File;
use std::path::Path;

use crate::error::TableError;
pub(crate) use transfer::TableTask;
pub use write::{Cell, TableWriter};

/// Larger Parquet files are not read; CSV is read row by row, whatever its size.
#[cfg(feature = "parquet")]
const MAX_BYTES: u64 = 2 << 30;
/// More rows are not read.
const MAX_ROWS: u64 = 100_000_000;
/// More numbers are not kept: 2 GiB.
const MAX_NUMBERS: u64 = 256 << 20;
/// More columns have no names that anybody reads.
const MAX_COLUMNS: usize = 10_000;
/// A longer key is none, and all keys together are bounded: a dictionary says a long key with a few bits for each row.
const MAX_KEY: usize = 4096;
const MAX_KEY_BYTES: usize = 1 << 30;

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

    /// Adds a text. A text that is too long, or one too many, is refused in words.
    pub fn push(&mut self, text: Option<&[u8]>) -> Result<(), String> {
        let length = text.map_or(0, <[u8]>::len);
        if length > MAX_KEY {
            return Err(format!("row {}: a key has {length} bytes, more than {MAX_KEY}", self.len() + 1));
        }
        if self.bytes.len() + length > MAX_KEY_BYTES {
            return Err(format!("its keys have more than {MAX_KEY_BYTES} bytes"));
        }
        match text {
            Some(text) => self.bytes.extend_from_slice(text),
            None => self.missing.push(self.ends.len()),
        }
        self.ends.push(self.bytes.len());
        Ok(())
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
        match ending.as_deref() {
            Some("csv") => csv_file::read(name, file, wanted),
            #[cfg(feature = "parquet")]
            Some("parquet" | "pq") => parquet_file::read(name.clone(), read_all(&name, file)?, wanted),
            #[cfg(not(feature = "parquet"))]
            Some("parquet" | "pq") => Err(TableError::NoParquet),
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

#[cfg(feature = "parquet")]
fn read_all(name: &str, file: File) -> Result<bytes::Bytes, TableError> {
    use std::io::Read;
    let fail = |source| TableError::Read { table: name.to_owned(), source };
    let bytes = file.metadata().map_err(fail)?.len();
    if bytes > MAX_BYTES {
        return Err(TableError::TooLarge { table: name.to_owned(), bytes, limit: MAX_BYTES });
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut content).map_err(fail)?;
    Ok(content.into())
}

/// Whether a table of this size is read.
fn check_size(name: &str, rows: u64, columns: usize) -> Result<(), TableError> {
    let table = name.to_owned();
    if rows > MAX_ROWS {
        return Err(TableError::TooManyRows { table, rows, limit: MAX_ROWS });
    }
    let numbers = rows.saturating_mul(columns as u64);
    if numbers > MAX_NUMBERS {
        return Err(TableError::TooManyNumbers { table, rows, columns, limit: MAX_NUMBERS });
    }
    Ok(())
}
