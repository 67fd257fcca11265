//! A run: two sources are read, paired, computed and collected.
//!
//! Who reads depends on the sources and on the number of threads; see [`Reading`]. In every mode a source that dies, a
//! worker that panics or a device that fails ends the run with an error that names it, and the result is checked for
//! completeness before it is handed out: a run never gives a short result as if it were whole.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use visus_metrics::PlanesRead;
use visus_video::budget::Reservation;
use visus_video::{Format, Pool, Source};

use crate::backend::{BackendUsed, OpenDevice};
use crate::collect::Collector;
use crate::error::{EngineError, Role, Side};
use crate::feed::{DirectReader, FRAMES_AHEAD, Feed, Input, PlaneReading, ReaderThreads, frame_pool};
use crate::frame_threads::FrameThreads;
use crate::memory::Needs;
use crate::pair::{Differs, SharedWalk, Walk, Windows};
use crate::part::Part;
use crate::span::Span;
use crate::stage::{Capacity, DEVICE_QUEUE, Stage};
use crate::worker::{Worker, WorkerSetup};
use crate::{Cancel, ClipInfo, Event, Flow, Outcome, Plan, Settings, Sink};

/// How long a wait lasts before it looks at the cancel switch.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// Frames of one input that are alive at the same time: one per worker, those that metrics look back at, one being read or
/// ready, and more of these where several workers may ask at once; and those that a device holds or that wait for it. A
/// frame that was used a moment ago is still in the caches, so fewer are better than many.
fn pool_size(threads: usize, history: usize, on_device: Option<usize>) -> usize {
    threads + history + 1 + threads / 2 + on_device.map_or(0, |in_flight| in_flight + DEVICE_QUEUE)
}

/// Threads that read each input for a device. Copying from the system's cache takes each of them about 5 GB/s.
const MOST_READERS: usize = 6;

/// Frames of one input that a device and its readers add.
fn frames_for(device: Option<&OpenDevice>) -> usize {
    device.map_or(0, |device| device.lane.in_flight() + DEVICE_QUEUE + (MOST_READERS - 1) * FRAMES_AHEAD)
}

/// Rows of a frame that keep a thread busy: parts of fewer rows spend too much on what neighbours do as well.
const ROWS_PER_THREAD: usize = 256;

/// Workers, and whether threads share the work on each frame. Frames are shared out among workers. Where there are clearly
/// fewer frames than threads, all threads work on all frames: then a few workers are enough, one more than it takes to give
/// every thread its rows, so that one frame can begin while another ends. Each worker has memory of its own, whose first use
/// costs as much as a good part of a frame.
fn division_of_work(threads: usize, frames: Option<u64>, height: usize) -> (usize, bool) {
    let threads = threads.max(1);
    let frames =
        frames.map_or(threads, |frames| usize::try_from(frames).unwrap_or(threads).clamp(1, threads));
    if 4 * frames > 3 * threads {
        return (frames, false);
    }
    let needed = threads.div_ceil((height / ROWS_PER_THREAD).max(1)) + 1;
    (needed.min(frames), true)
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
    let run = Run::new(plan, settings, [&*reference, &*distorted], cancel, sink)?;
    Ok(run.score([reference, distorted], false)?.outcome)
}

/// The same, with the raw rows that [`join`](crate::join) makes a whole of. The range in the settings says which part.
pub fn run_part(
    plan: &Plan,
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    settings: &Settings,
    cancel: &Cancel,
    sink: &mut dyn Sink,
) -> Result<Part, EngineError> {
    let run = Run::new(plan, settings, [&*reference, &*distorted], cancel, sink)?;
    run.score([reference, distorted], true)
}

/// A run that is about to begin.
struct Run<'a> {
    started: Instant,
    plan: Arc<Plan>,
    settings: &'a Settings,
    /// As many as there is room for.
    threads: usize,
    _room: Reservation,
    cancel: &'a Cancel,
    sink: &'a mut dyn Sink,
    clip: ClipInfo,
    span: Span,
    workers: Vec<Worker>,
    hands: FrameThreads,
    device: Option<OpenDevice>,
    backend: BackendUsed,
}

