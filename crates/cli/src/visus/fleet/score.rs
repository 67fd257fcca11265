//! One task: its score, or why there is none.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use visus_engine::{Cancel, EngineError, Silent};
use visus_report::score::{self, ScoreReport};
use visus_scoring::{ErrorClass, RunOptions, ScoreError, ScoreRequest, ScoreResult};

use super::folder::TaskResult;
use super::place::{self, StageArgs};
use super::plan::{Plan, Task, score_args, task_of};
use crate::visus::draw;
use crate::visus::score::with_advice;

/// The result of a task; an error is one of this machine.
pub fn task(plan: &Plan, task: &Task, threads: usize, stage: &StageArgs) -> Result<TaskResult> {
    let pair = plan.pairs.get(task.pair).context("the plan is damaged: a task has no pair")?;
    let args = score_args(&plan.score, &pair.reference, &pair.distorted)?;
    if task_of(&args)? != pair.task {
        bail!("{} or its reference has changed since it was planned; plan again", pair.distorted.display());
    }
    let ScoreRequest { videos, selection, options } = args.request()?;
    let videos = place::stage(videos, [&pair.reference, &pair.distorted], stage)?;
    let (from, to) = task.range.map_or((None, None), |(from, to)| (Some(from), to));
    let moment = |frame: Option<u64>| frame.map(visus_scoring::range::Moment::Frame);
    let level = RunOptions::from_environment()?.level;
    let options = RunOptions { threads: Some(threads), from: moment(from), to: moment(to), level, ..options };
    let request = ScoreRequest { videos, selection, options };
    let scored = visus_scoring::score(request, &Cancel::new(), &mut Silent)
        .and_then(|result| result.check().map_err(ScoreError::from).map(|()| result));
    match scored {
        Ok(result) => Ok(TaskResult::Ok { report: report(&result) }),
        Err(error) if is_of_video(&error) => {
            let error_class = draw::class_name(error.class()).to_owned();
            Ok(TaskResult::Error { error: format!("{:#}", with_advice(error)), error_class })
        }
        Err(error) => Err(with_advice(error)),
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
