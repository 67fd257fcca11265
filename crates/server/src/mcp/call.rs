//! Calling a tool: progress while it works, its end when the caller goes.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam,
    ProgressToken, Resource,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use super::{Door, owner, tasks};
use crate::jobs::{JobHandle, Owner, Progress, Status};
use crate::report::Output;
use crate::{Started, ToolError, finished, tools};

/// Progress is told at most so often.
const TELL_EVERY: Duration = Duration::from_millis(500);

pub async fn call(
    door: &Door,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let registered = door.calls().register(&context);
    let teller = context.meta.get_progress_token().map(|token| Teller::new(context.peer.clone(), token));
    let work = answer(door, request, &context, teller);
    tokio::select! {
        result = work => result,
        () = context.ct.cancelled() => Err(cancelled()),
        () = registered.cancelled() => Err(cancelled()),
    }
}

/// Nobody waits for this any more; dropping the work above has ended the job.
fn cancelled() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

async fn answer(
    door: &Door,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    teller: Option<Teller>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.to_string();
    let given = request.arguments.unwrap_or_default();
    let owner = owner(context);
    let asked = given.get("job_id").filter(|_| name == "get_job").and_then(Value::as_str).map(str::to_owned);
    let result = match door.server().start(&name, given, &owner).await {
        Err(error) => failure(&error),
        Ok(Started::Answer(answer)) => {
            let mut result = success(answer, None);
            result.content.extend(asked.iter().flat_map(|id| kept_pictures(door, &owner, id)));
            result
        }
        Ok(Started::Background(handle)) => {
            success(tools::job::begun(handle.id(), &handle.status()), Some(report_link(handle.id())))
        }
        Ok(Started::Job(handle)) if tasks::wanted(context, &name) => {
            return Ok(tasks::begun(door.server(), &owner, handle)?.into());
        }
        Ok(Started::Job(handle)) => wait(handle, &name, teller).await,
    };
    Ok(result.into())
}

async fn wait(mut handle: JobHandle, tool: &str, mut teller: Option<Teller>) -> CallToolResult {
    if let Some(teller) = &mut teller {
        while handle.changed().await {
            teller.tell(&handle.progress()).await;
        }
    }
    match handle.wait().await {
        Err(error) => failure(&error),
        Ok(output) => done(&output, handle.id(), tool),
    }
}

/// The result of a finished job.
pub fn done(output: &Output, id: &str, tool: &str) -> CallToolResult {
    let cut = matches!(output, Output::Score(report) if report.is_cut(report.detail));
    let mut result = success(finished(output, id, tool), cut.then(|| report_link(id)));
    result.content.extend(pictures(output));
    result
}

/// The pictures of a job that is asked for later.
fn kept_pictures(door: &Door, owner: &Owner, id: &str) -> Vec<ContentBlock> {
    match door.server().jobs().get(owner, id).map(|view| view.status) {
        Ok(Status::Done(output)) => pictures(&output).collect(),
        _ => Vec::new(),
    }
}

/// Pictures that the calling model can look at.
fn pictures(output: &Output) -> impl Iterator<Item = ContentBlock> {
    output.pictures().iter().map(|png| ContentBlock::image(STANDARD.encode(png), "image/png"))
}

/// A result: the same JSON as data and as text, and a link to what was left out.
fn success(answer: Map<String, Value>, link: Option<Resource>) -> CallToolResult {
    let answer = Value::Object(answer);
    let mut content = vec![ContentBlock::text(answer.to_string())];
    content.extend(link.map(ContentBlock::resource_link));
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(answer);
    result
}

pub fn failure(error: &ToolError) -> CallToolResult {
    let mut body = json!({ "error": error.to_string() });
    if let Some(wait) = error.retry_after() {
        body["retry_after_s"] = json!(wait.as_secs().max(1));
    }
    CallToolResult::error(vec![ContentBlock::text(body.to_string())])
}

fn report_link(id: &str) -> Resource {
    Resource::new(format!("visus://jobs/{id}"), "report")
        .with_title("The whole report")
        .with_description(format!("Every frame; in pages as visus://jobs/{id}/frames?from=0&count=100"))
        .with_mime_type("application/json")
}

/// Sends progress to the client that asked for it.
struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    told: Option<(Instant, u64)>,
}

impl Teller {
    fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, told: None }
    }

    /// Tells how far it is, unless that was told a moment ago or nothing has moved.
    async fn tell(&mut self, progress: &Progress) {
        let due = self.told.is_none_or(|(at, done)| at.elapsed() >= TELL_EVERY && progress.done > done);
        if !due || progress.done == 0 {
            return;
        }
        self.told = Some((Instant::now(), progress.done));
        let mut param = ProgressNotificationParam::new(self.token.clone(), progress.done as f64);
        if let Some(total) = progress.total {
            param = param.with_total(total as f64);
        }
        // A client that is gone cancels the call by other ways.
        let _ = self.peer.notify_progress(param.with_message(words(progress))).await;
    }
}

pub fn words(progress: &Progress) -> String {
    let Some(total) = progress.total else { return progress.message.clone() };
    let mut words = format!("{}: {} of {total}", progress.message, progress.done);
    if let Some(pace) = progress.per_second {
        words.push_str(&format!(", {pace:.1} per second"));
    }
    if let Some(left) = progress.left {
        words.push_str(&format!(", {:.0} s left", left.as_secs_f64().ceil()));
    }
    words
}
