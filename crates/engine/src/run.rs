//! A run: readers, pairing, workers and collection, each on threads of their own.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use visus_metrics::{Level, MetricError};
use visus_video::budget::OverBudget;
use visus_video::{Format, ReadError, Source};

use crate::collect::Collector;
use crate::feed::{Chroma, Input, Reader, Turn};
use crate::memory::Needs;
use crate::pair::{Differs, Job, PairEnd, Pairing};
use crate::part::Part;
use crate::span::Span;
use crate::worker::{RawRow, Worker};
use crate::{Cancel, Event, Flow, Plan, Scores, Sink};

/// How a run is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workers; at least one.
    pub threads: usize,
    /// List every n-th frame only.
    pub subsample: u64,
    /// At most so many pairs.
    pub frames: Option<u64>,
    pub skip_reference: u64,
    pub skip_distorted: u64,
    pub level: Level,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            subsample: 1,
            frames: None,
            skip_reference: 0,
            skip_distorted: 0,
            level: Level::detect(),
        }
    }
}

/// One of the two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Reference,
    Distorted,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Reference { "reference" } else { "distorted" })
    }
}

/// What a finished run found.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub format: Format,
    /// The first pair's number in the clip; scores are counted from it. Not 0 in a part of a clip.
    pub first_frame: u64,
    /// Pairs that were scored.
    pub frames: u64,
    pub subsample: u64,
    /// The side that ended first, where the other one went on.
    pub shorter: Option<Side>,
    /// The two inputs are the same, sample for sample.
    pub identical: bool,
    pub scores: Scores,
    pub elapsed: Duration,
    pub level: Level,
}

impl Outcome {
    /// Pairs per second.
    pub fn fps(&self) -> f64 {
        self.frames as f64 / self.elapsed.as_secs_f64()
    }
}

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the inputs cannot be compared: {reference} against {distorted}")]
    Incompatible { reference: Format, distorted: Format },
    #[error("reading the {side} video failed")]
    Read { side: Side, source: ReadError },
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error("a part from frame {from} to {to} has no frame")]
    EmptyPart { from: u64, to: u64 },
    #[error("a part must begin with a frame that is listed: {from} is not a multiple of the step {step}")]
    UnlistedStart { from: u64, step: u64 },
    #[error("there is no pair of frames to score")]
    NoFrames,
    #[error(transparent)]
    Memory(OverBudget),
    #[error("cancelled")]
    Cancelled,
}

impl EngineError {
    fn from_budget(error: OverBudget) -> Self {
        match error {
            OverBudget::Cancelled => Self::Cancelled,
            other => Self::Memory(other),
        }
    }
}

/// How long a wait lasts before it looks at the cancel switch.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Frames of one input that are alive at the same time: one per worker, those that metrics look back at, one being read or
/// ready, and more of these where several workers may ask at once. A frame that was used a moment ago is still in the
/// caches, so fewer are better than many.
fn pool_size(threads: usize, history: usize) -> usize {
    threads + history + 1 + threads / 2
}

/// Workers, and the hands of each. Frames are shared out among workers; where there are fewer frames than threads, each
/// frame gets several hands.
fn division_of_work(threads: usize, frames: Option<u64>) -> (usize, usize) {
    let threads = threads.max(1);
    let workers =
        frames.map_or(threads, |frames| usize::try_from(frames).unwrap_or(threads).clamp(1, threads));
    (workers, threads / workers)
}

/// Scores `distorted` against `reference`. Returns when all is done, failed or cancelled; no thread outlives it but a
/// reader that is stuck in a read which nothing can interrupt (a silent pipe): that one ends with its read.
pub fn run(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    let span = Span::first(settings.frames);
    Ok(run_span(plan, reference, distorted, settings, span, false, cancel, sink)?.outcome)
}

