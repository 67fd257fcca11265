//! A score from a sample of the frames, with the interval in which the score of all of them lies.
//!
//! Frames are drawn in short runs, spread over the film by van der Corput's sequence with a random start: each new run falls
//! into the widest gap, so at any time the film is divided into stretches of about the same length with one run in each. That
//! is a sample in strata, and strata that follow each other belong to the same shot, or to shots that resemble each other
//! more than others do. Where it is known beforehand which runs are likely to resemble each other (shots in much motion, shots in
//! little), runs are spread over an order that has these together ([`Sample::in_strata`]). The variance is estimated from the differences between neighbouring runs (the estimator of successive
//! differences, Wolter 1984): what changes slowly from one end of the film to the other does not count as chance.
//!
//! The interval of a percentile is Woodruff's (1952): the interval of the share of frames below it, read off the sample.
//! Sampling is repeated until an interval is narrow enough, and looking often makes it fail more often; therefore intervals
//! are made a tenth wider than their formula says. A test draws from many made films how often they hold the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use visus_engine::percentile;

use crate::bootstrap::SplitMix;

/// Runs before an interval is believed.
pub const FEWEST_RUNS: usize = 32;
/// How much wider intervals are made, for being looked at again and again.
const CAUTION: f64 = 1.1;

/// An estimate and the interval that holds the truth in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The most likely value.
    pub estimate: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    fn exact(value: f64) -> Self {
        Self { estimate: value, low: value, high: value }
    }
}

/// Which runs of frames are drawn, one after another.
#[derive(Clone, Debug)]
pub struct Sample {
    frames: u64,
    run: u64,
    shift: f64,
    drawn: u64,
    /// The scores of the runs that were scored, by the place of the run.
    runs: BTreeMap<u64, Vec<f64>>,
    /// Places that were drawn.
    taken: BTreeSet<u64>,
    strata: Strata,
}

/// The order in which runs are spread: those that are likely to have similar scores beside each other.
#[derive(Clone, Debug, Default)]
struct Strata {
    /// The run at every place; empty where that is the order of the film.
    runs: Vec<u64>,
    /// The place of every run.
    places: Vec<u64>,
}

impl Strata {
    fn new(runs: Vec<u64>) -> Self {
        let mut places = vec![0; runs.len()];
        for (place, run) in (0..).zip(&runs) {
            places[*run as usize] = place;
        }
        Self { runs, places }
    }

    fn run(&self, place: u64) -> u64 {
        self.runs.get(place as usize).copied().unwrap_or(place)
    }

    fn place(&self, run: u64) -> u64 {
        self.places.get(run as usize).copied().unwrap_or(run)
    }
}

impl Sample {
    /// Of a film of so many frames, in runs of `run` frames.
    pub fn new(frames: u64, run: u64, seed: u64) -> Self {
        let shift = (SplitMix(seed).next() >> 11) as f64 / (1u64 << 53) as f64;
        let (runs, taken, strata) = (BTreeMap::new(), BTreeSet::new(), Strata::default());
        Self { frames, run: run.max(1), shift, drawn: 0, runs, taken, strata }
    }

    /// The same, spread over these strata instead of over time: `strata` has a number for every run of the film, and runs of one
    /// stratum are taken in the order of the film.
    pub fn in_strata(frames: u64, run: u64, seed: u64, strata: &[u32]) -> Self {
        let plain = Self::new(frames, run, seed);
        if strata.len() as u64 != plain.all_runs() {
            return plain;
        }
        let mut runs: Vec<u64> = (0..plain.all_runs()).collect();
        runs.sort_by_key(|run| strata[*run as usize]);
        Self { strata: Strata::new(runs), ..plain }
    }

    /// Runs in the whole film.
    pub fn all_runs(&self) -> u64 {
        self.frames.div_ceil(self.run)
    }

    /// Draws so many further runs, as ranges of frames in the order of the film; fewer where no more are left.
    pub fn draw(&mut self, count: usize) -> Vec<Range<u64>> {
        let all = self.all_runs();
        let mut fresh = Vec::new();
        while fresh.len() < count && (self.taken.len() as u64) < all {
            let place = (van_der_corput(self.drawn) + self.shift).fract();
            self.drawn += 1;
            let mut place = ((place * all as f64) as u64).min(all - 1);
            while !self.taken.insert(place) {
                place = (place + 1) % all;
            }
            fresh.push(self.strata.run(place));
        }
        fresh.sort_unstable();
        fresh.into_iter().map(|run| run * self.run..((run + 1) * self.run).min(self.frames)).collect()
    }

    /// The scores of a run that was drawn, or of several that follow each other.
    pub fn add(&mut self, range: &Range<u64>, scores: Vec<f64>) {
        let first = range.start / self.run;
        for (run, scores) in (first..).zip(scores.chunks(self.run as usize)) {
            self.runs.insert(self.strata.place(run), scores.to_vec());
        }
    }

    /// How many further runs are worth drawing before the next look.
    pub fn next_count(&self) -> usize {
        let have = self.runs.len();
        if have < FEWEST_RUNS { FEWEST_RUNS - have } else { (have / 3).max(8) }
    }

