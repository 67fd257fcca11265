//! Our side of a run in a child process.

use std::io::Read;
use std::path::{Path, PathBuf};

use visus_child::OpenedFile;
use visus_video::budget::Budget;

use super::worker::{OnnxTask, Task};
use super::{Batch, Limits, ModelFile, OnnxError, Output, Session};
use crate::apart::{Apart, ApartError, filled};

/// Where models run.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    /// A program that answers to [`MARKER`](super::worker::MARKER) and to [`visus_child::supervise::MARKER`]. Without one, models run within this
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
        let place = |bytes: &[u8]| filled(bytes).map_err(|error| fail(format!("no temporary file: {error}")));
        let inputs: [OpenedFile; 2] = [place(&model.bytes)?, place(bytemuck::cast_slice(&batch.data))?];
        let task = Task::Onnx(OnnxTask {
            name: model.name.clone(),
            input: batch.input.clone(),
            row_shape: batch.row_shape.clone(),
            rows: batch.rows,
            fixed: batch.fixed.clone(),
            threads: self.threads(),
        });
        let apart = Apart { launcher, memory: self.limits.memory, time: self.limits.time };
        let name = || model.name.clone();
        let run = apart.run::<Vec<(String, Vec<usize>)>>(&task, &inputs.each_ref(), cancelled);
        let (shapes, file) = run.map_err(|error| match error {
            ApartError::Process(reason) => fail(reason),
            ApartError::TimedOut => OnnxError::TimedOut { name: name(), limit: self.limits.time },
            ApartError::Cancelled => OnnxError::Cancelled,
            ApartError::OutOfMemory => OnnxError::OutOfMemory { name: name(), limit: self.limits.memory },
            ApartError::Failed(reason) => OnnxError::Run { name: name(), reason },
        })?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let _room = Budget::process().reserve(length, "a model's output").map_err(OnnxError::Memory)?;
        outputs(shapes, file).map_err(|error| fail(error.to_string()))
    }
}

/// The outputs stand one after another. Their sizes are the worker's word, and the file must agree.
fn outputs(shapes: Vec<(String, Vec<usize>)>, mut file: std::fs::File) -> std::io::Result<Vec<Output>> {
    let length = file.metadata()?.len();
    let size = |shape: &[usize]| shape.iter().try_fold(size_of::<f32>(), |all, size| all.checked_mul(*size));
    let sizes: Option<u64> = shapes.iter().map(|(_, shape)| Some(size(shape)? as u64)).sum();
    if sizes != Some(length) {
        return Err(std::io::Error::other("its output does not have the size that it says"));
    }
    let read = |(name, shape): (String, Vec<usize>)| {
        let mut data = vec![0f32; shape.iter().product()];
        file.read_exact(bytemuck::cast_slice_mut(&mut data))?;
        Ok(Output { name, shape, data })
    };
    shapes.into_iter().map(read).collect()
}