/// A run over a span of the clip.
pub(crate) fn run_span(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    span: Span,
    keep_rows: bool,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Part, EngineError> {
    let started = Instant::now();
    let format = common_format(&*reference, &*distorted)?;
    let total = expected_frames(&*reference, &*distorted, settings, &span);
    let (all_threads, _room) = Needs::of(plan, &format)
        .reserve(settings.threads, &format, cancel)
        .map_err(EngineError::from_budget)?;
    let (threads, hands) = division_of_work(all_threads, total);
    let workers: Result<Vec<_>, _> =
        (0..threads).map(|_| Worker::new(plan, &format, settings.level, settings.subsample, hands)).collect();
    let mut workers = workers?;
    if sink.event(Event::Started { format, total }) == Flow::Stop {
        cancel.fire();
    }
    let size = pool_size(threads, plan.history());
    let skips = [settings.skip_reference, settings.skip_distorted].map(|skip| skip.saturating_add(span.read));
    let differs = Differs::default();
    let chroma = if plan.luma_only() { Chroma::Until(differs.clone()) } else { Chroma::Always };
    let inputs = [
        Input {
            source: reference,
            side: Side::Reference,
            skip: skips[0],
            pool_size: size,
            chroma: chroma.clone(),
        },
        Input { source: distorted, side: Side::Distorted, skip: skips[1], pool_size: size, chroma },
    ];
    let mut collector = Collector::new(plan, &format, settings.subsample, span);
    if keep_rows {
        collector = collector.keeping_rows();
    }
    let pairing = Pairing { span: &span, history: plan.history(), differs: &differs };
    let team = Team { workers: &mut workers, pairing, collector: &mut collector, cancel };
    let end = match reading(all_threads, &inputs) {
        Reading::Alone => team.alone(inputs, sink),
        Reading::InTurn => team.in_turn(inputs, sink),
        Reading::Apart => team.apart(inputs, sink),
    };
    let end = check_end(end?)?;
    let rows = collector.take_rows();
    let outcome = Outcome {
        format,
        first_frame: span.from,
        frames: end.frames,
        subsample: settings.subsample.max(1),
        shorter: end.shorter,
        identical: end.identical,
        scores: collector.finish(sink),
        elapsed: started.elapsed(),
        level: settings.level,
    };
    Ok(Part { outcome, ended: end.ended, rows })
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// The one thread that does everything.
    Alone,
    /// Whichever worker wants a frame next.
    InTurn,
    /// Threads of their own.
    Apart,
}

/// What has to be waited for is read by threads that can wait. Files are at hand: `--threads 1` is one thread then, and where
/// there are no processors beyond the workers', readers of their own would only push those aside.
fn reading(threads: usize, inputs: &[Input; 2]) -> Reading {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    if !inputs.iter().all(Input::is_at_hand) {
        Reading::Apart
    } else if threads <= 1 {
        Reading::Alone
    } else if threads >= processors() {
        Reading::InTurn
    } else {
        Reading::Apart
    }
}

/// Those who work on a run, and what they share.
struct Team<'a, 'b, 'c> {
    workers: &'a mut [Worker<'b>],
    pairing: Pairing<'a>,
    collector: &'a mut Collector<'c>,
    cancel: &'a Cancel,
}