impl<'a> Run<'a> {
    /// Checks that the inputs can be compared and the metrics can score them.
    fn new(
        plan: &Plan,
        settings: &'a Settings,
        sources: [&dyn Source; 2],
        cancel: &'a Cancel,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, EngineError> {
        let started = Instant::now();
        let plan = Arc::new(plan.clone());
        let span = settings.span(&plan)?;
        let clip = common_clip(sources)?;
        let total = expected_frames(sources, settings, &span);
        let (device, backend) = settings.backend.open(&plan, &clip)?;
        let needs = Needs::of(&plan, &clip.format).with_frames(frames_for(device.as_ref()), &clip.format);
        let (threads, room) = needs.reserve(settings.threads, &clip.format, cancel)?;
        let setup =
            WorkerSetup::new(&plan, clip, settings.backend.cpu, device.as_ref(), settings.observer.as_ref())?;
        let (count, shares_frames) = division_of_work(threads, total, clip.format.height());
        let hands = FrameThreads::new(if shares_frames { threads } else { 1 })?;
        let workers: Result<Vec<_>, _> = (0..count).map(|_| setup.worker(&hands)).collect();
        let workers = workers?;
        if sink.event(Event::Started { format: clip.format, total }) == Flow::Stop {
            cancel.fire();
        }
        Ok(Self {
            started,
            plan,
            settings,
            threads,
            _room: room,
            cancel,
            sink,
            clip,
            span,
            workers,
            hands,
            device,
            backend,
        })
    }

    fn score(mut self, sources: [Box<dyn Source>; 2], keep_rows: bool) -> Result<Part, EngineError> {
        let differs = Differs::default();
        let inputs = self.inputs(sources, &differs);
        let (step, span) = (self.settings.step(), self.span);
        let windows = Windows::new(&self.plan, span, step, span.read, differs);
        let mut collector = Collector::new(&self.plan, &self.clip.format, step, span);
        if keep_rows {
            collector = collector.keeping_rows();
        }
        let walked = match self.reading(&inputs) {
            Reading::OneThread => self.on_one_thread(inputs, windows, &mut collector),
            Reading::ByWorkers => self.with_reading_workers(inputs, windows, &mut collector),
            Reading::OwnThreads => self.with_reader_threads(inputs, windows, &mut collector),
        }?;
        self.finish(walked, collector)
    }

    fn inputs(&self, sources: [Box<dyn Source>; 2], differs: &Differs) -> [Input; 2] {
        let on_device = self.device.as_ref().map(|device| device.lane.in_flight());
        let size = pool_size(self.workers.len(), self.plan.history(), on_device)
            + (self.readers() - 1) * FRAMES_AHEAD;
        let allocator = self.settings.backend.allocator().filter(|_| on_device.is_some());
        let pool = |source: &dyn Source| {
            if source.is_remote() {
                Pool::hollow(self.clip.format, size)
            } else {
                frame_pool(self.clip.format, size, allocator.as_ref())
            }
        };
        let planes = if self.is_observed() { PlanesRead::ALL } else { self.plan.planes_read() };
        let input = |source: Box<dyn Source>, side, planes, skip: u64| Input {
            pool: pool(&*source),
            source,
            side,
            skip: skip.saturating_add(self.span.read),
            between: 0,
            planes: PlaneReading { looked_at: planes, differs: differs.clone() },
            hands: self.hands.clone(),
        };
        let [reference, distorted] = sources;
        [
            input(reference, Side::Reference, planes.reference, self.settings.skip_reference),
            input(distorted, Side::Distorted, planes.distorted, self.settings.skip_distorted),
        ]
    }

    /// Whether somebody beside the metrics looks at the pairs.
    fn is_observed(&self) -> bool {
        self.settings.observer.is_some() && self.device.is_none()
    }

