//! Our side of a run in a child process.

use std::path::{Path, PathBuf};

use visus_child::{ChildCommand, Finished, RunError, Sandbox};

use super::worker::{Answer, MARKER, MODEL, ROWS, TASK, Task, output_name, read_numbers};
use super::{Batch, Limits, ModelFile, OnnxError, Output, Session};

/// Where models run.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    /// A program that answers to [`MARKER`] and to [`visus_child::supervise::MARKER`]. Without one, models run within this
    /// process: a panic is caught, but memory and time are not limited.
    pub launcher: Option<PathBuf>,
    pub limits: Limits,
    /// 0 for all cores.
    pub threads: usize,
}

/// More threads than this only cost memory.
const MOST_THREADS: usize = 16;

impl Runner {
    /// All outputs for all rows.
    pub fn run(
        &self,
        model: &ModelFile,
        batch: &Batch,
        cancelled: impl Fn() -> bool,
    ) -> Result<Vec<Output>, OnnxError> {
        model.check(batch)?;
        match &self.launcher {
            Some(launcher) => self.run_in_child(launcher, model, batch, cancelled),
            None => Session::load(model)?.run(batch, self.threads()),
        }
    }

    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS),
            threads => threads.min(MOST_THREADS),
        }
    }

    fn run_in_child(
        &self,
        launcher: &Path,
        model: &ModelFile,
        batch: &Batch,
        cancelled: impl Fn() -> bool,
    ) -> Result<Vec<Output>, OnnxError> {
        let fail = |reason: String| OnnxError::Process { name: model.name.clone(), reason };
        let folder = tempfile::Builder::new().prefix("visus-onnx-").tempdir();
        let folder = folder.map_err(|error| fail(format!("no temporary folder: {error}")))?;
        self.hand_over(folder.path(), model, batch).map_err(|error| fail(error.to_string()))?;
        let command = ChildCommand {
            program: launcher.to_path_buf(),
            args: vec![MARKER.into(), folder.path().into()],
            limit: self.limits.time,
            launcher: Some(launcher.to_path_buf()),
            sandbox: Sandbox {
                write: vec![folder.path().to_path_buf()],
                memory: Some(self.limits.memory),
                file_bytes: Some(self.limits.memory),
                ..Sandbox::default()
            },
            ..ChildCommand::default()
        };
        let finished = visus_child::run(&command, cancelled, || {}).map_err(|error| match error {
            RunError::Start(error) => fail(error.to_string()),
            RunError::TimedOut => OnnxError::TimedOut { name: model.name.clone(), limit: self.limits.time },
            RunError::Cancelled => OnnxError::Cancelled,
        })?;
        self.take_back(folder.path(), model, &finished)
    }

    fn hand_over(&self, folder: &Path, model: &ModelFile, batch: &Batch) -> std::io::Result<()> {
        let task = Task {
            name: model.name.clone(),
            input: batch.input.clone(),
            row_shape: batch.row_shape.clone(),
            rows: batch.rows,
            fixed: batch.fixed.clone(),
            threads: self.threads(),
            memory: self.limits.memory,
        };
        std::fs::write(folder.join(MODEL), &model.bytes)?;
        std::fs::write(folder.join(ROWS), bytemuck::cast_slice(&batch.data))?;
        std::fs::write(folder.join(TASK), serde_json::to_vec(&task)?)
    }

    fn take_back(
        &self,
        folder: &Path,
        model: &ModelFile,
        finished: &Finished,
    ) -> Result<Vec<Output>, OnnxError> {
        let name = model.name.clone();
        if finished.code != 0 {
            return Err(self.ended(name, finished));
        }
        let answer = serde_json::from_str(finished.stdout.trim());
        let answer =
            answer.map_err(|error| OnnxError::Process { name: name.clone(), reason: error.to_string() })?;
        let shapes = match answer {
            Answer::Outputs(shapes) => shapes,
            Answer::Error(reason) => return Err(OnnxError::Run { name, reason }),
        };
        let read = |(index, (output, shape)): (usize, (String, Vec<usize>))| {
            let data = read_numbers(&folder.join(output_name(index)));
            let fail =
                |error: std::io::Error| OnnxError::Process { name: name.clone(), reason: error.to_string() };
            Ok(Output { name: output, shape, data: data.map_err(fail)? })
        };
        shapes.into_iter().enumerate().map(read).collect()
    }

    /// A child that did not end by itself.
    fn ended(&self, name: String, finished: &Finished) -> OnnxError {
        let starved =
            finished.stderr.contains("memory allocation of") || finished.stderr.contains("capacity overflow");
        if starved {
            return OnnxError::OutOfMemory { name, limit: self.limits.memory };
        }
        let last = finished.stderr.lines().last().unwrap_or_default();
        OnnxError::Run { name, reason: format!("its process ended with {}: {last}", finished.code) }
    }
}
