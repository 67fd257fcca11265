//! `visus score`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use visus_engine::{Cancel, EngineError, FeatureSpec, Outcome, Plan, Settings, run as engine_run};
use visus_report::full::{FullReport, InputFacts};
use visus_report::libvmaf::{Format as LibvmafFormat, Report};
use visus_video::{ReadError, Source};

use super::args::{OutputArgs, ScoreArgs};
use super::draw::{self, Bar};
use super::inputs::{self, Inputs};
use super::{level, metrics, model_choice};

pub fn run(args: &ScoreArgs) -> Result<()> {
    check_outputs(&args.outputs)?;
    let Inputs { reference, distorted } = inputs::open(args)?;
    let choice = model_choice::choose(&args.models, reference.format(), reference.frame_rate())?;
    if !args.quiet {
        choice.reasons.iter().for_each(|reason| eprintln!("visus: {reason}"));
    }
    let frame_rate = reference.frame_rate();
    let features: Result<Vec<FeatureSpec>> =
        args.features.iter().map(|text| metrics::parse(text, frame_rate)).collect();
    let plan = Plan::new(&choice.models, &features?, true)?;
    let settings = settings(args);
    let scored = score(&plan, reference, distorted, &settings, args.quiet)?;
    if let Some(warning) = draw::shorter_warning(&scored.outcome, scored.totals) {
        eprintln!("visus: warning: {warning}");
    }
    write_outputs(&args.outputs, &plan, &scored)?;
    if !args.quiet && !args.outputs.uses_stdout() {
        print_all(&draw::summary(&plan, &scored.outcome, settings.threads))?;
    }
    Ok(())
}

fn settings(args: &ScoreArgs) -> Settings {
    let defaults = Settings::default();
    Settings {
        threads: args.threads.map_or(defaults.threads, usize::from),
        subsample: args.subsample,
        frames: args.frames,
        skip_reference: args.skip_ref,
        skip_distorted: args.skip_dis,
        level: level::from_environment(),
    }
}

/// A finished run with the facts of its inputs.
pub struct Scored {
    pub outcome: Outcome,
    pub reference: InputFacts,
    pub distorted: InputFacts,
    /// Frames of reference and distorted video, where known.
    pub totals: [Option<u64>; 2],
}

/// Scores under a progress bar.
pub fn score(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    quiet: bool,
) -> Result<Scored> {
    let facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    let totals = [reference.total_frames(), distorted.total_frames()];
    let mut bar = Bar::new(quiet);
    let result = engine_run(plan, reference, distorted, settings, &Cancel::new(), &mut bar);
    bar.clear();
    let outcome = result.map_err(with_advice)?;
    let [reference, distorted] = facts;
    Ok(Scored { outcome, reference, distorted, totals })
}

/// What can still be had of a file that is cut short.
fn with_advice(error: EngineError) -> anyhow::Error {
    let whole = match &error {
        EngineError::Read { source: ReadError::Truncated { whole_frames, .. }, .. } => *whole_frames,
        _ => 0,
    };
    let error = anyhow::Error::new(error);
    if whole > 0 {
        error.context(format!("--frames {whole} would score just the whole frames"))
    } else {
        error
    }
}

impl OutputArgs {
    fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.json, &self.csv, &self.xml].into_iter().flatten().map(|path| &**path)
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

fn write_outputs(outputs: &OutputArgs, plan: &Plan, scored: &Scored) -> Result<()> {
    let Scored { outcome, reference, distorted, .. } = scored;
    if let Some(path) = &outputs.json {
        let report = FullReport { version: crate::VERSION, plan, outcome, reference, distorted };
        write_to(path, |out| {
            serde_json::to_writer_pretty(&mut *out, &report.json())?;
            writeln!(out)
        })?;
    }
    let report = Report { version: crate::VERSION, outcome, precision: outputs.precision };
    if let Some(path) = &outputs.csv {
        write_to(path, |out| report.write(LibvmafFormat::Csv, out))?;
    }
    if let Some(path) = &outputs.xml {
        write_to(path, |out| report.write(LibvmafFormat::Xml, out))?;
    }
    Ok(())
}

fn write_to(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
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
