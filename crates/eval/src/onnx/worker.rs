//! The child's side of work on foreign files: our own program, started with [`MARKER`], an output and inputs.
//!
//! The first input is the task. What comes out of standard output is one JSON value: the answer, or an error. Memory was
//! limited before this program began (see `visus_child::Sandbox`): a request for more ends the process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Batch, Limits, ModelFile, OnnxError, Session};
use crate::table::{Table, TableTask};

/// The first argument that makes our program a worker.
pub const MARKER: &str = "__onnx";

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Run a model (first input) on rows (second input).
    Onnx(OnnxTask),
    /// Read columns of a table (first input).
    Table(TableTask),
}

/// The description of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OnnxTask {
    pub name: String,
    pub input: String,
    pub row_shape: Vec<usize>,
    pub rows: usize,
    pub fixed: Vec<(String, Vec<f32>)>,
    pub threads: usize,
}

/// Does what the arguments ask for.
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let paths: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let [output, task, inputs @ ..] = paths.as_slice() else { return ExitCode::from(2) };
    let answer = work(output, task, inputs);
    match serde_json::to_string(&answer) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker opens the handles that its parent gives it")]
fn work(output: &Path, task: &Path, inputs: &[PathBuf]) -> Result<Value, String> {
    let words = |error: io::Error| error.to_string();
    let task = std::fs::read(task).map_err(words)?;
    let task: Task = serde_json::from_slice(&task).map_err(|error| error.to_string())?;
    let output = File::options().write(true).open(output).map_err(words)?;
    match (task, inputs) {
        (Task::Onnx(task), [model, rows]) => run_model(task, model, rows, output),
        (Task::Table(task), [table]) => {
            let file = File::open(table).map_err(words)?;
            let table = Table::read_for(&task, file).map_err(|error| error.to_string())?;
            table.send(output).map_err(words)?;
            Ok(Value::Null)
        }
        _ => Err("the number of files does not fit the task".to_owned()),
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker opens the handles that its parent gives it")]
fn run_model(task: OnnxTask, model: &Path, rows: &Path, mut output: File) -> Result<Value, String> {
    let words = |error: io::Error| error.to_string();
    let bytes = std::fs::read(model).map_err(words)?;
    let data = read_numbers(rows).map_err(words)?;
    let limits = Limits { bytes: u64::MAX - 1, ..Limits::default() };
    let file = ModelFile::in_one_piece(task.name, bytes, &limits).map_err(reason)?;
    let batch =
        Batch { input: task.input, row_shape: task.row_shape, rows: task.rows, data, fixed: task.fixed };
    let outputs =
        Session::load(&file).and_then(|session| session.run(&batch, task.threads)).map_err(reason)?;
    for one in &outputs {
        output.write_all(bytemuck::cast_slice(&one.data)).map_err(words)?;
    }
    Ok(json!(outputs.into_iter().map(|one| (one.name, one.shape)).collect::<Vec<_>>()))
}

/// The reason alone: the other side knows which model it is.
fn reason(error: OnnxError) -> String {
    match error {
        OnnxError::Load { reason, .. } => format!("it cannot be loaded: {reason}"),
        OnnxError::Run { reason, .. } => reason,
        other => other.to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a worker opens the handles that its parent gives it")]
fn read_numbers(path: &Path) -> io::Result<Vec<f32>> {
    let mut file = std::fs::File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut numbers = vec![0f32; length / size_of::<f32>()];
    io::Read::read_exact(&mut file, bytemuck::cast_slice_mut(&mut numbers))?;
    Ok(numbers)
}
