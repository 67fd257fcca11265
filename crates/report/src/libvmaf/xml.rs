//! XML.

use std::io::{self, Write};

use visus_metrics::printf;

use super::Report;

pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let format = &report.outcome.format;
    writeln!(out, "<VMAF version=\"{}\">", report.version)?;
    writeln!(out, "  <params qualityWidth=\"{}\" qualityHeight=\"{}\" />", format.width(), format.height())?;
    writeln!(out, "  <fyi fps=\"{}\" />", printf::fixed(report.outcome.fps(), 2))?;
    write_frames(report, out)?;
    write_pooled(report, out)?;
    write!(out, "  <aggregate_metrics ")?;
    write_attributes(
        report,
        report.outcome.scores.aggregates().iter().map(|(name, value)| (&**name, *value)),
        out,
    )?;
    writeln!(out, "/>\n</VMAF>")
}

fn write_frames(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  <frames>")?;
    for index in report.frames() {
        write!(out, "    <frame frameNum=\"{}\" ", report.frame_number(index))?;
        write_attributes(report, report.scores(index), out)?;
        writeln!(out, "/>")?;
    }
    writeln!(out, "  </frames>")
}

fn write_pooled(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  <pooled_metrics>")?;
    for column in report.columns() {
        write!(out, "    <metric name=\"{}\" ", column.name())?;
        write_attributes(report, report.pooled(column).into_iter(), out)?;
        writeln!(out, "/>")?;
    }
    writeln!(out, "  </pooled_metrics>")
}

fn write_attributes<'a>(
    report: &Report<'_>,
    attributes: impl Iterator<Item = (&'a str, f64)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, value) in attributes {
        write!(out, "{name}=\"{}\" ", report.number(value))?;
    }
    Ok(())
}
