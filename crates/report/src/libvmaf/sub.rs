//! Subtitles (MicroDVD): a line per frame that a player can show over the picture.

use std::io::{self, Write};

use super::Report;

pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for index in report.frames() {
        write!(out, "{{{index}}}{{{}}}frame: {index}|", index + 1)?;
        for (name, value) in report.scores(index) {
            write!(out, "{name}: {}|", report.number(value))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
