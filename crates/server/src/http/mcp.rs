//! MCP at `/mcp`: the protocol's own service behind the checks, limits and ids of the HTTP server.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use http_body::Body as _;
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};
use tower::ServiceExt;
use visus_video::budget::Budget;

use super::answer::{RequestId, reason};
use super::{App, body};

/// Smaller answers are not counted.
const LARGE: u64 = 64 << 10;
/// A refusal longer than this is not looked into.
const REFUSAL_BYTES: usize = 64 << 10;

/// One message. Its body is read here, bounded in size and time.
pub async fn mcp(
    State(app): State<Arc<App>>,
    Extension(id): Extension<RequestId>,
    request: Request,
) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let bytes = match body::read(body, app.limits.body, &app.intake).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer.into_response(),
    };
    parts.extensions.insert(app.owner.clone());
    let Ok(response) = app.mcp.clone().oneshot(Request::from_parts(parts, Body::from(bytes))).await;
    let response = response.map(Body::new);
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if refused { dressed(response, &id).await } else { counted(response) }
}

/// A large answer is counted in the memory budget until its client has taken it; where there is no room, the client is told to
/// come back.
fn counted(response: Response<Body>) -> Response<Body> {
    let length = response.body().size_hint().lower();
    if length < LARGE {
        return response;
    }
    let room = match Budget::process().reserve(length, "the answer") {
        Ok(room) => room,
        Err(error) => return super::refusal::refusal(&error.into()).into_response(),
    };
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |piece| {
            let _held = &room;
            piece
        }))
    })
}

/// A refusal as a JSON-RPC error that carries the request's id among its data, where the protocol allows it.
async fn dressed(response: Response<Body>, id: &RequestId) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let bytes =
        Limited::new(body, REFUSAL_BYTES).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let message = serde_json::from_slice::<Value>(&bytes).ok().filter(|message| message["error"].is_object());
    let mut message = message.unwrap_or_else(|| from_text(parts.status, &String::from_utf8_lossy(&bytes)));
    if message["error"]["data"].is_null() {
        message["error"]["data"] = json!({});
    }
    if let Some(data) = message["error"]["data"].as_object_mut() {
        data.insert("request_id".to_owned(), json!(id.as_str()));
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(message.to_string()))
}

/// -32600 is JSON-RPC's invalid request, -32603 its internal error.
fn from_text(status: StatusCode, text: &str) -> Value {
    let code = if status.is_server_error() { -32603 } else { -32600 };
    let text = if text.is_empty() { reason(status) } else { crate::error::cleaned(text) };
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": text } })
}
