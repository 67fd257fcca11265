//! Parquet, column by column.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Type};
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

use super::pages::ZstdPages;
use super::{MAX_COLUMNS, Table, Texts, Wanted, check_size};
use crate::error::TableError;
use crate::stats::join;

/// Reads the wanted columns, each in a thread of its own.
pub(super) fn read(name: String, bytes: Bytes, wanted: Wanted<'_>) -> Result<Table, TableError> {
    let read = catch_unwind(AssertUnwindSafe(|| read_unguarded(&name, bytes, wanted)));
    let panicked = |_| TableError::Malformed { table: name.clone(), reason: "its reader gave up".to_owned() };
    read.map_err(panicked)?
}

fn read_unguarded(name: &str, bytes: Bytes, wanted: Wanted<'_>) -> Result<Table, TableError> {
    let bad =
        |error: ParquetError| TableError::Malformed { table: name.to_owned(), reason: error.to_string() };
    let reader = SerializedFileReader::new(bytes.clone()).map_err(bad)?;
    let rows = reader.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    check_size(name, rows, 0)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let file = ParquetFile { name, bytes, groups: reader.metadata().row_groups(), rows: rows as usize };
    let mut table = Table { name: name.to_owned(), rows: rows as usize, ..Table::default() };
    let columns: Vec<(usize, ColumnDescPtr)> = (0..).zip(schema.columns().iter().cloned()).collect();
    if columns.len() > MAX_COLUMNS {
        let reason = format!("it has {} columns, more than {MAX_COLUMNS}", columns.len());
        return Err(TableError::Malformed { table: name.to_owned(), reason });
    }
    table.known = columns.iter().map(|(_, column)| column.path().string()).collect();
    let columns: Vec<_> = columns
        .into_iter()
        .filter(|(_, column)| {
            (wanted.numbers)(&column.path().string()) || column.path().string() == wanted.key
        })
        .collect();
    check_size(name, rows, columns.len())?;
    let read = std::thread::scope(|scope| {
        let file = &file;
        let start = |(index, column): &(usize, ColumnDescPtr)| {
            let (index, column) = (*index, Arc::clone(column));
            let is_key = column.path().string() == wanted.key;
            scope.spawn(move || file.column(index, &column, is_key))
        };
        let threads: Vec<_> = columns.iter().map(start).collect();
        threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
    })?;
    for ((_, column), values) in columns.into_iter().zip(read) {
        match values {
            Values::Numbers(numbers) => table.numbers.push((column.path().string(), numbers)),
            Values::Texts(texts) => table.key = Some(texts),
        }
    }
    Ok(table)
}

enum Values {
    Numbers(Vec<f64>),
    Texts(Texts),
}

struct ParquetFile<'a> {
    name: &'a str,
    bytes: Bytes,
    groups: &'a [RowGroupMetaData],
    rows: usize,
}