impl Team<'_, '_, '_> {
    /// This thread does everything, with the only worker there is.
    fn alone(self, inputs: [Input; 2], sink: &mut dyn Sink) -> Result<PairEnd, EngineError> {
        let [reference, distorted] = inputs.map(Turn::new);
        let mut walk = self.pairing.walk(reference, distorted);
        let [worker] = self.workers else { unreachable!("one thread has one worker") };
        while let Some(job) = walk.next(self.cancel) {
            if self.collector.take(worker.row(&job)?, sink) == Flow::Stop {
                return Err(EngineError::Cancelled);
            }
        }
        if self.cancel.is_fired() { Err(EngineError::Cancelled) } else { Ok(walk.end) }
    }

    /// Workers read by turns; this thread collects.
    fn in_turn(self, inputs: [Input; 2], sink: &mut dyn Sink) -> Result<PairEnd, EngineError> {
        let [reference, distorted] = inputs.map(Turn::new);
        let walk = Mutex::new(self.pairing.walk(reference, distorted));
        let next = |halt: &Cancel| walk.lock().unwrap_or_else(PoisonError::into_inner).next(halt);
        let halt = Cancel::new();
        let result = std::thread::scope(|scope| {
            let (rows, row_queue) = bounded::<Result<RawRow, MetricError>>(2 * self.workers.len());
            for worker in self.workers {
                let (next, rows, halt) = (&next, rows.clone(), &halt);
                scope.spawn(move || worker.work(std::iter::from_fn(|| next(halt)), &rows));
            }
            drop(rows);
            let result = gather(&row_queue, self.collector, self.cancel, sink);
            halt.fire();
            result
        });
        result.map(|()| walk.into_inner().unwrap_or_else(PoisonError::into_inner).end)
    }

    /// Readers, pairing and workers on threads of their own; this one collects.
    fn apart(self, inputs: [Input; 2], sink: &mut dyn Sink) -> Result<PairEnd, EngineError> {
        let [reference, distorted] = inputs.map(Reader::start);
        let mut walk = self.pairing.walk(&reference, &distorted);
        let halt = Cancel::new();
        let threads = self.workers.len();
        let result = std::thread::scope(|scope| {
            let (jobs, job_queue) = bounded::<Job>(threads);
            let (rows, row_queue) = bounded::<Result<RawRow, MetricError>>(2 * threads);
            for worker in self.workers {
                let (job_queue, rows) = (job_queue.clone(), rows.clone());
                scope.spawn(move || worker.work(job_queue.into_iter(), &rows));
            }
            drop((job_queue, rows));
            let (walk, halt_pairing) = (&mut walk, &halt);
            scope.spawn(move || {
                while let Some(job) = walk.next(halt_pairing) {
                    if jobs.send(job).is_err() {
                        break;
                    }
                }
            });
            let result = gather(&row_queue, self.collector, self.cancel, sink);
            // What still waits, wakes up: pairing sees the halt, workers that nobody listens.
            halt.fire();
            result
        });
        result.map(|()| walk.end)
    }
}

fn check_end(end: PairEnd) -> Result<PairEnd, EngineError> {
    match end.error {
        Some(error) => Err(error),
        None if end.frames == 0 => Err(EngineError::NoFrames),
        None => Ok(end),
    }
}

/// Takes rows until the last worker is gone.
fn gather(
    rows: &Receiver<Result<RawRow, MetricError>>,
    collector: &mut Collector<'_>,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<(), EngineError> {
    loop {
        if cancel.is_fired() {
            return Err(EngineError::Cancelled);
        }
        match rows.recv_timeout(PATIENCE) {
            Ok(row) => {
                if collector.take(row?, sink) == Flow::Stop {
                    return Err(EngineError::Cancelled);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The format of both inputs. Bit depth, chroma and size must agree: nothing is converted silently.
fn common_format(reference: &dyn Source, distorted: &dyn Source) -> Result<Format, EngineError> {
    let (reference, distorted) = (*reference.format(), *distorted.format());
    if reference == distorted {
        Ok(reference)
    } else {
        Err(EngineError::Incompatible { reference, distorted })
    }
}

fn expected_frames(
    reference: &dyn Source,
    distorted: &dyn Source,
    settings: &Settings,
    span: &Span,
) -> Option<u64> {
    let left = |source: &dyn Source, skip: u64| source.total_frames().map(|total| total.saturating_sub(skip));
    let reference = left(reference, settings.skip_reference);
    let distorted = left(distorted, settings.skip_distorted);
    [reference, distorted, span.to].into_iter().flatten().min().map(|end| end.saturating_sub(span.from))
}

#[cfg(test)]
mod tests {
    use super::division_of_work;

    #[test]
    fn few_frames_get_several_hands() {
        for (threads, frames, division) in [
            (8, None, (8, 1)),
            (8, Some(1000), (8, 1)),
            (8, Some(1), (1, 8)),
            (8, Some(3), (3, 2)),
            (8, Some(0), (1, 8)),
            (0, Some(5), (1, 1)),
        ] {
            assert_eq!(division_of_work(threads, frames), division, "{threads} threads, {frames:?} frames");
        }
    }
}
