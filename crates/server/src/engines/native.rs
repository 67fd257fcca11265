//! The embedded engine.

use std::io::Read;
use std::time::{Duration, Instant};

use visus_engine::model::automatic;
use visus_engine::{EngineError, Event, FeatureSpec, Flow, ModelSpec, NamedModel, Plan, Settings, Side, run};
use visus_metrics::Level;
use visus_report::full::InputFacts;
use visus_video::{Format, Source};

use super::encoded::{self, Decoders, Opened, Videos};
use super::{Input, MAX_MODEL_BYTES, ModelWish, ScoreTask, Tuning, WantedModel, model_mismatch, unavailable};
use crate::ToolError;
use crate::config::EngineKind;
use crate::error::chain;
use crate::jobs::Context;
use crate::report::{EngineFacts, ModelFacts, ScoreReport};

/// The backends of this build.
pub const AVAILABLE: [&str; 1] = ["cpu"];

/// The model that fits almost any size.
const FALLBACK: &str = "vmaf_v0.6.1";

/// Progress is told at most so often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Refuses a backend that this build does not have.
pub fn check_backend(backend: &str) -> Result<(), ToolError> {
    if backend == "auto" || AVAILABLE.contains(&backend) {
        return Ok(());
    }
    Err(unavailable(backend, &AVAILABLE))
}

/// Scores in this process.
pub fn score(
    task: ScoreTask,
    level: Level,
    decoders: &Decoders,
    context: &Context,
) -> Result<ScoreReport, ToolError> {
    check_backend(&task.backend)?;
    if task.tiny.as_ref().is_some_and(|tiny| tiny.model.options.no_reference) {
        return score_alone(task, level, decoders, context);
    }
    let Some(wish) = task.encoded else {
        let (reference, distorted) = (task.reference.source(task.raw)?, task.distorted.source(task.raw)?);
        return score_sources(task, reference, distorted, level, decoders, context);
    };
    let Opened { reference, distorted, pairing } =
        encoded::open(wish, &Videos::of(&task), decoders, &context.cancel)?;
    let mut task = task;
    // The pair has skipped already.
    (task.tuning.skip_ref, task.tuning.skip_dist) = (0, 0);
    let report = score_sources(task, reference, distorted, level, decoders, context);
    let mut report = report.map_err(|error| pairing.renamed(error))?;
    report.reference.file = pairing.name(&report.reference.file);
    report.distorted.file = pairing.name(&report.distorted.file);
    report.note_pairing(pairing.finish()?);
    Ok(report)
}

/// Scores what two sources give.
fn score_sources(
    task: ScoreTask,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    level: Level,
    decoders: &Decoders,
    context: &Context,
) -> Result<ScoreReport, ToolError> {
    let facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    let totals = [reference.total_frames(), distorted.total_frames()];
    let ScoreTask { models, features, tuning, mut notes, tiny, .. } = task;
    let mut features: Vec<FeatureSpec> = features.into_iter().map(|(_, spec)| spec).collect();
    let further = tiny.as_ref().map_or(Vec::new(), |tiny| tiny.further_metrics(&features));
    features.extend_from_slice(&further);
    let plan = plan(models, &features, !tuning.no_prediction, &*reference, &mut notes)?;
    let settings = settings(&tuning, level);
    let mut outcome = run_told(&plan, reference, distorted, &settings, context)?;
    let mut extra_columns: Vec<String> = plan.extra_columns().map(str::to_owned).collect();
    if let Some(tiny) = &tiny {
        extra_columns.retain(|name| !given_by(&further, name));
        extra_columns.extend(tiny.add_to(
            &mut outcome,
            || distorted_alone(&task.distorted, task.raw, task.encoded.is_some(), decoders, context),
            &tuning,
            context,
        )?);
        notes.extend_from_slice(&tiny.model.notes);
    }
    notes.extend(warnings(&facts));
    notes.extend(outcome.shorter.map(|side| shorter(side, outcome.frames, totals)));
    let [reference, distorted] = facts;
    let models: Vec<ModelFacts> =
        plan.models().map(model_facts).chain(tiny.iter().map(|tiny| tiny.facts())).collect();
    let report = ScoreReport {
        engine: EngineFacts {
            kind: EngineKind::Native,
            version: crate::VERSION.to_owned(),
            cpu_level: Some(outcome.backend.cpu.name().to_owned()),
            binary: None,
        },
        backend_requested: task.backend,
        backend_used: "cpu".to_owned(),
        mismatched_model: models.iter().find_map(|model| model_mismatch(&model.label, &outcome.format)),
        models,
        extra_columns,
        reference,
        distorted,
        outcome,
        foreign_pooled: None,
        text: None,
        precision: task.precision,
        detail: task.detail,
        notes,
        sections: Vec::new(),
        paired_shots: None,
    };
    with_text(report, task.format)
}

