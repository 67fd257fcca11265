//! CSV with a line of names, read row by row. What is empty, `NaN` or `null` is missing.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;

use super::{MAX_COLUMNS, Table, Texts, Wanted, check_size};
use crate::error::TableError;

/// A longer row is none. A file may claim to be one row of a terabyte.
const MAX_ROW: usize = 4 << 20;
/// What is read ahead of the row at hand.
const BUFFER: usize = 64 << 10;

pub(super) fn read(name: String, file: File, wanted: Wanted<'_>) -> Result<Table, TableError> {
    let bad = |reason: String| TableError::Malformed { table: name.clone(), reason };
    let since_row = Rc::new(Cell::new(0));
    let bounded = Bounded { inner: file, since_row: Rc::clone(&since_row), at_start: true };
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(BUFFER).from_reader(bounded);
    let known: Vec<String> = reader
        .headers()
        .map_err(|error| bad(error.to_string()))?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    if known.len() > MAX_COLUMNS {
        return Err(bad(format!("it has {} columns, more than {MAX_COLUMNS}", known.len())));
    }
    let is_wanted = |name: &str| name != wanted.key && (wanted.numbers)(name);
    let places: Vec<usize> = (0..known.len()).filter(|place| is_wanted(&known[*place])).collect();
    let key = known.iter().position(|name| name == wanted.key);
    let mut columns = vec![Vec::new(); places.len()];
    let (mut texts, mut rows) = (Texts::default(), 0);
    let mut record = csv::StringRecord::new();
    since_row.set(0);
    while reader.read_record(&mut record).map_err(|error| bad(error.to_string()))? {
        since_row.set(0);
        for (column, place) in columns.iter_mut().zip(&places) {
            let number = number(&record[*place]).ok_or_else(|| {
                bad(format!(
                    "row {}: '{}' in column '{}' is not a number",
                    rows + 1,
                    shown(&record[*place]),
                    known[*place]
                ))
            })?;
            column.push(number);
        }
        if let Some(place) = key {
            let text = Some(&record[place]).filter(|text| !text.is_empty()).map(str::as_bytes);
            texts.push(text).map_err(bad)?;
        }
        rows += 1;
        check_size(&name, rows as u64, places.len())?;
    }
    let numbers = places.iter().map(|place| known[*place].clone()).zip(columns).collect();
    Ok(Table { name, rows, numbers, key: key.map(|_| texts), known })
}

/// The beginning of a foreign text.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "" | "null" | "NULL" | "None" | "NA" => Some(f64::NAN),
        text => text.parse().ok(),
    }
}

/// A file without its byte order mark, of which one row has a bounded length.
struct Bounded {
    inner: File,
    /// Bytes that were read since a row was complete.
    since_row: Rc<Cell<usize>>,
    at_start: bool,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut count = self.inner.read(into)?;
        if std::mem::take(&mut self.at_start) && into[..count].starts_with(b"\xef\xbb\xbf") {
            into.copy_within(3..count, 0);
            count -= 3;
        }
        let since = self.since_row.get() + count;
        if since > MAX_ROW + 2 * BUFFER {
            return Err(io::Error::other(format!(
                "a row has more than the {MAX_ROW} bytes that are allowed"
            )));
        }
        self.since_row.set(since);
        Ok(count)
    }
}
