//! Two streams, decoded at once and handed over in step.
//!
//! A thread per file reads frames into a pool and looks at them from afar; a third keeps a window of both, decides which
//! belong together and passes them on. The window is all that is held: memory is bounded by [`BUDGET`], and a file is
//! decoded once. Frames are passed by exchange, not by copy; the thread that takes them converts them if need be.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use visus_engine::{Cancel, Side};
use visus_video::{ColourRange, Format, Frame, Info, Pool, PooledFrame, ReadError, Source};

use crate::MediaError;
use crate::align::{Aligner, CERTAIN, Start, Step};
use crate::bars;
use crate::convert::{Converter, Shape};
use crate::findings::{Findings, Laid, Sync};
use crate::signature::{Grid, Signature, View};

/// Bytes of pictures that a pair of windows may hold.
const BUDGET: usize = 384 << 20;
/// Frames of a window: at the start of the files, and at least.
const WIDEST: usize = 96;
const NARROWEST: usize = 8;
/// Frames that are looked ahead once the start is found.
const AHEAD: usize = 32;
/// An offset of up to this part of the frames that are looked ahead is plain: most of them then have their like.
const PLAIN_SHARE: usize = 4;
/// Frames on their way between threads, per side.
const UNDERWAY: usize = 4;
/// How long a wait lasts before it looks at the switch.
const PATIENCE: Duration = Duration::from_millis(20);
/// Pictures above this likeness show the same beyond doubt.
const ALIKE: f32 = 0.8;
/// Pictures below this likeness do not show the same.
pub(crate) const UNLIKE: f32 = 0.5;

/// Findings that grow while frames are scored.
pub(crate) type Shared = Arc<Mutex<Findings>>;

pub(crate) fn lock(findings: &Shared) -> MutexGuard<'_, Findings> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One side before pairing.
pub(crate) struct Stream {
    pub source: Box<dyn Source>,
    pub range: ColourRange,
    pub rate: Option<f64>,
    /// What its frames become.
    pub target: Shape,
    /// Frames to leave out before pairing begins.
    pub skip: u64,
}

type Fed = Result<Option<(PooledFrame, Option<Signature>)>, ReadError>;
type Given = Result<Option<PooledFrame>, ReadError>;

/// The threads of a pair. Dropping it ends them and with them the decoders.
pub struct Threads {
    halt: Cancel,
    pools: [Pool; 2],
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Ends what still runs and waits for it. Sources that are still in use come to an end.
    pub fn end(&self) {
        self.halt.fire();
        self.pools.iter().for_each(Pool::close);
        let handles: Vec<_> = self.handles.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        for handle in handles {
            let _ = handle.join();
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Threads({:?})", self.pools)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end();
    }
}

/// A started pair.
pub(crate) struct Started {
    pub sources: [Box<dyn Source>; 2],
    pub findings: Shared,
    pub threads: Arc<Threads>,
}

/// Looks for the start further than the window reaches: an answer from small copies of both files, in these views.
pub(crate) type FarSearch<'a> = &'a dyn Fn([View; 2]) -> Result<Option<Start>, MediaError>;

/// Starts decoding, fills the windows and finds where the streams meet. `halt` must be the switch of the decoders.
pub(crate) fn start(
    streams: [Stream; 2],
    sync: Sync,
    halt: Cancel,
    cancel: &Cancel,
    far: FarSearch<'_>,
) -> Result<Started, MediaError> {
    let grid = Grid::for_formats(streams[0].source.format(), streams[1].source.format());
    let capacity = capacity(streams.each_ref().map(|stream| stream.source.format()));
    let findings = Arc::new(Mutex::new(Findings { sync, ..Findings::default() }));
    let pools =
        streams.each_ref().map(|stream| Pool::new(*stream.source.format(), capacity + 2 * UNDERWAY + 4));
    let threads =
        Arc::new(Threads { halt: halt.clone(), pools: pools.clone(), handles: Mutex::new(Vec::new()) });
    let rates = streams.each_ref().map(|stream| stream.rate);
    let (outputs, receivers): (Vec<Sender<Given>>, Vec<Receiver<Given>>) =
        (0..2).map(|_| bounded(UNDERWAY)).unzip();
    let sources = [0, 1].map(|side| Paired::new(&streams[side], receivers[side].clone(), &threads));
    let ranges = streams.each_ref().map(|stream| stream.range);
    let skipped = streams.each_ref().map(|stream| stream.skip);
    let mut feeds = Vec::new();
    for (stream, pool) in streams.into_iter().zip(&pools) {
        let (send, receive) = bounded(UNDERWAY);
        let look = (sync != Sync::Off).then_some(grid);
        let pool = pool.clone();
        spawn(&threads, "decode", move || feed(stream, &pool, look, &send))?;
        feeds.push(Window { fed: receive, held: VecDeque::new(), taken: 0, ended: None });
    }
    let mut pairer = Pairer {
        aligner: Aligner::new(rates),
        sides: feeds,
        outputs,
        findings: Arc::clone(&findings),
        halt,
        capacity,
        sync,
        last: None,
        look: Look { ranges, grid, views: None },
        rates,
        skipped,
    };
    pairer.find_start(cancel, far)?;
    spawn(&threads, "pair", move || pairer.run())?;
    let [mut reference, mut distorted] = sources;
    let total = total([&reference, &distorted], &findings);
    (reference.total, distorted.total) = (total, total);
    Ok(Started { sources: [Box::new(reference), Box::new(distorted)], findings, threads })
}

fn spawn(threads: &Threads, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), MediaError> {
    let handle = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| MediaError::ToolBroken { tool: "a thread", reason: error.to_string() })?;
    threads.handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    Ok(())
}

