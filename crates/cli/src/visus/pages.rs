//! Pages and plots: `--html`, `--svg`, `--png`, and `visus report` for reports that exist already.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::Value;
use visus_report::html::WorstFrame;
use visus_report::{Record, html, plot};

use super::score::write_to;

/// Pictures of a result.
#[derive(Clone, Debug, Default, Args)]
pub struct PageOutputs {
    /// Write one self-contained page: curve, figures, histogram, worst frames, shots, provenance
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the curve and the histogram as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Write the curve and the histogram as PNG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub png: Option<PathBuf>,
}

impl PageOutputs {
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.html, &self.svg, &self.png].into_iter().flatten().map(|path| &**path)
    }

    pub fn wanted(&self) -> bool {
        self.all().next().is_some()
    }

    /// Writes what is wanted of a report.
    pub fn write(&self, report: &Value, worst: &[WorstFrame]) -> Result<()> {
        if !self.wanted() {
            return Ok(());
        }
        let record = Record::from_json(report)?;
        if let Some(path) = &self.html {
            write_to(path, |out| out.write_all(html::page(&record, worst).as_bytes()))?;
        }
        if let Some(path) = &self.svg {
            let picture = plot::svg(&record)?;
            write_to(path, |out| out.write_all(picture.as_bytes()))?;
        }
        if let Some(path) = &self.png {
            let picture = plot::png(&record)?;
            write_to(path, |out| out.write_all(&picture))?;
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  visus report score.json --html score.html --png score.png")]
pub struct ReportArgs {
    /// A JSON report of visus or vmaf; - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub report: PathBuf,

    #[command(flatten)]
    pub pages: PageOutputs,
}

pub fn run(args: &ReportArgs) -> Result<()> {
    if !args.pages.wanted() {
        bail!("nothing to make: give --html, --svg or --png with a file");
    }
    args.pages.write(&read_json(&args.report)?, &[])
}

/// No report is larger; a device or a disk image is.
const MOST_BYTES: u64 = 1 << 30;

/// A report from a file.
pub fn read_json(path: &Path) -> Result<Value> {
    let text = read_text(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON report", path.display()))
}

pub fn read_record(path: &Path) -> Result<Record> {
    Record::from_json(&read_json(path)?).with_context(|| path.display().to_string())
}

fn read_text(path: &Path) -> Result<String> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).context("cannot be opened")?)
    };
    let mut text = String::new();
    input.take(MOST_BYTES + 1).read_to_string(&mut text).context("cannot be read")?;
    if text.len() as u64 > MOST_BYTES {
        bail!("it has more than {MOST_BYTES} bytes, more than any report");
    }
    Ok(text)
}
