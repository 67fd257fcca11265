//! `run_benchmark` and `vmaf_bench`: synthetic clips of fixed sizes, scored on every backend.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use visus_engine::{Cancel, Column};
use visus_video::budget::{Budget, Reservation};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, ChromaRounding, Format, write_raw};

use super::backends::available;
use super::field::{Field, Kind, Values};
use super::offer::Toolset;
use super::{BACKGROUND, READS, Run, Tool, schema};
use crate::config::EngineKind;
use crate::engines::ScoreTask;
use crate::jobs::Context;
use crate::report::Output;
use crate::{Server, ToolError};

pub const RUN_BENCHMARK: Tool = Tool {
    name: "run_benchmark",
    title: "Run the benchmark",
    description: "Measures scoring speed on synthetic clips of three sizes, per backend. It loads all cores.",
    set: Toolset::Machine,
    hints: READS,
    fields: || FIXED_FIELDS,
    answer: schema::of::<BenchAnswer>,
    shows: &["stdout", "results"],
    run: Run::Work(|server, _| {
        let server = server.clone();
        Ok(Box::new(move |context| Bench::fixed().run(&server, context)))
    }),
};

pub const VMAF_BENCH: Tool = Tool {
    name: "vmaf_bench",
    title: "Measure one size",
    description: "Measures scoring speed at one size, bit depth and length.",
    set: Toolset::Machine,
    hints: READS,
    fields: || FIELDS,
    answer: schema::of::<BenchAnswer>,
    shows: &["stdout", "results"],
    run: Run::Work(|server, values| {
        let server = server.clone();
        Ok(Box::new(move |context| Bench::with_options(&values).run(&server, context)))
    }),
};

const FIXED_FIELDS: &[Field] = &[BACKGROUND];
const FIELDS: &[Field] = &[
    Field::new("frames", Kind::Whole { min: 2, max: 48 }, "Frames of the clip.").default("10"),
    Field::new("resolution", Kind::Word(&RESOLUTIONS), "Size of the clip.").default("\"1920x1080\""),
    Field::new("bpc", Kind::Choice(&[8, 10, 12, 16]), "Bits per component.").default("8"),
    Field::new("validate", Kind::Flag, "Compare every backend with the CPU.").default("false"),
    Field::new("gpu_only", Kind::Flag, "Leave the CPU out.").default("false"),
    Field::new("device_list", Kind::Flag, "List devices instead.").default("false"),
    BACKGROUND,
];

/// Benchmark results.
#[derive(Default, Serialize, JsonSchema)]
struct BenchAnswer {
    /// 0 if everything ran.
    exit_code: i32,
    /// The results as a table.
    stdout: String,
    /// What went wrong.
    stderr: String,
    /// The same as data.
    results: Vec<BenchRow>,
    /// With 'device_list'.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<String>>,
    /// With 'validate'.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation_failed: Option<bool>,
}

/// A fixture on a backend.
#[derive(Serialize, JsonSchema)]
struct BenchRow {
    /// Size and number of frames.
    fixture: String,
    backend: &'static str,
    ok: bool,
    /// Mean VMAF.
    score: Option<f64>,
    /// Time for all frames.
    wall_ms: Option<f64>,
    fps: Option<f64>,
    /// Largest difference of a frame's score from the CPU's.
    max_frame_difference: Option<f64>,
    error: Option<String>,
}

/// The sizes that `vmaf_bench` knows.
pub const RESOLUTIONS: [&str; 4] = ["576x324", "1280x720", "1920x1080", "3840x2160"];

/// A clip to measure.
#[derive(Clone, Copy, Debug)]
struct Fixture {
    width: usize,
    height: usize,
    depth: u8,
    frames: u64,
}

const FIXTURES: [Fixture; 3] = [
    Fixture { width: 576, height: 324, depth: 8, frames: 48 },
    Fixture { width: 1920, height: 1080, depth: 8, frames: 8 },
    Fixture { width: 3840, height: 2160, depth: 8, frames: 3 },
];

/// What is to be measured.
#[derive(Clone, Debug)]
struct Bench {
    fixtures: Vec<Fixture>,
    validate: bool,
    gpu_only: bool,
    device_list: bool,
}