/// Frames per window that the budget allows.
fn capacity(formats: [&Format; 2]) -> usize {
    let bytes = |format: &Format| {
        let samples: usize =
            (0..format.planes()).map(|plane| format.plane_size(plane)).map(|(w, h)| w * h).sum();
        samples * format.sample_bytes()
    };
    (BUDGET / formats.into_iter().map(bytes).sum::<usize>().max(1)).clamp(NARROWEST, WIDEST)
}

/// Pairs to expect, for progress.
fn total(sources: [&Paired; 2], findings: &Shared) -> Option<u64> {
    let start = lock(findings).start;
    let skips = start.map_or([0, 0], |start| [start.skip_reference as u64, start.skip_distorted as u64]);
    let left = |side: usize| sources[side].total.map(|total| total.saturating_sub(skips[side]));
    Some(left(0)?.min(left(1)?))
}

/// Reads one file to its end, or until nobody listens.
fn feed(mut stream: Stream, pool: &Pool, look: Option<Grid>, fed: &Sender<Fed>) {
    if let Err(error) = stream.source.skip(stream.skip) {
        let _ = fed.send(Err(error));
        return;
    }
    while let Some(mut frame) = pool.take() {
        let read = stream.source.read(&mut frame).map(|more| {
            let signature = |frame: &Frame| look.map(|grid| Signature::of(frame, stream.range, grid));
            more.then(|| (signature(&frame), frame)).map(|(signature, frame)| (frame, signature))
        });
        let last = !matches!(read, Ok(Some(_)));
        if fed.send(read).is_err() || last {
            return;
        }
    }
}

/// The frames of one side that are held.
struct Window {
    fed: Receiver<Fed>,
    held: VecDeque<PooledFrame>,
    /// Frames that have left the window: the number of the one at the front.
    taken: u64,
    ended: Option<Result<(), ReadError>>,
}

/// Decides which frames belong together.
struct Pairer {
    aligner: Aligner,
    sides: Vec<Window>,
    outputs: Vec<Sender<Given>>,
    findings: Shared,
    halt: Cancel,
    capacity: usize,
    sync: Sync,
    /// The reference of the last pair.
    last: Option<Signature>,
    look: Look,
    rates: [Option<f64>; 2],
    /// Frames that were left out before pairing.
    skipped: [u64; 2],
}

/// How frames are looked at.
struct Look {
    ranges: [ColourRange; 2],
    grid: Grid,
    /// Where not the whole pictures are compared, what is; signatures are made anew then.
    views: Option<[View; 2]>,
}

impl Look {
    fn at(&self, side: usize, frame: &Frame) -> Option<Signature> {
        let view = self.views?[side];
        Some(Signature::of_view(frame, self.ranges[side], self.grid, view))
    }
}