impl ParquetFile<'_> {
    fn bad(&self, reason: impl ToString) -> TableError {
        TableError::Malformed { table: self.name.to_owned(), reason: reason.to_string() }
    }

    fn kind(&self, column: &ColumnDescPtr, wanted: &'static str) -> TableError {
        let kind = match column.logical_type_ref() {
            Some(logical) => format!("{logical:?}"),
            None => format!("{:?}", column.physical_type()),
        };
        TableError::Kind { table: self.name.to_owned(), column: column.path().string(), kind, wanted }
    }

    fn column(&self, index: usize, column: &ColumnDescPtr, is_key: bool) -> Result<Values, TableError> {
        if column.max_rep_level() > 0 {
            return Err(self.kind(column, "one value for each row"));
        }
        let mut values = match is_key {
            true => Values::Texts(Texts::default()),
            // The number of rows is the file's word; room is taken for what is read.
            false => Values::Numbers(Vec::new()),
        };
        for group in self.groups {
            let reader = self.reader(group, index, column)?;
            match &mut values {
                Values::Texts(texts) => self.texts(reader, column, group, texts)?,
                Values::Numbers(numbers) => self.numbers(reader, column, group, numbers)?,
            }
        }
        let count = match &values {
            Values::Texts(texts) => texts.len(),
            Values::Numbers(numbers) => numbers.len(),
        };
        if count != self.rows {
            let column = column.path().string();
            return Err(self.bad(format!("column '{column}' has {count} values in {} rows", self.rows)));
        }
        Ok(values)
    }

    /// A reader for one column of one group of rows.
    fn reader(
        &self,
        group: &RowGroupMetaData,
        index: usize,
        column: &ColumnDescPtr,
    ) -> Result<ColumnReader, TableError> {
        let chunk = group.column(index);
        let rows = usize::try_from(group.num_rows()).map_err(|error| self.bad(error))?;
        let bytes = Arc::new(self.bytes.clone());
        let pages: Box<dyn PageReader> = match chunk.compression() {
            Compression::ZSTD(_) => {
                let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
                let plain = plain.map_err(|error| self.bad(error))?;
                let packed = SerializedPageReader::new(bytes, &plain, rows, None);
                Box::new(ZstdPages { packed: packed.map_err(|error| self.bad(error))? })
            }
            Compression::BROTLI(_) | Compression::LZO => {
                let codec = format!("{:?}", chunk.compression()).to_lowercase();
                let codec = codec.split('(').next().unwrap_or_default().to_owned();
                return Err(TableError::Codec { table: self.name.to_owned(), codec });
            }
            _ => {
                let pages = SerializedPageReader::new(bytes, chunk, rows, None);
                Box::new(pages.map_err(|error| self.bad(error))?)
            }
        };
        Ok(get_column_reader(Arc::clone(column), pages))
    }

    fn numbers(
        &self,
        reader: ColumnReader,
        column: &ColumnDescPtr,
        group: &RowGroupMetaData,
        out: &mut Vec<f64>,
    ) -> Result<(), TableError> {
        let unsigned =
            matches!(column.logical_type_ref(), Some(LogicalType::Integer(kind)) if !kind.is_signed);
        let wanted = "numbers";
        let plain = match column.logical_type_ref() {
            None | Some(LogicalType::Integer(_) | LogicalType::Float16) => true,
            Some(_) => false,
        };
        if !plain {
            return Err(self.kind(column, wanted));
        }
        let push = |value: Option<f64>| {
            out.push(value.unwrap_or(f64::NAN));
            Ok(())
        };
        match reader {
            ColumnReader::DoubleColumnReader(reader) => self.each(reader, column, group, |v: &f64| *v, push),
            ColumnReader::FloatColumnReader(reader) => {
                self.each(reader, column, group, |v: &f32| f64::from(*v), push)
            }
            ColumnReader::Int32ColumnReader(reader) if unsigned => {
                self.each(reader, column, group, |v: &i32| f64::from(*v as u32), push)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                self.each(reader, column, group, |v: &i32| f64::from(*v), push)
            }
            ColumnReader::Int64ColumnReader(reader) if unsigned => {
                self.each(reader, column, group, |v: &i64| *v as u64 as f64, push)
            }
            ColumnReader::Int64ColumnReader(reader) => {
                self.each(reader, column, group, |v: &i64| *v as f64, push)
            }
            ColumnReader::BoolColumnReader(reader) => {
                self.each(reader, column, group, |v: &bool| f64::from(u8::from(*v)), push)
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) if is_half(column) => {
                self.each(reader, column, group, |v| half(v.data()), push)
            }
            _ => Err(self.kind(column, wanted)),
        }
    }

    /// Keys are texts; whole numbers count by their digits.
    fn texts(
        &self,
        reader: ColumnReader,
        column: &ColumnDescPtr,
        group: &RowGroupMetaData,
        out: &mut Texts,
    ) -> Result<(), TableError> {
        match reader {
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.each(reader, column, group, Clone::clone, |value| {
                    out.push(value.as_ref().map(|value: &parquet::data_type::ByteArray| value.data()))
                })
            }
            ColumnReader::Int32ColumnReader(reader) => {
                self.each(reader, column, group, i32::to_string, |v| {
                    out.push(v.as_deref().map(str::as_bytes))
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                self.each(reader, column, group, i64::to_string, |v| {
                    out.push(v.as_deref().map(str::as_bytes))
                })
            }
            _ => Err(self.kind(column, "texts or whole numbers")),
        }
    }

    /// Hands over every value of a group, `None` for one that is missing.
    fn each<T: DataType, V>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        column: &ColumnDescPtr,
        group: &RowGroupMetaData,
        convert: impl Fn(&T::T) -> V,
        mut take: impl FnMut(Option<V>) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let highest = column.max_def_level();
        let mut left = usize::try_from(group.num_rows()).map_err(|error| self.bad(error))?;
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        while left > 0 {
            values.clear();
            levels.clear();
            let definitions = (highest > 0).then_some(&mut levels);
            let read = reader.read_records(left.min(STEP), definitions, None, &mut values);
            let (records, ..) = read.map_err(|error| self.bad(error))?;
            if records == 0 {
                return Ok(());
            }
            let mut present = values.iter();
            let taken = if highest == 0 {
                present.try_for_each(|value| take(Some(convert(value))))
            } else {
                levels.iter().try_for_each(|level| {
                    let value = if *level == highest { present.next() } else { None };
                    take(value.map(&convert))
                })
            };
            taken.map_err(|reason| self.bad(reason))?;
            left -= records.min(left);
        }
        Ok(())
    }
}

/// Rows that are decoded at once.
const STEP: usize = 16 << 10;

fn is_half(column: &ColumnDescPtr) -> bool {
    column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY
        && matches!(column.logical_type_ref(), Some(LogicalType::Float16))
}

/// IEEE 754 half precision, little-endian.
fn half(bytes: &[u8]) -> f64 {
    let [low, high] = bytes else { return f64::NAN };
    let bits = u16::from_le_bytes([*low, *high]);
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}
