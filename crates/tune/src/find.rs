//! One question: which quality setting gives this score? From samples, then verified on the whole encode.

use std::path::{Path, PathBuf};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::TuneError;
use crate::encoders::{Adapter, Choices, Quality};
use crate::estimate;
use crate::event::{Event, Sink};
use crate::goal::{Goal, GoalOutcome};
use crate::lab::{Bench, Lab};
use crate::probe_curve::{Curve, Sample, contradictions};
use crate::samples::{self, SamplePlan};
use crate::score::Judge;
use crate::search::{Found, MAX_ENCODES};
use crate::source::{Source, Window};
use crate::workspace::move_into_place;

/// How often a whole encode is made again with another setting.
const CORRECTIONS: usize = 3;

/// What is asked.
#[derive(Clone, Debug)]
pub struct FindSettings {
    pub adapter: &'static Adapter,
    pub choices: Choices,
    /// What the encode must reach; all of it. The first one is what the answer tells as its score.
    pub goals: Vec<Goal>,
    /// Settings that are tried for each whole number, where the encoder takes fractions: 1, 2 or 4.
    pub steps: u32,
    /// How far the finished encode may be from the target, in points of VMAF.
    pub tolerance: f64,
    pub samples: SamplePlan,
    /// The encode must be this many percent smaller than the source file.
    pub min_savings: Option<f64>,
    /// The encode must not be larger than this many bytes.
    pub max_size: Option<u64>,
    /// Where the finished encode goes.
    pub output: Option<PathBuf>,
}

/// A whole encode that was measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Attempt {
    /// The setting.
    pub quality: Quality,
    /// The score its samples promised.
    pub predicted: f64,
    /// The score it got.
    pub achieved: f64,
    /// The smallest margin of all goals, and what the samples promised of it.
    #[serde(skip)]
    pub(crate) margins: (f64, f64),
    /// What became of every goal.
    pub goals: Vec<GoalOutcome>,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: f64,
    /// Bytes of the video.
    pub bytes: u64,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindAnswer {
    /// The source.
    pub src: String,
    /// The encoder.
    pub encoder: String,
    /// Version of its library.
    pub encoder_version: String,
    /// The name of its quality setting.
    pub knob: &'static str,
    /// The model that measured.
    pub model: String,
    /// How frames were pooled.
    pub metric: &'static str,
    /// The score that was asked for.
    pub target: f64,
    /// What became of every goal in the encode that was chosen; the first is the target above.
    pub goals: Vec<GoalOutcome>,
    /// By how much the whole encode may miss it.
    pub tolerance: f64,
    /// Whether the target was met.
    pub ok: bool,
    /// Why not, or what a person should know.
    pub why: Option<String>,
    /// The setting that was chosen; null where none was.
    pub quality: Option<Quality>,
    /// Its score on the samples.
    pub predicted: Option<f64>,
    /// The score of the whole encode.
    pub achieved: Option<f64>,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: Option<f64>,
    /// Bytes of the video.
    pub bytes: Option<u64>,
    /// How much smaller than the source.
    pub savings_percent: Option<f64>,
    /// The codec as RFC 6381 writes it.
    pub codecs: Option<String>,
    /// Sample format of the encode, by ffmpeg's name.
    pub pix_fmt: Option<String>,
    /// Frames of the source that stood for it: first and count.
    pub windows: Vec<(u64, u64)>,
    /// Whether the whole source was measured in place of samples.
    pub whole_source: bool,
    /// Settings that were measured on the way.
    pub samples: Vec<Sample>,
    /// Whole encodes that were measured.
    pub attempts: Vec<Attempt>,
    /// Measurements that contradict each other by more than half a point.
    pub contradictions: Vec<String>,
    /// The file that was written.
    pub output: Option<String>,
    /// A command that makes this encode.
    pub command: Option<Vec<String>>,
    /// Nothing had to be computed.
    pub from_cache: bool,
    /// How long it all took.
    pub wall_time_ms: u64,
}

