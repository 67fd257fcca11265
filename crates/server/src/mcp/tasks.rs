//! The Tasks extension, over the same table of jobs: a long call of a client that knows tasks is answered with one at
//! once, and the client asks for it.
//!
//! A task's id is its job's, so `get_job`, `cancel_job` and the resources know it as well.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::call;
use crate::jobs::{JobHandle, Owner, Status, View};
use crate::tools::advice::Advice;
use crate::{Server, ToolError, tools};

/// How often a client is advised to ask.
const ASK_EVERY_MS: u64 = 1000;

/// Whether a call of this tool becomes a task: the client knows tasks, and the tool may take long.
pub fn wanted(context: &RequestContext<RoleServer>, tool: &str) -> bool {
    let knows = context.client_capabilities().is_some_and(|client| client.supports_tasks());
    let long = tools::by_name(tool).is_some_and(tools::Tool::is_long);
    super::is_modern(context) && knows && long
}

/// The task for a job that has just begun; the job goes on without its caller.
pub fn begun(server: &Server, owner: &Owner, handle: JobHandle) -> Result<CreateTaskResult, ErrorData> {
    let handle = handle.detached();
    let view = server.jobs().get(owner, handle.id()).map_err(|error| unknown(&error))?;
    Ok(CreateTaskResult::new(task(server, &view)))
}

pub fn get(server: &Server, owner: &Owner, id: &str) -> Result<GetTaskResult, ErrorData> {
    let view = server.jobs().get(owner, id).map_err(|error| unknown(&error))?;
    let payload = match &view.status {
        Status::Queued | Status::Running => TaskPayload::Working,
        Status::Cancelled => TaskPayload::Cancelled,
        Status::Done(output) => completed(&call::done(server, output, id)),
        // A tool that fails has ended, with a result that says so.
        Status::Failed(error) => completed(&call::failure(error, Advice::default())),
    };
    Ok(GetTaskResult::new(DetailedTask::new(task(server, &view), payload)))
}

pub fn cancel(server: &Server, owner: &Owner, id: &str) -> Result<(), ErrorData> {
    server.jobs().cancel(owner, id).map(drop).map_err(|error| unknown(&error))
}

/// No task of ours ever asks for input: there is nothing to take but the client's politeness.
pub fn update(server: &Server, owner: &Owner, id: &str) -> Result<(), ErrorData> {
    server.jobs().get(owner, id).map(drop).map_err(|error| unknown(&error))
}

fn unknown(error: &ToolError) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn completed(result: &impl serde::Serialize) -> TaskPayload {
    let result = match serde_json::to_value(result) {
        Ok(Value::Object(map)) => map,
        _ => JsonObject::new(),
    };
    TaskPayload::Completed { result }
}

fn task(server: &Server, view: &View) -> Task {
    let now = SystemTime::now();
    let kept = view.expires_in.unwrap_or(server.jobs().limits().keep);
    let updated = if view.status.is_over() { now - (server.jobs().limits().keep - kept) } else { now };
    // The payload decides about the status.
    let task = Task::new(&view.id, TaskStatus::Working, timestamp(now - view.age), timestamp(updated))
        .with_ttl_ms((view.age + kept).as_millis() as u64)
        .with_poll_interval_ms(ASK_EVERY_MS);
    let text = call::sentence(&view.progress);
    if text.is_empty() { task } else { task.with_status_message(text) }
}

/// As ISO 8601 writes it, in UTC, to the millisecond.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Year, month and day of a number of days since 1970. Years begin in March here, so that a leap day is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_others_write_them() {
        let at = |seconds: u64| timestamp(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7));
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_794_743_999), "2026-11-15T11:59:59.007Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.007Z");
    }
}
