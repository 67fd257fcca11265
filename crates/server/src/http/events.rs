//! `GET /v1/jobs/{id}/events`: how a job goes on, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::json;

use super::App;
use super::answer::{Answer, RequestId};
use super::refusal::{self, refusal};
use crate::jobs::{JobHandle, Status};
use crate::tools::job;

/// At most so often.
const PACE: Duration = Duration::from_millis(250);

/// A sign of life while a job waits or a step takes long.
const SILENCE: Duration = Duration::from_secs(10);

pub async fn events(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let id = match id {
        Ok(Path(id)) => id,
        Err(error) => return Answer::bad_request(error.body_text()).into_response(),
    };
    match app.core.jobs().watch(&app.owner, &id) {
        Ok(handle) => {
            let keep_alive = KeepAlive::new().interval(SILENCE);
            Sse::new(told(handle, request)).keep_alive(keep_alive).into_response()
        }
        Err(error) => refusal(&error).into_response(),
    }
}

/// The state now, then each change, until the job is over.
fn told(handle: JobHandle, request: RequestId) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(Some((handle, true)), move |state| {
        let request = request.clone();
        async move {
            let (mut handle, first) = state?;
            if !first {
                tokio::time::sleep(PACE).await;
                handle.changed().await;
            }
            let event = event(&handle, &request);
            let over = handle.status().is_over();
            Some((Ok(event), (!over).then_some((handle, false))))
        }
    })
}

/// Named `progress` while the job goes on, then after how it ended.
fn event(handle: &JobHandle, request: &RequestId) -> Event {
    let status = handle.status();
    let mut data = json!({
        "job_id": handle.id(),
        "status": status.name(),
        "progress": job::progress(&handle.progress()),
    });
    if let Status::Failed(error) = &status {
        data["error"] = json!(refusal::text(error));
    }
    data["request_id"] = json!(request.as_str());
    let name = if status.is_over() { status.name() } else { "progress" };
    Event::default().event(name).data(data.to_string())
}
