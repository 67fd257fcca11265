//! The tuning commands: search, compare, ladder, shots, cache.

pub mod args;
mod cache;
mod compare;
mod ladder;
mod progress;
mod search;
mod shots;

pub use cache::run as cache;
pub use compare::run as compare;
pub use ladder::run as ladder;
pub use search::run as search;
pub use shots::run as shots;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use visus_engine::Cancel;
use visus_tune::cache::Cache;
use visus_tune::encoders::Choices;
use visus_tune::samples::SamplePlan;
use visus_tune::{Judge, Lab, RawShape, Source, Tools, looks_raw};

use args::{CacheArgs, MeasureArgs, PlotArgs, SourceArgs};

/// How long ffmpeg may be silent before it counts as stuck.
const SILENCE: Duration = Duration::from_secs(600);

/// What every command opens first.
struct Opened {
    lab: Lab,
    source: Source,
    judge: Judge,
}

/// Opens cache, source and model. Encodes are made beside `output` if there is one, so that it can appear by rename.
fn open(source: &SourceArgs, measure: &MeasureArgs, output: Option<&Path>) -> Result<Opened> {
    let tools = Tools::find(super::launcher(), SILENCE)?;
    let beside = output.map(|output| match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    });
    if let Some(folder) = beside.as_deref().filter(|folder| !folder.is_dir()) {
        bail!("cannot write into {}: there is no such folder", folder.display());
    }
    let lab = Lab::new(tools, open_cache(&measure.cache)?, Cancel::new(), beside.as_deref())?;
    let source = Source::open(&source.source, raw_shape(source)?, &lab.tools, &lab.cache, &lab.cancel)?;
    let judge = Judge::new(&measure.model, &source.format, source.rate)?;
    Ok(Opened { lab, source, judge })
}

fn open_cache(args: &CacheArgs) -> Result<Cache> {
    if args.no_cache {
        return Ok(Cache::temporary()?);
    }
    let folder = args.cache_dir.clone().or_else(Cache::usual_folder);
    let folder =
        folder.ok_or_else(|| anyhow!("there is no folder for the cache; name one with --cache-dir"))?;
    let limit = match args.cache_size {
        Some(size) => size,
        None => Cache::usual_limit().map_err(|error| anyhow!(error))?,
    };
    Ok(Cache::open(&folder, limit)?)
}

fn raw_shape(source: &SourceArgs) -> Result<Option<RawShape>> {
    let rate = source.rate.as_deref().map(visus_scoring::names::frame_rate).transpose()?;
    if !looks_raw(&source.source) && source.size.is_none() {
        return Ok(None);
    }
    let (Some(size), Some(pix_fmt), Some(rate)) = (source.size, source.pix_fmt.clone(), rate) else {
        bail!("raw video needs --size, --pix-fmt and --rate");
    };
    Ok(Some(RawShape { width: size.width, height: size.height, pix_fmt, rate }))
}

fn choices(source: &SourceArgs, measure: &MeasureArgs) -> Result<Choices> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok((name.trim_start_matches('-').to_owned(), value.to_owned()))
        }
        _ => Err(anyhow!("'{text}' is not an option; write it as NAME=VALUE")),
    };
    let extra: Result<Vec<(String, String)>> = measure.options.iter().map(pair).collect();
    Ok(Choices { preset: measure.preset.clone(), pix_fmt: source.pix_fmt.clone(), gop: None, extra: extra? })
}

fn sample_plan(measure: &MeasureArgs) -> Result<SamplePlan> {
    if !(0.1..=600.0).contains(&measure.sample_duration) {
        bail!("--sample-duration {} must be 0.1 to 600 seconds", measure.sample_duration);
    }
    Ok(SamplePlan { count: measure.samples, seconds: measure.sample_duration })
}

fn check_target(target: f64) -> Result<()> {
    if (0.0..=110.0).contains(&target) { Ok(()) } else { bail!("target {target} must be 0 to 110") }
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes the pictures that were asked for.
fn plots(args: &PlotArgs, title: &str, svg: &str, columns: &[&str], rows: &[Vec<String>]) -> Result<()> {
    if let Some(path) = &args.svg {
        visus_tune::write_atomically(path, svg).context("the picture")?;
    }
    if let Some(path) = &args.html {
        let page = visus_report::document::chart_and_table(title, svg, columns, rows);
        visus_tune::write_atomically(path, &page).context("the page")?;
    }
    Ok(())
}

/// Columns as wide as their widest cell; numbers stand to the right.
fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&header).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let mut text = String::new();
    for row in &all {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let pad = " ".repeat(width(column) - cell.chars().count());
            if number(cell) { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
