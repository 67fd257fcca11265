//! Writing tables row by row. The file appears under its name when it is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

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
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl TableWriter {
    /// A table with these columns. The ending of the path says which format.
    pub fn new(path: &Path, columns: Vec<String>) -> Result<Self, TableError> {
        match path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).as_deref() {
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

    fn write_csv(&self, file: &File) -> std::io::Result<()> {
        let mut out = csv::Writer::from_writer(BufWriter::new(file));
        out.write_record(&self.columns)?;
        for row in &self.rows {
            out.write_record(row.iter().map(Cell::text))?;
        }
        out.flush()
    }

    fn write_parquet(&self, file: &File) -> std::io::Result<()> {
        let schema = Arc::new(self.schema().map_err(std::io::Error::other)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut out = BufWriter::new(file);
        self.write_groups(schema, properties, &mut out).map_err(std::io::Error::other)?;
        out.flush()
    }

    fn write_groups(
        &self,
        schema: Arc<Type>,
        properties: WriterProperties,
        out: impl Write + Send,
    ) -> Result<(), ParquetError> {
        let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        for rows in self.rows.chunks(ROWS_OF_A_GROUP) {
            let mut group = writer.next_row_group()?;
            let mut index = 0;
            while let Some(mut column) = group.next_column()? {
                self.write_column(&mut column, rows, index)?;
                column.close()?;
                index += 1;
            }
            group.close()?;
        }
        writer.close()?;
        Ok(())
    }

    /// The kind of a column is that of its first entry.
    fn kind(&self, index: usize) -> &Cell {
        self.rows.iter().map(|row| &row[index]).find(|cell| **cell != Cell::Missing).unwrap_or(&Cell::Missing)
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let field = |(index, name): (usize, &String)| {
            let (physical, logical) = match self.kind(index) {
                Cell::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Cell::Whole(_) => (Physical::INT64, None),
                Cell::Number(_) | Cell::Missing => (Physical::DOUBLE, None),
            };
            let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            builder.with_logical_type(logical).build().map(Arc::new)
        };
        let fields = self.columns.iter().enumerate().map(field).collect::<Result<Vec<_>, _>>()?;
        Type::group_type_builder("table").with_fields(fields).build()
    }

    fn write_column(
        &self,
        column: &mut SerializedColumnWriter<'_>,
        rows: &[Vec<Cell>],
        index: usize,
    ) -> Result<(), ParquetError> {
        let cells = || rows.iter().map(|row| &row[index]);
        let levels =
            |is: fn(&Cell) -> bool| -> Vec<i16> { cells().map(|cell| i16::from(is(cell))).collect() };
        match self.kind(index) {
            Cell::Text(_) => {
                let text =
                    |cell: &Cell| matches!(cell, Cell::Text(_)).then(|| ByteArray::from(&*cell.text()));
                let values: Vec<ByteArray> = cells().filter_map(text).collect();
                let levels = levels(|cell| matches!(cell, Cell::Text(_)));
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Cell::Whole(_) => {
                let whole = |cell: &Cell| if let Cell::Whole(value) = cell { Some(*value) } else { None };
                let values: Vec<i64> = cells().filter_map(whole).collect();
                let levels = levels(|cell| matches!(cell, Cell::Whole(_)));
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Cell::Number(_) | Cell::Missing => {
                let number = |cell: &Cell| if let Cell::Number(value) = cell { Some(*value) } else { None };
                let values: Vec<f64> = cells().filter_map(number).collect();
                let levels = levels(|cell| matches!(cell, Cell::Number(_)));
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        Ok(())
    }
}

const ROWS_OF_A_GROUP: usize = 1 << 20;

impl Cell {
    fn text(&self) -> String {
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
