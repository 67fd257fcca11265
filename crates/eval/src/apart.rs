//! Work on foreign files in a process of its own: our side.
//!
//! Our own program is started with [`MARKER`](crate::onnx::worker::MARKER), under `child`'s supervisor, and limits its own
//! memory. Everything goes through files without names: a task, inputs, and one output. So nothing is left behind, however
//! either side ends; and a crash, or a request for a terabyte, is an error of this one piece of work.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use visus_child::{ChildCommand, Finished, OpenedFile, RunError, Sandbox};

use crate::onnx::worker::MARKER;

/// Where and under which limits work is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart<'a> {
    pub launcher: &'a Path,
    pub memory: u64,
    pub time: Duration,
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum ApartError {
    /// The process could not be had, or did not answer.
    Process(String),
    TimedOut,
    Cancelled,
    OutOfMemory,
    /// What the worker says of the work.
    Failed(String),
}

impl Apart<'_> {
    /// Does a task. Gives the worker's answer and the file that it wrote.
    pub fn run<A: DeserializeOwned>(
        &self,
        task: &impl Serialize,
        inputs: &[&OpenedFile],
        cancelled: impl Fn() -> bool,
    ) -> Result<(A, File), ApartError> {
        let process = |error: std::io::Error| ApartError::Process(format!("no temporary file: {error}"));
        let task = serde_json::to_vec(task).map_err(|error| ApartError::Process(error.to_string()))?;
        let task = filled(&task).map_err(process)?;
        let output = OpenedFile::temporary().map_err(process)?;
        let finished = self.start(&task, inputs, &output, cancelled)?;
        if finished.code != 0 {
            return Err(ended(&finished));
        }
        let answer: Result<A, String> = serde_json::from_str(finished.stdout.trim())
            .map_err(|error| ApartError::Process(format!("its answer cannot be read: {error}")))?;
        let answer = answer.map_err(ApartError::Failed)?;
        let mut file = output.file().try_clone().map_err(process)?;
        file.rewind().map_err(process)?;
        Ok((answer, file))
    }

    fn start(
        &self,
        task: &OpenedFile,
        inputs: &[&OpenedFile],
        output: &OpenedFile,
        cancelled: impl Fn() -> bool,
    ) -> Result<Finished, ApartError> {
        let path = |place: &OpenedFile| place.path().to_path_buf();
        let read: Vec<_> = std::iter::once(task).chain(inputs.iter().copied()).map(path).collect();
        let mut args = vec![MARKER.into(), path(output).into()];
        args.extend(read.iter().map(|path| path.clone().into_os_string()));
        let command = ChildCommand {
            program: self.launcher.to_path_buf(),
            args,
            limit: self.time,
            launcher: Some(self.launcher.to_path_buf()),
            sandbox: Sandbox {
                read,
                write: vec![path(output)],
                memory: Some(self.memory),
                file_bytes: Some(self.memory),
                ..Sandbox::default()
            },
            ..ChildCommand::default()
        };
        visus_child::run(&command, cancelled, || {}).map_err(|error| match error {
            RunError::Start(error) => ApartError::Process(error.to_string()),
            RunError::TimedOut => ApartError::TimedOut,
            RunError::Cancelled => ApartError::Cancelled,
        })
    }
}

/// A file without a name that holds these bytes.
pub(crate) fn filled(bytes: &[u8]) -> std::io::Result<OpenedFile> {
    let mut place = OpenedFile::temporary()?;
    place.file_mut().write_all(bytes)?;
    place.file_mut().rewind()?;
    Ok(place)
}

/// A child that did not end by itself.
fn ended(finished: &Finished) -> ApartError {
    let starved =
        finished.stderr.contains("memory allocation of") || finished.stderr.contains("capacity overflow");
    if starved {
        return ApartError::OutOfMemory;
    }
    let end = format!("its process {}", visus_child::describe_end(finished.code));
    let last = finished.stderr.lines().last().filter(|line| !line.trim().is_empty());
    ApartError::Failed(last.map_or(end.clone(), |line| format!("{end}: {line}")))
}
