//! libvmaf's four output formats, to the byte.
//!
//! Their oddities are kept, since programs were written against them: a null frame value in JSON has no line break, CSV
//! rows skip missing values, every list in CSV and XML ends with its separator.

mod csv;
mod json;
mod sub;
#[cfg(test)]
mod tests;
mod xml;

use std::io::{self, Write};
use std::str::FromStr;

use visus_engine::{Column, Outcome, Pooled, pool};

use crate::Precision;

/// One of the four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Xml,
    Json,
    Csv,
    Sub,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "xml" => Ok(Self::Xml),
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            "sub" => Ok(Self::Sub),
            other => Err(format!("invalid format '{other}': it must be xml, json, csv or sub")),
        }
    }
}

/// A finished run and how it is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What stands as the program's version.
    pub version: &'a str,
    pub outcome: &'a Outcome,
    pub precision: Precision,
}

impl Report<'_> {
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Xml => xml::write(self, out),
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
            Format::Sub => sub::write(self, out),
        }
    }

    fn columns(&self) -> &[Column] {
        self.outcome.scores.columns()
    }

    /// The listed frames that have at least one score. Scores from elsewhere may lie beyond the frames that were scored; they
    /// are listed, but not pooled.
    fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        let behind = |column: &Column| column.iter().last().map_or(0, |(index, _)| index + 1);
        let end = self.columns().iter().map(behind).fold(self.outcome.frames, u64::max);
        let listed = (0..end).step_by(self.outcome.subsample as usize);
        listed.filter(|index| self.columns().iter().any(|column| column.get(*index).is_some()))
    }

    /// The number in the clip of a listed frame.
    fn frame_number(&self, index: u64) -> u64 {
        self.outcome.first_frame + index
    }

    /// The scores of a frame, in the order of the columns.
    fn scores(&self, index: u64) -> impl Iterator<Item = (&str, f64)> {
        self.columns().iter().filter_map(move |column| Some((column.name(), column.get(index)?)))
    }

    fn pooled(&self, column: &Column) -> Vec<(&'static str, f64)> {
        let names = |pooled: Pooled| {
            vec![
                ("min", pooled.min),
                ("max", pooled.max),
                ("mean", pooled.mean),
                ("harmonic_mean", pooled.harmonic_mean),
            ]
        };
        pool(column, self.outcome.frames, self.outcome.subsample).map_or(Vec::new(), names)
    }

    fn number(&self, value: f64) -> String {
        self.precision.text(value)
    }
}