/// The report with its text in another format than JSON, if one is asked for.
fn with_text(
    mut report: ScoreReport,
    format: Option<(&'static str, visus_report::libvmaf::Format)>,
) -> Result<ScoreReport, ToolError> {
    if let Some((name, format)) = format {
        let bytes = report.write(format).map_err(|error| ToolError::failed(&error))?;
        report.text = Some((name, String::from_utf8_lossy(&bytes).into_owned()));
    }
    Ok(report)
}

/// Whether a column comes from one of these metrics.
fn given_by(metrics: &[FeatureSpec], column: &str) -> bool {
    let keys = |spec: &FeatureSpec| {
        let metric = visus_metrics::registry::by_name(&spec.metric);
        metric.and_then(|info| visus_metrics::registry::build(info, &spec.options).ok())
    };
    metrics.iter().filter_map(keys).any(|metric| metric.keys().iter().any(|key| key.name == column))
}

/// Scores the distorted video by itself, with a model on pictures. The reference is not looked at.
fn score_alone(
    task: ScoreTask,
    level: Level,
    decoders: &Decoders,
    context: &Context,
) -> Result<ScoreReport, ToolError> {
    let ScoreTask { tiny: Some(tiny), distorted, mut notes, .. } = task else {
        return Err(ToolError::Cancelled);
    };
    let source = distorted_alone(&distorted, task.raw, task.encoded.is_some(), decoders, context)?;
    let mut facts = InputFacts::of(&*source);
    facts.file = crate::error::cleaned(&distorted.name.to_string_lossy());
    let outcome = tiny.alone(source, &task.tuning, level, context)?;
    notes.extend_from_slice(&tiny.model.notes);
    notes.push("no_reference: only the distorted video was scored".to_owned());
    let report = ScoreReport {
        engine: EngineFacts {
            kind: EngineKind::Native,
            version: crate::VERSION.to_owned(),
            cpu_level: Some(outcome.backend.cpu.name().to_owned()),
            binary: None,
        },
        backend_requested: task.backend,
        backend_used: "cpu".to_owned(),
        models: vec![tiny.facts()],
        extra_columns: Vec::new(),
        reference: facts.clone(),
        distorted: facts,
        outcome,
        foreign_pooled: None,
        text: None,
        precision: task.precision,
        detail: task.detail,
        mismatched_model: None,
        notes,
        sections: Vec::new(),
        paired_shots: None,
    };
    with_text(report, task.format)
}

/// The distorted video once more, by itself.
fn distorted_alone(
    input: &Input,
    raw: Option<Format>,
    is_encoded: bool,
    decoders: &Decoders,
    context: &Context,
) -> Result<Box<dyn Source>, ToolError> {
    if is_encoded { encoded::one(input, decoders, &context.cancel) } else { input.source(raw) }
}

/// Loads models from their opened files, and collects what is to be computed.
fn plan(
    wish: ModelWish,
    features: &[FeatureSpec],
    predict: bool,
    source: &dyn Source,
    notes: &mut Vec<String>,
) -> Result<Plan, ToolError> {
    let build = |models: Vec<NamedModel>| {
        Plan::with_models(models, features, predict).map_err(|error| ToolError::Refused(chain(&error)))
    };
    match wish {
        ModelWish::These(models) => build(models.into_iter().map(load).collect::<Result<_, _>>()?),
        ModelWish::Auto => {
            let (version, reason) = automatic(source.format(), source.frame_rate());
            let plan = build(vec![load_version(version)?])?;
            let Err(error) = plan.check_format(source.format()) else {
                notes.push(reason);
                return Ok(plan);
            };
            notes.push(format!("model {FALLBACK}: {version} is out, {}", chain(&error)));
            build(vec![load_version(FALLBACK)?])
        }
    }
}

fn load_version(version: &str) -> Result<NamedModel, ToolError> {
    NamedModel::load(&ModelSpec::version(version)).map_err(|error| ToolError::failed(&error))
}

fn load(wanted: WantedModel) -> Result<NamedModel, ToolError> {
    let Some(opened) = wanted.file else {
        return NamedModel::load(&wanted.spec).map_err(|error| ToolError::failed(&error));
    };
    let label = crate::error::cleaned(&opened.path.to_string_lossy());
    let mut text = String::new();
    let read = opened.file.take(MAX_MODEL_BYTES).read_to_string(&mut text);
    read.map_err(|error| ToolError::Failed(format!("model {label}: {error}")))?;
    NamedModel::from_json(&wanted.spec, label, &text).map_err(|error| ToolError::failed(&error))
}

fn settings(tuning: &Tuning, level: Level) -> Settings {
    let defaults = Settings::default();
    let most = defaults.threads.max(64) as u64;
    Settings {
        threads: tuning.threads.map_or(defaults.threads, |threads| threads.min(most) as usize),
        subsample: tuning.subsample.max(1),
        range: tuning.frame_cnt.into(),
        skip_reference: tuning.skip_ref,
        skip_distorted: tuning.skip_dist,
        backend: masked(level, tuning.cpumask.unwrap_or(0)).into(),
    }
}

/// The level that libvmaf's bits for AVX2 and AVX-512 leave.
fn masked(level: Level, cpumask: u64) -> Level {
    const AVX2: u64 = 1 << 3;
    const AVX512: u64 = 1 << 4;
    if cpumask & AVX2 != 0 {
        level.lowered_to(Level::Scalar)
    } else if cpumask & AVX512 != 0 {
        level.lowered_to(Level::Avx2)
    } else {
        level
    }
}

fn run_told(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    context: &Context,
) -> Result<visus_engine::Outcome, ToolError> {
    let (mut total, mut counted, mut told) = (None, 0, Instant::now());
    let mut sink = |event: Event<'_>| {
        match event {
            Event::Started { total: frames, .. } => {
                total = frames;
                context.progress(0, total, "scoring");
            }
            Event::Progress { done } => {
                context.count_frames(done.saturating_sub(counted));
                counted = done;
                if told.elapsed() >= TELL_EVERY {
                    told = Instant::now();
                    context.progress(done, total, "scoring");
                }
            }
            _ => {}
        }
        Flow::Continue
    };
    run(plan, reference, distorted, settings, &context.cancel, &mut sink).map_err(|error| match error {
        EngineError::Cancelled => ToolError::Cancelled,
        other => ToolError::failed(&other),
    })
}

fn model_facts(model: &NamedModel) -> ModelFacts {
    ModelFacts {
        name: model.name.clone(),
        label: model.label.clone(),
        sha256: Some(model.sha256.clone()),
        highest: model.model.clip.map(|clip| clip.max),
    }
}

fn warnings(facts: &[InputFacts; 2]) -> Vec<String> {
    let named = |side: Side, facts: &InputFacts| -> Vec<String> {
        facts.warnings.iter().map(|warning| format!("{side}: {warning}")).collect()
    };
    [named(Side::Reference, &facts[0]), named(Side::Distorted, &facts[1])].concat()
}

fn shorter(side: Side, frames: u64, totals: [Option<u64>; 2]) -> String {
    let longer = if side == Side::Reference { totals[1] } else { totals[0] };
    let longer = longer.map_or(String::new(), |total| format!(", the other one has {total}"));
    format!("the {side} video ended after {frames} frames{longer}; only the common frames are scored")
}
