//! `/v1/jobs`: scores in the background.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use visus_report::libvmaf::Format;

use super::answer::{Answer, RequestId, written};
use super::refusal::refusal;
use super::{App, history, large, score};
use crate::Started;
use crate::jobs::{Status, View};
use crate::report::{Detail, Output};
use crate::tools::job;
use crate::tools::score::VMAF_SCORE;

const ENDPOINT: &str = "/v1/jobs";

type Id = Result<Path<String>, PathRejection>;

/// `POST /v1/jobs`
pub async fn create(State(app): State<Arc<App>>, body: Body) -> Response {
    let answer = async {
        let fields = score::fields(&app, body).await?;
        let request = fields.clone();
        let started = score::submit(&app, fields).await?;
        history::record(&app, &started, VMAF_SCORE.name, request).await;
        Ok(accepted(started).into_response())
    };
    score::counted(&app, ENDPOINT, answer).await
}

/// The job works on; its handle must not end it.
pub fn accepted(started: Started) -> Answer {
    let handle = match started {
        Started::Job(handle) | Started::Background(handle) => handle.detached(),
        Started::Answer(answer) => return Answer::new(StatusCode::OK, answer),
    };
    let body = json!({ "job_id": handle.id(), "status": handle.status().name() });
    let answer = Answer::of(StatusCode::ACCEPTED, body);
    match HeaderValue::from_str(&format!("{ENDPOINT}/{}", handle.id())) {
        Ok(place) => answer.with(header::LOCATION, place),
        Err(_) => answer,
    }
}

/// `GET /v1/jobs`
pub async fn list(State(app): State<Arc<App>>) -> Answer {
    let jobs = app.core.jobs().list(&app.owner);
    Answer::ok(json!({ "jobs": jobs.iter().map(state).collect::<Vec<_>>() }))
}

/// `GET /v1/jobs/{id}`
pub async fn get(State(app): State<Arc<App>>, Extension(request): Extension<RequestId>, id: Id) -> Response {
    let view = match view(&app, id) {
        Ok(view) => view,
        Err(answer) => return answer.into_response(),
    };
    let bytes = if let Status::Done(output) = &view.status { output.bytes() } else { 0 };
    written(StatusCode::OK, request, bytes, move || {
        let mut body = state(&view);
        if let Status::Done(output) = &view.status {
            let result = app.core.finished(output, &view.id, None, Detail::Full);
            body.insert("result".to_owned(), Value::Object(result));
        }
        body
    })
    .await
}

/// `DELETE /v1/jobs/{id}`
pub async fn delete(State(app): State<Arc<App>>, id: Id) -> Answer {
    match job_id(id).and_then(|id| app.core.jobs().cancel(&app.owner, &id).map_err(|error| refusal(&error))) {
        Ok(view) => Answer::new(StatusCode::OK, state(&view)),
        Err(answer) => answer,
    }
}

fn job_id(id: Id) -> Result<String, Answer> {
    id.map(|Path(id)| id).map_err(|error| Answer::bad_request(error.body_text()))
}

fn view(app: &App, id: Id) -> Result<View, Answer> {
    app.core.jobs().get(&app.owner, &job_id(id)?).map_err(|error| refusal(&error))
}

/// Where a job stands, without its result.
fn state(view: &View) -> Map<String, Value> {
    let mut state = job::facts(view);
    if let Status::Failed(error) = &view.status {
        state.insert("error".to_owned(), json!(super::refusal::text(error)));
    }
    state
}

/// What `format` may be.
const FORMATS: [&str; 4] = ["json", "csv", "xml", "html"];

#[derive(Debug, serde::Deserialize)]
pub struct Wanted {
    format: Option<String>,
}

/// `GET /v1/jobs/{id}/report`
pub async fn report(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    id: Id,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Response {
    let prepared = wanted
        .map_err(|error| Answer::bad_request(error.body_text()))
        .and_then(|Query(wanted)| known_format(wanted.format.as_deref().unwrap_or("json")))
        .and_then(|format| Ok((format, finished(view(&app, id)?)?)));
    match prepared {
        Ok(("json", (id, output))) => {
            let bytes = output.bytes();
            let whole = move || app.core.finished(&output, &id, Some(Detail::Full), Detail::Full);
            written(StatusCode::OK, request, bytes, whole).await
        }
        Ok(("html", (id, output))) => page(id, output).await,
        Ok((format, (_, output))) => text_report(format, output).await,
        Err(answer) => answer.into_response(),
    }
}

fn known_format(word: &str) -> Result<&'static str, Answer> {
    match FORMATS.into_iter().find(|known| *known == word) {
        Some(known) => Ok(known),
        None => {
            let word = crate::error::cleaned(word);
            Err(Answer::bad_request(format!("invalid format '{word}': must be one of {}", FORMATS.join("|"))))
        }
    }
}

/// The result of a job that has one.
fn finished(view: View) -> Result<(String, Arc<Output>), Answer> {
    let text = match view.status {
        Status::Done(output) => return Ok((view.id, output)),
        Status::Failed(error) => format!("job {} failed: {}", view.id, super::refusal::text(&error)),
        status => format!("job {} is {}; it has no report", view.id, status.name()),
    };
    Err(Answer::error(StatusCode::CONFLICT, text))
}

/// The page, under the policy that it also carries itself.
async fn page(id: String, output: Arc<Output>) -> Response {
    let policy = visus_report::html::content_security_policy();
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    let source = Arc::clone(&output);
    match made(&output, move || source.score().and_then(|report| report.html(&id).map(String::into_bytes)))
        .await
    {
        Ok(text) => (headers, text).into_response(),
        Err(answer) => answer.into_response(),
    }
}

async fn text_report(format: &'static str, output: Arc<Output>) -> Response {
    let (kind, format) = match format {
        "csv" => ("text/csv; charset=utf-8", Format::Csv),
        _ => ("application/xml", Format::Xml),
    };
    let source = Arc::clone(&output);
    let write = move || source.score().and_then(|report| report.write(format).ok());
    match made(&output, write).await {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(answer) => answer.into_response(),
    }
}

/// A text of a score; other results have none.
async fn made(
    output: &Output,
    make: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
) -> Result<large::Text, Answer> {
    if output.score().is_none() {
        return Err(Answer::bad_request("this job's result is JSON only"));
    }
    let broken = || Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the report could not be written");
    large::text(output.bytes(), make).await?.ok_or_else(broken)
}
