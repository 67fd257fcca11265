//! `get_job`, `list_jobs` and `cancel_job`, and jobs as every front end shows them.

use schemars::JsonSchema;
use serde::Serialize;

use super::field::{Field, Kind};
use super::fit::{DEFAULT_BYTES, fit};
use super::offer::Toolset;
use super::{Answer, CHANGES, LIST_DETAIL, READS, Run, Tool, answer, schema, wants_full};
use crate::jobs::{Jobs, Owner, Progress, Status, View};
use crate::report::Detail;
use crate::{Server, ToolError, text};

pub const GET_JOB: Tool = Tool {
    name: "get_job",
    title: "Get a job",
    description: "Reports the progress of a background job, then its result. Results are kept for an hour.",
    set: Toolset::Jobs,
    hints: READS,
    fields: || GET_FIELDS,
    answer: schema::of::<JobAnswer>,
    shows: &["status", "progress", "error", "result"],
    run: Run::Now(|server, owner, values| {
        let detail = values.text("detail").and_then(Detail::parse);
        get(server, owner, values.text("job_id").unwrap_or_default(), detail)
    }),
};

pub const LIST_JOBS: Tool = Tool {
    name: "list_jobs",
    title: "List jobs",
    description: "Lists your running and finished jobs without their results. Use it to find a job_id again.",
    set: Toolset::Jobs,
    hints: READS,
    fields: || LIST_FIELDS,
    answer: schema::of::<JobList>,
    shows: &["jobs"],
    run: Run::Now(|server, owner, values| {
        let list = list(server.jobs(), owner)?;
        if wants_full(server, values) {
            return Ok(list);
        }
        Ok(fit(list, DEFAULT_BYTES, "call list_jobs with detail 'full' for all jobs"))
    }),
};

pub const CANCEL_JOB: Tool = Tool {
    name: "cancel_job",
    title: "Cancel a job",
    description: "Ends a job that is queued or running. A finished job stays as it is.",
    set: Toolset::Jobs,
    hints: CHANGES,
    fields: || CANCEL_FIELDS,
    answer: schema::of::<JobAnswer>,
    shows: &["status"],
    run: Run::Now(|server, owner, values| {
        Ok(facts(&server.jobs().cancel(owner, values.text("job_id").unwrap_or_default())?))
    }),
};

const JOB_ID: Field = Field::new("job_id", Kind::Text, "The id that the tool returned.")
    .required()
    .example("\"0123456789abcdef0123456789abcdef\"");
const GET_FIELDS: &[Field] = &[
    JOB_ID,
    Field::new("detail", Kind::Word(&Detail::NAMES), "As for vmaf_score; 'full': the whole result."),
];
const LIST_FIELDS: &[Field] = &[LIST_DETAIL];
const CANCEL_FIELDS: &[Field] = &[JOB_ID];

/// A job.
#[derive(Serialize, JsonSchema)]
struct JobAnswer {
    /// Its id.
    job_id: String,
    /// The tool that it runs.
    tool: &'static str,
    /// queued, running, done, failed or cancelled.
    status: &'static str,
    /// How far it is.
    progress: JobProgress,
    /// Seconds since it was submitted.
    age_s: f64,
    /// Seconds that it ran.
    ran_s: Option<f64>,
    /// Seconds until its result is dropped.
    expires_in_s: Option<u64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// request, not_comparable, video, failed or timed_out.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_class: Option<&'static str>,
    /// The tool's answer, once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Answer>,
}

#[derive(Serialize, JsonSchema)]
struct JobList {
    /// Oldest first.
    jobs: Vec<JobAnswer>,
}

/// How far a job is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobProgress {
    /// Frames or steps done.
    done: u64,
    /// Of how many.
    total: Option<u64>,
    per_second: Option<f64>,
    /// Seconds to go.
    eta_s: Option<f64>,
    /// What is being done.
    message: String,
}

/// The longest error in a list of jobs, in characters: the job itself has the whole text.
const LISTED_ERROR: usize = 200;
/// What a job's own fields may take of an answer.
const FACTS_BYTES: usize = 700;

impl JobAnswer {
    fn new(view: &View) -> Self {
        let failure = match &view.status {
            Status::Failed(error) => Some(error),
            _ => None,
        };
        Self {
            job_id: view.id.clone(),
            tool: view.tool,
            status: view.status.name(),
            progress: progress(&view.progress),
            age_s: seconds(view.age.as_secs_f64()),
            ran_s: view.ran.map(|ran| seconds(ran.as_secs_f64())),
            expires_in_s: view.expires_in.map(|left| left.as_secs()),
            error: failure.map(ToString::to_string),
            error_class: failure.map(ToolError::class),
            result: None,
        }
    }
}

/// A job with its result, if it is done.
pub fn get(server: &Server, owner: &Owner, id: &str, detail: Option<Detail>) -> Result<Answer, ToolError> {
    let view = server.jobs().get(owner, id)?;
    let mut job = JobAnswer::new(&view);
    if let Status::Done(output) = &view.status {
        job.result = Some(server.fitted(output, id, detail, DEFAULT_BYTES - FACTS_BYTES)?);
    }
    answer(&job)
}

/// All jobs of an owner, without results.
fn list(jobs: &Jobs, owner: &Owner) -> Result<Answer, ToolError> {
    let listed = |view: &View| {
        let mut job = JobAnswer::new(view);
        job.error = job.error.map(|error| error.chars().take(LISTED_ERROR).collect());
        job
    };
    answer(&JobList { jobs: jobs.list(owner).iter().map(listed).collect() })
}

/// Where a job stands, without its result.
pub fn facts(view: &View) -> Answer {
    answer(&JobAnswer::new(view)).unwrap_or_default()
}

pub fn progress(progress: &Progress) -> JobProgress {
    JobProgress {
        done: progress.done,
        total: progress.total,
        per_second: progress.per_second.map(seconds),
        eta_s: progress.left.map(|left| seconds(left.as_secs_f64())),
        message: text::cleaned(&progress.message),
    }
}

/// Milliseconds are fine enough.
fn seconds(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A job in the background that was just submitted.
#[derive(Serialize)]
struct Begun<'a> {
    job_id: &'a str,
    status: &'static str,
    message: String,
}

/// What a caller gets that does not wait.
pub fn begun(id: &str, status: &Status) -> Answer {
    let message = format!("working in the background; call get_job with job_id '{id}'");
    answer(&Begun { job_id: id, status: status.name(), message }).unwrap_or_default()
}
