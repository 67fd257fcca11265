//! From settings to scores, with libvmaf's words on the way.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

use visus_engine::model::known_options;
use visus_engine::{
    Cancel, EngineError, FeatureSpec, NamedModel, Outcome, Plan, PlanError, Side, pool, run as score,
};
use visus_metrics::MetricError;
use visus_report::libvmaf::Report;
use visus_video::{Format, ReadError, Source};

use super::Exit;
use super::progress::Meter;
use super::settings::Settings;

/// Runs what was asked for.
pub fn run(settings: &Settings) -> Exit {
    let terminal = std::io::stderr().is_terminal();
    let talks = terminal && !settings.quiet;
    for complaint in &settings.complaints {
        eprintln!("{complaint}");
    }
    for word in &settings.ignored {
        eprintln!("ignoring \"{word}\": it belongs to no option (inputs are given with -r and -d)");
    }
    if talks {
        eprintln!("VMAF version {}", crate::VERSION);
    }
    match prepare(settings).and_then(|prepared| execute(prepared, settings, talks)) {
        Ok((plan, outcome)) => finish(settings, &plan, &outcome, terminal),
        Err(exit) => exit,
    }
}

struct Prepared {
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    plan: Plan,
}

fn prepare(settings: &Settings) -> Result<Prepared, Exit> {
    let raw = settings.raw.map(|raw| raw.checked()).transpose().map_err(|error| {
        eprintln!("{error}\nproblem with reference file: {}", settings.reference);
        Exit::Failure
    })?;
    let (reference, distorted) = (Path::new(&settings.reference), Path::new(&settings.distorted));
    let (reference, distorted) = crate::open_both(reference, distorted, raw);
    let reference = usable(reference, Side::Reference, &settings.reference)?;
    let distorted = usable(distorted, Side::Distorted, &settings.distorted)?;
    check_comparable(reference.format(), distorted.format())?;
    let plan = plan(settings).map_err(|error| say_plan_error(&error))?;
    Ok(Prepared { reference, distorted, plan })
}

/// What is computed. As in libvmaf, options that a metric does not have and overloads for metrics that a model does not use
/// have no effect: callers pass the same ones with every model.
fn plan(settings: &Settings) -> Result<Plan, PlanError> {
    let models: Result<Vec<_>, _> = settings.models.iter().map(NamedModel::load_lenient).collect();
    let features: Vec<FeatureSpec> = settings
        .features
        .iter()
        .map(|feature| FeatureSpec {
            metric: feature.metric.clone(),
            options: known_options(&feature.metric, &feature.options),
        })
        .collect();
    Plan::with_models(models?, &features, !settings.no_prediction)
}

fn usable(opened: crate::Opened, side: Side, path: &str) -> Result<Box<dyn Source>, Exit> {
    let source = opened.map_err(|error| say_open_error(&error, side, path))?;
    for warning in &source.info().warnings {
        if let Some(words) = warning.libvmaf_words() {
            eprintln!("{words}");
        }
    }
    if source.info().interlacing.is_interlaced() {
        eprintln!("Error opening y4m file.\nUnknown file type.\nproblem with {side} file: {path}");
        return Err(Exit::Failure);
    }
    Ok(source)
}

fn say_open_error(error: &ReadError, side: Side, path: &str) -> Exit {
    if let Some(words) = error.libvmaf_words() {
        eprintln!("{words}");
    }
    eprintln!("{}", visus_video::chain(error));
    if !matches!(error, ReadError::Open { .. }) {
        eprintln!("Error opening y4m file.\nUnknown file type.\nproblem with {side} file: {path}");
    }
    Exit::Failure
}

/// libvmaf's numbers for chroma formats.
fn format_number(format: &Format) -> u8 {
    use visus_video::Chroma;
    match format.chroma() {
        Chroma::C420 => 0,
        Chroma::C422 => 2,
        Chroma::C444 => 3,
        Chroma::C400 => 4,
    }
}

