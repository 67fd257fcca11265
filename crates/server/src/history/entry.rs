//! One line of the history.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::cleaned;

/// The longest request that is kept, in bytes.
const LONGEST_REQUEST: usize = 16 << 10;

/// A job as the history lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The job's id.
    pub id: String,
    /// The tool that was called.
    pub tool: String,
    /// When it was submitted and when it ended, in seconds since 1970.
    pub created: u64,
    pub ended: Option<u64>,
    /// As a job's, or `interrupted` where the server ended before the job.
    pub status: String,
    /// Why it failed.
    pub error: Option<String>,
    /// The arguments.
    pub request: Map<String, Value>,
    /// The files that it reads, in the order in which the tool names them.
    pub inputs: Vec<Input>,
    /// Of a score: its name, its mean and the number of frames.
    pub metric: Option<String>,
    pub score: Option<f64>,
    pub frames: Option<u64>,
}

/// A file as it was when the job was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// What people read.
    pub name: String,
    /// The path as it was given.
    pub path: String,
    pub bytes: Option<u64>,
    /// When it was last changed, in seconds since 1970.
    pub modified: Option<u64>,
}

/// The files of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Entry,
    /// The summary and which frames belong together, or the answer of a tool.
    Result,
    Curve,
    Report,
}

impl Stored {
    pub const ALL: [Self; 4] = [Self::Entry, Self::Result, Self::Curve, Self::Report];

    pub const fn ending(self) -> &'static str {
        match self {
            Self::Entry => "entry.json",
            Self::Result => "result.json",
            Self::Curve => "curve",
            Self::Report => "report.json",
        }
    }
}

impl Entry {
    pub fn new(id: &str, tool: &str, request: Map<String, Value>, inputs: Vec<Input>) -> Self {
        let request = shortened(request);
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            created: now(),
            ended: None,
            status: "queued".to_owned(),
            error: None,
            request,
            inputs,
            metric: None,
            score: None,
            frames: None,
        }
    }

    pub fn is_over(&self) -> bool {
        !matches!(self.status.as_str(), "queued" | "running")
    }
}

/// Without the longest arguments, where a request is too long to be kept.
fn shortened(mut request: Map<String, Value>) -> Map<String, Value> {
    let length = |(name, value): (&String, &Value)| name.len() + value.to_string().len();
    while request.iter().map(length).sum::<usize>() > LONGEST_REQUEST {
        let longest = request.iter().max_by_key(|entry| length(*entry)).map(|(name, _)| name.clone());
        let Some(name) = longest else { break };
        request.shift_remove(&name);
    }
    request
}

impl Input {
    /// What is known of a file that a request names.
    pub fn of(path: &str, facts: Option<&std::fs::Metadata>) -> Self {
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        Self {
            name: cleaned(&name),
            path: path.to_owned(),
            bytes: facts.map(std::fs::Metadata::len),
            modified: facts.and_then(|facts| facts.modified().ok()).map(seconds),
        }
    }
}

pub fn now() -> u64 {
    seconds(SystemTime::now())
}

pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