    /// Threads that read each input. One of them keeps a few workers busy, but no device.
    fn readers(&self) -> usize {
        if self.device.is_some() { (self.threads / 3).clamp(1, MOST_READERS) } else { 1 }
    }

    /// What has to be waited for is read by threads that can wait, and so is what a device computes, which takes jobs in
    /// its own time. With as many workers as processors, dedicated readers would only steal time from them. Workers of
    /// several threads are few, and a large frame is long to read: both inputs are then read at the same time, and ahead.
    fn reading(&self, inputs: &[Input; 2]) -> Reading {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads;
        if self.device.is_some() || !inputs.iter().all(Input::never_blocks) {
            Reading::OwnThreads
        } else if threads <= 1 {
            Reading::OneThread
        } else if threads >= processors() && self.workers.len() == threads {
            Reading::ByWorkers
        } else {
            Reading::OwnThreads
        }
    }

    /// This thread does everything, with the only worker there is.
    fn on_one_thread(
        &mut self,
        inputs: [Input; 2],
        windows: Windows,
        collector: &mut Collector,
    ) -> Result<Walked, EngineError> {
        let [reference, distorted] = inputs.map(DirectReader);
        let mut walk = Walk::new(reference, distorted, windows);
        let Some(worker) = self.workers.first_mut() else { unreachable!("there is at least one worker") };
        while let Some(job) = walk.next(self.cancel) {
            let row = worker.row(&job)?;
            drop(job);
            if collector.take(row, self.sink) == Flow::Stop {
                return Err(EngineError::Cancelled);
            }
        }
        if self.cancel.is_fired() { Err(EngineError::Cancelled) } else { Walked::from(walk) }
    }

    /// Workers read by turns; this thread collects.
    fn with_reading_workers(
        &mut self,
        inputs: [Input; 2],
        windows: Windows,
        collector: &mut Collector,
    ) -> Result<Walked, EngineError> {
        let [reference, distorted] = inputs.map(DirectReader);
        let walk = Arc::new(Mutex::new(Walk::new(reference, distorted, windows)));
        let halt = Halt::default();
        let (mut stage, _) = Stage::new(&self.plan, Capacity::For(self.workers.len()), None)?;
        for worker in self.workers.drain(..) {
            let jobs = SharedWalk { walk: Arc::clone(&walk), halt: halt.0.clone() };
            stage.add_worker_on(worker, jobs)?;
        }
        stage.seal();
        let result = stage.gather_all(collector, self.cancel, self.sink);
        drop((halt, stage));
        result?;
        let walk = Arc::into_inner(walk).map(Mutex::into_inner);
        let walk = walk.map(|walk| walk.unwrap_or_else(PoisonError::into_inner));
        walk.map_or_else(|| Err(lost_pairing()), Walked::from)
    }