impl Pairer {
    fn find_start(&mut self, cancel: &Cancel, far: FarSearch<'_>) -> Result<(), MediaError> {
        self.fill_for_start(cancel)?;
        for side in &mut self.sides {
            if let (true, Some(Err(_))) = (side.held.is_empty(), &side.ended) {
                return Err(side
                    .ended
                    .take()
                    .and_then(Result::err)
                    .map_or(MediaError::Cancelled, Into::into));
            }
        }
        self.look_for_bars();
        if self.sync == Sync::Off {
            return Ok(());
        }
        let Some(near) = self.near_start() else { return Ok(()) };
        let mut start = near;
        if !near.is_good() && !self.sides.iter().all(|side| side.ended.is_some()) {
            let views = self.look.views.unwrap_or_default();
            // Small copies are more alike than their pictures; where these are alike already, that means nothing.
            let strange = near.likeness.is_none_or(|likeness| likeness < ALIKE);
            let better = far(views)?.filter(|far| far.is_good() || strange && far.likeness > near.likeness);
            lock(&self.findings).searched_far = better.is_some();
            start = better.unwrap_or(near);
        }
        self.skip(0, start.skip_reference, cancel)?;
        self.skip(1, start.skip_distorted, cancel)?;
        let mut findings = lock(&self.findings);
        findings.start = Some(start);
        findings.brightness = self.aligner.brightness();
        Ok(())
    }

    /// Fills the windows as far as the start needs. Most pairs begin together or nearly so, which a few frames show; memory
    /// for more is taken only where they do not.
    fn fill_for_start(&mut self, cancel: &Cancel) -> Result<(), MediaError> {
        if self.sync == Sync::Off {
            return self.fill(1, cancel);
        }
        let few = self.capacity.min(AHEAD);
        self.fill(few, cancel)?;
        let plain = |start: Start| {
            start.is_good() && start.skip_reference.max(start.skip_distorted) <= few / PLAIN_SHARE
        };
        if self.aligner.start().is_some_and(plain) { Ok(()) } else { self.fill(self.capacity, cancel) }
    }

    /// The start as the windows tell it. Where the pictures are not alike and bars are on one side only, they are looked at
    /// without the bars.
    fn near_start(&mut self) -> Option<Start> {
        let whole = self.aligner.start()?;
        let alike = |start: &Start| start.likeness.unwrap_or(1.0);
        let bars = lock(&self.findings).bars;
        let [Some(reference), Some(distorted)] = [0, 1].map(|side| self.sides[side].held.front()) else {
            return Some(whole);
        };
        let own = [bars::view(bars[0], reference.format()), bars::view(bars[1], distorted.format())];
        if alike(&whole) >= ALIKE || !bars::one_sided(own) {
            return Some(whole);
        }
        let mut best = (alike(&whole), Laid::Whole, None);
        for (laid, views) in [(Laid::WithoutBars, [bars::common(own); 2]), (Laid::Fitted, own)] {
            let likeness = self.look_anew(Some(views)).and_then(|start| start.likeness).unwrap_or(0.0);
            if likeness > best.0 {
                best = (likeness, laid, Some(views));
            }
        }
        lock(&self.findings).laid = best.1;
        self.look_anew(best.2)
    }

    /// Looks at all frames that are held in other views.
    fn look_anew(&mut self, views: Option<[View; 2]>) -> Option<Start> {
        self.look.views = Some(views.unwrap_or_default());
        self.aligner = Aligner::new(self.rates);
        for (side, window) in self.sides.iter().enumerate() {
            for signature in window.held.iter().filter_map(|frame| self.look.at(side, frame)) {
                self.aligner.push(side, signature);
            }
        }
        self.look.views = views;
        self.aligner.start()
    }

    fn look_for_bars(&self) {
        const LOOKS: usize = 6;
        let bars = [0, 1].map(|side| {
            let held = &self.sides[side].held;
            let every = held.len().div_ceil(LOOKS).max(1);
            bars::of(held.iter().step_by(every).map(|frame| &**frame), self.look.ranges[side])
        });
        lock(&self.findings).bars = bars;
    }

