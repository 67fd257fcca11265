//! What every request passes before it reaches its route, and every answer on its way out: id and log line, names, size,
//! token, and the client that may leave meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use tracing::Instrument;

use super::answer::{self, Answer, RequestId};
use super::auth::Access;
use super::body;
use super::origin::{Foreign, Names};
use super::page;
use super::socket::Peer;

/// What the gate compares requests with.
#[derive(Debug)]
pub struct Gate {
    pub access: Access,
    pub names: Names,
    /// Whether the page is served, whose files need no token.
    pub page: bool,
}

/// Routes that need no token.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// The status for a client that is not there any more; it is seen in logs and counters only.
pub fn client_left() -> Answer {
    let status = StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST);
    Answer::error(status, "cancelled: the client closed the connection")
}

/// The outermost layer.
pub async fn pass(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response<Body> {
    let id = RequestId::new();
    let (method, path) = (request.method().clone(), shown(request.uri().path()));
    let span = tracing::info_span!("request", request_id = id.as_str());
    request.extensions_mut().insert(id.clone());
    let answer = async {
        let started = Instant::now();
        let response = match gate.check(&request) {
            Ok(()) => attended(request, next).await,
            Err(refusal) => refusal.into_response(),
        };
        log(method.as_str(), &path, response.status(), started.elapsed());
        response
    };
    answer::finish(answer.instrument(span).await, &id)
}

/// The longest part of a path that stands in a log line; anybody can send any path.
const SHOWN_PATH: usize = 200;

fn shown(path: &str) -> String {
    match path.char_indices().nth(SHOWN_PATH) {
        Some((end, _)) => format!("{}… ({} bytes)", &path[..end], path.len()),
        None => path.to_owned(),
    }
}

/// Probes come every few seconds and are not worth a line.
fn log(method: &str, path: &str, status: StatusCode, took: Duration) {
    let (status, took) = (status.as_u16(), took.as_secs_f64());
    if OPEN.contains(&path) {
        tracing::debug!(method, path, status, seconds = took, "answered");
    } else {
        tracing::info!(method, path, status, seconds = took, "answered");
    }
}

impl Gate {
    fn check(&self, request: &Request) -> Result<(), Answer> {
        let headers = request.headers();
        self.names.check(request.uri(), request.version(), headers).map_err(foreign)?;
        if body::announces_too_much(headers) {
            return Err(body::too_large());
        }
        let path = request.uri().path();
        let is_open = OPEN.contains(&path) || (self.page && page::is_page(path));
        if is_open || self.access.allows(headers) {
            return Ok(());
        }
        let challenge = HeaderValue::from_static("Bearer");
        let text = "missing or wrong bearer token";
        Err(Answer::error(StatusCode::UNAUTHORIZED, text).with(header::WWW_AUTHENTICATE, challenge))
    }
}

fn foreign(what: Foreign) -> Answer {
    match what {
        Foreign::NoHost => Answer::bad_request("a request needs exactly one Host header"),
        Foreign::Host => Answer::error(StatusCode::FORBIDDEN, "this host name is not served here"),
        Foreign::Origin => Answer::error(StatusCode::FORBIDDEN, "requests from this origin are not allowed"),
    }
}

/// Runs the route for as long as the client is there. When it leaves, the route's future is dropped, and with it
/// whatever the route had begun; a streamed answer ends.
async fn attended(request: Request, next: Next) -> Response<Body> {
    let Some(peer) = request.extensions().get::<Peer>().cloned() else { return next.run(request).await };
    let response = tokio::select! {
        response = next.run(request) => response,
        () = peer.left() => return client_left().into_response(),
    };
    if !is_event_stream(&response) {
        return response;
    }
    response.map(|body| {
        let left = Box::pin(async move { peer.left().await });
        Body::from_stream(body.into_data_stream().take_until(left))
    })
}

fn is_event_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_cut_in_log_lines() {
        assert_eq!(shown("/v1/score"), "/v1/score");
        let long = shown(&"/ü".repeat(20_000));
        assert!(long.len() < 500 && long.ends_with("(60000 bytes)"), "{long}");
    }
}