impl Bench {
    /// `run_benchmark`.
    fn fixed() -> Self {
        Self { fixtures: FIXTURES.to_vec(), validate: false, gpu_only: false, device_list: false }
    }

    /// `vmaf_bench`.
    fn with_options(values: &Values) -> Self {
        let (width, height) = values
            .text("resolution")
            .and_then(|size| size.split_once('x'))
            .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
            .unwrap_or((1920, 1080));
        let depth = values.count("bpc").and_then(|depth| u8::try_from(depth).ok()).unwrap_or(8);
        Self {
            fixtures: vec![Fixture { width, height, depth, frames: values.count("frames").unwrap_or(10) }],
            validate: values.flag("validate"),
            gpu_only: values.flag("gpu_only"),
            device_list: values.flag("device_list"),
        }
    }

    /// Measures everything. Blocks for seconds.
    fn run(&self, server: &Server, context: &Context) -> Result<Output, ToolError> {
        let backends = available(server, false);
        if self.device_list {
            return Output::of(&devices(&backends));
        }
        let mut rows = Vec::new();
        for (done, fixture) in self.fixtures.iter().enumerate() {
            let words = format!("measuring {fixture}");
            context.progress(done as u64, Some(self.fixtures.len() as u64), words);
            rows.extend(self.measure(*fixture, &backends, server, context)?);
        }
        if rows.is_empty() {
            return Err(ToolError::Failed("benchmark failed: there is no backend to measure".to_owned()));
        }
        if rows.iter().all(|row| row.result.is_err()) {
            let words = rows.iter().find_map(|row| row.result.as_ref().err()).cloned().unwrap_or_default();
            return Err(ToolError::Failed(format!("benchmark failed: {words}")));
        }
        Output::of(&self.report(&rows, tolerance(server.config().engine)))
    }

    fn measure(
        &self,
        fixture: Fixture,
        backends: &[&'static str],
        server: &Server,
        context: &Context,
    ) -> Result<Vec<Row>, ToolError> {
        let clips = fixture.clips(&context.cancel)?;
        let mut rows: Vec<Row> = Vec::new();
        let mut cpu: Option<Vec<f64>> = None;
        for backend in backends {
            let result = score(&clips, backend, server, context);
            if matches!(result, Err(ToolError::Cancelled)) {
                return Err(ToolError::Cancelled);
            }
            let result = result.map_err(|error| error.to_string());
            if *backend == "cpu" {
                cpu = result.as_ref().ok().map(|measured| measured.scores.clone());
            }
            let difference =
                cpu.as_ref().zip(result.as_ref().ok()).map(|(cpu, measured)| largest(cpu, &measured.scores));
            rows.push(Row { fixture, backend, result, difference });
        }
        rows.retain(|row| !(self.gpu_only && row.backend == "cpu"));
        Ok(rows)
    }

    fn report(&self, rows: &[Row], tolerance: f64) -> BenchAnswer {
        let faults: Vec<String> = rows
            .iter()
            .filter_map(|row| {
                Some(format!("{} on {}: {}", row.fixture, row.backend, row.result.as_ref().err()?))
            })
            .collect();
        let differs = rows.iter().any(|row| row.difference.is_some_and(|difference| difference > tolerance));
        let failed = self.validate && differs;
        BenchAnswer {
            exit_code: i32::from(!faults.is_empty() || failed),
            stdout: table(rows),
            stderr: faults.join("\n"),
            results: rows.iter().map(Row::listed).collect(),
            devices: None,
            validation_failed: self.validate.then_some(failed),
        }
    }
}

fn devices(backends: &[&str]) -> BenchAnswer {
    let devices: Vec<String> = backends.iter().map(|backend| (*backend).to_owned()).collect();
    BenchAnswer { stdout: devices.join("\n"), devices: Some(devices), ..BenchAnswer::default() }
}

impl std::fmt::Display for Fixture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{} {}-bit, {} frames", self.width, self.height, self.depth, self.frames)
    }
}

/// A pair of clips in memory.
struct Clips {
    format: Format,
    reference: Arc<[u8]>,
    distorted: Arc<[u8]>,
    frames: u64,
    _room: Reservation,
}