    /// Whether every frame was scored.
    pub fn is_whole(&self) -> bool {
        self.runs.len() as u64 >= self.all_runs()
    }

    /// Frames that were scored.
    pub fn scored(&self) -> u64 {
        self.runs.values().map(|run| run.len() as u64).sum()
    }

    /// How many runs were scored.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Every scored frame with its score, in the order of the film.
    pub fn scores(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let mut runs: Vec<(u64, &Vec<f64>)> =
            self.runs.iter().map(|(place, scores)| (self.strata.run(*place), scores)).collect();
        runs.sort_unstable_by_key(|(run, _)| *run);
        runs.into_iter().flat_map(|(run, scores)| (run * self.run..).zip(scores.iter().copied()))
    }

    fn values(&self) -> Vec<f64> {
        self.scores().map(|(_, score)| score).collect()
    }

    /// The mean of all frames; `None` before there are two runs.
    pub fn mean(&self) -> Option<Interval> {
        let values = self.values();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        if self.is_whole() {
            return (!values.is_empty()).then(|| Interval::exact(mean));
        }
        let half = self.half_width(|run| run.iter().sum::<f64>() / run.len().max(1) as f64)?;
        Some(Interval { estimate: mean, low: mean - half, high: mean + half })
    }

    /// The score that so many percent of all frames do not reach.
    pub fn percentile(&self, percent: f64) -> Option<Interval> {
        let mut sorted = self.values();
        sorted.sort_by(f64::total_cmp);
        let estimate = percentile(&sorted, percent);
        if self.is_whole() {
            return (!sorted.is_empty()).then(|| Interval::exact(estimate));
        }
        let below = |run: &[f64]| {
            run.iter().filter(|score| **score <= estimate).count() as f64 / run.len().max(1) as f64
        };
        let half = 100.0 * (self.half_width(below)? + 1.0 / sorted.len() as f64);
        let at = |percent: f64| percentile(&sorted, percent.clamp(0.0, 100.0));
        Some(Interval { estimate, low: at(percent - half), high: at(percent + half) })
    }

    /// Half of the 95 % interval of the mean of a figure that each run has.
    fn half_width(&self, figure: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let figures: Vec<f64> = self.runs.values().map(|run| figure(run)).collect();
        let count = figures.len();
        if count < 2 {
            return None;
        }
        let differences: f64 = figures.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum();
        let variance = differences / (2 * (count - 1)) as f64;
        let left = 1.0 - count as f64 / self.all_runs().max(1) as f64;
        // The quantile of Student's distribution; differences that share a run are worth about half.
        let quantile = 1.96 + 2.4 / (count as f64 / 2.0);
        Some(CAUTION * quantile * (variance / count as f64 * left.max(0.0)).sqrt())
    }
}

/// The number with its binary digits behind the point, in reverse: 1/2, 1/4, 3/4, 1/8, …
fn van_der_corput(number: u64) -> f64 {
    number.reverse_bits() as f64 / 2f64.powi(64)
}

/// The report of a sample.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SampledReport {
    /// Version of the program.
    pub version: String,
    /// The reference.
    pub reference: String,
    /// The distorted video.
    pub distorted: String,
    /// The column that was estimated: the first model.
    pub score: String,
    /// Always true: a sample of the frames was scored, and the figures are estimates.
    pub sampled: bool,
    /// Frames of the whole.
    pub frames: u64,
    /// Frames that were scored.
    pub frames_scored: u64,
    /// Places from which they come.
    pub places: u64,
    /// Why sampling ended: narrow (the interval is as narrow as was asked for), decided (a gate knows enough), budget (the time
    /// was used up) or whole (every frame was scored).
    pub ended: SampleEnd,
    /// The mean of all frames.
    pub mean: Interval,
    /// The score that 5 % of all frames do not reach.
    pub p5: Interval,
    /// Seconds that it took.
    pub seconds: f64,
    /// What was done to the videos, and what should be known about them.
    pub notes: Vec<String>,
    /// The frames that were scored.
    pub scores: Vec<SampledFrame>,
}

impl SampledReport {
    /// The result in a sentence.
    pub fn sentence(&self) -> String {
        let figure = |name: &str, interval: &Interval| {
            format!("{name} {:.2} ± {:.2}", interval.estimate, interval.half())
        };
        format!(
            "{}: {}, {} (95 % intervals), estimated from {} of {} frames.",
            self.score,
            figure("mean", &self.mean),
            figure("p5", &self.p5),
            self.frames_scored,
            self.frames
        )
    }
}

/// A frame of a sample.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SampledFrame {
    /// Its number.
    pub frame: u64,
    /// Its score.
    pub score: f64,
}

/// Why sampling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SampleEnd {
    /// The interval is as narrow as was asked for.
    Narrow,
    /// A gate knows enough.
    Decided,
    /// The time was used up.
    Budget,
    /// Every frame was scored.
    Whole,
}

#[cfg(test)]
mod tests;
