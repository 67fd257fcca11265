//! CSV with a line of names. What is empty, `NaN` or `null` is missing.

use super::{MAX_ROWS, Table, Texts, Wanted};
use crate::error::TableError;

pub(super) fn read(name: String, bytes: &[u8], wanted: Wanted<'_>) -> Result<Table, TableError> {
    let bad = |reason: String| TableError::Malformed { table: name.clone(), reason };
    let mut reader = csv::Reader::from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let known: Vec<String> = reader
        .headers()
        .map_err(|error| bad(error.to_string()))?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let is_wanted = |name: &str| name != wanted.key && (wanted.numbers)(name);
    let places: Vec<usize> = (0..known.len()).filter(|place| is_wanted(&known[*place])).collect();
    let key = known.iter().position(|name| name == wanted.key);
    let mut columns = vec![Vec::new(); places.len()];
    let (mut texts, mut rows) = (Texts::default(), 0);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad(error.to_string()))? {
        for (column, place) in columns.iter_mut().zip(&places) {
            let number = number(&record[*place]).ok_or_else(|| {
                bad(format!(
                    "row {}: '{}' in column '{}' is not a number",
                    rows + 1,
                    &record[*place],
                    known[*place]
                ))
            })?;
            column.push(number);
        }
        if let Some(place) = key {
            texts.push(Some(&record[place]).filter(|text| !text.is_empty()).map(str::as_bytes));
        }
        rows += 1;
        if rows as u64 > MAX_ROWS {
            return Err(TableError::TooManyRows { table: name, rows: rows as u64, limit: MAX_ROWS });
        }
    }
    let numbers = places.iter().map(|place| known[*place].clone()).zip(columns).collect();
    Ok(Table { name, rows, numbers, key: key.map(|_| texts), known })
}

fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "" | "null" | "NULL" | "None" | "NA" => Some(f64::NAN),
        text => text.parse().ok(),
    }
}
