//! From a request to its result.

use std::sync::Arc;

use serde_json::{Value, json};
use visus_engine::{
    Cancel, EngineError, Event, Flow, FrameRange, Outcome, PairObserver, Plan, Pooling, Row, Settings, Sink,
};
use visus_media::Otherwise;
use visus_report::part::{self, Asked, PartKnowledge};
use visus_report::score::{InputFacts, ScoreFacts, ScoreReport};
use visus_video::{Cropped, ReadError, Region, Source};

use crate::faults::{FaultObserver, Faults};
use crate::open::{OpenVideos, Prepared};
use crate::pair::PairInfo;
use crate::request::{RunOptions, ScoreRequest, Videos};
use crate::selection::Selection;
use crate::{NotComparable, Resolved, ScoreError};

/// Everything that a finished run found.
#[derive(Debug)]
pub struct ScoreResult {
    pub plan: Plan,
    pub asked: Asked,
    pub outcome: Outcome,
    /// The backend as it was asked for.
    pub backend_requested: String,
    pub reference: InputFacts,
    pub distorted: InputFacts,
    /// Frames of reference and distorted video, where known.
    pub totals: [Option<u64>; 2],
    /// Of a part of a clip, what joining needs.
    pub part: Option<Part>,
    pub pair: PairInfo,
    /// What detectors found; `None` where they did not look.
    pub faults: Option<Faults>,
    /// How names were resolved: why `auto` picked its model, what `all` left out.
    pub notes: Vec<String>,
    /// Scores of both brought from HDR to SDR, where that was asked for.
    pub tone_mapped: Option<Value>,
}

/// What a part of a clip carries, so that it can be joined with the others.
#[derive(Clone, Debug)]
pub struct Part {
    /// The clip ends with it.
    pub ended: bool,
    pub rows: Vec<Row>,
}

/// Detectors look at frames that the CPU has at work.
const NOT_OBSERVED: &str = "faults that models do not see (levels, colour, frame order, overlays, …) were not looked for, \
                            because a device computed the scores; --backend cpu looks for them";

/// Opens both videos and scores them.
pub fn score(request: ScoreRequest, cancel: &Cancel, sink: &mut dyn Sink) -> Result<ScoreResult, ScoreError> {
    let ScoreRequest { mut videos, selection, options } = request;
    videos.pairing.decoding = options.decoding();
    let videos = Prepared::new(videos, &selection.models, cancel)?.open()?;
    score_opened(videos, &selection, &options, cancel, sink)
}

