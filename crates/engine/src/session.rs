//! A session: pairs of frames are pushed into it, by a caller who has them already.
//!
//! [`run`](crate::run) pulls frames from two sources; a session is the same machinery with the caller in the place of
//! reading and pairing. Workers, device lane, collection and results are the same, so the scores are too.
//!
//! Back-pressure: [`PushSession::push`] waits while too many pairs are in flight, so the caller's frames are bounded. Nothing
//! is copied: a frame is released when the last metric that looks at it is done. Collection happens on the caller's thread,
//! inside the calls; there is no thread beside the lanes. Workers are started when there is work for them: a session over
//! one frame has one worker, and with `threads: 0` the caller's thread is the worker and there is no thread at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use visus_video::SharedFrame;

use crate::backend::BackendUsed;
use crate::collect::Collector;
use crate::error::{EngineError, Side};
use crate::frame_threads::FrameThreads;
use crate::lane::{FramePair, Job};
use crate::pair::{Differs, Windows};
use crate::run::PATIENCE;
use crate::stage::{Capacity, Dispatcher, Gathered, Stage};
use crate::worker::{Worker, WorkerSetup};
use crate::{Cancel, ClipInfo, Event, Flow, Outcome, Plan, Scores, Settings, Sink};

/// Scores pairs of frames that are pushed into it.
///
/// ```
/// use visus_engine::{Cancel, ModelSpec, Plan, PushSession, Settings, Silent};
/// use visus_video::{Chroma, Format, synthetic::Clip};
///
/// let format = Format::new(64, 48, Chroma::C420, 8)?;
/// let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true)?;
/// let settings = Settings { threads: 0, ..Settings::default() };
/// let mut session = PushSession::new(&plan, format.into(), &settings, &Cancel::new(), Box::new(Silent))?;
/// for frame in Clip::scene(format, 3, 7).frames() {
///     session.push(frame.clone(), frame)?;
/// }
/// assert!(session.scores().column("vmaf").and_then(|vmaf| vmaf.get(1)).is_some());
/// assert_eq!(session.finish()?.frames, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PushSession {
    started: Instant,
    clip: ClipInfo,
    subsample: u64,
    first_frame: u64,
    windows: Windows,
    collector: Collector,
    sink: Box<dyn Sink + Send>,
    cancel: Cancel,
    backend: BackendUsed,
    /// Gone after an error.
    lanes: Option<Lanes>,
}

/// Who computes.
enum Lanes {
    /// The caller's thread.
    Inline(Box<Worker>),
    Threads(Box<Threads>),
}

/// Lanes on threads of their own.
struct Threads {
    // Dropped in this order: without a dispatcher the lanes have no more jobs and end.
    dispatcher: Dispatcher,
    stage: Stage,
    setup: WorkerSetup,
    /// Made to check the format, and not at work yet.
    idle: Option<Worker>,
    most_workers: usize,
    /// Rows that may be on their way at the same time.
    most_rows: usize,
    /// Rows that all jobs so far give.
    rows_expected: usize,
}

impl PushSession {
    /// Fails if a metric refuses the clip. `Settings::range` counts the pairs that are pushed; those outside it are not
    /// scored.
    pub fn new(
        plan: &Plan,
        clip: ClipInfo,
        settings: &Settings,
        cancel: &Cancel,
        mut sink: Box<dyn Sink + Send>,
    ) -> Result<Self, EngineError> {
        let started = Instant::now();
        let plan = Arc::new(plan.clone());
        let (step, span) = (settings.step(), settings.span(&plan)?);
        let (lanes, backend) = Lanes::new(&plan, clip, settings)?;
        if sink.event(Event::Started { format: clip.format, total: None }) == Flow::Stop {
            cancel.fire();
        }
        Ok(Self {
            started,
            clip,
            subsample: step,
            first_frame: span.from,
            windows: Windows::new(&plan, span, step, 0, Differs::default()),
            collector: Collector::new(&plan, &clip.format, step, span),
            sink,
            cancel: cancel.clone(),
            backend,
            lanes: Some(lanes),
        })
    }

    /// Hands over the next pair and says its number. Waits while too many pairs are in flight. After an error the session
    /// can only be dropped.
    pub fn push(
        &mut self,
        reference: impl Into<SharedFrame>,
        distorted: impl Into<SharedFrame>,
    ) -> Result<u64, EngineError> {
        let pair = FramePair { reference: reference.into(), distorted: distorted.into() };
        self.check_format(Side::Reference, &pair.reference)?;
        self.check_format(Side::Distorted, &pair.distorted)?;
        let index = self.windows.index();
        self.attempt(|session, lanes| {
            let job = session.windows.push(pair);
            job.map_or(Ok(()), |job| session.submit(lanes, job))
        })?;
        Ok(index)
    }

    /// A frame of another format is refused and the session goes on.
    fn check_format(&self, side: Side, frame: &SharedFrame) -> Result<(), EngineError> {
        let (index, expected, got) = (self.windows.index(), self.clip.format, *frame.format());
        if expected == got { Ok(()) } else { Err(EngineError::WrongFrame { side, index, expected, got }) }
    }

    /// Pairs that were pushed so far.
    pub fn pushed(&self) -> u64 {
        self.windows.index()
    }

    /// Collects what is done by now, without waiting.
    pub fn poll(&mut self) -> Result<(), EngineError> {
        self.attempt(|session, lanes| match lanes {
            Lanes::Inline(_) => Ok(()),
            Lanes::Threads(threads) => {
                while session.gather(threads, Duration::ZERO)? == Gathered::Report {}
                Ok(())
            }
        })
    }

