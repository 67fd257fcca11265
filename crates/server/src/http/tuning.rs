//! `POST /v1/tools/{tool}`: ladders, comparisons and searches as jobs; and `POST /v1/bd-rate`, rate curves against each
//! other.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use visus_tune::bd::{self, Method, RatePoint};

use super::answer::Answer;
use super::refusal::refusal;
use super::{App, history, jobs, score};
use crate::tools::{self, Run, Tool};

/// Points of one curve, at most.
const MOST_POINTS: usize = 1000;

/// Tools that are called this way: those that only read, as jobs, and lists that a person chooses from.
const OFFERED: [&str; 8] = [
    "run_search",
    "run_compare",
    "run_ladder",
    "run_tune_per_shot",
    "vmaf_per_shot",
    "describe_worst_frames",
    "migrate_thresholds",
    "list_models",
];

/// `POST /v1/tools/{tool}`
pub async fn call(
    State(app): State<Arc<App>>,
    name: Result<Path<String>, PathRejection>,
    body: Body,
) -> Result<Response, Answer> {
    let Path(name) = name.map_err(|error| Answer::bad_request(error.body_text()))?;
    let tool = tool(&name)?;
    let fields = score::fields(&app, body).await?;
    let request = fields.clone();
    let started = app.core.start_tool(tool, fields, &app.owner).await.map_err(|error| refusal(&error))?;
    if matches!(tool.run, Run::Work(_)) {
        history::record(&app, &started, tool.name, request).await;
    }
    Ok(jobs::accepted(started).into_response())
}

fn tool(name: &str) -> Result<&'static Tool, Answer> {
    let known = OFFERED.contains(&name).then(|| tools::by_name(name)).flatten();
    known.ok_or_else(|| {
        let name = crate::error::cleaned(name);
        Answer::not_found(format!("there is no tool '{name}' here; it must be one of {}", OFFERED.join("|")))
    })
}

/// Names of the tools that can be called, for the description.
pub fn offered() -> &'static [&'static str] {
    &OFFERED
}

#[derive(Debug, Deserialize)]
struct Point {
    kbps: f64,
    quality: f64,
}

/// `POST /v1/bd-rate`
pub async fn bd_rate(State(app): State<Arc<App>>, body: Body) -> Result<Answer, Answer> {
    let fields = score::fields(&app, body).await?;
    let (anchor, test) = (points(&fields, "anchor")?, points(&fields, "test")?);
    let rate = bd::bd_rate(&anchor, &test, Method::Pchip);
    let finite = |value: f64| value.is_finite().then_some(value);
    Ok(Answer::ok(json!({
        "error": rate.as_ref().err().map(ToString::to_string),
        "bd_rate_percent": rate.ok().and_then(finite),
        "bd_rate_cubic_percent": bd::bd_rate(&anchor, &test, Method::Cubic).ok().and_then(finite),
        "bd_quality": bd::bd_quality(&anchor, &test, Method::Pchip).ok().and_then(finite),
    })))
}

fn points(fields: &Map<String, Value>, name: &str) -> Result<Vec<RatePoint>, Answer> {
    let refuse = || {
        Answer::bad_request(format!(
            "invalid {name}: must be at most {MOST_POINTS} points, as [{{\"kbps\": 1000, \"quality\": 90}}]"
        ))
    };
    let given =
        fields.get(name).ok_or_else(|| Answer::bad_request(format!("missing required field: '{name}'")))?;
    let points: Vec<Point> = serde_json::from_value(given.clone()).map_err(|_| refuse())?;
    if points.len() > MOST_POINTS {
        return Err(refuse());
    }
    Ok(points.into_iter().map(|Point { kbps, quality }| RatePoint { kbps, quality }).collect())
}
