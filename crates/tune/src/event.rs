//! Progress of a tuning run.

use schemars::JsonSchema;
use serde::Serialize;

/// What a run will take, sent before it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Encodes at most.
    pub encodes: usize,
    /// Frames that are encoded, and scored, at most.
    pub frames: u64,
    /// Likely seconds of wall time, and of all cores together.
    pub seconds: f64,
    pub cpu_seconds: f64,
    /// Bytes that encodes may take on disk.
    pub disk_bytes: u64,
    /// Where the figures come from.
    pub basis: String,
}

/// Something happened. Events of several encodes may come mixed; `job` identifies them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    Estimate(Estimate),
    /// A part of the work begins: an encoder, a size, a shot; `of` parts in all.
    Part {
        name: String,
        index: usize,
        of: usize,
    },
    Encoding {
        job: String,
        done: u64,
        total: u64,
    },
    Scoring {
        job: String,
        done: u64,
        total: u64,
    },
    /// A setting was measured, or found in the cache.
    Measured {
        job: String,
        quality: crate::Quality,
        score: f64,
        kbps: f64,
        cached: bool,
    },
    /// Frames were looked at for shots.
    Looking {
        done: u64,
        total: u64,
    },
    Warning(String),
}

/// Receives events, from any thread.
pub type Sink<'a> = &'a (dyn Fn(Event) + Sync);
