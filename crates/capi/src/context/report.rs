//! The log of a context, in one of libvmaf's four formats.

use std::ffi::c_int;
use std::io::Write;
use std::time::Duration;

use visus_engine::{Column, Outcome, Scores};
use visus_metrics::{Appears, Key};
use visus_report::Precision;
use visus_report::libvmaf::{Format, Report};
use visus_video::Chroma;

use super::{Context, Run};
use crate::abi::{Errno, Result};
use crate::columns::Moment;
use crate::registered::log_name;

/// `VMAF_OUTPUT_FORMAT_*`
pub fn format_from_c(format: c_int) -> Result<Format> {
    match format {
        1 => Ok(Format::Xml),
        2 => Ok(Format::Json),
        3 => Ok(Format::Csv),
        4 => Ok(Format::Sub),
        _ => Err(Errno::Invalid),
    }
}

/// A column of the log with the moment of its first score.
type Dated = (u64, String, Vec<(u32, f64)>);

impl Context {
    /// Writes what is known by now.
    pub fn write(&mut self, format: Format, version: &str, out: &mut dyn Write) -> Result<()> {
        self.settle();
        let outcome = self.outcome()?;
        let report = Report { version, outcome: &outcome, precision: Precision::Legacy };
        report.write(format, out).map_err(|_| Errno::Invalid)
    }

    /// Everything that is known, under the numbers that the caller gave the frames.
    fn outcome(&self) -> Result<Outcome> {
        let columns = self.dated_columns();
        let filled = |(_, name, values): Dated| {
            let length = values.iter().map(|(index, _)| *index as usize + 1).max().unwrap_or(0);
            let mut column = vec![None; length];
            values.into_iter().for_each(|(index, value)| column[index as usize] = Some(value));
            (name, column)
        };
        let aggregates = self.scores().map_or(Vec::new(), |scores| scores.aggregates().to_vec());
        let empty = || visus_video::Format::new(1, 1, Chroma::C400, 8).map_err(|_| Errno::Invalid);
        Ok(Outcome {
            format: self.shape.map_or_else(empty, |(_, format)| Ok(format))?,
            first_frame: 0,
            frames: self.pictures,
            subsample: self.settings.subsample.max(1),
            shorter: None,
            identical: false,
            scores: Scores::from_columns(columns.into_iter().map(filled).collect(), aggregates),
            elapsed: self.started.map_or(Duration::ZERO, |started| match &self.run {
                Run::Done(outcome) => outcome.elapsed,
                _ => started.elapsed(),
            }),
            backend: self.settings.backend.cpu.into(),
        })
    }

    /// All columns that have a score, in the order in which libvmaf has their first.
    fn dated_columns(&self) -> Vec<Dated> {
        let mut numbers = vec![0; self.places.len()];
        for (number, place) in &self.places {
            if let Some(entry) = numbers.get_mut(*place as usize) {
                *entry = *number;
            }
        }
        let keys = self.registered.iter().flat_map(|registered| &registered.keys);
        let mut columns: Vec<Dated> = keys
            .filter_map(|key| {
                let column = self.scores()?.column(&key.name)?;
                Some((self.appearance(key), key.name.clone(), numbered(column, &numbers)))
            })
            .chain(self.extras.iter().map(|extra| {
                let values = extra.values.iter().map(|(index, value)| (*index, *value)).collect();
                (extra.since.order(), log_name(&extra.name), values)
            }))
            .filter(|(_, _, values)| !values.is_empty())
            .collect();
        columns.sort_by_key(|(since, ..)| *since);
        columns
    }

    fn appearance(&self, key: &Key) -> u64 {
        match key.appears.within(self.places.len() as u64) {
            Appears::Frame(frame) => Moment::With(frame).order(),
            Appears::End => Moment::Flush.order(),
        }
    }
}

fn numbered(column: &Column, numbers: &[u32]) -> Vec<(u32, f64)> {
    let number = |(place, value): (u64, f64)| Some((*numbers.get(usize::try_from(place).ok()?)?, value));
    column.iter().filter_map(number).collect()
}
