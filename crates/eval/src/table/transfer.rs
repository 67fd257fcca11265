//! A table on its way from the worker that read it: a description, then columns of numbers, then keys.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Table, Texts, Wanted};
use crate::error::TableError;

/// What a worker is to read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TableTask {
    pub name: String,
    /// Its ending says which format.
    pub path: PathBuf,
    /// Columns of numbers, where they are there.
    pub numbers: Vec<String>,
    pub key: String,
}

/// What stands before the columns.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    name: String,
    rows: usize,
    known: Vec<String>,
    numbers: Vec<String>,
    /// Bytes of all keys, and how many are missing.
    key: Option<(usize, usize)>,
}

/// The longest description: ten thousand names.
const MAX_HEAD: u64 = 64 << 20;

impl Table {
    /// Reads what a task asks for.
    pub(crate) fn read_for(task: &TableTask, file: File) -> Result<Self, TableError> {
        let numbers = |name: &str| task.numbers.iter().any(|wanted| wanted == name);
        Self::read(task.name.clone(), &task.path, file, Wanted { numbers: &numbers, key: &task.key })
    }

    /// Writes the whole table.
    pub(crate) fn send(&self, file: File) -> io::Result<()> {
        let mut out = BufWriter::new(file);
        let head = Head {
            name: self.name.clone(),
            rows: self.rows,
            known: self.known.clone(),
            numbers: self.numbers.iter().map(|(name, _)| name.clone()).collect(),
            key: self.key.as_ref().map(|key| (key.bytes.len(), key.missing.len())),
        };
        let head = serde_json::to_vec(&head)?;
        out.write_all(&(head.len() as u64).to_le_bytes())?;
        out.write_all(&head)?;
        for (_, values) in &self.numbers {
            out.write_all(bytemuck::cast_slice(values))?;
        }
        if let Some(key) = &self.key {
            out.write_all(bytemuck::cast_slice(&key.ends))?;
            out.write_all(bytemuck::cast_slice(&key.missing))?;
            out.write_all(&key.bytes)?;
        }
        out.flush()
    }

    /// Reads what [`Self::send`] wrote. A worker that was taken over may have written anything: sizes are checked against
    /// the file before memory is taken, and places of keys before they are used.
    pub(crate) fn receive(file: File) -> io::Result<Self> {
        let bad = || io::Error::other("the table came back damaged");
        let length = file.metadata()?.len();
        let mut from = BufReader::new(file);
        let mut size = [0; 8];
        from.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        if size > MAX_HEAD.min(length) {
            return Err(bad());
        }
        let mut head = vec![0; size as usize];
        from.read_exact(&mut head)?;
        let head: Head = serde_json::from_slice(&head)?;
        if head.length() != length.checked_sub(8 + size) {
            return Err(bad());
        }
        let mut table = Self { name: head.name, rows: head.rows, known: head.known, ..Self::default() };
        for name in head.numbers {
            let mut values = vec![0f64; head.rows];
            from.read_exact(bytemuck::cast_slice_mut(&mut values))?;
            table.numbers.push((name, values));
        }
        if let Some((bytes, missing)) = head.key {
            let mut key =
                Texts { bytes: vec![0; bytes], ends: vec![0; head.rows], missing: vec![0; missing] };
            from.read_exact(bytemuck::cast_slice_mut(&mut key.ends))?;
            from.read_exact(bytemuck::cast_slice_mut(&mut key.missing))?;
            from.read_exact(&mut key.bytes)?;
            if !key.ends.is_sorted() || key.ends.last().is_some_and(|last| *last > bytes) {
                return Err(bad());
            }
            table.key = Some(key);
        }
        Ok(table)
    }
}

impl Head {
    /// Bytes that follow it.
    fn length(&self) -> Option<u64> {
        let columns = self.numbers.len().checked_add(usize::from(self.key.is_some()))?;
        let (keys, missing) = self.key.unwrap_or_default();
        let words = self.rows.checked_mul(columns)?.checked_add(missing)?;
        Some(words.checked_mul(8)?.checked_add(keys)? as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    #[test]
    fn a_table_arrives_as_it_was_sent_or_not_at_all() {
        let mut key = Texts::default();
        [Some(&b"a"[..]), None, Some(b"bcd")].into_iter().for_each(|text| key.push(text).unwrap());
        let table = Table {
            name: "t".to_owned(),
            rows: 3,
            known: vec!["x".to_owned(), "key".to_owned()],
            numbers: vec![("x".to_owned(), vec![1.0, f64::NAN, -2.5])],
            key: Some(key),
        };
        let mut file = tempfile::tempfile().unwrap();
        table.send(file.try_clone().unwrap()).unwrap();
        file.rewind().unwrap();
        let back = Table::receive(file.try_clone().unwrap()).unwrap();
        assert_eq!((back.name.as_str(), back.rows, back.known.len()), ("t", 3, 2));
        assert_eq!(back.numbers("x").unwrap()[2], -2.5);
        let keys: Vec<_> = (0..3).map(|row| back.key().unwrap().get(row).map(<[u8]>::to_vec)).collect();
        assert_eq!(keys, [Some(b"a".to_vec()), None, Some(b"bcd".to_vec())]);
        let length = file.metadata().unwrap().len();
        for shorter in 0..length {
            file.set_len(shorter).unwrap();
            file.rewind().unwrap();
            assert!(Table::receive(file.try_clone().unwrap()).is_err(), "{shorter}");
        }
    }
}
