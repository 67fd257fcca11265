//! One task: its score, or why there is none.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::Value;
use visus_engine::{Cancel, EngineError, Silent};
use visus_report::score::{self, ScoreReport};
use visus_scoring::{
    ErrorClass, FoundPairs, Pairing, Prepared, RunOptions, ScoreError, ScoreRequest, ScoreResult, Selection,
    Video, Videos, score_opened,
};
use visus_video::Format;

use super::bundle::{Head, Task};
use super::folder::TaskResult;
use super::place::{self, StageArgs};
use super::plan::{file_facts, score_args};
use crate::visus::draw;
use crate::visus::score::with_advice;

/// How the tasks of a plan are scored.
#[derive(Debug)]
pub struct Scorer {
    selection: Selection,
    options: RunOptions,
    raw: Option<Format>,
    pairing: Pairing,
}

impl Scorer {
    pub fn new(head: &Head) -> Result<Self> {
        // Nothing but the videos' names depends on the videos.
        let words = score_args(&head.score, Path::new("reference"), Path::new("distorted"))?;
        let ScoreRequest { videos, selection, options } = words.request()?;
        let level = RunOptions::from_environment()?.level;
        let options = RunOptions { level, ..options };
        let pairing = Pairing { decoding: options.decoding(), ..videos.pairing };
        Ok(Self { selection, options, raw: videos.raw, pairing })
    }

    /// The pairs of two videos; an error is why they are not found, or would not help. `passed` is called after every pair.
    pub fn find_pairs(&self, task: &Task, stage: &StageArgs, passed: &mut dyn FnMut()) -> Result<FoundPairs> {
        let videos = self.videos(task, None, stage)?;
        let prepared = Prepared::new(videos, &self.selection.models, &Cancel::new())?;
        prepared.find_pairs(passed)?.map_err(anyhow::Error::msg)
    }

    fn videos(&self, task: &Task, found: Option<Arc<FoundPairs>>, stage: &StageArgs) -> Result<Videos> {
        let (reference, distorted) = (task.reference(), task.distorted());
        let videos = Videos {
            reference: Video::Path(reference.to_path_buf()),
            distorted: Video::Path(distorted.to_path_buf()),
            raw: self.raw,
            pairing: Pairing { found, ..self.pairing.clone() },
            skip: [0, 0],
        };
        place::stage(videos, [reference, distorted], stage)
    }

    /// The result of a task, of which pairs may have been found; an error is one of this machine.
    pub fn task(
        &self,
        task: &Task,
        found: Option<FoundPairs>,
        threads: usize,
        stage: &StageArgs,
    ) -> Result<TaskResult> {
        let (reference, distorted) = (task.reference(), task.distorted());
        if file_facts(reference)? != task.reference || file_facts(distorted)? != task.distorted {
            bail!("{} or its reference has changed since it was planned; plan again", distorted.display());
        }
        let (from, to) = task.range.map_or((None, None), |(from, to)| (Some(from), to));
        let moment = |frame: Option<u64>| frame.map(visus_scoring::range::Moment::Frame);
        let options = self.options.clone();
        let options = RunOptions { threads: Some(threads), from: moment(from), to: moment(to), ..options };
        if let Some(found) = found {
            match self.score(self.videos(task, Some(Arc::new(found)), stage)?, &options) {
                Ok(result) => return Ok(TaskResult::Ok { report: report(&result) }),
                // Whatever it is, pairing from the beginning says what one run says.
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    eprintln!("visus: {}: {error:#}; pairing it anew", distorted.display());
                }
            }
        }
        match self.score(self.videos(task, None, stage)?, &options) {
            Ok(result) => Ok(TaskResult::Ok { report: report(&result) }),
            Err(error) if is_of_video(&error) => {
                let error_class = draw::class_name(error.class()).to_owned();
                Ok(TaskResult::Error { error: format!("{:#}", with_advice(error)), error_class })
            }
            Err(error) => Err(with_advice(error)),
        }
    }

    fn score(&self, videos: Videos, options: &RunOptions) -> Result<ScoreResult, ScoreError> {
        let cancel = Cancel::new();
        let opened = Prepared::new(videos, &self.selection.models, &cancel)?.open()?;
        let result = score_opened(opened, &self.selection, options, &cancel, &mut Silent)?;
        result.check()?;
        Ok(result)
    }
}

/// What is kept of a result: all of a part, since joining needs its frames; of a whole pair what a batch writes.
fn report(result: &ScoreResult) -> Value {
    let facts = result.facts(crate::VERSION);
    let report = ScoreReport::new(&facts, &result.outcome);
    if result.part.is_some() { report.json() } else { score::json(&report.without_frames()) }
}

/// Whether the videos are at fault, and not this machine: its disk, its memory, its programs.
fn is_of_video(error: &ScoreError) -> bool {
    let by_class =
        matches!(error.class(), ErrorClass::Request | ErrorClass::NotComparable | ErrorClass::Video);
    let on_the_way = matches!(error, ScoreError::Engine(EngineError::Read { .. }));
    (by_class || on_the_way) && !is_of_system(error)
}

/// Whether the operating system refused something. That a file ends too early is a fault of the file.
fn is_of_system(error: &ScoreError) -> bool {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return !matches!(io.kind(), InvalidData | UnexpectedEof);
        }
        cause = error.source();
    }
    false
}
