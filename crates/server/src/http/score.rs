//! `POST /v1/score`: a score while the client waits.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Extension;
use serde_json::{Map, Value, json};

use super::answer::{Answer, RequestId, written};
use super::refusal::refusal;
use super::{App, body, gate, jobs};
use crate::jobs::JobHandle;

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
    let mut fields = fields(app, body).await?;
    // Whoever asks over HTTP gets the whole report unless it says otherwise.
    if fields.get("detail").is_none_or(Value::is_null) {
        fields.insert("detail".to_owned(), json!("full"));
    }
    let background = fields.get("background") == Some(&Value::Bool(true));
    let mut handle = submit(app, fields).await?;
    if background {
        return Ok(jobs::accepted(handle).into_response());
    }
    // Dropping the handle, as happens when the client leaves, ends the job.
    let output = handle.wait().await.map_err(|error| refusal(&error))?;
    let job = handle.id().to_owned();
    Ok(written(StatusCode::OK, id, move || output.answer(&job)).await)
}

/// The request's body as an object.
pub async fn fields(app: &App, body: Body) -> Result<Map<String, Value>, Answer> {
    let bytes = body::read(body, app.limits.body).await?;
    body::object(&bytes)
}

/// Checks what is asked for and queues it. Files are opened on a blocking thread.
pub async fn submit(app: &App, fields: Map<String, Value>) -> Result<JobHandle, Answer> {
    let core = app.core.clone();
    let owner = app.owner.clone();
    let submitted = tokio::task::spawn_blocking(move || core.submit_score(&owner, fields)).await;
    let gone = |_| Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the request could not be prepared");
    submitted.map_err(gone)?.map_err(|error| refusal(&error))
}