/// Scores videos that are open.
pub fn score_opened(
    videos: OpenVideos,
    selection: &Selection,
    options: &RunOptions,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<ScoreResult, ScoreError> {
    let resolved = selection.resolve(&*videos.reference)?;
    score_resolved(videos, resolved, options, cancel, sink)
}

/// The same, for callers that show how names were resolved before the run begins.
pub fn score_resolved(
    videos: OpenVideos,
    resolved: Resolved,
    options: &RunOptions,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<ScoreResult, ScoreError> {
    let Resolved { plan, asked, mut notes } = resolved;
    let mut videos = videos;
    let again = videos.again.take();
    let without_device = videos.without_device.take();
    let scored = match (score_with_plan(videos, &plan, options, cancel, sink), without_device) {
        (Err(error), Some(videos)) if !cancel.is_fired() => match device_decoder_failed(&error) {
            Some(reason) => {
                let videos = videos.open(&reason, cancel)?;
                score_with_plan(videos, &plan, options, cancel, sink)?
            }
            None => return Err(error),
        },
        (scored, _) => scored?,
    };
    let side = again.map(|videos| tone_mapped(*videos, &scored.pair, &plan, options, cancel)).transpose()?;
    let backend_requested = options.backend.to_string();
    let Scored { outcome, facts: [reference, distorted], totals, part, pair, faults } = scored;
    if looks(options, &pair) && outcome.backend.device.is_some() {
        notes.push(NOT_OBSERVED.to_owned());
    }
    Ok(ScoreResult {
        plan,
        asked,
        outcome,
        backend_requested,
        reference,
        distorted,
        totals,
        part,
        pair,
        faults,
        notes,
        tone_mapped: side.flatten(),
    })
}

/// Why a device's decoder gave up, if that is what went wrong: ffmpeg may decode the video nevertheless.
fn device_decoder_failed(error: &ScoreError) -> Option<String> {
    match error {
        ScoreError::Engine(EngineError::Read { source: ReadError::Device { reason, .. }, .. })
        | ScoreError::Open { source: ReadError::Device { reason, .. }, .. } => Some(reason.clone()),
        // Its pictures went with a lost device.
        ScoreError::Engine(EngineError::Died { reason, .. })
            if reason.contains(visus_engine::PICTURE_LOST) =>
        {
            Some(reason.clone())
        }
        _ => None,
    }
}

/// The same pair brought to SDR; `None` where neither is HDR.
fn tone_mapped(
    videos: Videos,
    pair: &PairInfo,
    plan: &Plan,
    options: &RunOptions,
    cancel: &Cancel,
) -> Result<Option<Value>, ScoreError> {
    let hdr = |control: &visus_media::Control| {
        control.facts().iter().any(|facts| facts.probe.as_ref().is_some_and(|probe| probe.hdr().is_some()))
    };
    if !pair.control().is_some_and(hdr) {
        return Ok(None);
    }
    let videos = Prepared::new(videos, &[], cancel)?.open()?;
    let mut quiet = |_: Event<'_>| Flow::Continue;
    let scored = score_with_plan(videos, plan, options, cancel, &mut quiet)?;
    let pooled = plan.models().filter_map(|model| {
        let column = scored.outcome.scores.column(&model.name)?;
        let scores: Vec<f64> = column.iter().map(|(_, score)| score).collect();
        let pool = |pooling: Pooling| pooling.pool(&scores);
        Some(json!({
            "model": model.name,
            "mean": pool(Pooling::Mean),
            "harmonic_mean": pool(Pooling::Harmonic),
            "p5": pool(Pooling::P5),
            "min": pool(Pooling::Min),
        }))
    });
    Ok(Some(json!({ "method": visus_media::TONE_MAPPING, "scores": pooled.collect::<Vec<_>>() })))
}

/// What scoring with a ready plan gives.
#[derive(Debug)]
pub struct Scored {
    pub outcome: Outcome,
    pub facts: [InputFacts; 2],
    pub totals: [Option<u64>; 2],
    pub part: Option<Part>,
    pub pair: PairInfo,
    pub faults: Option<Faults>,
}

/// Scores videos that are open, for callers that use one plan for many pairs.
pub fn score_with_plan(
    videos: OpenVideos,
    plan: &Plan,
    options: &RunOptions,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Scored, ScoreError> {
    let OpenVideos { reference, distorted, pair, skip, .. } = videos;
    let mut facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
    facts.iter_mut().for_each(|facts| facts.file = pair.name(&facts.file));
    let totals = [reference.total_frames(), distorted.total_frames()];
    let options = &RunOptions { detectors: Some(looks(options, &pair)), ..options.clone() };
    let result = run_engine(plan, [reference, distorted], options, skip, cancel, sink);
    let Ran { outcome, part, faults } = result.map_err(|error| match device_decoder_failed(&error) {
        // Such a pair is opened again.
        Some(_) => error,
        None => pair.reworded(error),
    })?;
    let ended = match (&part, options.frames) {
        (Some(part), _) => part.ended,
        (None, Some(most)) => outcome.frames < most,
        (None, None) => true,
    };
    pair.scored(outcome.first_frame..outcome.first_frame + outcome.frames, ended);
    pair.finish();
    rescore(&pair, plan, &outcome, options, cancel);
    Ok(Scored { outcome, facts, totals, part, pair, faults })
}

/// Scores doubtful pairs once more, as the alternative pairs them. The result stands without it: where files have changed or cannot be
/// read again, the report says nothing about it.
fn rescore(pair: &PairInfo, plan: &Plan, outcome: &Outcome, options: &RunOptions, cancel: &Cancel) {
    let Some(control) = pair.control() else { return };
    let model = plan.models().next().map(|model| model.name.clone());
    let Some(column) = model.or_else(|| plan.extra_columns().next().map(str::to_owned)) else { return };
    let roi = pair.roi();
    let Ok(Some(Otherwise { pair, stands_for })) = control.open_otherwise(cancel) else { return };
    let Some([reference, distorted]) = within([pair.reference, pair.distorted], roi) else { return };
    let options = RunOptions { subsample: 1, frames: None, from: None, to: None, ..options.clone() };
    let again = run_sources(plan, reference, distorted, &options, cancel, &mut visus_engine::Silent);
    pair.control.finish();
    let Ok(again) = again else { return };
    let columns = (outcome.scores.column(&column), again.scores.column(&column));
    let (Some(scores), Some(others)) = columns else { return };
    for (at, index) in (0..).zip(stands_for) {
        let own = index.and_then(|index| Some((index, scores.get(index.checked_sub(outcome.first_frame)?)?)));
        if let (Some((index, own)), Some(other)) = (own, others.get(at)) {
            control.rescored(index, [own, other]);
        }
    }
}

/// The region of both that is measured; `None` where it does not fit.
fn within(sources: [Box<dyn Source>; 2], roi: Option<Region>) -> Option<[Box<dyn Source>; 2]> {
    let Some(roi) = roi else { return Some(sources) };
    let [reference, distorted] = sources;
    Some([Box::new(Cropped::new(reference, roi).ok()?), Box::new(Cropped::new(distorted, roi).ok()?)])
}

/// Scores two sources that the caller has made itself.
pub fn run_sources(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    options: &RunOptions,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Outcome, ScoreError> {
    let options = RunOptions { detectors: Some(false), ..options.clone() };
    run_engine(plan, [reference, distorted], &options, [0, 0], cancel, sink).map(|ran| ran.outcome)
}

/// Whether detectors look at this pair.
fn looks(options: &RunOptions, pair: &PairInfo) -> bool {
    options.detectors.unwrap_or(pair.control().is_some())
}

/// What the engine and the detectors beside it gave.
struct Ran {
    outcome: Outcome,
    part: Option<Part>,
    faults: Option<Faults>,
}

fn run_engine(
    plan: &Plan,
    [reference, distorted]: [Box<dyn Source>; 2],
    options: &RunOptions,
    skip: [u64; 2],
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Ran, ScoreError> {
    let range = options.range(reference.frame_rate())?;
    let (from, to) = range.unwrap_or((0, options.frames));
    let format = *reference.format();
    let observer = (options.detectors == Some(true)).then(|| Arc::new(FaultObserver::new(&format, from, to)));
    let settings = Settings {
        observer: observer.clone().map(|observer| observer as Arc<dyn PairObserver>),
        ..options.settings(skip)?
    };
    let (outcome, part) = match range {
        None => (visus_engine::run(plan, reference, distorted, &settings, cancel, sink)?, None),
        Some((from, to)) => {
            let settings = Settings { range: FrameRange::Part { from, to }, ..settings };
            let part = visus_engine::run_part(plan, reference, distorted, &settings, cancel, sink)?;
            let visus_engine::Part { outcome, ended, rows } = part;
            (outcome, Some(Part { ended, rows }))
        }
    };
    let faults = observer.and_then(|observer| observer.finish(&format, outcome.first_frame, outcome.frames));
    Ok(Ran { outcome, part, faults })
}

impl ScoreResult {
    /// Refuses a result that means nothing, unless the user insisted on it. What pairing found out while frames were
    /// scored counts as well.
    pub fn check(&self) -> Result<(), NotComparable> {
        self.pair.check()
    }

    /// The first model's scores, else those of the first metric that was asked for: what frames are judged by.
    pub fn main_column(&self) -> Option<String> {
        let model = self.plan.models().next().map(|model| model.name.clone());
        model.or_else(|| self.plan.extra_columns().next().map(str::to_owned))
    }

    /// The pairs with which shots begin: as pairing has seen them, or else as far as motion shows them.
    pub fn shots(&self) -> Vec<u64> {
        self.pair.shots().unwrap_or_else(|| visus_report::shots::starts(&self.outcome))
    }

    /// Everything that a report says besides the scores themselves.
    pub fn facts(&self, version: &str) -> ScoreFacts {
        let inputs = [self.reference.clone(), self.distorted.clone()];
        let mut facts = ScoreFacts::native(version, &self.plan, &self.outcome, inputs);
        facts.backend_requested.clone_from(&self.backend_requested);
        facts.notes.splice(0..0, self.notes.iter().cloned());
        facts.warnings = self.faults.as_ref().map(Faults::warnings);
        let mut sections = self.pair.sections();
        sections.extend(self.tone_mapped.iter().map(|side| ("tone_mapped".to_owned(), side.clone())));
        facts.sections = sections.into_iter().collect();
        facts.part = self.part.as_ref().map(|part| {
            let diagnosis = self.faults.as_ref().map(Faults::share);
            let known = PartKnowledge { pairing: self.pair.share(), diagnosis };
            part::entry(&self.outcome, part.ended, &part.rows, &self.asked, known)
        });
        facts
    }

    /// The whole report as JSON, with every digit.
    pub fn json(&self, version: &str) -> Value {
        ScoreReport::new(&self.facts(version), &self.outcome).json()
    }
}
