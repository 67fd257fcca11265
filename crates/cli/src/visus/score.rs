//! `visus score`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use visus_engine::{
    Cancel, EngineError, FeatureSpec, FrameRange, Outcome, Plan, Row, Settings, run as engine_run, run_part,
};
use visus_report::full::{FullReport, InputFacts};
use visus_report::html::WorstFrame;
use visus_report::libvmaf::{Format as LibvmafFormat, Report};
use visus_report::part::{self, Asked};
use visus_video::{ReadError, Source};

use super::args::{OutputArgs, ScoreArgs};
use super::draw::{self, Bar};
use super::hash::{Hashes, Origin};
use super::inputs::{self, About, Inputs};
use super::{level, media, metrics, model_choice, range, worst};

pub fn run(args: &ScoreArgs) -> Result<()> {
    let measured = measure(args)?;
    if !args.quiet && !args.outputs.uses_stdout() {
        let mut text = draw::summary(&measured.plan, &measured.scored.outcome, measured.threads);
        if let About::Media(control) = &measured.about {
            text.push_str(&media::summary(control));
        }
        print_all(&text)?;
    }
    measured.about.check(args.media.force)
}

/// A finished run, and how it was asked for.
pub struct Measured {
    pub plan: Plan,
    pub scored: Scored,
    pub threads: usize,
    pub about: About,
}

/// Scores as the arguments say and writes the reports.
pub fn measure(args: &ScoreArgs) -> Result<Measured> {
    check_outputs(&args.outputs)?;
    let hashes = args.outputs.pages.html.as_ref().map(|_| Hashes::begin([&args.reference, &args.distorted]));
    let Inputs { reference, distorted, about } = inputs::open(args)?;
    let choice = model_choice::choose(&args.models, reference.format(), reference.frame_rate())?;
    if !args.quiet {
        choice.reasons.iter().for_each(|reason| eprintln!("visus: {reason}"));
    }
    let frame_rate = reference.frame_rate();
    let features: Result<Vec<FeatureSpec>> =
        args.features.iter().map(|text| metrics::parse(text, frame_rate)).collect();
    let asked = Asked { models: choice.models, features: features? };
    let plan = Plan::new(&asked.models, &asked.features, true)?.lean();
    let settings = settings(args, &about);
    let range = range::of(args.from, args.to, frame_rate)?;
    let mut scored = score_range(&plan, reference, distorted, &settings, range, args.quiet)?;
    if let About::Media(control) = &about {
        control.finish();
    }
    scored.sections = about.sections();
    if args.quiet || args.outputs.uses_stdout() {
        media::warnings(&about.comparability()).for_each(|text| eprintln!("visus: warning: {text}"));
    }
    if let Some(warning) = draw::shorter_warning(&scored.outcome, scored.totals) {
        eprintln!("visus: warning: {warning}");
    }
    let pictures = if args.outputs.pages.html.is_some() {
        worst::for_page(args, &plan, &scored, &about)?
    } else {
        Vec::new()
    };
    let origin = hashes.map(Hashes::finish).unwrap_or_default();
    write_outputs(&args.outputs, &plan, &scored, &asked, (&pictures, &origin))?;
    Ok(Measured { plan, scored, threads: settings.threads, about })
}

fn settings(args: &ScoreArgs, about: &About) -> Settings {
    let defaults = Settings::default();
    let skip = |count: u64| if about.skips() { 0 } else { count };
    Settings {
        threads: args.threads.map_or(defaults.threads, usize::from),
        subsample: args.subsample,
        range: args.frames.into(),
        skip_reference: skip(args.skip_ref),
        skip_distorted: skip(args.skip_dis),
        backend: level::from_environment().into(),
    }
}

/// A finished run with the facts of its inputs.
pub struct Scored {
    pub outcome: Outcome,
    pub reference: InputFacts,
    pub distorted: InputFacts,
    /// Frames of reference and distorted video, where known.
    pub totals: [Option<u64>; 2],
    /// Of a part: whether the clip ends with it, and its raw rows.
    pub part: Option<(bool, Vec<Row>)>,
    /// What else the report says: comparability, pairing, conversions.
    pub sections: Vec<(String, Value)>,
}

impl Scored {
    /// Everything about the run; of a part, what joining needs as well.
    pub fn json(&self, plan: &Plan, asked: &Asked) -> Value {
        let Self { outcome, reference, distorted, part, sections, .. } = self;
        let mut report = FullReport { version: crate::VERSION, plan, outcome, reference, distorted }.json();
        if let Some((ended, rows)) = part {
            report["part"] = part::entry(outcome, *ended, rows, asked);
        }
        for (name, section) in sections {
            report[name.as_str()] = section.clone();
        }
        report
    }
}

/// Scores under a progress bar.
pub fn score(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    quiet: bool,
) -> Result<Scored> {
    score_range(plan, reference, distorted, settings, None, quiet)
}

/// The same, or only a part of the clip.
fn score_range(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    range: Option<range::Range>,
    quiet: bool,
) -> Result<Scored> {
    let facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    let totals = [reference.total_frames(), distorted.total_frames()];
    let mut bar = Bar::new(quiet);
    let cancel = Cancel::new();
    let result = match range {
        None => {
            engine_run(plan, reference, distorted, settings, &cancel, &mut bar).map(|outcome| (outcome, None))
        }
        Some((from, to)) => {
            let settings = Settings { range: FrameRange::Part { from, to }, ..settings.clone() };
            run_part(plan, reference, distorted, &settings, &cancel, &mut bar)
                .map(|part| (part.outcome, Some((part.ended, part.rows))))
        }
    };
    bar.clear();
    let (outcome, part) = result.map_err(with_advice)?;
    let [reference, distorted] = facts;
    Ok(Scored { outcome, reference, distorted, totals, part, sections: Vec::new() })
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
        [&self.json, &self.csv, &self.xml].into_iter().flatten().map(|path| &**path).chain(self.pages.all())
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
    plan: &Plan,
    scored: &Scored,
    asked: &Asked,
    (pictures, origin): (&[WorstFrame], &Origin),
) -> Result<()> {
    if outputs.json.is_some() || outputs.pages.wanted() {
        let mut json = scored.json(plan, asked);
        if let Some(path) = &outputs.json {
            write_json(path, &json)?;
        }
        origin.add_to(&mut json);
        outputs.pages.write(&json, pictures)?;
    }
    let report = Report { version: crate::VERSION, outcome: &scored.outcome, precision: outputs.precision };
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