/// Answers the question. An unreachable target is an answer with `ok: false`; an error is what kept it from being asked.
pub fn find(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &FindSettings,
    sink: Sink<'_>,
) -> Result<FindAnswer, TuneError> {
    let started = Instant::now();
    let (recipe, available) = lab.recipe(settings.adapter, source, &settings.choices, None)?;
    let windows =
        samples::windows(source, &settings.samples, || source.packet_sizes(&lab.tools, &lab.cancel));
    sink(Event::Estimate(estimate_for(lab, source, &recipe, &windows)));
    let label = settings.adapter.name.to_owned();
    let bench = Bench { source, recipe, available, judge, label };
    let first = settings.goals.first().ok_or_else(|| TuneError::Invalid {
        name: "target",
        value: String::new(),
        reason: "there is none".to_owned(),
    })?;
    let steps = if settings.adapter.fractional { settings.steps.clamp(1, 4) } else { 1 };
    let curve = Curve {
        goals: settings.goals.clone(),
        knob: settings.adapter.knob.in_steps(steps),
        ..Curve::new(lab, bench, windows, first.pooling)
    };
    let mut answer = blank(source, judge, settings, first, &curve);
    // Margins are over-fulfilled from 0 on.
    let found = curve.search(0.0, &[], sink)?;
    let run = Run { lab, curve: &curve, settings, first, sink };
    run.answer(&found, &mut answer)?;
    answer.wall_time_ms = started.elapsed().as_millis() as u64;
    Ok(answer)
}

fn estimate_for(lab: &Lab, source: &Source, recipe: &crate::Recipe, windows: &[Window]) -> crate::Estimate {
    let sampled: u64 = windows.iter().map(|window| window.count.unwrap_or(source.frames)).sum();
    let recipes = std::slice::from_ref(recipe);
    let mut all = estimate::estimate(&lab.cache, source, recipes, MAX_ENCODES, sampled);
    if sampled < source.frames {
        let whole = estimate::estimate(&lab.cache, source, recipes, 1, source.frames);
        all.encodes += 1;
        all.frames += whole.frames;
        all.seconds += whole.seconds;
        all.cpu_seconds += whole.cpu_seconds;
        all.disk_bytes += whole.disk_bytes;
    }
    all
}

fn blank(
    source: &Source,
    judge: &Judge,
    settings: &FindSettings,
    first: &Goal,
    curve: &Curve<'_>,
) -> FindAnswer {
    let count = |window: &Window| (window.start, window.count.unwrap_or(source.frames));
    FindAnswer {
        src: source.path.display().to_string(),
        encoder: settings.adapter.name.to_owned(),
        encoder_version: curve.bench.available.version.clone(),
        knob: settings.adapter.knob.name,
        model: judge.label.clone(),
        metric: first.pooling.name(),
        target: first.value,
        goals: Vec::new(),
        tolerance: settings.tolerance,
        ok: false,
        why: None,
        quality: None,
        predicted: None,
        achieved: None,
        bitrate_kbps: None,
        bytes: None,
        savings_percent: None,
        codecs: None,
        pix_fmt: curve.bench.recipe.choices.pix_fmt.clone(),
        windows: curve.windows.iter().map(count).collect(),
        whole_source: curve.windows == [Window::WHOLE],
        samples: Vec::new(),
        attempts: Vec::new(),
        contradictions: Vec::new(),
        output: None,
        command: None,
        from_cache: false,
        wall_time_ms: 0,
    }
}

struct Run<'a> {
    lab: &'a Lab,
    curve: &'a Curve<'a>,
    settings: &'a FindSettings,
    first: &'a Goal,
    sink: Sink<'a>,
}

