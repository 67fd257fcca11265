//! `POST /v1/score`: a score while the client waits.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::answer::{Answer, RequestId, written};
use super::refusal::refusal;
use super::{App, body, gate, jobs};
use crate::Started;
use crate::tools::score_args::{Names, ScoreArgs};

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
    let mut handle = match submit(app, fields).await? {
        Started::Job(handle) => handle,
        other => return Ok(jobs::accepted(other).into_response()),
    };
    // Dropping the handle, as happens when the client leaves, ends the job.
    let output = handle.wait().await.map_err(|error| refusal(&error))?;
    let job = handle.id().to_owned();
    let bytes = output.bytes();
    Ok(written(StatusCode::OK, id, bytes, move || output.answer(&job)).await)
}

/// The request's body as an object.
pub async fn fields(app: &App, body: Body) -> Result<Map<String, Value>, Answer> {
    let bytes = body::read(body, app.limits.body).await?;
    body::object(&bytes)
}

/// Checks what is asked for, opens its files and queues it.
pub async fn submit(app: &App, fields: Map<String, Value>) -> Result<Started, Answer> {
    let start = async {
        let args = ScoreArgs::read("vmaf_score", Names::Rest, fields)?;
        app.core.start_score(args, &app.owner).await
    };
    start.await.map_err(|error| refusal(&error))
}
