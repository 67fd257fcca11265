//! A score from a sample of the frames, as narrow as asked for or as good as the time allows.
//!
//! [`visus_report::sampling`] says which runs of frames are scored and what follows from them; here they are reached and
//! scored. Each run is a part of the clip as `--from` and `--to` would make it: frames before and after it that metrics look
//! at are read as well, so every score is the one that the whole would have. Runs of encoded video are spread over shots by
//! their motion ([`crate::strata`]), those of raw video over time. Frames are paired one after another, since
//! pairing by content would have to read everything; videos of different length or rate are refused.

use std::ops::Range;
use std::time::{Duration, Instant};

use visus_engine::{Cancel, Event, Flow, FrameRange, Plan, Settings};
use visus_report::sampling::{FEWEST_RUNS, Interval, Sample, SampleEnd, SampledFrame, SampledReport};
use visus_video::Source;

use crate::open::{Prepared, RandomAccess};
use crate::request::{RunOptions, ScoreRequest};
use crate::{RequestError, Resolved, Sampling, ScoreError};

/// What is known after some frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    pub mean: Interval,
    pub p5: Interval,
    pub scored: u64,
    pub frames: u64,
}

/// Frames before a run from which reading begins, more than any metric looks back.
const LEAD: u64 = 8;
/// Frames of a run: few where they are reached at once, more where a decoder begins at a key frame.
const SHORT_RUN: u64 = 4;
const LONG_RUN: u64 = 12;

/// Scores samples until they say enough. `decided` is asked after each look; `true` ends it.
pub fn score_sampled(
    request: ScoreRequest,
    sampling: &Sampling,
    cancel: &Cancel,
    mut decided: impl FnMut(&Estimates) -> bool,
    version: &str,
) -> Result<SampledReport, ScoreError> {
    let started = Instant::now();
    let ScoreRequest { videos, selection, options } = request;
    check(&options)?;
    let names = [videos.reference.name(), videos.distorted.name()];
    let access = Prepared::new(videos, &selection.models, cancel)?.random_access()?;
    let [first, _] = access.open_at(0, cancel)?;
    let Resolved { plan, mut notes, .. } = selection.resolve(&*first)?;
    drop(first);
    let column = plan.models().next().map(|model| model.name.clone());
    let column =
        column.ok_or_else(|| RequestError::Range("a sample needs a model to estimate".to_owned()))?;
    notes.extend(access.notes());
    let run = if access.is_decoded() { LONG_RUN } else { SHORT_RUN };
    let mut sample = match access.strata(run, cancel) {
        Some(strata) => Sample::in_strata(access.frames(), run, visus_report::bootstrap::SEED, &strata),
        None => Sample::new(access.frames(), run, visus_report::bootstrap::SEED),
    };
    let scorer = Scorer { access: &access, plan: &plan, options: &options, column: &column, cancel };
    let late = || sampling.budget.is_some_and(|budget| started.elapsed() >= budget);
    let (estimates, ended) = loop {
        let count = if is_short(&sample) { usize::MAX } else { sample.next_count() };
        for range in joined(sample.draw(count)) {
            // Of a first look that takes longer than the budget, two runs at least give an interval.
            if late() && sample.run_count() >= 2 {
                break;
            }
            let scores = scorer.score(&range)?;
            sample.add(&range, scores);
        }
        let (Some(mean), Some(p5)) = (sample.mean(), sample.percentile(5.0)) else {
            return Err(ScoreError::Engine(visus_engine::EngineError::NoFrames));
        };
        let estimates = Estimates { mean, p5, scored: sample.scored(), frames: access.frames() };
        let decided = decided(&estimates);
        if let Some(end) = ended(&sample, &estimates, sampling, started.elapsed(), decided) {
            break (estimates, end);
        }
    };
    let [reference, distorted] = names;
    Ok(SampledReport {
        version: version.to_owned(),
        reference,
        distorted,
        score: column,
        sampled: true,
        frames: estimates.frames,
        frames_scored: estimates.scored,
        places: sample.run_count() as u64,
        ended,
        mean: estimates.mean,
        p5: estimates.p5,
        seconds: started.elapsed().as_secs_f64(),
        notes,
        scores: sample.scores().map(|(frame, score)| SampledFrame { frame, score }).collect(),
    })
}

