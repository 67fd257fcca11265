//! The embedded engine.

use std::time::{Duration, Instant};

use visus_engine::{Column, Event, FeatureSpec, Flow, Scores, Side};
use visus_media::Steps;
use visus_report::sampling::SampledReport;
use visus_report::score::{EngineKind, InputFacts, ScoreFacts};
use visus_scoring::{
    BackendRequest, Estimates, Sampling, ScoreResult, Video, score as score_request, score_sampled,
};

use super::tiny::TinyRequest;
use super::{ScoreTask, model_mismatch, tool_error, unavailable};
use crate::ToolError;
use crate::error::cleaned;
use crate::jobs::Context;
use crate::report::ScoreReport;

/// Progress is sent at most so often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// What a backend's name asks for; one that does not work here is refused.
pub fn backend(name: &str) -> Result<BackendRequest, ToolError> {
    let available = || visus_scoring::backend::available();
    match name.parse() {
        Ok(request @ (BackendRequest::Auto | BackendRequest::Cpu)) => Ok(request),
        Ok(request) if visus_scoring::backend::probe(name).is_ok() => Ok(request),
        _ => Err(unavailable(name, &available())),
    }
}

/// Scores in this process.
pub fn score(task: ScoreTask, context: &Context) -> Result<ScoreReport, ToolError> {
    let backend = backend(&task.backend)?;
    if task.tiny.as_ref().is_some_and(|tiny| tiny.options.no_reference) {
        return score_alone(task, context);
    }
    let ScoreTask { mut request, tiny, .. } = task;
    request.options.backend = backend;
    let tiny = tiny.map(TinyRequest::read).transpose()?;
    let limit = request.videos.pairing.decoders.limit;
    let (options, decoders) = (request.options.clone(), request.videos.pairing.decoders.clone());
    let skips = request.videos.skip;
    let skip = skips[1];
    let (raw, distorted) = (request.videos.raw, request.videos.distorted.try_clone());
    let distorted = distorted.map_err(|error| ToolError::failed(&error))?;
    let further = tiny.as_ref().map_or(Vec::new(), |tiny| tiny.further_metrics(&request.selection.metrics));
    request.selection.metrics.extend_from_slice(&further);
    let result = run(request, context).map_err(|error| tool_error(error, limit))?;
    let mut facts = facts(&result);
    let shots = result.pair.shots();
    let steps = result.pair.steps().unwrap_or_else(|| Steps::unpaired(skips));
    let findings = result.faults.map_or(Vec::new(), |faults| faults.findings);
    let mut outcome = result.outcome;
    if let Some(tiny) = &tiny {
        facts.extra_columns.retain(|name| !given_by(&further, name));
        let again = || {
            visus_scoring::open_one(&distorted, raw, &decoders, &context.cancel)
                .map_err(|error| tool_error(error, limit))
        };
        facts.extra_columns.extend(tiny.add_to(&mut outcome, again, &options, skip, context)?);
        facts.notes.extend_from_slice(&tiny.model.notes);
        facts.provenance.models.push(tiny.facts());
    }
    facts.backend_requested = task.backend;
    facts.notes.splice(0..0, task.notes);
    let report = ScoreReport {
        facts,
        outcome,
        text: None,
        precision: task.precision,
        detail: task.detail,
        shots,
        steps,
        findings,
    };
    report.in_format(task.format)
}

/// Scores samples of the frames in this process, until they say enough.
pub fn sampled(task: ScoreTask, sampling: &Sampling, context: &Context) -> Result<SampledReport, ToolError> {
    let backend = backend(&task.backend)?;
    let mut request = task.request;
    request.options.backend = backend;
    let limit = request.videos.pairing.decoders.limit;
    let mut counted = 0;
    let look = |estimates: &Estimates| {
        context.count_frames(estimates.scored.saturating_sub(counted));
        counted = estimates.scored;
        let words = format!("sampling: mean {:.2} ± {:.2}", estimates.mean.estimate, estimates.mean.half());
        context.progress(estimates.scored, None, words);
        false
    };
    let report = score_sampled(request, sampling, &context.cancel, look, crate::VERSION);
    let report = report.map_err(|error| tool_error(error, limit))?;
    Ok(SampledReport {
        reference: cleaned(&report.reference),
        distorted: cleaned(&report.distorted),
        ..report
    })
}

