//! Probes and counters.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;
use visus_video::budget::Budget;

use super::App;
use super::answer::Answer;
use super::meters::{self, Gauges};

/// The process is alive.
pub async fn healthz(State(app): State<Arc<App>>) -> Answer {
    Answer::ok(json!({ "status": "healthy", "sandbox": app.sandbox }))
}

/// New work would be taken.
pub async fn readyz(State(app): State<Arc<App>>) -> Answer {
    match unready(&app) {
        None => Answer::ok(json!({ "status": "ready" })),
        Some(reason) => {
            let body = json!({ "status": "not_ready", "reason": reason });
            Answer::of(StatusCode::SERVICE_UNAVAILABLE, body)
        }
    }
}

fn unready(app: &App) -> Option<String> {
    let draining = app.draining.load(Ordering::Acquire).then(|| "shutting down".to_owned());
    draining.or_else(|| app.core.not_ready())
}

/// Counters for Prometheus.
pub async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, meters::TEXT)], app.meters.text(gauges(&app)))
}

fn gauges(app: &App) -> Gauges {
    let counts = app.core.jobs().counts();
    Gauges {
        queued: counts.queued as u64,
        running: counts.running as u64,
        frames: counts.frames_scored,
        result_bytes: counts.kept_bytes as u64,
        reserved_bytes: Budget::process().used(),
    }
}
