//! MCP over streamable HTTP, as a service to mount at `/mcp`.
//!
//! Requests are served without sessions, in both eras of the protocol. In front of the SDK's service stands a small
//! layer: bodies that are no JSON-RPC get a JSON-RPC error, and a client of the older era can cancel a call that is still
//! running by a second request, by way of an id that it was given with its first.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use ::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{McpHandler, owner, stack};
use crate::Server;
use crate::jobs::Owner;

/// The largest body that is read.
pub use crate::incoming::LONGEST as MAX_BODY;

const SESSION: &str = "mcp-session-id";

/// Which hosts and browsers may call. Empty lists leave the check to the HTTP front end.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    /// Ends all calls.
    pub shutdown: CancellationToken,
}

/// The service. An [`Owner`] among the request's extensions says whose jobs it works with.
#[derive(Clone)]
pub struct McpService {
    inner: StreamableHttpService<stack::Handler, stack::Sessions>,
    calls: Calls,
}

impl std::fmt::Debug for McpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpService")
    }
}

/// Makes the service.
pub fn service(server: Server, options: Options) -> McpService {
    let handler = McpHandler::new(server);
    let calls = handler.calls().clone();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(stack::SESSIONS)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_allowed_hosts(options.allowed_hosts)
        .with_allowed_origins(options.allowed_origins)
        .with_cancellation_token(options.shutdown);
    let handler = stack::Handler::from(handler);
    let factory = move || Ok(handler.clone());
    let inner = StreamableHttpService::new(factory, Arc::new(stack::Sessions::default()), config);
    McpService { inner, calls }
}

type Body = BoxBody<Bytes, Infallible>;
type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> tower_service::Service<Request<B>> for McpService
where
    B: ::http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answer {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl McpService {
    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: ::http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if request.method() != Method::POST {
            return self.without_body(request).await;
        }
        let (parts, body) = request.into_parts();
        let bytes = match Limited::new(body, MAX_BODY).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return refused(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    -32600,
                    "Invalid Request: the body is too large",
                );
            }
            Err(_) => return refused(StatusCode::BAD_REQUEST, -32700, "Parse error: the body broke off"),
        };
        if let Err(text) = crate::incoming::check_values(&bytes) {
            return refused(StatusCode::BAD_REQUEST, -32600, &format!("Invalid Request: {text}"));
        }
        let message = match serde_json::from_slice::<Value>(&bytes) {
            Err(_) => return refused(StatusCode::BAD_REQUEST, -32700, "Parse error"),
            Ok(Value::Object(message)) if message.get("jsonrpc").and_then(Value::as_str) == Some("2.0") => {
                message
            }
            Ok(Value::Array(_)) => {
                return refused(
                    StatusCode::BAD_REQUEST,
                    -32600,
                    "Invalid Request: batches are not supported",
                );
            }
            Ok(_) => return refused(StatusCode::BAD_REQUEST, -32600, "Invalid Request"),
        };
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        if method == "notifications/cancelled" {
            self.cancel(&parts, message.get("params"));
        }
        // The call may take hours.
        drop(message);
        let mut inner = self.inner;
        let response = tower_service::Service::call(&mut inner, Request::from_parts(parts, Full::new(bytes)));
        let Ok(mut response) = response.await;
        if method == "initialize" && response.status() == StatusCode::OK && !stack::SESSIONS {
            add_session(response.headers_mut());
        }
        response
    }

    /// Streams and ends of sessions, where there are sessions.
    async fn without_body<B>(mut self, request: Request<B>) -> Response<Body> {
        if !stack::SESSIONS {
            return not_allowed();
        }
        let request = request.map(|_| Full::new(Bytes::new()));
        let Ok(response) = tower_service::Service::call(&mut self.inner, request).await;
        response
    }

    fn cancel(&self, parts: &::http::request::Parts, params: Option<&Value>) {
        let id = params.and_then(|params| params.get("requestId"));
        let id = id.and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        if let (Some(id), Some(key)) = (id, session(&parts.headers)) {
            let owner = parts.extensions.get::<Owner>().cloned().unwrap_or_else(Owner::local);
            self.calls.cancel(&(owner, key, id));
        }
    }
}

/// A client repeats this id with every request; it makes its request ids unique.
fn add_session(headers: &mut HeaderMap) {
    let id = uuid::Uuid::new_v4().simple().to_string();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(SESSION, value);
    }
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}

fn full(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refused(status: StatusCode, code: i32, text: &str) -> Response<Body> {
    full(status, &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": text } }))
}

fn not_allowed() -> Response<Body> {
    let mut response =
        refused(StatusCode::METHOD_NOT_ALLOWED, -32600, "Method Not Allowed: send JSON-RPC by POST");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Whose call, of which client, under which id.
type Key = (Owner, String, RequestId);

/// Calls over HTTP that are running, so that a second request can end them.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<HashMap<Key, CancellationToken>>>);

impl Calls {
    /// Notes a call, if its client can be told from others.
    pub(super) fn register(&self, context: &RequestContext<RoleServer>) -> Registered {
        let parts = context.extensions.get::<::http::request::Parts>();
        let key = parts.and_then(|parts| session(&parts.headers));
        let key = key.map(|session| (owner(context), session, context.id.clone()));
        let token = CancellationToken::new();
        if let Some(key) = &key {
            self.lock().insert(key.clone(), token.clone());
        }
        Registered { calls: self.clone(), key, token }
    }

    fn cancel(&self, key: &Key) {
        if let Some(token) = self.lock().remove(key) {
            token.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is noted for as long as this lives.
pub(super) struct Registered {
    calls: Calls,
    key: Option<Key>,
    token: CancellationToken,
}

impl Registered {
    pub async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.calls.lock().remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
