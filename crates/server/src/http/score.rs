//! `POST /v1/score`: a score while the client waits.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::answer::{Answer, RequestId, written};
use super::refusal::refusal;
use super::{App, body, gate, jobs};
use crate::Started;
use crate::report::Detail;
use crate::tools::score::REST_SCORE;

const ENDPOINT: &str = "/v1/score";

/// Counts a request, also one whose client left before the answer.
struct Counted<'a> {
    app: &'a App,
    endpoint: &'static str,
    started: Instant,
    status: StatusCode,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.app.meters.answered(self.endpoint, self.status.as_u16(), self.started.elapsed());
    }
}

/// Runs a route and counts how it ended.
pub async fn counted(
    app: &App,
    endpoint: &'static str,
    answer: impl Future<Output = Result<Response, Answer>>,
) -> Response {
    let status = gate::client_left().status();
    let mut counted = Counted { app, endpoint, started: Instant::now(), status };
    let response = answer.await.unwrap_or_else(IntoResponse::into_response);
    counted.status = response.status();
    response
}

pub async fn score(State(app): State<Arc<App>>, Extension(id): Extension<RequestId>, body: Body) -> Response {
    counted(&app, ENDPOINT, answer(&app, id, body)).await
}

async fn answer(app: &App, id: RequestId, body: Body) -> Result<Response, Answer> {
    let fields = fields(app, body).await?;
    let mut handle = match submit(app, fields).await? {
        Started::Job(handle) => handle,
        other => return Ok(jobs::accepted(other).into_response()),
    };
    // Dropping the handle, as happens when the client leaves, ends the job.
    let output = handle.wait().await.map_err(|error| refusal(&error))?;
    let bytes = output.bytes();
    let (server, job) = (app.core.clone(), handle.id().to_owned());
    // Over HTTP the whole report is the default.
    let whole = move || server.finished(&output, &job, None, Detail::Full);
    Ok(written(StatusCode::OK, id, bytes, whole).await)
}

/// The request's body as an object.
pub async fn fields(app: &App, body: Body) -> Result<Map<String, Value>, Answer> {
    let bytes = body::read(body, app.limits.body, &app.intake).await?;
    body::object(&bytes)
}

/// Checks what is asked for, opens its files and queues it.
pub async fn submit(app: &App, fields: Map<String, Value>) -> Result<Started, Answer> {
    let started = app.core.start_tool(&REST_SCORE, fields, &app.owner).await;
    started.map_err(|error| refusal(&error))
}
