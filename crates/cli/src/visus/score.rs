//! `visus score`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use visus_engine::{Cancel, EngineError};
use visus_report::html::WorstFrame;
use visus_report::libvmaf::{Format as LibvmafFormat, Report};
use visus_scoring::{OpenVideos, Prepared, ScoreError, ScoreRequest, ScoreResult, score_resolved};
use visus_video::ReadError;

use super::args::{OutputArgs, ScoreArgs};
use super::draw::{self, Bar};
use super::hash::{Hashes, Origin};
use super::{media, sampled, worst};

pub fn run(args: &ScoreArgs) -> Result<()> {
    if args.sample.is_asked_for() {
        return sampled::run(args);
    }
    let result = measure(args)?;
    if !args.run.quiet && !args.outputs.uses_stdout() {
        let mut text = draw::summary(&result.plan, &result.outcome, threads(args));
        if let Some(control) = result.pair.control() {
            text.push_str(&media::summary(control));
        }
        text.push_str(&media::input_summary(&result.pair));
        text.extend(result.tone_mapped.as_ref().map(media::tone_mapped_summary));
        fault_texts(&result).for_each(|fault| text.push_str(&format!("warning: {fault}\n")));
        print_all(&text)?;
    }
    check(&result)
}

/// What detectors found, in words.
pub fn fault_texts(result: &ScoreResult) -> impl Iterator<Item = &str> {
    let findings = result.faults.iter().flat_map(|faults| &faults.findings);
    findings.map(|finding| finding.text.as_str())
}

fn threads(args: &ScoreArgs) -> usize {
    args.run.threads.map_or_else(|| visus_engine::Settings::default().threads, usize::from)
}

/// Refuses what a score means nothing for, and says how to insist.
pub fn check(result: &ScoreResult) -> Result<()> {
    result.check().map_err(|refusal| with_advice(refusal.into()))
}

/// Scores as the arguments say and writes the reports.
pub fn measure(args: &ScoreArgs) -> Result<ScoreResult> {
    check_outputs(&args.outputs)?;
    let hashes = args.outputs.pages.html.as_ref().map(|_| Hashes::begin([&args.reference, &args.distorted]));
    let result = score_request(args.request()?, args.run.quiet)?;
    if args.run.quiet || args.outputs.uses_stdout() {
        media::warnings(&result.pair.comparability()).for_each(|text| eprintln!("visus: warning: {text}"));
        fault_texts(&result).for_each(|text| eprintln!("visus: warning: {text}"));
    }
    if let Some(warning) = draw::shorter_warning(&result.outcome, result.totals) {
        eprintln!("visus: warning: {warning}");
    }
    let pictures =
        if args.outputs.pages.html.is_some() { worst::for_page(args, &result)? } else { Vec::new() };
    let origin = hashes.map(Hashes::finish).unwrap_or_default();
    write_outputs(&args.outputs, &result, (&pictures, &origin))?;
    Ok(result)
}

/// Opens both videos and scores them under a progress bar.
fn score_request(request: ScoreRequest, quiet: bool) -> Result<ScoreResult> {
    let ScoreRequest { mut videos, selection, options } = request;
    videos.pairing.decoding = options.decoding();
    let videos = open(videos, &selection, &Cancel::new())?;
    for source in
        [&videos.reference, &videos.distorted].into_iter().filter(|_| !videos.pair.is_synchronised())
    {
        for warning in &source.info().warnings {
            eprintln!("visus: warning: {}: {warning}", source.name());
        }
    }
    let resolved = selection.resolve(&*videos.reference)?;
    if !quiet {
        resolved.notes.iter().for_each(|note| eprintln!("visus: {note}"));
    }
    under_bar(quiet, |bar| score_resolved(videos, resolved, &options, &Cancel::new(), bar))
}

/// Opens both videos; a refusal comes with advice.
pub fn open(
    videos: visus_scoring::Videos,
    selection: &visus_scoring::Selection,
    cancel: &Cancel,
) -> Result<OpenVideos> {
    let opened = Prepared::new(videos, &selection.models, cancel).and_then(Prepared::open);
    opened.map_err(with_advice)
}

/// Runs something under a progress bar.
pub fn under_bar<T>(quiet: bool, run: impl FnOnce(&mut Bar) -> Result<T, ScoreError>) -> Result<T> {
    let mut bar = Bar::new(quiet);
    let result = run(&mut bar);
    bar.clear();
    result.map_err(with_advice)
}

/// An error with what the user can do about it.
pub fn with_advice(error: ScoreError) -> anyhow::Error {
    let advice = match &error {
        ScoreError::Engine(EngineError::Read {
            source: ReadError::Truncated { whole_frames, .. }, ..
        }) if *whole_frames > 0 => Some(format!("--frames {whole_frames} would score just the whole frames")),
        ScoreError::NotComparable(refusal) if refusal.can_be_forced => {
            Some("--force scores them anyway".to_owned())
        }
        _ => None,
    };
    let error = anyhow::Error::new(error);
    match advice {
        Some(advice) => error.context(advice),
        None => error,
    }
}

impl OutputArgs {
    fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.json, &self.csv, &self.xml].into_iter().flatten().map(|path| &**path).chain(self.pages.all())
    }

    /// Whether any report is asked for.
    pub fn is_any(&self) -> bool {
        self.all().next().is_some()
    }

    pub fn uses_stdout(&self) -> bool {
        self.all().any(|path| path == Path::new("-"))
    }
}

fn check_outputs(outputs: &OutputArgs) -> Result<()> {
    if outputs.all().filter(|path| *path == Path::new("-")).count() > 1 {
        bail!("only one report can go to standard output; give the others a file: --json=FILE");
    }
    Ok(())
}

fn write_outputs(
    outputs: &OutputArgs,
    result: &ScoreResult,
    (pictures, origin): (&[WorstFrame], &Origin),
) -> Result<()> {
    if outputs.json.is_some() || outputs.pages.wanted() {
        let mut json = result.json(crate::VERSION);
        if let Some(path) = &outputs.json {
            write_json(path, &json)?;
        }
        origin.add_to(&mut json);
        outputs.pages.write(&json, pictures)?;
    }
    let report = Report { version: crate::VERSION, outcome: &result.outcome, precision: outputs.precision };
    if let Some(path) = &outputs.csv {
        write_to(path, |out| report.write(LibvmafFormat::Csv, out))?;
    }
    if let Some(path) = &outputs.xml {
        write_to(path, |out| report.write(LibvmafFormat::Xml, out))?;
    }
    Ok(())
}

/// A report as `visus` writes it.
pub fn write_json(path: &Path, report: &Value) -> Result<()> {
    write_to(path, |out| {
        serde_json::to_writer_pretty(&mut *out, report)?;
        writeln!(out)
    })
}

pub fn write_to(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let out: Box<dyn Write> = if path == Path::new("-") {
        Box::new(std::io::stdout().lock())
    } else {
        Box::new(File::create(path).with_context(|| format!("cannot create {}", path.display()))?)
    };
    let mut out = BufWriter::new(out);
    write(&mut out).and_then(|()| out.flush()).with_context(|| format!("cannot write {}", path.display()))
}

/// Prints, and reports a closed pipe as an error in place of a panic.
pub fn print_all(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}