/// What the report says besides the scores.
fn facts(result: &ScoreResult) -> ScoreFacts {
    let mut facts = result.facts(crate::VERSION);
    if result.pair.is_synchronised() {
        let names = [&result.reference.file, &result.distorted.file].map(|name| cleaned(name));
        facts.sections.name_encoded(names);
    }
    for input in [&mut facts.provenance.reference, &mut facts.provenance.distorted] {
        input.file = cleaned(&input.file);
    }
    let labels = facts.provenance.models.iter().map(|model| &model.label);
    facts.mismatched_model_warning =
        labels.into_iter().find_map(|label| model_mismatch(label, &result.outcome.format));
    facts.notes.extend(warnings([&result.reference, &result.distorted]));
    let shorter = result.outcome.shorter;
    facts.notes.extend(shorter.map(|side| shorter_note(side, result.outcome.frames, result.totals)));
    facts
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
fn score_alone(task: ScoreTask, context: &Context) -> Result<ScoreReport, ToolError> {
    let ScoreTask { tiny: Some(tiny), request, mut notes, .. } = task else {
        return Err(ToolError::Refused(
            "no_reference requires tiny_model; no classic NR scorer exists".to_owned(),
        ));
    };
    let tiny = tiny.read()?;
    let videos = &request.videos;
    let (video, decoders): (&Video, _) = (&videos.distorted, &videos.pairing.decoders);
    let source = visus_scoring::open_one(video, videos.raw, decoders, &context.cancel)
        .map_err(|error| tool_error(error, decoders.limit))?;
    let mut input = InputFacts::of(&*source);
    input.file = cleaned(&video.name());
    let outcome = tiny.alone(source, &request.options, videos.skip[1], context)?;
    notes.extend_from_slice(&tiny.model.notes);
    notes.push("no_reference: only the distorted video was scored".to_owned());
    let mut facts = ScoreFacts::new(EngineKind::Native, crate::VERSION, &outcome, [input.clone(), input]);
    facts.provenance.cpu_level = Some(outcome.backend.cpu.name().to_owned());
    facts.provenance.models = vec![tiny.facts()];
    (facts.backend_requested, facts.notes) = (task.backend, notes);
    let report = ScoreReport {
        facts,
        outcome,
        text: None,
        precision: task.precision,
        detail: task.detail,
        shots: None,
        steps: Steps::unpaired(videos.skip),
        findings: Vec::new(),
    };
    report.in_format(task.format)
}

/// Scores, and tells the job how far it is.
fn run(
    request: visus_scoring::ScoreRequest,
    context: &Context,
) -> Result<ScoreResult, visus_scoring::ScoreError> {
    let (mut total, mut counted, mut sent) = (None, 0, Instant::now());
    let mut sink = |event: Event<'_>| {
        match event {
            Event::Started { total: frames, .. } => {
                total = frames;
                context.progress(0, total, "scoring");
            }
            Event::Progress { done } => {
                context.count_frames(done.saturating_sub(counted));
                counted = done;
                if sent.elapsed() >= PROGRESS_INTERVAL {
                    sent = Instant::now();
                    context.progress(done, total, "scoring");
                }
            }
            Event::Frame { index, scores } => {
                if let Some(score) = watched(scores).and_then(|column| column.get(index)) {
                    context.live.score(index, score);
                }
            }
            _ => {}
        }
        Flow::Continue
    };
    let result = score_request(request, &context.cancel, &mut sink)?;
    result.check()?;
    Ok(result)
}

/// The column that a follower sees: the first model's, or the first that there is.
fn watched(scores: &Scores) -> Option<&Column> {
    let columns = scores.columns();
    columns.iter().find(|column| column.name().starts_with("vmaf")).or_else(|| columns.first())
}

fn warnings(facts: [&InputFacts; 2]) -> Vec<String> {
    let named = |(side, facts): (Side, &InputFacts)| -> Vec<String> {
        facts.warnings.iter().map(|warning| format!("{side}: {warning}")).collect()
    };
    [Side::Reference, Side::Distorted].into_iter().zip(facts).flat_map(named).collect()
}

fn shorter_note(side: Side, frames: u64, totals: [Option<u64>; 2]) -> String {
    let longer = if side == Side::Reference { totals[1] } else { totals[0] };
    let longer = longer.map_or(String::new(), |total| format!(", the other one has {total}"));
    format!("the {side} video ended after {frames} frames{longer}; only the common frames are scored")
}
