//! What a `VmafContext` is: extractors that were asked for, a session that scores, and scores from elsewhere.

mod report;
mod scoring;

pub use report::format_from_c;
pub use scoring::{Frames, Pooling};

use std::collections::HashMap;
use std::ffi::c_uint;
use std::sync::Mutex;
use std::time::Instant;

use visus_engine::{Cancel, Outcome, Plan, PushSession, Scores, Settings, Silent};
use visus_metrics::Level;
use visus_video::Format;

use crate::abi::{Configuration, Errno, Result};
use crate::columns::{Extras, MAX_INDEX, Moment};
use crate::handles::Table;
use crate::log;
use crate::picture::{Picture, Preallocated, Shape};
use crate::pool::Reuse;
use crate::registered::Registered;

/// The variable that overrides `n_threads` from outside.
const THREADS: &str = "VISUS_THREADS";

/// More threads than any machine has; larger numbers are a mistake.
const MAX_THREADS: usize = 1024;

/// Everything behind a `VmafContext`.
#[derive(Debug)]
pub struct Context {
    settings: Settings,
    registered: Vec<Registered>,
    extras: Extras,
    run: Run,
    /// Where the session has the frame with a number of the caller's.
    places: HashMap<u32, u64>,
    shape: Option<(Shape, Format)>,
    /// Calls with a pair, also those that failed: libvmaf's logs are pooled over so many.
    pictures: u64,
    flushed: bool,
    /// An extractor cannot score pictures of this format. Like libvmaf, every pair is refused then, but the extractors that
    /// were asked for before it score it.
    refused: bool,
    preallocated: Option<Preallocated>,
    started: Option<Instant>,
    /// The last field: pictures above give their memory back first.
    _reuse: Reuse,
}

pub static CONTEXTS: Table<Mutex<Context>> = Table::new();

/// Where the scoring stands.
#[derive(Debug)]
enum Run {
    /// No pair was read.
    Waiting,
    Active(Box<PushSession>),
    Done(Box<Outcome>),
    /// The flush failed.
    Failed,
}

impl Context {
    pub fn new(configuration: &Configuration) -> Self {
        log::set_level(configuration.log_level);
        let settings = Settings {
            threads: threads(configuration.n_threads),
            subsample: u64::from(configuration.n_subsample),
            backend: level(configuration.cpumask).into(),
            ..Settings::default()
        };
        Self {
            settings,
            registered: Vec::new(),
            extras: Extras::default(),
            run: Run::Waiting,
            places: HashMap::new(),
            shape: None,
            pictures: 0,
            flushed: false,
            refused: false,
            preallocated: None,
            started: None,
            _reuse: Reuse::new(),
        }
    }

    /// Adds an extractor unless its like is there. Once pairs are read, there can be no new ones.
    pub fn register(&mut self, extractor: Registered) -> Result<()> {
        if self.registered.iter().any(|known| known.is_like(&extractor)) {
            return Ok(());
        }
        match self.run {
            Run::Waiting => self.registered.push(extractor),
            _ => return Err(Errno::Invalid),
        }
        Ok(())
    }

    pub fn preallocate(&mut self, shape: Shape, count: c_uint) -> Result<()> {
        self.preallocated = Some(Preallocated::new(shape, count)?);
        Ok(())
    }

    pub fn fetch(&self) -> Result<Picture> {
        self.preallocated.as_ref().ok_or(Errno::Invalid)?.fetch()
    }

    /// Scores a pair. Waits while too many are in flight.
    pub fn read(&mut self, reference: Picture, distorted: Picture, index: u32) -> Result<()> {
        if self.flushed {
            return Err(Errno::Invalid);
        }
        self.pictures += 1;
        self.started.get_or_insert_with(Instant::now);
        let (shape, format) = self.check(&reference, &distorted)?;
        if self.settings.threads > 0 && self.preallocated.is_none() {
            // libvmaf has a pool from the first pair on, if it has threads. It is filled when it is used.
            self.preallocated = Some(Preallocated::new(shape, 0)?);
        }
        if self.registered.is_empty() {
            return Ok(());
        }
        self.check_index(index)?;
        self.start(format)?;
        let Run::Active(session) = &mut self.run else { return Err(Errno::Invalid) };
        let pushed = session.push(reference.into_frame()?, distorted.into_frame()?);
        let place = pushed.map_err(refused)?;
        self.places.insert(index, place);
        if self.refused { Err(Errno::Invalid) } else { Ok(()) }
    }