fn check_comparable(a: &Format, b: &Format) -> Result<(), Exit> {
    let mut problems = Vec::new();
    if (a.width(), a.height()) != (b.width(), b.height()) {
        let sizes = (a.width(), a.height(), b.width(), b.height());
        problems.push(format!("dimensions do not match: {}x{}, {}x{}", sizes.0, sizes.1, sizes.2, sizes.3));
    }
    if a.chroma() != b.chroma() {
        problems.push(format!("pixel formats do not match: {}, {}", format_number(a), format_number(b)));
    }
    if a.depth() != b.depth() {
        problems.push(format!("bitdepths do not match: {}, {}", a.depth(), b.depth()));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let word = if problems.len() == 1 { "problem" } else { "problems" };
    eprintln!("{}\nvideos are incompatible, {} {word}.", problems.join("\n"), problems.len());
    Err(Exit::Failure)
}

fn say_plan_error(error: &PlanError) -> Exit {
    eprintln!("{}", visus_video::chain(error));
    // libvmaf looks at options together when the first pictures arrive, not before.
    if let PlanError::Feature { source: MetricError::Setting { .. }, .. }
    | PlanError::ModelFeature { source: MetricError::Setting { .. }, .. } = error
    {
        eprintln!("problem reading pictures\nproblem flushing context");
        return Exit::Broken;
    }
    match error {
        PlanError::Load(load) => {
            if let visus_engine::model::LoadError::NoSuchVersion { version, .. } = load {
                eprintln!("no such built-in model collection: \"{version}\"");
            }
            eprintln!("problem loading model: {}", load.label());
        }
        PlanError::UnknownMetric { name, .. } | PlanError::Feature { name, .. } => {
            eprintln!("problem loading feature extractor: {name}");
        }
        PlanError::UnknownFeature { label, .. } | PlanError::ModelFeature { label, .. } => {
            eprintln!("problem loading feature extractors from model: {label}");
        }
        PlanError::BadOption { .. } | PlanError::SameName(_) => {}
    }
    Exit::Failure
}

fn execute(prepared: Prepared, settings: &Settings, talks: bool) -> Result<(Plan, Outcome), Exit> {
    let Prepared { reference, distorted, plan } = prepared;
    let backend = settings.engine_backend().map_err(|error| {
        eprintln!("{error}");
        Exit::Usage
    })?;
    let engine = visus_engine::Settings {
        threads: usize::try_from(settings.threads).unwrap_or(usize::MAX).clamp(1, 1024),
        subsample: settings.subsample.max(1),
        range: (settings.frame_count > 0).then_some(settings.frame_count).into(),
        skip_reference: settings.skip_reference,
        skip_distorted: settings.skip_distorted,
        backend,
        observer: None,
    };
    let mut meter = Meter::new(talks);
    let result = score(&plan, reference, distorted, &engine, &Cancel::new(), &mut meter);
    meter.finish();
    match result {
        Ok(outcome) => Ok((plan, outcome)),
        Err(error) => Err(say_engine_error(&error)),
    }
}

fn say_engine_error(error: &EngineError) -> Exit {
    if let EngineError::Read { source, .. } = error
        && let Some(words) = source.libvmaf_words()
    {
        eprintln!("{words}");
    }
    if !matches!(error, EngineError::NoFrames) {
        eprintln!("{}\nproblem reading pictures", with_advice(error));
    } else {
        eprintln!("{error}");
    }
    eprintln!("problem flushing context");
    Exit::Broken
}

/// What can still be had of a file that is cut short.
fn with_advice(error: &EngineError) -> String {
    match error {
        EngineError::Read { source: ReadError::Truncated { whole_frames, .. }, .. } if *whole_frames > 0 => {
            format!("{}\n--frame_cnt {whole_frames} scores just the whole frames", visus_video::chain(error))
        }
        _ => visus_video::chain(error),
    }
}

fn finish(settings: &Settings, plan: &Plan, outcome: &Outcome, terminal: bool) -> Exit {
    if let Some(shorter) = outcome.shorter {
        let (first, second) = match shorter {
            Side::Reference => (&settings.reference, &settings.distorted),
            Side::Distorted => (&settings.distorted, &settings.reference),
        };
        eprintln!("\n\"{first}\" ended before \"{second}\".");
    }
    if terminal && (!settings.quiet || settings.output.is_none()) {
        say_scores(plan, outcome);
    }
    match &settings.output {
        Some(path) => write_report(settings, path, outcome),
        None => Exit::Success,
    }
}

fn say_scores(plan: &Plan, outcome: &Outcome) {
    let mean = |name: &str| {
        let pooled =
            outcome.scores.column(name).and_then(|column| pool(column, outcome.frames, outcome.subsample));
        pooled.map_or(f64::NAN, |pooled| pooled.mean)
    };
    for model in plan.models() {
        eprintln!("{}: {:.6}", model.label, mean(&model.name));
    }
    for model in plan.models().filter(|model| !model.siblings.is_empty()) {
        let part = |suffix: &str| mean(&format!("{}{suffix}", model.name));
        let [bagging, stddev, low, high] = visus_engine::model::BOOTSTRAP_SUFFIXES.map(part);
        eprintln!("{}: {bagging:.6}, ci.p95: [{low:.6}, {high:.6}], stddev: {stddev:.6}", model.label);
    }
}

fn write_report(settings: &Settings, path: &str, outcome: &Outcome) -> Exit {
    let report = Report { version: crate::VERSION, outcome, precision: settings.precision };
    let file = match File::create(path) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("could not open file: {path}\n{error}");
            return Exit::Failure;
        }
    };
    let mut out = BufWriter::new(file);
    match report.write(settings.format, &mut out).and_then(|()| out.flush()) {
        Ok(()) => Exit::Success,
        Err(error) => {
            eprintln!("could not write file: {path}\n{error}");
            Exit::Failure
        }
    }
}
