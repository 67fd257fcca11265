//! `/v1/history`: what was asked for and what came of it, also before the last restart.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use visus_report::Record;
use visus_video::budget::Budget;

use super::answer::{Answer, RequestId, written};
use super::refusal::refusal;
use super::{App, large, pictures};
use crate::history::{Entry, History, Input, Stored};
use crate::jobs::Status;
use crate::report::ScoreReport;
use crate::{Server, Started, blocking};

/// Makes a download out of a stored report.
type Conversion = fn(Vec<u8>) -> Option<Vec<u8>>;

type Id = Result<Path<String>, PathRejection>;

/// Arguments that name files, of scores and of tuning tools.
const FILES: [&str; 3] = ["reference", "distorted", "src"];

/// Keeps a job that was just submitted, and what will come of it.
pub async fn record(app: &Arc<App>, started: &Started, tool: &'static str, request: Map<String, Value>) {
    let Some(history) = app.history.clone() else { return };
    let (Started::Job(handle) | Started::Background(handle)) = started else { return };
    let id = handle.id().to_owned();
    let Ok(mut watch) = app.core.jobs().watch(&app.owner, &id) else { return };
    let (begun, known) = (history.clone(), id.clone());
    let server = app.core.clone();
    let begin = move || {
        let input = |name: &&str| request.get(*name)?.as_str().map(|path| input(&server, path));
        let inputs = FILES.iter().filter_map(input).collect();
        let entry = Entry::new(&known, tool, request, inputs);
        begun.begin(entry.clone());
        entry
    };
    let Ok(entry) = blocking(begin).await else { return };
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let (looking, subject) = (Arc::clone(&app), entry.clone());
        let prepared = async {
            let _turn = looking.viewer.turns.acquire().await;
            let app = Arc::clone(&looking);
            let _ = blocking(move || pictures::prepare(&app, &subject)).await;
        };
        let ((), _) = tokio::join!(prepared, watch.wait());
        let status = watch.status();
        let lowest = match &status {
            Status::Done(output) => output.score().map(lowest).unwrap_or_default(),
            _ => Vec::new(),
        };
        let _ = blocking(move || history.end(&id, &status)).await;
        let _turn = looking.viewer.turns.acquire().await;
        let _ = blocking(move || pictures::warm(&app, &entry, &lowest)).await;
    });
}

/// What is known of a file that a request names; nothing of one that is not under an allowed root by now.
fn input(server: &Server, path: &str) -> Input {
    let opened = server.roots().open(path).ok();
    Input::of(path, opened.and_then(|opened| opened.file.metadata().ok()).as_ref())
}

/// Bytes of memory for each byte of a report, while it is parsed.
const PARSED: u64 = 12;
/// Frames of which pictures are made before anybody asks: as many worst frames as the page names.
const MOST_WARMED: usize = 8;
/// Frames nearer than this to each other show the same; the page goes by the same rule.
const APART: u64 = 8;

/// The frames with the lowest scores.
fn lowest(report: &ScoreReport) -> Vec<u64> {
    let view = report.view("");
    let Some(column) = view.main_column() else { return Vec::new() };
    let mut scores: Vec<(u64, f64)> = column.iter().filter(|(_, score)| score.is_finite()).collect();
    scores.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut chosen: Vec<u64> = Vec::new();
    for (frame, _) in scores {
        if chosen.len() < MOST_WARMED && chosen.iter().all(|other| other.abs_diff(frame) >= APART) {
            chosen.push(frame);
        }
    }
    chosen
}

/// The history, or why there is none.
fn history(app: &App) -> Result<&History, Answer> {
    app.history.as_ref().ok_or_else(|| {
        Answer::not_found("no history is kept; start the server with `visus ui` or `visus serve --ui`")
    })
}

fn unknown() -> Answer {
    Answer::not_found("the history has no such entry")
}

fn entry(app: &App, id: Id) -> Result<(History, Entry), Answer> {
    let Path(id) = id.map_err(|error| Answer::bad_request(error.body_text()))?;
    let history = history(app)?;
    Ok((history.clone(), current(app, history.get(&id).ok_or_else(unknown)?)))
}

/// An entry whose job still goes on stands as the job does. One that is over is over when its result is kept.
fn current(app: &App, mut entry: Entry) -> Entry {
    if !entry.is_over()
        && let Ok(view) = app.core.jobs().get(&app.owner, &entry.id)
    {
        let status = if view.status.is_over() { "running" } else { view.status.name() };
        entry.status = status.to_owned();
    }
    entry
}

async fn read<T: Send + 'static>(work: impl FnOnce() -> Option<T> + Send + 'static) -> Result<T, Answer> {
    let found = blocking(work).await.map_err(|error| refusal(&error))?;
    found.ok_or_else(|| Answer::error(StatusCode::CONFLICT, "this entry has no result"))
}

/// `GET /v1/history`
pub async fn list(State(app): State<Arc<App>>) -> Result<Answer, Answer> {
    let entries = history(&app)?.list().into_iter().map(|entry| shown(&current(&app, entry)));
    Ok(Answer::ok(json!({ "entries": entries.collect::<Vec<Value>>() })))
}

