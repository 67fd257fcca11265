//! `list_backends`, `probe_backend` and `vmaf_version`: where scores are computed, whether that works, and by whom.

use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use visus_video::{Chroma, Format};

use super::field::{Field, Kind};
use super::offer::Toolset;
use super::{NO_FIELDS, READS, Run, Tool, answer, schema};
use crate::config::EngineKind;
use crate::engines::{DEVICES, ScoreTask, external};
use crate::jobs::Context;
use crate::report::Output;
use crate::{Server, ToolError, text};

pub const LIST_BACKENDS: Tool = Tool {
    name: "list_backends",
    title: "List backends",
    description: "Reports which backends work here. The CPU always does.",
    set: Toolset::Core,
    hints: READS,
    fields: || LIST_FIELDS,
    answer: schema::of::<BackendFlags>,
    shows: &DEVICES,
    run: Run::Look(|server, values| answer(&BackendFlags::new(&available(server, values.flag("refresh"))))),
};

pub const PROBE_BACKEND: Tool = Tool {
    name: "probe_backend",
    title: "Probe a backend",
    description: "Scores one grey frame on a backend. Use it when a listed backend fails.",
    set: Toolset::Machine,
    hints: READS,
    fields: || PROBE_FIELDS,
    answer: schema::of::<Probe>,
    shows: &["compiled_in", "runtime_healthy", "score", "error"],
    run: Run::Work(|server, values| {
        let (server, backend) = (server.clone(), values.text("backend").unwrap_or("cpu").to_owned());
        Ok(Box::new(move |context| Output::of(&probe(&server, &backend, context)?)))
    }),
};

pub const VMAF_VERSION: Tool = Tool {
    name: "vmaf_version",
    title: "Engine version",
    description: "Reports which engine scores, its version and its backends. Use it for bug reports.",
    set: Toolset::Machine,
    hints: READS,
    fields: || NO_FIELDS,
    answer: schema::of::<EngineVersion>,
    shows: &["version", "build_flags", "error"],
    run: Run::Look(|server, _| answer(&version(server))),
};

const LIST_FIELDS: &[Field] =
    &[Field::new("refresh", Kind::Flag, "Ask the external binary again.").default("false")];
const PROBE_FIELDS: &[Field] =
    &[Field::new("backend", Kind::Backend(&DEVICES), "The backend to probe.").required().example("\"cpu\"")];

/// Which backends there are.
#[derive(Serialize, JsonSchema)]
struct BackendFlags {
    /// Always true.
    cpu: bool,
    /// NVIDIA.
    cuda: bool,
    /// Intel.
    sycl: bool,
    /// Any vendor.
    vulkan: bool,
    /// AMD.
    hip: bool,
    /// Apple.
    metal: bool,
}

impl BackendFlags {
    fn new(available: &[&str]) -> Self {
        let has = |name: &str| available.contains(&name);
        Self {
            cpu: has("cpu"),
            cuda: has("cuda"),
            sycl: has("sycl"),
            vulkan: has("vulkan"),
            hip: has("hip"),
            metal: has("metal"),
        }
    }
}

/// Who scores.
#[derive(Serialize, JsonSchema)]
struct EngineVersion {
    /// Executable that scores.
    binary_path: Option<String>,
    /// Its version.
    version: Option<String>,
    /// Backends it was built with.
    build_flags: BackendFlags,
    /// What went wrong.
    error: Option<String>,
    /// native or external.
    engine: &'static str,
}

/// The health of a backend.
#[derive(Serialize, JsonSchema)]
struct Probe {
    /// The backend.
    backend: String,
    /// The engine has it.
    compiled_in: bool,
    /// A finite score came back.
    runtime_healthy: bool,
    /// How long it took.
    latency_ms: Option<f64>,
    /// Grey against itself.
    score: Option<f64>,
    /// What went wrong.
    error: Option<String>,
}

/// The backends of the engine in use. Blocks: it may have to ask a binary.
pub fn available(server: &Server, refresh: bool) -> Vec<&'static str> {
    match server.config().engine {
        EngineKind::Native => visus_scoring::backend::available(),
        EngineKind::External => {
            let help = server.probes().help(&server.binary(), refresh).unwrap_or_default();
            help.available()
        }
    }
}

/// `vmaf_version`: a missing binary is reported, it is not an error.
fn version(server: &Server) -> EngineVersion {
    let (path, version, error) = match server.config().engine {
        EngineKind::Native => {
            let path = std::env::current_exe().ok();
            (path, Some(crate::VERSION.to_owned()), None)
        }
        EngineKind::External => {
            let binary = server.binary();
            if visus_child::is_program(&binary) {
                let version = server.probes().version(&binary);
                let error = version.is_none().then(|| "the vmaf binary prints no version".to_owned());
                (Some(binary), version, error)
            } else {
                let error = external::missing(&binary);
                (Some(binary), None, Some(error))
            }
        }
    };
    let available = if error.is_some() { vec!["cpu"] } else { available(server, false) };
    EngineVersion {
        binary_path: path.map(|path| text::message(&path.to_string_lossy())),
        version,
        build_flags: BackendFlags::new(&available),
        error,
        engine: server.config().engine.name(),
    }
}

/// `probe_backend`: an unhealthy backend is a normal result.
fn probe(server: &Server, backend: &str, context: &Context) -> Result<Probe, ToolError> {
    let native = server.config().engine == EngineKind::Native;
    let works = if native {
        visus_scoring::backend::probe(backend).is_ok()
    } else {
        available(server, false).contains(&backend)
    };
    let kind = backend.split(':').next().unwrap_or(backend);
    let compiled_in = works || native && visus_scoring::backend::BUILT_IN.contains(&kind);
    let started = Instant::now();
    let score = if works {
        score_of_grey(server, backend, context)
    } else if compiled_in {
        let reason = visus_scoring::backend::probe(backend).err().unwrap_or_default();
        Err(ToolError::Failed(format!("backend '{backend}' does not work here: {reason}")))
    } else {
        let instead = visus_scoring::backend::instead(kind).filter(|_| native);
        let instead = instead.map_or(String::new(), |instead| format!(": {instead}"));
        Err(ToolError::Failed(format!(
            "backend '{backend}' is not compiled into the local vmaf binary{instead}"
        )))
    };
    let error = match &score {
        Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
        Err(error) => Some(error.to_string()),
        Ok(None) => Some("vmaf returned exit 0 but score was null".to_owned()),
        Ok(Some(_)) => None,
    };
    let score = score.ok().flatten();
    let latency = (started.elapsed().as_secs_f64() * 1e5).round() / 100.0;
    Ok(Probe {
        backend: backend.to_owned(),
        compiled_in,
        runtime_healthy: score.is_some(),
        latency_ms: compiled_in.then_some(latency),
        score,
        error,
    })
}

/// One grey frame of 64x64 against itself; `None` if no finite score came back.
fn score_of_grey(server: &Server, backend: &str, context: &Context) -> Result<Option<f64>, ToolError> {
    const SIDE: usize = 64;
    let format = Format::new(SIDE, SIDE, Chroma::C420, 8).map_err(|error| ToolError::failed(&error))?;
    let grey: Arc<[u8]> = vec![128; SIDE * SIDE * 3 / 2].into();
    let clips = [("grey.yuv", Arc::clone(&grey)), ("grey.yuv", grey)];
    let report =
        server.score(ScoreTask::of_clips(clips, format, backend, server.config().level)?, context)?;
    let score = report.outcome.scores.column("vmaf").and_then(|column| column.get(0));
    Ok(score.filter(|score| score.is_finite()))
}
