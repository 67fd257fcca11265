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

use super::{McpHandler, owner, tasks};
use crate::jobs::{JobHandle, Owner, Progress, Status};
use crate::report::Output;
use crate::tools::advice::{Advice, advise};
use crate::tools::fit::DEFAULT_BYTES;
use crate::{Server, Started, ToolError, tools};

/// Progress is reported at most so often.
const REPORT_EVERY: Duration = Duration::from_millis(500);

pub async fn call(
    handler: &McpHandler,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let registered = handler.calls().register(&context);
    let reporter = context.meta.get_progress_token().map(|token| Reporter::new(context.peer.clone(), token));
    let work = answer(handler, request, &context, reporter);
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
    handler: &McpHandler,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    reporter: Option<Reporter>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.to_string();
    let given = request.arguments.unwrap_or_default();
    let owner = owner(context);
    let asked = given.get("job_id").filter(|_| name == "get_job").and_then(Value::as_str).map(str::to_owned);
    let server = handler.server();
    let result = match server.start(&name, given.clone(), &owner).await {
        Err(error) => refused(server, name, given, error).await,
        Ok(Started::Answer(answer)) => {
            let mut result = success(answer, None);
            result.content.extend(asked.iter().flat_map(|id| kept_pictures(server, &owner, id)));
            result
        }
        Ok(Started::Background(handle)) => {
            success(tools::job::begun(handle.id(), &handle.status()), Some(report_link(handle.id())))
        }
        Ok(Started::Job(handle)) if tasks::wanted(context, &name) => {
            return Ok(tasks::begun(server, &owner, handle)?.into());
        }
        Ok(Started::Job(handle)) => wait(server, handle, reporter).await,
    };
    Ok(result.into())
}

async fn wait(server: &Server, mut handle: JobHandle, mut reporter: Option<Reporter>) -> CallToolResult {
    if let Some(reporter) = &mut reporter {
        while handle.changed().await {
            reporter.report(&handle.progress()).await;
        }
    }
    match handle.wait().await {
        Err(error) => failure(&error, Advice::default()),
        Ok(output) => done(server, &output, handle.id()),
    }
}

/// The result of a finished job.
pub fn done(server: &Server, output: &Output, id: &str) -> CallToolResult {
    let answer = match server.fitted(output, id, None, DEFAULT_BYTES) {
        Ok(answer) => answer,
        Err(error) => return failure(&error, Advice::default()),
    };
    let is_part = answer.contains_key("report") || answer.contains_key("shortened");
    let mut result = success(answer, is_part.then(|| report_link(id)));
    result.content.extend(pictures(output));
    result
}

/// A call that was refused, with advice.
async fn refused(
    server: &Server,
    name: String,
    given: Map<String, Value>,
    error: ToolError,
) -> CallToolResult {
    let (server, about) = (server.clone(), error.clone());
    let advice = crate::blocking(move || advise(&server, &name, &given, &about)).await;
    failure(&error, advice.unwrap_or_default())
}

/// The pictures of a job that is asked for later.
fn kept_pictures(server: &Server, owner: &Owner, id: &str) -> Vec<ContentBlock> {
    match server.jobs().get(owner, id).map(|view| view.status) {
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

pub fn failure(error: &ToolError, advice: Advice) -> CallToolResult {
    let mut body = json!({ "error": error.to_string(), "error_class": error.class() });
    if let Some(hint) = advice.hint {
        body["hint"] = json!(hint);
    }
    if let Some(example) = advice.example {
        body["example"] = example;
    }
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
struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    /// When something was last sent, and what was done then.
    last: Option<(Instant, u64)>,
}

impl Reporter {
    fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, last: None }
    }

    /// Sends the progress, unless that was done a moment ago or nothing has moved.
    async fn report(&mut self, progress: &Progress) {
        let due = self.last.is_none_or(|(at, done)| at.elapsed() >= REPORT_EVERY && progress.done > done);
        if !due || progress.done == 0 {
            return;
        }
        self.last = Some((Instant::now(), progress.done));
        let mut param = ProgressNotificationParam::new(self.token.clone(), progress.done as f64);
        if let Some(total) = progress.total {
            param = param.with_total(total as f64);
        }
        // A client that is gone cancels the call by other ways.
        let _ = self.peer.notify_progress(param.with_message(sentence(progress))).await;
    }
}

pub fn sentence(progress: &Progress) -> String {
    let Some(total) = progress.total else { return progress.message.clone() };
    let mut text = format!("{}: {} of {total}", progress.message, progress.done);
    if let Some(pace) = progress.per_second {
        text.push_str(&format!(", {pace:.1} per second"));
    }
    if let Some(left) = progress.left {
        text.push_str(&format!(", {:.0} s left", left.as_secs_f64().ceil()));
    }
    text
}
