//! Settings measured on samples, and the search over them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::TuneError;
use crate::encoders::{Knob, Quality};
use crate::event::Sink;
use crate::goal::Goal;
use crate::lab::{Bench, Lab, Measure};
use crate::search::{self, Found, Measured, Quest};
use crate::source::Window;
use visus_engine::Pooling;

/// A setting's outcome over all windows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sample {
    /// The encoder's quality number.
    pub crf: Quality,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: f64,
    /// The pooled score.
    pub vmaf_score: f64,
    /// How long encoding took.
    pub encode_time_ms: u64,
    /// The smallest margin of all goals; the score itself where there are none.
    #[serde(skip)]
    pub margin: f64,
    #[serde(skip)]
    pub codecs: String,
    #[serde(skip)]
    pub peak_bps: f64,
    #[serde(skip)]
    pub cached: bool,
    #[serde(skip)]
    pub size: (u32, u32),
}

/// Measures settings of one bench over the same windows.
#[derive(Debug)]
pub struct Curve<'a> {
    pub lab: &'a Lab,
    pub bench: Bench<'a>,
    pub windows: Vec<Window>,
    pub pooling: Pooling,
    /// What must be reached; without any, the model's score alone is looked at.
    pub goals: Vec<Goal>,
    /// The settings that are tried.
    pub knob: Knob,
}

impl<'a> Curve<'a> {
    /// A curve of the model's score over whole settings.
    pub fn new(lab: &'a Lab, bench: Bench<'a>, windows: Vec<Window>, pooling: Pooling) -> Self {
        let knob = bench.recipe.adapter.knob;
        Self { lab, bench, windows, pooling, goals: Vec::new(), knob }
    }
}

impl Curve<'_> {
    /// Encodes and scores every window at a quality. All frames of all windows are pooled together.
    pub fn sample(&self, quality: impl Into<Quality>, sink: Sink<'_>) -> Result<Sample, TuneError> {
        let quality = quality.into();
        let measures: Result<Vec<Measure>, TuneError> =
            self.windows.iter().map(|window| self.lab.measure(&self.bench, *window, quality, sink)).collect();
        let measures = measures?;
        let mut sample = joined(quality, &measures, self.pooling);
        if let Some(first) = self.goals.first() {
            sample.vmaf_score = self.pooled(first, &measures);
            sample.margin = self.margin(&measures);
        }
        Ok(sample)
    }

    /// What a goal is about, pooled over the frames of all windows.
    pub(crate) fn pooled(&self, goal: &Goal, measures: &[Measure]) -> f64 {
        let place = self.bench.judge.place(goal);
        let scores: Vec<f64> =
            measures.iter().flat_map(|measure| measure.column(place).iter().copied()).collect();
        goal.pooled(&scores)
    }

    /// The smallest margin of all goals.
    pub(crate) fn margin(&self, measures: &[Measure]) -> f64 {
        let margin = |goal: &Goal| goal.margin(self.pooled(goal, measures));
        self.goals.iter().map(margin).fold(f64::INFINITY, f64::min)
    }

    /// The coarsest setting that meets the target on the windows. `known` costs nothing.
    pub fn search(&self, target: f64, known: &[Sample], sink: Sink<'_>) -> Result<Found<Sample>, TuneError> {
        self.search_from(0, target, known, sink)
    }

    /// The same, without the finest settings before a position.
    pub fn search_from(
        &self,
        first: u32,
        target: f64,
        known: &[Sample],
        sink: Sink<'_>,
    ) -> Result<Found<Sample>, TuneError> {
        let knob = self.knob;
        let measured = |sample: &Sample| Measured {
            position: knob.position(sample.crf),
            score: sample.margin,
            detail: sample.clone(),
        };
        let quest = Quest {
            target,
            first,
            last: knob.last(),
            start: knob.position(knob.start),
            slope: knob.slope(),
            known: known.iter().map(measured).collect(),
        };
        search::search(quest, |position| {
            let sample = self.sample(knob.value(position), sink)?;
            Ok((sample.margin, sample))
        })
    }
}

fn joined(quality: Quality, measures: &[Measure], pooling: Pooling) -> Sample {
    let scores: Vec<f64> = measures.iter().flat_map(|measure| measure.scores.iter().copied()).collect();
    let bytes: u64 = measures.iter().map(|measure| measure.video_bytes).sum();
    let seconds: f64 = measures.iter().map(|measure| measure.duration).sum();
    let first = measures.first();
    let score = pooling.pool(&scores);
    Sample {
        crf: quality,
        bitrate_kbps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1000.0 } else { 0.0 },
        vmaf_score: score,
        margin: score,
        encode_time_ms: measures.iter().map(|measure| measure.encode_ms).sum(),
        codecs: first.map(|measure| measure.codecs.clone()).unwrap_or_default(),
        peak_bps: measures.iter().map(|measure| measure.peak_bps).fold(0.0, f64::max),
        cached: measures.iter().all(|measure| measure.cached),
        size: first.map_or((0, 0), |measure| (measure.width, measure.height)),
    }
}

/// Contradictions in words, with the encoder's own numbers.
pub fn contradictions(found: &Found<Sample>, knob: &Knob) -> Vec<String> {
    let sentence = |pair: &search::Contradiction| {
        format!(
            "{name} {finer} scores {finer_score:.2}, less than the coarser {coarser} with {coarser_score:.2}",
            name = knob.name,
            finer = knob.value(pair.finer),
            finer_score = pair.finer_score,
            coarser = knob.value(pair.coarser),
            coarser_score = pair.coarser_score,
        )
    };
    found.contradictions.iter().map(sentence).collect()
}

/// Why no setting meets a target, in words.
pub fn out_of_reach(found: &Found<Sample>, target: f64, pooling: Pooling, ceiling: Option<f64>) -> String {
    let best = found.samples.iter().max_by(|a, b| a.score.total_cmp(&b.score));
    let best = best.map_or(String::new(), |best| {
        format!("; the best measured is {:.2} at {}", best.score, best.detail.crf)
    });
    let ceiling = ceiling.filter(|ceiling| target > *ceiling);
    let ceiling = ceiling.map_or(String::new(), |ceiling| format!(" (this model gives at most {ceiling})"));
    format!("target {target} ({}) is out of reach{ceiling}{best}", pooling.name())
}