    /// Waits until all pairs that were pushed are computed. Then [`scores`](Self::scores) has everything that can be known
    /// before the next pair or the end: only motion of the last pair is still open.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        self.attempt(|session, lanes| match lanes {
            Lanes::Inline(_) => Ok(()),
            Lanes::Threads(threads) => session.wait_for_rows(threads, 0),
        })
    }

    /// The scores that were collected so far, in the plan's order of columns.
    pub fn scores(&self) -> &Scores {
        self.collector.scores()
    }

    /// Waits for the rest and gives the result.
    pub fn finish(mut self) -> Result<Outcome, EngineError> {
        if self.cancel.is_fired() {
            return Err(EngineError::Cancelled);
        }
        let lanes = self.lanes.take().ok_or(EngineError::SessionFailed)?;
        if let Lanes::Threads(threads) = lanes {
            let Threads { dispatcher, mut stage, .. } = *threads;
            drop(dispatcher);
            stage.seal();
            stage.gather_all(&mut self.collector, &self.cancel, &mut *self.sink)?;
            self.note_fallback(&mut stage);
        }
        let (frames, identical) = (self.windows.frames(), self.windows.identical());
        if frames == 0 {
            return Err(EngineError::NoFrames);
        }
        self.collector.check_complete(frames)?;
        Ok(Outcome {
            format: self.clip.format,
            first_frame: self.first_frame,
            frames,
            subsample: self.subsample,
            shorter: None,
            identical,
            scores: self.collector.finish(&mut *self.sink),
            elapsed: self.started.elapsed(),
            backend: self.backend,
        })
    }

    /// Does something with the lanes; after an error there are none any more.
    fn attempt(
        &mut self,
        step: impl FnOnce(&mut Self, &mut Lanes) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut lanes = self.lanes.take().ok_or(EngineError::SessionFailed)?;
        if self.cancel.is_fired() {
            return Err(EngineError::Cancelled);
        }
        step(self, &mut lanes)?;
        if let Lanes::Threads(threads) = &mut lanes {
            self.note_fallback(&mut threads.stage);
        }
        self.lanes = Some(lanes);
        Ok(())
    }

    fn note_fallback(&mut self, stage: &mut Stage) {
        if let Some(fallback) = stage.fallback.take() {
            self.backend.fallback = Some(fallback);
        }
    }

    fn submit(&mut self, lanes: &mut Lanes, job: Job) -> Result<(), EngineError> {
        match lanes {
            Lanes::Inline(worker) => {
                let row = worker.row(&job)?;
                drop(job);
                match self.collector.take(row, &mut *self.sink) {
                    Flow::Continue => Ok(()),
                    Flow::Stop => Err(EngineError::Cancelled),
                }
            }
            Lanes::Threads(threads) => {
                self.wait_for_rows(threads, threads.most_rows - 1)?;
                threads.add_worker_if_busy()?;
                match threads.dispatcher.submit(job) {
                    Some(rows) => {
                        threads.rows_expected += rows;
                        Ok(())
                    }
                    // The device has failed, and its report says why.
                    None => loop {
                        self.gather(threads, PATIENCE)?;
                    },
                }
            }
        }
    }

    /// Collects until no more than so many rows are on their way.
    fn wait_for_rows(&mut self, threads: &mut Threads, most: usize) -> Result<(), EngineError> {
        while threads.rows_on_their_way() > most {
            self.gather(threads, PATIENCE)?;
        }
        Ok(())
    }

    fn gather(&mut self, threads: &mut Threads, patience: Duration) -> Result<Gathered, EngineError> {
        threads.stage.gather(patience, &mut self.collector, &self.cancel, &mut *self.sink)
    }
}

impl Lanes {
    fn new(
        plan: &Arc<Plan>,
        clip: ClipInfo,
        settings: &Settings,
    ) -> Result<(Self, BackendUsed), EngineError> {
        let (device, backend) = settings.backend.open(plan, &clip)?;
        let setup =
            WorkerSetup::new(plan, clip, settings.backend.cpu, device.as_ref(), settings.observer.as_ref())?;
        let worker = setup.worker(&FrameThreads::none())?;
        if settings.threads == 0 && device.is_none() {
            return Ok((Self::Inline(Box::new(worker)), backend));
        }
        let most_workers = settings.threads.max(1);
        let on_device = device.as_ref().map_or(0, |device| device.lane.in_flight());
        let (stage, dispatcher) = Stage::new(plan, Capacity::Unlimited, device)?;
        let threads = Threads {
            dispatcher,
            stage,
            setup,
            idle: Some(worker),
            most_workers,
            // One that is computed and one that waits, for each.
            most_rows: 2 * most_workers + on_device,
            rows_expected: 0,
        };
        Ok((Self::Threads(Box::new(threads)), backend))
    }
}

impl Threads {
    fn rows_on_their_way(&self) -> usize {
        self.rows_expected - self.stage.rows_taken
    }

    /// Starts another worker where all that are there have something to do.
    fn add_worker_if_busy(&mut self) -> Result<(), EngineError> {
        let workers = self.stage.workers();
        if workers > self.rows_on_their_way() || workers >= self.most_workers {
            return Ok(());
        }
        let worker = match self.idle.take() {
            Some(worker) => worker,
            None => self.setup.worker(&FrameThreads::none())?,
        };
        self.stage.add_worker(worker)
    }
}

impl std::fmt::Debug for PushSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PushSession({}, {} pairs pushed)", self.clip.format, self.pushed())
    }
}