/// Whether a first look would take most of the frames: then all of them, in one go, are sooner there.
fn is_short(sample: &Sample) -> bool {
    sample.all_runs() < 2 * FEWEST_RUNS as u64
}

/// Runs that follow each other as one: a decoder is started once for all of them.
fn joined(runs: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => joined.push(run),
        }
    }
    joined
}

/// A sample is one of all frames.
fn check(options: &RunOptions) -> Result<(), RequestError> {
    let part = options.from.is_some() || options.to.is_some() || options.frames.is_some();
    if part || options.subsample > 1 {
        let text = "a sample is drawn from all frames: give neither a part of them nor a step";
        return Err(RequestError::Range(text.to_owned()));
    }
    Ok(())
}

fn ended(
    sample: &Sample,
    estimates: &Estimates,
    sampling: &Sampling,
    elapsed: Duration,
    decided: bool,
) -> Option<SampleEnd> {
    let narrow =
        |wanted: Option<f64>, interval: &Interval| wanted.is_none_or(|wanted| interval.half() <= wanted);
    let asked = sampling.mean_within.is_some() || sampling.p5_within.is_some();
    let all_narrow =
        narrow(sampling.mean_within, &estimates.mean) && narrow(sampling.p5_within, &estimates.p5);
    if sample.is_whole() {
        Some(SampleEnd::Whole)
    } else if decided {
        Some(SampleEnd::Decided)
    } else if asked && all_narrow {
        Some(SampleEnd::Narrow)
    } else if sampling.budget.is_some_and(|budget| elapsed >= budget) {
        Some(SampleEnd::Budget)
    } else {
        None
    }
}

struct Scorer<'a> {
    access: &'a RandomAccess,
    plan: &'a Plan,
    options: &'a RunOptions,
    column: &'a str,
    cancel: &'a Cancel,
}

impl Scorer<'_> {
    /// The scores of a run of frames, as they are in the whole.
    fn score(&self, range: &Range<u64>) -> Result<Vec<f64>, ScoreError> {
        let start = range.start.saturating_sub(LEAD);
        let [reference, distorted]: [Box<dyn Source>; 2] = self.access.open_at(start, self.cancel)?;
        let settings = self.options.settings([0, 0])?;
        let (from, to) = (range.start - start, Some(range.end - start));
        let settings = Settings { range: FrameRange::Part { from, to }, ..settings };
        let mut quiet = |_: Event<'_>| Flow::Continue;
        let part =
            visus_engine::run_part(self.plan, reference, distorted, &settings, self.cancel, &mut quiet)
                .map_err(|error| self.access.reworded(error.into()))?;
        let scores: Vec<f64> = part
            .outcome
            .scores
            .column(self.column)
            .map_or(Vec::new(), |column| column.iter().map(|(_, score)| score).collect());
        if scores.len() as u64 == range.end - range.start {
            return Ok(scores);
        }
        let text = format!(
            "frames {} to {} have {} scores; the files have fewer frames than they say",
            range.start,
            range.end - 1,
            scores.len()
        );
        Err(ScoreError::Reworded { class: crate::ErrorClass::Video, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_runs_are_read_in_one_go() {
        assert_eq!(joined(vec![0..4, 4..8, 12..16, 16..18]), [0..8, 12..18]);
        assert!(joined(Vec::new()).is_empty());
        assert!(is_short(&Sample::new(250, 12, 1)) && !is_short(&Sample::new(2500, 12, 1)));
    }
}