    /// Leaves frames out at the start.
    fn skip(&mut self, side: usize, count: usize, cancel: &Cancel) -> Result<(), MediaError> {
        for _ in 0..count {
            if self.sides[side].held.is_empty() && !self.take(side, cancel)? {
                break;
            }
            self.drop_front(side);
        }
        Ok(())
    }

    fn drop_front(&mut self, side: usize) -> Option<PooledFrame> {
        if self.sync != Sync::Off {
            let _ = if side == 0 { self.aligner.pop_reference() } else { self.aligner.pop_distorted() };
        }
        self.sides[side].taken += 1;
        self.sides[side].held.pop_front()
    }

    /// Fills both windows up to `wanted` frames, as far as there are any.
    fn fill(&mut self, wanted: usize, cancel: &Cancel) -> Result<(), MediaError> {
        loop {
            let lacking = |side: &Window| side.held.len() < wanted && side.ended.is_none();
            let Some(side) = [0, 1]
                .into_iter()
                .filter(|side| lacking(&self.sides[*side]))
                .min_by_key(|side| self.sides[*side].held.len())
            else {
                return Ok(());
            };
            self.take(side, cancel)?;
        }
    }

    /// Waits for the next frame of a side; `false` at its end.
    fn take(&mut self, side: usize, cancel: &Cancel) -> Result<bool, MediaError> {
        let window = &mut self.sides[side];
        while window.ended.is_none() {
            if self.halt.is_fired() || cancel.is_fired() {
                return Err(MediaError::Cancelled);
            }
            match window.fed.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(MediaError::Cancelled),
                Ok(Err(error)) => window.ended = Some(Err(error)),
                Ok(Ok(None)) => window.ended = Some(Ok(())),
                Ok(Ok(Some((frame, signature)))) => {
                    if let Some(signature) = self.look.at(side, &frame).or(signature) {
                        self.aligner.push(side, signature);
                    }
                    window.held.push_back(frame);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Hands over pair after pair until a stream ends or nobody wants more.
    fn run(mut self) {
        let never = Cancel::new();
        let wanted = if self.sync == Sync::Off { 1 } else { self.capacity.min(AHEAD) };
        loop {
            if self.fill(wanted, &never).is_err() {
                return;
            }
            if self.sides.iter().any(|side| side.held.is_empty()) {
                return self.finish();
            }
            let all = self.sides.iter().all(|side| side.ended.is_some());
            let steps = match self.sync {
                Sync::Full => self.aligner.steps(wanted.div_ceil(4), all),
                Sync::Off | Sync::Offset => vec![Step::Pair],
            };
            for step in steps {
                if self.sides.iter().any(|side| side.held.is_empty()) || !self.step(step) {
                    break;
                }
            }
            if self.halt.is_fired() {
                return;
            }
        }
    }

    /// Does one step; `false` if nobody listens.
    fn step(&mut self, step: Step) -> bool {
        let (reference, distorted) = (self.sides[0].taken, self.sides[1].taken);
        match step {
            Step::Missing => {
                lock(&self.findings).add_missing(reference, distorted);
                self.drop_front(0);
                return true;
            }
            Step::Extra => {
                lock(&self.findings).add_extra(reference, distorted);
                self.drop_front(1);
                return true;
            }
            Step::Pair | Step::InPlace => self.note_pair(step),
        }
        let frames = [self.drop_front(0), self.drop_front(1)];
        frames.into_iter().enumerate().all(|(side, frame)| self.give(side, Ok(frame)))
    }

    /// Waits until there is room; `false` if nobody wants it any more.
    fn give(&self, side: usize, mut given: Given) -> bool {
        loop {
            match self.outputs[side].send_timeout(given, PATIENCE) {
                Ok(()) => return true,
                Err(SendTimeoutError::Timeout(back)) if !self.halt.is_fired() => given = back,
                Err(_) => {
                    self.halt.fire();
                    return false;
                }
            }
        }
    }

    fn note_pair(&mut self, step: Step) {
        let (reference, distorted) = (self.sides[0].taken, self.sides[1].taken);
        let mut findings = lock(&self.findings);
        findings.pairs += 1;
        let Some((a, b)) = self.aligner.front() else { return };
        findings.changes.push(self.last.as_ref().map_or(0.0, |last| last.change(a)));
        let unlike = a.likeness(b).is_some_and(|likeness| likeness < UNLIKE);
        let frozen = step == Step::InPlace && self.aligner.front_is_copy(true);
        // What is told as a whole is not told of a part as well.
        findings.farthest.push(if frozen || unlike { 0.0 } else { a.farthest(b) });
        if frozen {
            findings.add_frozen(reference, distorted);
        } else if unlike {
            findings.add_unlike(reference, distorted);
        } else {
            let check = self.aligner.check_front();
            findings.checked(check);
        }
        self.last = Some(a.clone());
    }

    /// What is left of one side may be no more than its last picture, repeated.
    fn drop_last_copies(&mut self) {
        while self.aligner.front_is_copy(false) && self.sides[0].ended.is_some() {
            lock(&self.findings).add_missing(self.sides[0].taken, self.sides[1].taken);
            self.drop_front(0);
        }
        while self.aligner.front_is_copy(true) && self.sides[1].ended.is_some() {
            lock(&self.findings).add_extra(self.sides[0].taken, self.sides[1].taken);
            self.drop_front(1);
        }
    }

    /// All frames of a file that was read to its end.
    fn count(&self, side: usize) -> Option<u64> {
        let window = &self.sides[side];
        let whole = matches!(window.ended, Some(Ok(())));
        whole.then(|| self.skipped[side] + window.taken + window.held.len() as u64)
    }

    /// Tells both sides that, and why, there is no more.
    fn finish(mut self) {
        self.drop_last_copies();
        let longer = match [0, 1].map(|side| !self.sides[side].held.is_empty()) {
            [true, _] => Some(Side::Reference),
            [_, true] => Some(Side::Distorted),
            _ => None,
        };
        let counted = [0, 1].map(|side| self.count(side));
        let mut findings = lock(&self.findings);
        (findings.longer, findings.counted) = (longer, counted);
        drop(findings);
        let ends: Vec<_> = self.sides.iter_mut().map(|side| side.ended.take().unwrap_or(Ok(()))).collect();
        for (side, end) in ends.into_iter().enumerate() {
            let _ = self.give(side, end.map(|()| None));
        }
    }
}

impl Start {
    /// Enough pairs that are alike, and no other offset that would do as well.
    pub(crate) fn is_good(&self) -> bool {
        self.pairs >= NARROWEST
            && self.confidence > CERTAIN
            && self.likeness.is_some_and(|likeness| likeness > ALIKE)
    }
}

/// One side of a pair, as the engine reads it.
struct Paired {
    given: Receiver<Given>,
    name: String,
    info: Info,
    format: Format,
    converter: Option<Converter>,
    frames: u64,
    total: Option<u64>,
    ended: bool,
    threads: Arc<Threads>,
}

impl Paired {
    fn new(stream: &Stream, given: Receiver<Given>, threads: &Arc<Threads>) -> Self {
        let own = Shape { format: *stream.source.format(), range: stream.range };
        let total = stream.source.total_frames().map(|total| total.saturating_sub(stream.skip));
        Self {
            given,
            name: stream.source.name().to_owned(),
            info: stream.source.info().clone(),
            format: stream.target.format,
            converter: Converter::new(own, stream.target),
            frames: 0,
            total,
            ended: false,
            threads: Arc::clone(threads),
        }
    }

    fn next(&mut self) -> Result<Option<PooledFrame>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        // Threads that were ended from outside leave the channel.
        let given = self.given.recv().unwrap_or(Ok(None));
        self.ended = !matches!(given, Ok(Some(_)));
        self.frames += u64::from(!self.ended);
        given
    }
}

impl Source for Paired {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.frames
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        if *frame.format() != self.format {
            let (file, expected, got) = (self.name.clone(), self.format, *frame.format());
            return Err(ReadError::WrongFrame { file, expected, got });
        }
        let Some(mut given) = self.next()? else { return Ok(false) };
        match &mut self.converter {
            Some(converter) => converter.apply(&given, frame),
            None => frame.exchange(&mut given),
        }
        Ok(true)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for done in 0..count {
            if self.next()?.is_none() {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.total
    }
}

impl Drop for Paired {
    fn drop(&mut self) {
        // One that has come to its end leaves the other one its last frames.
        if !self.ended {
            self.threads.halt.fire();
            self.threads.pools.iter().for_each(Pool::close);
        }
    }
}
