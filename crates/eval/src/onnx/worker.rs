//! The child's side: our own program, started with [`MARKER`] and a folder.
//!
//! The folder holds the model, the rows and a description of them; the outputs are written beside them. What comes out
//! of standard output is one JSON object: the outputs' names and shapes, or an error.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::{Batch, Limits, ModelFile, OnnxError, Output, Session};

/// The first argument that makes our program a worker.
pub const MARKER: &str = "__onnx";

pub(super) const MODEL: &str = "model.onnx";
pub(super) const ROWS: &str = "rows";
pub(super) const TASK: &str = "task.json";

/// The description of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub name: String,
    pub input: String,
    pub row_shape: Vec<usize>,
    pub rows: usize,
    pub fixed: Vec<(String, Vec<f32>)>,
    pub threads: usize,
    pub memory: u64,
}

/// The answer: a name and a shape for each output, or what went wrong.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Outputs(Vec<(String, Vec<usize>)>),
    Error(String),
}

/// Does what the folder asks for.
pub fn main(folder: Option<&Path>) -> ExitCode {
    let Some(folder) = folder else { return ExitCode::from(2) };
    let answer = match work(folder) {
        Ok(outputs) => Answer::Outputs(outputs),
        Err(error) => Answer::Error(error),
    };
    match serde_json::to_string(&answer) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn work(folder: &Path) -> Result<Vec<(String, Vec<usize>)>, String> {
    let words = |error: io::Error| error.to_string();
    let task = std::fs::read(folder.join(TASK)).map_err(words)?;
    let task: Task = serde_json::from_slice(&task).map_err(|error| error.to_string())?;
    limit_memory(task.memory)?;
    let bytes = std::fs::read(folder.join(MODEL)).map_err(words)?;
    let data = read_numbers(&folder.join(ROWS)).map_err(words)?;
    let limits = Limits { bytes: u64::MAX - 1, ..Limits::default() };
    let file = ModelFile::from_bytes(task.name, bytes, folder, &limits).map_err(reason)?;
    let batch =
        Batch { input: task.input, row_shape: task.row_shape, rows: task.rows, data, fixed: task.fixed };
    let outputs =
        Session::load(&file).and_then(|session| session.run(&batch, task.threads)).map_err(reason)?;
    for (index, output) in outputs.iter().enumerate() {
        std::fs::write(folder.join(output_name(index)), bytemuck::cast_slice(&output.data)).map_err(words)?;
    }
    Ok(outputs.into_iter().map(|Output { name, shape, .. }| (name, shape)).collect())
}

/// The reason alone: the other side knows which model it is.
fn reason(error: OnnxError) -> String {
    match error {
        OnnxError::Load { reason, .. } => format!("it cannot be loaded: {reason}"),
        OnnxError::Run { reason, .. } => reason,
        other => other.to_string(),
    }
}

pub(super) fn output_name(index: usize) -> String {
    format!("output{index}")
}

pub(super) fn read_numbers(path: &Path) -> io::Result<Vec<f32>> {
    let mut file = std::fs::File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut numbers = vec![0f32; length / size_of::<f32>()];
    io::Read::read_exact(&mut file, bytemuck::cast_slice_mut(&mut numbers))?;
    Ok(numbers)
}

/// From here on, a request for more than this ends the process.
#[cfg(target_os = "linux")]
fn limit_memory(bytes: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Data, limit).map_err(|error| format!("memory cannot be limited: {error}"))
}

/// Elsewhere there is no limit that counts what a process really takes; time is limited all the same.
#[cfg(not(target_os = "linux"))]
fn limit_memory(_bytes: u64) -> Result<(), String> {
    Ok(())
}
