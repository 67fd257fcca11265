//! Writing Parquet: a column of each kind, in groups of rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::write::{Cell, TableWriter};

const ROWS_OF_A_GROUP: usize = 1 << 20;

impl TableWriter {
    pub(super) fn write_parquet(&self, file: &File) -> std::io::Result<()> {
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
