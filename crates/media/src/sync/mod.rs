//! Two streams, decoded at once and handed over in step: which frames belong together, and why.
//!
//! A thread per file reads frames into a pool and makes a small picture of each ([`signature`]); a third, the [`pairer`], keeps a
//! window of both, decides which belong together and passes them on to the two sources that the engine reads ([`paired`]).
//! The window is all that is held of full pictures: memory is bounded, and where nothing was edited a file is decoded once.
//!
//! What belongs together is decided by one model of the edit ([`model`]), which weighs what pictures say ([`evidence`], [`changes`])
//! against the price of every edit ([`prices`]) and the [`cadence`] that frame rates and timestamps suggest; several such explanations
//! are weighed against each other ([`weigh`]), and the result is a [`plan`]. As long as the
//! window shows no edit, frames are passed on one after another. Once it does, small copies of both files are read to their ends
//! ([`thumbnails`]), and the plan is made for all that is left at once, before any of it is scored. Inputs that can be
//! read only once (pipes) are planned window by window.

pub(crate) mod bars;
pub(crate) mod blends;
pub(crate) mod cadence;
pub(crate) mod changes;
pub(crate) mod evidence;
pub(crate) mod fates;
pub(crate) mod feed;
pub(crate) mod findings;
pub(crate) mod found;
pub(crate) mod lag;
pub(crate) mod log;
pub(crate) mod look;
pub(crate) mod model;
pub(crate) mod otherwise;
pub(crate) mod paired;
pub(crate) mod pairer;
pub(crate) mod plan;
pub(crate) mod prices;
pub(crate) mod runs;
pub(crate) mod signature;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod threads;
pub(crate) mod thumbnails;
pub(crate) mod weigh;
pub(crate) mod window;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use visus_engine::Cancel;
use visus_video::{ColourRange, Format, Pool, Source};

use crate::MediaError;
use crate::convert::Shape;
use crate::scale::Scaler;
use crate::sync::feed::feed;
use crate::sync::findings::Sync;
use crate::sync::log::Log;
use crate::sync::paired::{Given, Paired};
use crate::sync::pairer::Pairer;
use crate::sync::plan::Prior;
use crate::sync::signature::{Grid, View};
use crate::sync::threads::Threads;
use crate::sync::thumbnails::Thumbnails;
use crate::sync::window::Windows;

/// Bytes of pictures that a pair of windows may hold.
const BUDGET: usize = 384 << 20;
/// Frames of a window: at the start of the files, and at least.
const WIDEST: usize = 96;
const NARROWEST: usize = 8;
/// Frames on their way between threads, per side.
const UNDERWAY: usize = 4;

/// What is known of the pairs, which grows while frames are scored.
pub(crate) type Shared = Arc<Mutex<Log>>;

pub(crate) fn lock(log: &Shared) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One side before pairing.
pub(crate) struct Stream {
    pub source: Box<dyn Source>,
    pub range: ColourRange,
    pub rate: Option<f64>,
    /// What its frames become.
    pub target: Shape,
    pub scaler: Scaler,
    /// Frames to leave out before pairing begins.
    pub skip: u64,
}

/// A started pair.
pub(crate) struct Started {
    pub sources: [Box<dyn Source>; 2],
    pub log: Shared,
    pub threads: Arc<Threads>,
}

/// Reads small copies of both files, in these views, from where pairing begins to their ends; `None` where that is impossible.
pub(crate) type Scan = Box<dyn Fn([View; 2], &Cancel) -> Result<Option<Thumbnails>, MediaError> + Send>;

/// What is known of the lengths and times of both before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// They are the same.
    Agree,
    /// Both are counted, and they differ: something was edited.
    Differ,
    Unknown,
}

/// How a pair is to be brought together.
pub(crate) struct Request {
    pub sync: Sync,
    pub lengths: Lengths,
    /// The pairs, where they are known beforehand: both numbers grow from pair to pair.
    pub pairs: Option<Vec<(u64, u64)>>,
    pub scan: Scan,
    /// Keep a print of every frame that is paired.
    pub prints: bool,
    /// The switch of the decoders.
    pub halt: Cancel,
    /// The caller's switch.
    pub cancel: Cancel,
}

/// Starts decoding, fills the windows and finds where the streams meet.
pub(crate) fn start(streams: [Stream; 2], request: Request) -> Result<Started, MediaError> {
    let grid = Grid::for_formats(streams[0].source.format(), streams[1].source.format());
    let capacity = capacity(streams.each_ref().map(|stream| stream.source.format()));
    let log = Arc::new(Mutex::new(Log { sync: request.sync, ..Log::default() }));
    let held = capacity + 2 * UNDERWAY + 4;
    let formats = streams.each_ref().map(|stream| stream.source.format());
    let room = crate::memory::reserve(formats, &streams[0].target.format, held, &request.cancel)?;
    let pools = streams.each_ref().map(|stream| {
        let format = *stream.source.format();
        if stream.source.is_remote() { Pool::hollow(format, held) } else { Pool::new(format, held) }
    });
    let threads = Arc::new(Threads::new(request.halt.clone(), pools.clone(), room));
    let (outputs, receivers): (Vec<Sender<Given>>, Vec<Receiver<Given>>) =
        (0..2).map(|_| bounded(UNDERWAY)).unzip();
    let sources = [0, 1].map(|side| Paired::new(&streams[side], receivers[side].clone(), &threads));
    let prior = Prior {
        rates: streams.each_ref().map(|stream| stream.rate),
        agree: request.lengths == Lengths::Agree,
        ..Prior::default()
    };
    let ranges = streams.each_ref().map(|stream| stream.range);
    let skipped = streams.each_ref().map(|stream| stream.skip);
    let names = streams.each_ref().map(|stream| stream.source.name().to_owned());
    let mut fed = Vec::new();
    for (stream, pool) in streams.into_iter().zip(&pools) {
        let (send, receive) = bounded(UNDERWAY);
        let look = (request.sync != Sync::Off).then_some(grid);
        let pool = pool.clone();
        threads.spawn("decode", move || feed(stream, &pool, look, &send))?;
        fed.push(receive);
    }
    let windows = Windows::new(fed, names, ranges, grid, request.halt.clone());
    let mut pairer = Pairer::new(windows, outputs, Arc::clone(&log), request, prior, capacity, skipped);
    pairer.find_start()?;
    threads.spawn("pair", move || pairer.run_to_end())?;
    let [mut reference, mut distorted] = sources;
    let total = total([&reference, &distorted], &log);
    (reference.total, distorted.total) = (total, total);
    Ok(Started { sources: [Box::new(reference), Box::new(distorted)], log, threads })
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
fn total(sources: [&Paired; 2], log: &Shared) -> Option<u64> {
    let start = lock(log).start;
    let skips = start.map_or([0, 0], |start| [start.skip_reference as u64, start.skip_distorted as u64]);
    let left = |side: usize| sources[side].total.map(|total| total.saturating_sub(skips[side]));
    Some(left(0)?.min(left(1)?))
}