impl Run<'_> {
    fn answer(&self, found: &Found<Sample>, answer: &mut FindAnswer) -> Result<(), TuneError> {
        let knob = &self.curve.knob;
        answer.samples = found.samples.iter().map(|sample| sample.detail.clone()).collect();
        answer.contradictions = contradictions(found, knob);
        answer.from_cache = answer.samples.iter().all(|sample| sample.cached);
        let Some(best) = found.best() else {
            let ceiling = self.curve.bench.judge.ceiling;
            answer.why = Some(self.unreachable(found, ceiling));
            return Ok(());
        };
        let last = self.verify(best.detail.crf, (best.detail.vmaf_score, best.score), answer)?;
        let Some(attempt) = last else { return Ok(()) };
        answer.quality = Some(attempt.quality);
        answer.predicted = Some(attempt.predicted);
        answer.achieved = Some(attempt.achieved);
        answer.bitrate_kbps = Some(attempt.bitrate_kbps);
        answer.bytes = Some(attempt.bytes);
        let source = self.curve.bench.source;
        answer.savings_percent = Some(100.0 * (1.0 - attempt.bytes as f64 / source.bytes.max(1) as f64));
        answer.goals = attempt.goals.clone();
        answer.why = self.explain(&attempt, answer);
        answer.ok = answer.why.is_none() || attempt.margins.0 >= 0.0;
        if let Some(limit) = self.too_large(&attempt, answer) {
            answer.ok = false;
            answer.why = Some(limit);
        }
        if answer.ok {
            self.deliver(attempt.quality, answer)?;
        }
        let output = self.settings.output.clone().unwrap_or_else(|| PathBuf::from("output.mp4"));
        answer.command =
            Some(self.curve.bench.recipe.command(source, Window::WHOLE, attempt.quality, &output));
        Ok(())
    }

    /// Makes the whole encode, measures it, and corrects the setting while the result is outside the tolerance.
    fn verify(
        &self,
        quality: Quality,
        predicted: (f64, f64),
        answer: &mut FindAnswer,
    ) -> Result<Option<Attempt>, TuneError> {
        let knob = self.curve.knob;
        let (mut quality, mut predicted) = (quality, predicted);
        for _ in 0..=CORRECTIONS {
            let attempt = self.whole(quality, predicted, answer)?;
            answer.attempts.push(attempt.clone());
            if attempt.margins.0.abs() <= self.settings.tolerance || answer.whole_source {
                break;
            }
            // The samples were off by this much here; nearby they are off by about as much.
            let offset = attempt.margins.0 - attempt.margins.1;
            let shift = attempt.achieved - attempt.predicted;
            let tried = |quality: Quality| answer.attempts.iter().any(|attempt| attempt.quality == quality);
            let known: Vec<Sample> = answer.samples.clone();
            let again = self.curve.search(-offset, &known, self.sink)?;
            let measured = again.samples.iter().map(|sample| sample.detail.clone());
            let fresh: Vec<Sample> =
                measured.filter(|new| known.iter().all(|old| old.crf != new.crf)).collect();
            answer.samples.extend(fresh);
            let next = match again.best() {
                Some(best) => (best.detail.crf, (best.detail.vmaf_score + shift, best.score + offset)),
                None => (knob.value(0), (self.first.value, 0.0)),
            };
            if tried(next.0) {
                break;
            }
            (quality, predicted) = next;
        }
        Ok(self.best_attempt(&answer.attempts))
    }

    /// The smallest that meets the target within the tolerance, else the one that comes nearest.
    fn best_attempt(&self, attempts: &[Attempt]) -> Option<Attempt> {
        let good = attempts.iter().filter(|attempt| attempt.margins.0 >= -self.settings.tolerance);
        let good = good.min_by(|a, b| a.bitrate_kbps.total_cmp(&b.bitrate_kbps));
        let near = |attempt: &&Attempt| attempt.margins.0.abs();
        good.or_else(|| attempts.iter().min_by(|a, b| near(a).total_cmp(&near(b)))).cloned()
    }

    fn whole(
        &self,
        quality: Quality,
        predicted: (f64, f64),
        answer: &mut FindAnswer,
    ) -> Result<Attempt, TuneError> {
        let measure = self.lab.measure(&self.curve.bench, Window::WHOLE, quality, self.sink)?;
        answer.from_cache &= measure.cached;
        answer.codecs = Some(measure.codecs.clone());
        let measures = std::slice::from_ref(&measure);
        let outcome = |goal: &Goal| {
            let achieved = self.curve.pooled(goal, measures);
            GoalOutcome { goal: goal.to_string(), achieved, met: goal.holds(achieved) }
        };
        let goals: Vec<GoalOutcome> = self.settings.goals.iter().map(outcome).collect();
        Ok(Attempt {
            quality,
            predicted: predicted.0,
            achieved: goals.first().map_or(f64::NAN, |goal| goal.achieved),
            margins: (self.curve.margin(measures), predicted.1),
            goals,
            bitrate_kbps: measure.kbps(),
            bytes: measure.video_bytes,
        })
    }

    /// Why the result is not within the tolerance, if it is not.
    fn explain(&self, attempt: &Attempt, answer: &FindAnswer) -> Option<String> {
        let knob = &self.curve.knob;
        let away = attempt.margins.0;
        if away.abs() <= self.settings.tolerance {
            return None;
        }
        if away < 0.0 {
            let missed = attempt.goals.iter().filter(|goal| !goal.met);
            let missed: Vec<String> =
                missed.map(|goal| format!("{} with {:.2}", goal.goal, goal.achieved)).collect();
            return Some(format!("no whole encode came closer: it misses {}", missed.join(", ")));
        }
        let position = knob.position(attempt.quality);
        if position == knob.last() {
            return Some(format!("{} {} is the coarsest setting", knob.name, attempt.quality));
        }
        let next = knob.value(position + 1);
        let whole =
            answer.attempts.iter().find(|attempt| attempt.quality == next).map(|attempt| attempt.achieved);
        let sample = answer.samples.iter().find(|sample| sample.crf == next).map(|sample| sample.vmaf_score);
        let score = whole.or(sample).map_or("less than the target".to_owned(), |score| format!("{score:.2}"));
        Some(format!("the next coarser setting, {} {next}, gives {score}", knob.name))
    }

    fn too_large(&self, attempt: &Attempt, answer: &FindAnswer) -> Option<String> {
        let limit = self.settings.max_size.filter(|limit| attempt.bytes > *limit);
        if let Some(limit) = limit {
            let fits = self.fitting(answer, limit);
            return Some(format!("{} bytes are more than the {limit} allowed{fits}", attempt.bytes));
        }
        let (savings, wanted) = (answer.savings_percent?, self.settings.min_savings?);
        (savings < wanted)
            .then(|| format!("the encode saves {savings:.1} %, less than the {wanted} % asked for"))
    }

    /// Why no setting meets all goals.
    fn unreachable(&self, found: &Found<Sample>, ceiling: Option<f64>) -> String {
        if let [only] = &*self.settings.goals {
            let best = found.samples.iter().max_by(|a, b| a.score.total_cmp(&b.score));
            let best = best.map_or(String::new(), |best| {
                format!("; the best measured is {:.2} at {}", best.detail.vmaf_score, best.detail.crf)
            });
            let ceiling = ceiling.filter(|ceiling| only.metric.is_none() && only.value > *ceiling);
            let ceiling = ceiling.map_or(String::new(), |most| format!(" (this model gives at most {most})"));
            return format!("target {} ({}) is out of reach{ceiling}{best}", only.value, only.pooling.name());
        }
        let goals: Vec<String> = self.settings.goals.iter().map(Goal::to_string).collect();
        format!("no setting reaches all of {}", goals.join(", "))
    }

    /// The best measured setting that would fit into a number of bytes.
    fn fitting(&self, answer: &FindAnswer, limit: u64) -> String {
        let seconds = self.curve.bench.source.duration();
        let bytes = |sample: &Sample| sample.bitrate_kbps * 1000.0 / 8.0 * seconds;
        let fits = answer.samples.iter().filter(|sample| bytes(sample) <= limit as f64);
        let best = fits.max_by(|a, b| a.vmaf_score.total_cmp(&b.vmaf_score));
        best.map_or(String::new(), |best| {
            format!("; of those measured, {} {} would fit with {:.2}", answer.knob, best.crf, best.vmaf_score)
        })
    }

    fn deliver(&self, quality: Quality, answer: &mut FindAnswer) -> Result<(), TuneError> {
        let Some(output) = &self.settings.output else { return Ok(()) };
        let made = self.lab.encode(&self.curve.bench, Window::WHOLE, quality, self.sink)?;
        place(&made.path, output)?;
        answer.output = Some(output.display().to_string());
        Ok(())
    }
}

/// The file may be linked to the cache's; what the user gets is his own.
#[expect(clippy::disallowed_methods, reason = "the cache and its workspace are folders of our own")]
pub(crate) fn place(from: &Path, to: &Path) -> Result<(), TuneError> {
    let own = from.with_extension("own");
    std::fs::copy(from, &own).map_err(|error| TuneError::io(&own, error))?;
    move_into_place(&own, to)
}