    /// All pairs have the first one's format.
    fn check(&mut self, reference: &Picture, distorted: &Picture) -> Result<(Shape, Format)> {
        let (first, second) = (reference.shape.format()?, distorted.shape.format()?);
        let known = *self.shape.get_or_insert((reference.shape, first));
        if first == second && first == known.1 { Ok(known) } else { Err(Errno::Invalid) }
    }

    /// A number counts once. Which frames are listed depends on their numbers, so these must be without gaps where not all
    /// are listed.
    fn check_index(&self, index: u32) -> Result<()> {
        let next = self.places.len() as u64;
        let is_listed_by_place = self.settings.subsample <= 1 || u64::from(index) == next;
        if index >= MAX_INDEX {
            return Err(Errno::NoMemory);
        }
        if self.places.contains_key(&index) || !is_listed_by_place {
            return Err(Errno::Invalid);
        }
        Ok(())
    }

    fn start(&mut self, format: Format) -> Result<()> {
        if !matches!(self.run, Run::Waiting) {
            return Ok(());
        }
        let all = self.registered.len();
        let session = match self.session(all, format) {
            Ok(session) => session,
            Err(error) => {
                self.refused = true;
                (1..all).rev().find_map(|count| self.session(count, format).ok()).ok_or(error)?
            }
        };
        self.run = Run::Active(Box::new(session));
        Ok(())
    }

    /// A session of the first `count` extractors.
    fn session(&self, count: usize, format: Format) -> Result<PushSession> {
        let specs: Vec<_> = self.registered.iter().take(count).map(|known| known.spec.clone()).collect();
        let plan = Plan::with_models(Vec::new(), &specs, false).map_err(refused)?;
        PushSession::new(&plan, format.into(), &self.settings, &Cancel::new(), Box::new(Silent))
            .map_err(refused)
    }

    /// No more pairs: what the extractors held back becomes known.
    pub fn flush(&mut self) -> Result<()> {
        if self.flushed {
            return Err(Errno::Invalid);
        }
        match std::mem::replace(&mut self.run, Run::Failed) {
            Run::Active(session) => {
                self.run = Run::Done(Box::new(session.finish().map_err(refused)?));
                if self.refused {
                    return Err(Errno::Invalid);
                }
            }
            Run::Waiting => {
                self.run = Run::Waiting;
                if !self.registered.is_empty() {
                    return Err(Errno::Invalid);
                }
            }
            Run::Done(_) | Run::Failed => return Err(Errno::Invalid),
        }
        self.flushed = true;
        Ok(())
    }

    /// What the session knows so far.
    fn scores(&self) -> Option<&Scores> {
        match &self.run {
            Run::Active(session) => Some(session.scores()),
            Run::Done(outcome) => Some(&outcome.scores),
            Run::Waiting | Run::Failed => None,
        }
    }

    /// Waits for the pairs that were read.
    fn settle(&mut self) {
        if let Run::Active(session) = &mut self.run
            && let Err(error) = session.settle()
        {
            log::cause(&error);
        }
    }

    fn now(&self) -> Moment {
        if self.flushed { Moment::Flushed } else { Moment::After(self.places.len() as u64) }
    }
}

/// Says why, and gives C's number for it.
fn refused(error: impl std::error::Error) -> Errno {
    log::cause(&error);
    Errno::Invalid
}

/// Workers: the environment's number, or the caller's. 0 is the caller's own thread.
fn threads(configured: c_uint) -> usize {
    let outside = std::env::var(THREADS).ok().filter(|text| !text.is_empty());
    let wanted = match outside.as_deref().map(str::parse::<usize>) {
        Some(Ok(number)) => number,
        Some(Err(_)) => {
            log::warning(&format!("{THREADS} is not a number and has no effect"));
            configured as usize
        }
        None => configured as usize,
    };
    wanted.min(MAX_THREADS)
}

/// The level that libvmaf's bits leave. The scores are the same at every level.
fn level(cpumask: u64) -> Level {
    const AVX2: u64 = 1 << 3;
    const AVX512: u64 = 1 << 4;
    let best = Level::detect();
    match cpumask {
        mask if mask & AVX2 != 0 => best.lowered_to(Level::Scalar),
        mask if mask & AVX512 != 0 => best.lowered_to(Level::Avx2),
        _ => best,
    }
}
