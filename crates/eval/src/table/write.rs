//! Writing tables row by row. The file appears under its name when it is whole.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::error::TableError;

/// One entry of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    Whole(i64),
    Number(f64),
    Missing,
}

/// Collects rows and writes them at the end.
#[derive(Debug)]
pub struct TableWriter {
    path: PathBuf,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl TableWriter {
    /// A table with these columns. The ending of the path says which format.
    pub fn new(path: &Path, columns: Vec<String>) -> Result<Self, TableError> {
        match path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).as_deref() {
            Some("parquet" | "pq") if cfg!(not(feature = "parquet")) => Err(TableError::NoParquet),
            Some("csv" | "parquet" | "pq") => {
                Ok(Self { path: path.to_path_buf(), columns, rows: Vec::new() })
            }
            _ => Err(TableError::Ending { path: path.to_path_buf() }),
        }
    }

    /// A row with an entry for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Writes all rows.
    pub fn finish(self) -> Result<(), TableError> {
        let fail = |source: std::io::Error| TableError::Write { path: self.path.clone(), source };
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(fail)?;
        let is_csv = self.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let written =
            if is_csv { self.write_csv(file.as_file()) } else { self.write_parquet(file.as_file()) };
        written.map_err(fail)?;
        let kept = file.persist(&self.path).map_err(|error| fail(error.error))?;
        readable(&kept).map_err(fail)
    }

    #[cfg(not(feature = "parquet"))]
    fn write_parquet(&self, _file: &File) -> std::io::Result<()> {
        Err(std::io::Error::other(TableError::NoParquet))
    }

    fn write_csv(&self, file: &File) -> std::io::Result<()> {
        let mut out = csv::Writer::from_writer(BufWriter::new(file));
        out.write_record(&self.columns)?;
        for row in &self.rows {
            out.write_record(row.iter().map(Cell::text))?;
        }
        out.flush()
    }
}

impl Cell {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Missing => String::new(),
        }
    }
}

/// Temporary files are for their owner alone; a result is for whom the owner's settings say.
#[cfg(unix)]
fn readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &File) -> std::io::Result<()> {
    Ok(())
}
