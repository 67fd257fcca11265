//! Jobs as answers.

use serde_json::{Map, Value, json};

use crate::jobs::{Jobs, Owner, Progress, Status, View};
use crate::report::Detail;
use crate::{ToolError, report::Output};

/// A job with its result, if it is done.
pub fn get(
    jobs: &Jobs,
    owner: &Owner,
    id: &str,
    detail: Option<Detail>,
) -> Result<Map<String, Value>, ToolError> {
    let view = jobs.get(owner, id)?;
    let mut answer = facts(&view);
    if let Status::Done(output) = &view.status {
        let result = match (&**output, detail) {
            (Output::Score(report), Some(detail)) => report.answer(id, detail),
            (output, _) => output.answer(id),
        };
        answer.insert("result".to_owned(), Value::Object(result));
    }
    Ok(answer)
}

/// All jobs of an owner, without results.
pub fn list(jobs: &Jobs, owner: &Owner) -> Value {
    json!({ "jobs": jobs.list(owner).iter().map(facts).collect::<Vec<_>>() })
}

pub fn facts(view: &View) -> Map<String, Value> {
    let mut facts = Map::from_iter([
        ("job_id".to_owned(), json!(view.id)),
        ("tool".to_owned(), json!(view.tool)),
        ("status".to_owned(), json!(view.status.name())),
        ("progress".to_owned(), progress(&view.progress)),
        ("age_s".to_owned(), json!(seconds(view.age.as_secs_f64()))),
        ("ran_s".to_owned(), json!(view.ran.map(|ran| seconds(ran.as_secs_f64())))),
        ("expires_in_s".to_owned(), json!(view.expires_in.map(|left| left.as_secs()))),
    ]);
    if let Status::Failed(error) = &view.status {
        facts.insert("error".to_owned(), json!(error.to_string()));
    }
    facts
}

pub fn progress(progress: &Progress) -> Value {
    json!({
        "done": progress.done,
        "total": progress.total,
        "per_second": progress.per_second.map(seconds),
        "eta_s": progress.left.map(|left| seconds(left.as_secs_f64())),
        "message": progress.message,
    })
}

/// Milliseconds are fine enough.
fn seconds(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// What a caller gets that does not wait.
pub fn begun(id: &str, status: &Status) -> Map<String, Value> {
    Map::from_iter([
        ("job_id".to_owned(), json!(id)),
        ("status".to_owned(), json!(status.name())),
        ("message".to_owned(), json!(format!("working in the background; call get_job with job_id '{id}'"))),
    ])
}
