//! Which path leads where.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, middleware};

use super::answer::Answer;
use super::gate::{self, Gate};
use super::{App, events, health, jobs, mcp, openapi, score};

/// The whole application.
pub fn router(app: Arc<App>, gate: Gate) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .route("/v1/score", post(score::score))
        .route("/v1/jobs", get(jobs::list).post(jobs::create))
        .route("/v1/jobs/{id}", get(jobs::get).delete(jobs::delete))
        .route("/v1/jobs/{id}/events", get(events::events))
        .route("/v1/jobs/{id}/report", get(jobs::report))
        .route("/mcp", post(mcp::mcp))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .with_state(app)
        .layer(middleware::from_fn_with_state(Arc::new(gate), gate::pass))
}

async fn unknown() -> Answer {
    Answer::not_found("no such route; /openapi.json describes all of them")
}

/// The `Allow` header is added by the router.
async fn wrong_method(request: Request) -> Answer {
    let text = format!("method {} is not allowed here", request.method());
    Answer::error(StatusCode::METHOD_NOT_ALLOWED, text)
}