    /// Readers, pairing and lanes on threads of their own; this one collects.
    fn with_reader_threads(
        &mut self,
        inputs: [Input; 2],
        windows: Windows,
        collector: &mut Collector,
    ) -> Result<Walked, EngineError> {
        let readers = self.readers();
        let [reference, distorted] = inputs.map(|input| ReaderThreads::start(input, readers));
        let mut walk = Walk::new(reference?, distorted?, windows);
        let capacity = Capacity::For(self.workers.len());
        let (mut stage, mut dispatcher) = Stage::new(&self.plan, capacity, self.device.take())?;
        for worker in self.workers.drain(..) {
            stage.add_worker(worker)?;
        }
        stage.seal();
        let result = std::thread::scope(|scope| {
            // Declared first, dropped last: pairing ends when the halt is fired or nobody takes jobs any more.
            let halt = Halt::default();
            let (walk, halted) = (&mut walk, halt.0.clone());
            let pairing = move || {
                while let Some(job) = walk.next(&halted) {
                    if dispatcher.submit(job).is_none() {
                        break;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("pair frames".to_owned());
            let spawned = thread.spawn_scoped(scope, pairing);
            spawned.map_err(|source| EngineError::Start { who: Role::Pairing, source })?;
            let result = stage.gather_all(collector, self.cancel, self.sink);
            drop(halt);
            self.backend.fallback = stage.fallback.take().or(self.backend.fallback.take());
            drop(stage);
            result
        });
        result.and_then(|()| Walked::from(walk))
    }

    fn finish(self, walked: Walked, mut collector: Collector) -> Result<Part, EngineError> {
        let Walked { frames, identical, ended, shorter } = walked;
        if frames == 0 {
            return Err(EngineError::NoFrames);
        }
        collector.check_complete(frames)?;
        let rows = collector.take_rows();
        let outcome = Outcome {
            format: self.clip.format,
            first_frame: self.span.from,
            frames,
            subsample: self.settings.step(),
            shorter,
            identical,
            scores: collector.finish(self.sink),
            elapsed: self.started.elapsed(),
            backend: self.backend,
        };
        Ok(Part { outcome, ended, rows })
    }
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// The one thread that does everything.
    OneThread,
    /// Whichever worker needs a pair next.
    ByWorkers,
    /// Threads that do nothing else.
    OwnThreads,
}

/// Fires when it is dropped, also by a panic: threads that still wait then wake up and end.
#[derive(Default)]
struct Halt(Cancel);

impl Drop for Halt {
    fn drop(&mut self) {
        self.0.fire();
    }
}

/// What a walk over both inputs found.
struct Walked {
    frames: u64,
    identical: bool,
    ended: bool,
    shorter: Option<Side>,
}

impl Walked {
    fn from<F: Feed>(walk: Walk<F>) -> Result<Self, EngineError> {
        let (windows, end) = (walk.windows, walk.end);
        match end.error {
            Some(error) => Err(error),
            None => Ok(Self {
                frames: windows.frames(),
                identical: windows.identical(),
                ended: end.ended,
                shorter: end.shorter,
            }),
        }
    }
}

fn lost_pairing() -> EngineError {
    EngineError::Died { who: Role::Pairing, reason: "a worker did not let go of it".to_owned() }
}

/// The format of both inputs and the reference's frame rate. Bit depth, chroma and size must agree: nothing is converted silently.
fn common_clip([reference, distorted]: [&dyn Source; 2]) -> Result<ClipInfo, EngineError> {
    let formats: [Format; 2] = [*reference.format(), *distorted.format()];
    if formats[0] != formats[1] {
        let [reference, distorted] = formats;
        return Err(EngineError::Incompatible { reference, distorted });
    }
    Ok(ClipInfo { format: formats[0], frame_rate: reference.frame_rate() })
}

fn expected_frames(
    [reference, distorted]: [&dyn Source; 2],
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
    use super::{DEVICE_QUEUE, division_of_work, pool_size};

    #[test]
    fn few_frames_are_shared_among_threads() {
        for (threads, frames, height, division) in [
            (8, None, 1080, (8, false)),
            (8, Some(1000), 1080, (8, false)),
            (8, Some(8), 1080, (8, false)),
            (8, Some(1), 4320, (1, true)),
            (8, Some(3), 4320, (2, true)),
            (16, Some(13), 4320, (13, false)),
            (16, Some(12), 4320, (2, true)),
            (16, Some(12), 1080, (5, true)),
            (16, Some(12), 100, (12, true)),
            (8, Some(0), 1080, (1, true)),
            (0, Some(5), 1080, (1, false)),
        ] {
            let got = division_of_work(threads, frames, height);
            assert_eq!(got, division, "{threads} threads, {frames:?} frames of {height} rows");
        }
    }

    #[test]
    fn a_device_has_frames_of_its_own() {
        assert_eq!(pool_size(4, 2, Some(6)), pool_size(4, 2, None) + 6 + DEVICE_QUEUE);
    }
}
