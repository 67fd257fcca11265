//! Which path leads where.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};

use super::answer::Answer;
use super::gate::{self, Gate};
use super::{App, events, files, health, history, jobs, mcp, openapi, page, pictures, score, tuning};

/// The whole application.
pub fn router(app: Arc<App>, gate: Gate) -> Router {
    let page = if gate.page { page_routes() } else { Router::new() };
    Router::new()
        .merge(page)
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .route("/v1/score", post(score::score))
        .route("/v1/jobs", get(jobs::list).post(jobs::create))
        .route("/v1/jobs/{id}", get(jobs::get).delete(jobs::delete))
        .route("/v1/jobs/{id}/events", get(events::events))
        .route("/v1/jobs/{id}/report", get(jobs::report))
        .route("/v1/files", get(files::files))
        .route("/v1/history", get(history::list))
        .route("/v1/history/{id}", get(history::get).delete(history::delete))
        .route("/v1/history/{id}/curve", get(history::curve))
        .route("/v1/history/{id}/report", get(history::report))
        .route("/v1/history/{id}/frames/{frame}/{side}", get(pictures::picture))
        .route("/v1/diff", get(history::diff))
        .route("/v1/bd-rate", post(tuning::bd_rate))
        .route("/v1/tools/{tool}", post(tuning::call))
        .route("/mcp", mcp_methods())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .with_state(app)
        .layer(middleware::from_fn_with_state(Arc::new(gate), gate::pass))
}

/// The files of the page.
fn page_routes() -> Router<Arc<App>> {
    Router::new().route("/", get(page::index)).route("/ui/{name}", get(page::asset))
}

/// Messages are posted. Where clients have sessions, these are also listened to and ended.
fn mcp_methods() -> MethodRouter<Arc<App>> {
    if crate::mcp::SESSIONS { post(mcp::mcp).get(mcp::mcp).delete(mcp::mcp) } else { post(mcp::mcp) }
}

async fn unknown() -> Answer {
    Answer::not_found("no such route; /openapi.json describes all of them")
}

/// The `Allow` header is added by the router.
async fn wrong_method(request: Request) -> Answer {
    let text = format!("method {} is not allowed here", request.method());
    Answer::error(StatusCode::METHOD_NOT_ALLOWED, text)
}
