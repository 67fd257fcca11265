//! The lines of a finished batch, in the order of its list.
//!
//! Encodes are scored side by side, and those of a reference together, so that their lines come in any order. When all are there they
//! are put in the order of the list, which makes two runs equal to the byte, whatever their threads; `visus gather` writes the same.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use anyhow::{Context, Result};
use serde_json::Value;

use super::list::Row;

/// The lines of a file, by their tasks.
pub struct Lines<'a> {
    all: Vec<&'a str>,
    /// The last line of each task: a later attempt makes an earlier failure good.
    by_task: HashMap<String, usize>,
    rows: Vec<Option<u64>>,
}

impl<'a> Lines<'a> {
    pub fn read(text: &'a str) -> Result<Self> {
        let mut lines = Self { all: Vec::new(), by_task: HashMap::new(), rows: Vec::new() };
        for line in text.lines() {
            let mut value: Value = serde_json::from_str(line).context("a line is no line of a batch")?;
            lines.by_task.insert(value["task"].take().to_string(), lines.all.len());
            lines.rows.push(value["row"].as_u64());
            lines.all.push(line);
        }
        Ok(lines)
    }

    fn place(&self, row: &Row) -> Option<usize> {
        self.by_task.get(&row.task.to_string()).copied()
    }

    /// Whether the file is what [`write`](Self::write) would make of it.
    pub fn are_arranged(&self, rows: &[Row]) -> bool {
        let placed = rows.iter().filter_map(|row| Some((self.place(row)?, Some(row.number as u64))));
        placed.eq(self.rows.iter().copied().enumerate())
    }

    /// A line for each row of the list that has one; in front of them what belongs to other lists.
    pub fn write(&self, rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
        let places: Vec<Option<usize>> = rows.iter().map(|row| self.place(row)).collect();
        let listed: HashSet<usize> = places.iter().flatten().copied().collect();
        let last: HashSet<usize> = self.by_task.values().copied().collect();
        for index in (0..self.all.len()).filter(|index| last.contains(index) && !listed.contains(index)) {
            writeln!(out, "{}", self.all[index])?;
        }
        for (row, place) in rows.iter().zip(places) {
            let Some(index) = place else { continue };
            writeln!(out, "{}", self.numbered(index, row.number as u64))?;
        }
        Ok(())
    }

    /// A line with this number of its row.
    fn numbered(&self, index: usize, row: u64) -> String {
        let line = self.all[index];
        if self.rows[index] == Some(row) {
            return line.to_owned();
        }
        let mut value: Value = serde_json::from_str(line).unwrap_or_default();
        value["row"] = row.into();
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(number: usize, task: u64) -> Row {
        Row { number, reference: "r".into(), distorted: "d".into(), task: json!(task) }
    }

    fn arranged(text: &str, rows: &[Row]) -> String {
        let lines = Lines::read(text).unwrap();
        let mut out = Vec::new();
        lines.write(rows, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(lines.are_arranged(rows), out == text, "{text}");
        out
    }

    #[test]
    fn lines_come_in_the_order_of_the_list() {
        let [a, b] = ["{\"row\":1,\"x\":0.1,\"task\":7}\n", "{\"row\":2,\"x\":1e-7,\"task\":8}\n"];
        let rows = [row(1, 7), row(2, 8)];
        assert_eq!(arranged(&format!("{b}{a}"), &rows), format!("{a}{b}"));
        assert_eq!(arranged(&format!("{a}{b}"), &rows), format!("{a}{b}"));
        assert_eq!(arranged(b, &rows), b, "a row may lack its line");
    }

    #[test]
    fn a_row_that_is_listed_twice_has_two_lines() {
        let rows = [row(1, 7), row(2, 7)];
        let text = "{\"row\":1,\"x\":0.1,\"task\":7}\n";
        assert_eq!(arranged(text, &rows), format!("{text}{}", text.replace(":1,", ":2,")));
    }

    #[test]
    fn failures_that_were_made_good_go_and_other_lists_stay() {
        let rows = [row(1, 7)];
        let [failed, good] =
            ["{\"row\":1,\"s\":\"error\",\"task\":7}\n", "{\"row\":1,\"s\":\"ok\",\"task\":7}\n"];
        let other = "{\"row\":1,\"task\":3}\n";
        assert_eq!(arranged(&format!("{failed}{other}{good}"), &rows), format!("{other}{good}"));
    }
}
