//! JSON.

use std::io::{self, Write};

use super::Report;

pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{")?;
    writeln!(out, "  \"version\": \"{}\",", report.version)?;
    writeln!(out, "  \"fps\": {},", fps(report.outcome.fps()))?;
    write_frames(report, out)?;
    write_pooled(report, out)?;
    write_aggregates(report, out)?;
    writeln!(out, "}}")
}

fn fps(fps: f64) -> String {
    if fps.is_finite() { format!("{fps:.2}") } else { "null".to_owned() }
}

fn number(report: &Report<'_>, value: f64) -> String {
    if value.is_finite() { report.number(value) } else { "null".to_owned() }
}

fn write_frames(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  \"frames\": [")?;
    for index in report.frames() {
        write!(out, "{}", if index > 0 { ",\n" } else { "\n" })?;
        writeln!(out, "    {{\n      \"frameNum\": {},\n      \"metrics\": {{", report.frame_number(index))?;
        let mut scores = report.scores(index).peekable();
        while let Some((name, value)) = scores.next() {
            let comma = if scores.peek().is_some() { "," } else { "" };
            // A value that JSON cannot hold lacks its line break in libvmaf.
            let end = if value.is_finite() { "\n" } else { "" };
            write!(out, "        \"{name}\": {}{comma}{end}", number(report, value))?;
        }
        write!(out, "      }}\n    }}")?;
    }
    writeln!(out, "\n  ],")
}

fn write_pooled(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  \"pooled_metrics\": {{")?;
    for (position, column) in report.columns().iter().enumerate() {
        write!(out, "{}    \"{}\": {{", if position > 0 { ",\n" } else { "\n" }, column.name())?;
        for (position, (method, value)) in report.pooled(column).into_iter().enumerate() {
            let separator = if position > 0 { ",\n" } else { "\n" };
            write!(out, "{separator}      \"{method}\": {}", number(report, value))?;
        }
        write!(out, "\n    }}")?;
    }
    writeln!(out, "\n  }},")
}

fn write_aggregates(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  \"aggregate_metrics\": {{")?;
    for (position, (name, value)) in report.outcome.scores.aggregates().iter().enumerate() {
        let separator = if position > 0 { "," } else { "" };
        write!(out, "{separator}\n    \"{name}\": {}", number(report, *value))?;
    }
    writeln!(out, "\n  }}")
}
