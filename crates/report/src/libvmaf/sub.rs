//! Subtitles (MicroDVD): a line per frame that a player can show over the picture.

use std::io::{self, Write};

use super::Report;

pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for index in report.frames() {
        let number = report.frame_number(index);
        write!(out, "{{{number}}}{{{}}}frame: {number}|", number + 1)?;
        for (name, value) in report.scores(index) {
            write!(out, "{name}: {}|", report.number(value))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