/// An entry as clients read it.
fn shown(entry: &Entry) -> Value {
    let mut entry = json!(entry);
    crate::text::clean_value(&mut entry);
    entry
}

/// `GET /v1/history/{id}`
pub async fn get(State(app): State<Arc<App>>, Extension(request): Extension<RequestId>, id: Id) -> Response {
    let (history, entry) = match entry(&app, id) {
        Ok(found) => found,
        Err(answer) => return answer.into_response(),
    };
    let size = usize::try_from(history.bytes(&entry.id, Stored::Result)).unwrap_or(usize::MAX);
    written(StatusCode::OK, request, size, move || {
        let result = history.read_json(&entry.id, Stored::Result);
        let mut body = json!({ "entry": shown(&entry) }).as_object().cloned().unwrap_or_default();
        body.extend(result.map(|result| ("result".to_owned(), result)));
        body
    })
    .await
}

/// `DELETE /v1/history/{id}`: what still runs is ended first.
pub async fn delete(State(app): State<Arc<App>>, id: Id) -> Result<Answer, Answer> {
    let (history, entry) = entry(&app, id)?;
    if !entry.is_over() {
        let _ = app.core.jobs().cancel(&app.owner, &entry.id);
    }
    let id = entry.id.clone();
    blocking(move || history.remove(&id)).await.map_err(|error| refusal(&error))?;
    Ok(Answer::ok(json!({ "removed": entry.id })))
}

/// `GET /v1/history/{id}/curve`
pub async fn curve(State(app): State<Arc<App>>, id: Id) -> Result<Response, Answer> {
    let (history, entry) = entry(&app, id)?;
    let bytes = read(move || history.read(&entry.id, Stored::Curve)).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], large::Text::of(bytes.into())?).into_response())
}

#[derive(Debug, serde::Deserialize)]
pub struct Wanted {
    format: Option<String>,
}

/// `GET /v1/history/{id}/report`
pub async fn report(
    State(app): State<Arc<App>>,
    id: Id,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Answer> {
    let Query(wanted) = wanted.map_err(|error| Answer::bad_request(error.body_text()))?;
    let (history, entry) = entry(&app, id)?;
    let (kind, make): (_, Conversion) = match wanted.format.as_deref().unwrap_or("json") {
        "json" => ("application/json", Some),
        "csv" => ("text/csv; charset=utf-8", |bytes| {
            csv(&Record::from_json(&serde_json::from_slice(&bytes).ok()?).ok()?)
        }),
        "html" => ("text/html; charset=utf-8", page),
        other => {
            let word = crate::error::cleaned(other);
            return Err(Answer::bad_request(format!(
                "invalid format '{word}': must be one of json|csv|html"
            )));
        }
    };
    let size = usize::try_from(history.bytes(&entry.id, Stored::Report)).unwrap_or(usize::MAX);
    let made = large::text(size / 2, move || make(history.read(&entry.id, Stored::Report)?)).await?;
    let text = made.ok_or_else(|| Answer::error(StatusCode::CONFLICT, "this entry has no report"))?;
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    if kind.starts_with("text/html")
        && let Ok(policy) = visus_report::html::content_security_policy().parse()
    {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

fn page(report: Vec<u8>) -> Option<Vec<u8>> {
    let record = Record::from_json(&serde_json::from_slice(&report).ok()?).ok()?;
    Some(visus_report::html::page(&record, &[]).into_bytes())
}

/// A line per frame, a column per score.
fn csv(record: &Record) -> Option<Vec<u8>> {
    use std::fmt::Write;
    let mut text = String::from("Frame");
    record
        .curves
        .iter()
        .for_each(|curve| text.extend([",", &curve.name.replace([',', '"', '\n', '\r'], "_")]));
    for (place, frame) in record.frames.iter().enumerate() {
        write!(text, "\n{frame}").ok()?;
        for curve in &record.curves {
            text.push(',');
            if let Some(value) = curve.values.get(place).copied().flatten() {
                write!(text, "{value:.6}").ok()?;
            }
        }
    }
    text.push('\n');
    Some(text.into_bytes())
}

#[derive(Debug, serde::Deserialize)]
pub struct Two {
    a: String,
    b: String,
}

/// `GET /v1/diff`: two entries side by side, and whether the change is real.
pub async fn diff(
    State(app): State<Arc<App>>,
    two: Result<Query<Two>, QueryRejection>,
) -> Result<Answer, Answer> {
    const SEED: u64 = 1;
    let Query(two) = two.map_err(|error| Answer::bad_request(error.body_text()))?;
    let history = history(&app)?.clone();
    if history.get(&two.a).is_none() || history.get(&two.b).is_none() {
        return Err(unknown());
    }
    let size = history.bytes(&two.a, Stored::Report).saturating_add(history.bytes(&two.b, Stored::Report));
    let estimate = size.saturating_mul(PARSED);
    let room =
        Budget::process().reserve(estimate, "the comparison").map_err(|error| refusal(&error.into()))?;
    read(move || {
        let _room = room;
        let record = |id: &str| Record::from_json(&history.read_json(id, Stored::Report)?).ok();
        Some(visus_report::diff::diff(&record(&two.a)?, &record(&two.b)?, SEED).json())
    })
    .await
    .map(Answer::ok)
}
