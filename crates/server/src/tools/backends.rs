//! Backends: which there are, whether they work, and who scores.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use visus_video::{Chroma, Format};

use crate::config::EngineKind;
use crate::engines::{DEVICES, ScoreTask, external, native};
use crate::jobs::Context;
use crate::{Server, ToolError};

/// The backends of the engine in use. Blocks: it may have to ask a binary.
pub fn available(server: &Server, refresh: bool) -> Vec<&'static str> {
    match server.config().engine {
        EngineKind::Native => native::AVAILABLE.to_vec(),
        EngineKind::External => {
            let help = server.probes().help(&server.binary(), refresh).unwrap_or_default();
            help.available()
        }
    }
}

fn flags(available: &[&str]) -> Value {
    Value::Object(DEVICES.iter().map(|name| ((*name).to_owned(), json!(available.contains(name)))).collect())
}

/// `list_backends`.
pub fn list(server: &Server, refresh: bool) -> Value {
    flags(&available(server, refresh))
}

/// `vmaf_version`: a missing binary is told, not an error.
pub fn version(server: &Server) -> Value {
    let (path, version, error) = match server.config().engine {
        EngineKind::Native => {
            let path = std::env::current_exe().ok();
            (path, Some(crate::VERSION.to_owned()), None)
        }
        EngineKind::External => {
            let binary = server.binary();
            if visus_child::is_program(&binary) {
                let version = server.probes().version(&binary);
                let error = version.is_none().then(|| "the vmaf binary tells no version".to_owned());
                (Some(binary), version, error)
            } else {
                let error = external::missing(&binary);
                (Some(binary), None, Some(error))
            }
        }
    };
    let available = if error.is_some() { vec!["cpu"] } else { available(server, false) };
    json!({
        "binary_path": path.map(|path| crate::error::cleaned(&path.to_string_lossy())),
        "version": version,
        "build_flags": flags(&available),
        "error": error,
        "engine": server.config().engine.name(),
    })
}

/// `probe_backend`: an unhealthy backend is a normal result.
pub fn probe(server: &Server, backend: &str, context: &Context) -> Result<Value, ToolError> {
    let compiled_in = available(server, false).contains(&backend);
    let started = Instant::now();
    let score = if compiled_in {
        score_of_grey(server, backend, context)
    } else {
        Err(ToolError::Failed(format!("backend '{backend}' is not compiled into the local vmaf binary")))
    };
    let error = match &score {
        Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
        Err(error) => Some(error.to_string()),
        Ok(None) => Some("vmaf returned exit 0 but score was null".to_owned()),
        Ok(Some(_)) => None,
    };
    let score = score.ok().flatten();
    let latency = (started.elapsed().as_secs_f64() * 1e5).round() / 100.0;
    Ok(json!({
        "backend": backend,
        "compiled_in": compiled_in,
        "runtime_healthy": score.is_some(),
        "latency_ms": compiled_in.then_some(latency),
        "score": score,
        "error": error,
    }))
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

/// A value that is an object, as a map.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
