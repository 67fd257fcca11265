//! CSV.

use std::io::{self, Write};

use super::Report;

pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Frame,")?;
    for column in report.columns() {
        write!(out, "{},", column.name())?;
    }
    writeln!(out)?;
    for index in report.frames() {
        write!(out, "{},", report.frame_number(index))?;
        for (_, value) in report.scores(index) {
            write!(out, "{},", report.number(value))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