impl Fixture {
    fn clips(&self, cancel: &Cancel) -> Result<Clips, ToolError> {
        const SEED: u32 = 48;
        let format = Format::new(self.width, self.height, Chroma::C420, self.depth)
            .map_err(|error| ToolError::failed(&error))?;
        let room = self.room(&format, cancel)?;
        let reference = Clip::scene(format, self.frames, SEED);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 14 });
        let (reference, distorted) = (bytes(&reference, cancel)?, bytes(&distorted, cancel)?);
        Ok(Clips { format, reference, distorted, frames: self.frames, _room: room })
    }

    /// Room for both clips, and for the copy that one of them is made through.
    fn room(&self, format: &Format, cancel: &Cancel) -> Result<Reservation, ToolError> {
        let samples = |plane| format.plane_size(plane).0 * format.plane_size(plane).1;
        let frame = (0..format.planes()).map(samples).sum::<usize>() * format.sample_bytes();
        let clip = (frame as u64).saturating_mul(self.frames);
        let wanted = Budget::process().wait(
            clip.saturating_mul(3),
            &format!("a benchmark of {self}"),
            Duration::MAX,
            &|| cancel.is_fired(),
        );
        Ok(wanted?)
    }
}

fn bytes(clip: &Clip, cancel: &Cancel) -> Result<Arc<[u8]>, ToolError> {
    let mut bytes = Vec::new();
    for frame in clip.frames() {
        if cancel.is_fired() {
            return Err(ToolError::Cancelled);
        }
        write_raw(&mut bytes, ChromaRounding::Up, [frame]).map_err(|error| ToolError::failed(&error))?;
    }
    Ok(bytes.into())
}

struct Measured {
    scores: Vec<f64>,
    wall_ms: f64,
    fps: f64,
}

struct Row {
    fixture: Fixture,
    backend: &'static str,
    result: Result<Measured, String>,
    difference: Option<f64>,
}

impl Row {
    fn mean(&self) -> Option<f64> {
        let scores = &self.result.as_ref().ok()?.scores;
        Some(scores.iter().sum::<f64>() / scores.len() as f64)
    }

    fn listed(&self) -> BenchRow {
        let measured = self.result.as_ref().ok();
        BenchRow {
            fixture: self.fixture.to_string(),
            backend: self.backend,
            ok: measured.is_some(),
            score: self.mean(),
            wall_ms: measured.map(|measured| measured.wall_ms),
            fps: measured.map(|measured| measured.fps),
            max_frame_difference: self.difference,
            error: self.result.as_ref().err().cloned(),
        }
    }
}

fn score(clips: &Clips, backend: &str, server: &Server, context: &Context) -> Result<Measured, ToolError> {
    let pair = [("reference", Arc::clone(&clips.reference)), ("distorted", Arc::clone(&clips.distorted))];
    let task = ScoreTask::of_clips(pair, clips.format, backend, server.config().level)?;
    let started = Instant::now();
    let report = server.score(task, context)?;
    let wall = started.elapsed().as_secs_f64();
    let column = |column: &Column| column.iter().map(|(_, score)| score).collect::<Vec<f64>>();
    let scores = report.outcome.scores.column("vmaf").map(column).unwrap_or_default();
    if scores.len() as u64 != clips.frames || scores.iter().any(|score| !score.is_finite()) {
        return Err(ToolError::Failed("a frame has no score".to_owned()));
    }
    Ok(Measured { scores, wall_ms: hundredths(wall * 1e3), fps: hundredths(clips.frames as f64 / wall) })
}

/// How far a backend may be from the CPU: not at all in this process; for executables more than rounding, less than anybody
/// sees.
fn tolerance(engine: EngineKind) -> f64 {
    if engine == EngineKind::Native { 0.0 } else { 1e-4 }
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:28} {:8} {:>10} {:>12} {:>9} {:>12}\n",
        "fixture", "backend", "vmaf", "wall ms", "fps", "max diff"
    );
    for row in rows {
        let fixture = row.fixture.to_string();
        let _ = match (&row.result, row.mean()) {
            (Ok(measured), Some(mean)) => writeln!(
                text,
                "{fixture:28} {:8} {mean:10.4} {:12.1} {:9.2} {:>12}",
                row.backend,
                measured.wall_ms,
                measured.fps,
                row.difference.map_or("-".to_owned(), |difference| format!("{difference:.2e}")),
            ),
            _ => writeln!(text, "{fixture:28} {:8} failed", row.backend),
        };
    }
    text
}
