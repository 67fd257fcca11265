//! The report of a speed measurement.

use schemars::JsonSchema;
use serde::Serialize;

/// How fast, how much memory, and how that compares with another program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchReport {
    /// The processor and how many cores of it there are.
    pub machine: String,
    /// Version of visus.
    pub visus: String,
    /// CPU instruction set that was used.
    pub cpu_level: String,
    /// What visus computed on: cpu, or the device that was asked for.
    pub backend: String,
    /// What the other program says of its version; null where there is none.
    pub peer: Option<String>,
    /// Worker threads of both programs.
    pub threads: u16,
    /// Runs of each program, of which the best counts.
    pub rounds: u32,
    /// A row per pair of clips and subject.
    pub rows: Vec<RowReport>,
}

/// One subject on one pair of clips.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowReport {
    /// Size, bit depth and number of frames.
    pub clips: String,
    /// What was computed.
    pub subject: String,
    /// Number of frames.
    pub frames: u64,
    /// What it cost us.
    pub visus: CostReport,
    /// What it cost the other program.
    pub peer: Option<CostReport>,
    /// The other program's processor time over ours.
    pub ratio: Option<f64>,
}

/// The best figures of all runs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CostReport {
    /// Processor time per frame, in milliseconds.
    pub cpu_ms_per_frame: f64,
    /// Time from start to end, in seconds.
    pub wall_s: f64,
    /// Frames per second while scoring, by the program's own report: without its start and that of a device.
    pub scoring_fps: Option<f64>,
    /// Most memory that was resident, in KiB.
    pub peak_kib: u64,
}
