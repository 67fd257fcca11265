//! `GET /v1/jobs/{id}/events`: how a job goes on, as server-sent events.
//!
//! An event carries the scores of the frames that were finished since the last one, and the settings that a search has
//! measured. Its id says how many of each the client has by then. A client that was cut off sends it back as `Last-Event-ID`
//! and goes on from there.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::{Value, json};

use super::App;
use super::answer::{Answer, RequestId};
use super::refusal::{self, refusal};
use crate::jobs::{JobHandle, News, Seen, Status};
use crate::tools::job;

/// At most so often.
const PACE: Duration = Duration::from_millis(250);

/// A sign of life while a job waits or a step takes long.
const SILENCE: Duration = Duration::from_secs(10);

/// Scores in one event, at most; a client that comes late gets several at once.
const MOST_SCORES: usize = 8192;

pub async fn events(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let id = match id {
        Ok(Path(id)) => id,
        Err(error) => return Answer::bad_request(error.body_text()).into_response(),
    };
    match app.core.jobs().watch(&app.owner, &id) {
        Ok(handle) => {
            let keep_alive = KeepAlive::new().interval(SILENCE);
            let follower = Follower { handle, request, seen: seen(&headers), pause: false };
            Sse::new(told(follower)).keep_alive(keep_alive).into_response()
        }
        Err(error) => refusal(&error).into_response(),
    }
}

/// Where a client that was cut off goes on; one that comes for the first time, or sends nonsense, begins at the start.
fn seen(headers: &HeaderMap) -> Seen {
    let parsed = || {
        let (scores, samples) = headers.get("last-event-id")?.to_str().ok()?.split_once('.')?;
        Some(Seen { scores: scores.parse().ok()?, samples: samples.parse().ok()? })
    };
    parsed().unwrap_or_default()
}

/// A client on its way through a job.
struct Follower {
    handle: JobHandle,
    request: RequestId,
    seen: Seen,
    /// Whether to wait before the next event.
    pause: bool,
}

/// The state now, then each change, until the job is over.
fn told(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(Some(follower), |state| async move {
        let mut follower = state?;
        if follower.pause {
            tokio::time::sleep(PACE).await;
            follower.handle.changed().await;
        }
        let news = follower.handle.live().since(follower.seen, MOST_SCORES);
        let event = follower.event(&news);
        let over = follower.handle.status().is_over();
        follower.pause = !news.more;
        Some((Ok(event), (!over).then_some(follower)))
    })
}

impl Follower {
    /// Named `progress` while the job goes on, then after how it ended.
    fn event(&mut self, news: &News) -> Event {
        let status = self.handle.status();
        let mut data = json!({
            "job_id": self.handle.id(),
            "status": status.name(),
            "progress": job::progress(&self.handle.progress()),
        });
        if !news.scores.is_empty() {
            let scores: Vec<Value> = news.scores.iter().map(|score| rounded(*score)).collect();
            data["scores"] = json!({ "from": self.seen.scores, "values": scores });
        }
        if !news.samples.is_empty() {
            data["samples"] = json!({ "from": self.seen.samples, "values": news.samples });
        }
        if let Status::Failed(error) = &status {
            data["error"] = json!(refusal::text(error));
        }
        data["request_id"] = json!(self.request.as_str());
        self.seen.scores += news.scores.len();
        self.seen.samples += news.samples.len();
        let name = if status.is_over() { status.name() } else { "progress" };
        let id = format!("{}.{}", self.seen.scores, self.seen.samples);
        Event::default().event(name).id(id).data(data.to_string())
    }
}

/// Three decimals are more than a curve shows.
fn rounded(score: f32) -> Value {
    if !score.is_finite() {
        return Value::Null;
    }
    json!((f64::from(score) * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_on_where_it_was() {
        let at = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("last-event-id", text.parse().unwrap());
            seen(&headers)
        };
        assert_eq!(at("1200.3"), Seen { scores: 1200, samples: 3 });
        for nonsense in ["", "x", "12", "-1.0", "1.2.3", "99999999999999999999999.0"] {
            assert_eq!(at(nonsense), Seen::default(), "{nonsense}");
        }
    }

    #[test]
    fn scores_are_short() {
        assert_eq!(rounded(93.123_456).to_string(), "93.123");
        assert_eq!(rounded(f32::NAN), Value::Null);
    }
}
