//! `/openapi.json`: the description of everything, made from the same tables as the checks.

use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};

use super::openapi_page;
use crate::tools::field;
use crate::tools::score_fields::Names;

pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document().to_string())
}

/// The whole document.
pub fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Visus",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Measures how good a video looks: VMAF and its sibling metrics.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "tags": [
            { "name": "score", "description": "Scores, at once or in the background." },
            { "name": "history", "description": "What people scored, kept over restarts; with --ui only." },
            { "name": "operation", "description": "Probes, counters and this description." },
            { "name": "mcp", "description": "The Model Context Protocol over streamable HTTP." },
        ],
        "paths": paths(),
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "headers": { "request-id": {
                "description": "The request's id, as in the body.",
                "schema": { "$ref": "#/components/schemas/RequestId" },
            } },
            "schemas": schemas(),
        },
    })
}

fn paths() -> Value {
    let mut all = json!({
        "/v1/score": { "post": score() },
        "/v1/jobs": { "get": list_jobs(), "post": create_job() },
        "/v1/jobs/{id}": { "parameters": [id_parameter()], "get": get_job(), "delete": delete_job() },
        "/v1/jobs/{id}/events": { "parameters": [id_parameter()], "get": events() },
        "/v1/jobs/{id}/report": { "parameters": [id_parameter()], "get": report() },
        "/mcp": { "post": mcp() },
        "/healthz": { "get": health() },
        "/readyz": { "get": ready() },
        "/metrics": { "get": metrics() },
        "/openapi.json": { "get": description() },
    });
    if let Some(all) = all.as_object_mut() {
        all.extend(openapi_page::paths());
    }
    all
}

pub(super) fn id_parameter() -> Value {
    json!({
        "name": "id", "in": "path", "required": true, "description": "A job's id.",
        "schema": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
    })
}

/// What a request can be refused with, beside the statuses that every route has.
pub(super) fn operation(name: &str, tag: &str, summary: &str, good: Value, refusals: &[u16]) -> Value {
    let mut responses = Map::new();
    if let Value::Object(good) = good {
        responses.extend(good);
    }
    for status in [400, 401, 403, 413].iter().chain(refusals) {
        responses.insert(status.to_string(), refusal(*status));
    }
    json!({ "operationId": name, "tags": [tag], "summary": summary, "responses": responses })
}

fn refusal(status: u16) -> Value {
    let mut headers = json!({ "x-request-id": { "$ref": "#/components/headers/request-id" } });
    let text = match status {
        400 => "Invalid request; the message names the offending field.",
        401 => {
            headers["www-authenticate"] = json!({ "schema": { "const": "Bearer" } });
            "No or wrong token."
        }
        403 => "Foreign Host or Origin.",
        404 => "No such job, or its result has expired.",
        408 => "The body did not arrive in time.",
        409 => "The job has no report, or was cancelled.",
        413 => "The body is longer than 4 MiB.",
        429 => {
            headers["retry-after"] = json!({ "schema": { "type": "integer", "minimum": 1 } });
            "All slots and the queue are full."
        }
        500 => "Scoring failed.",
        _ => {
            headers["retry-after"] = json!({ "schema": { "type": "integer", "minimum": 1 } });
            "Not now: the server is shutting down or has too many connections."
        }
    };
    json!({ "description": text, "headers": headers, "content": json_content("Error") })
}

pub(super) fn json_content(schema: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } })
}

pub(super) fn good(status: u16, text: &str, schema: &str) -> Value {
    let headers = json!({ "x-request-id": { "$ref": "#/components/headers/request-id" } });
    json!({ status.to_string(): { "description": text, "headers": headers, "content": json_content(schema) } })
}

/// An answer that is no JSON.
fn plain(text: &str, kind: &str) -> Value {
    json!({ "200": { "description": text, "content": { kind: { "schema": { "type": "string" } } } } })
}

fn with_body(mut operation: Value) -> Value {
    operation["requestBody"] = json!({ "required": true, "content": json_content("ScoreRequest") });
    operation
}

const WORK: [u16; 5] = [408, 409, 429, 500, 503];

fn score() -> Value {
    let mut answers = good(200, "The report.", "Report");
    answers["202"] = good(202, "With `background`: the job.", "Accepted")["202"].clone();
    let text = "Score a distorted video against its reference and wait for the report";
    with_body(operation("score", "score", text, answers, &WORK))
}

fn create_job() -> Value {
    let mut accepted = good(202, "The job is queued.", "Accepted");
    accepted["202"]["headers"]["location"] = json!({ "schema": { "type": "string" } });
    let link = |name: &str| json!({ "operationId": name, "parameters": { "id": "$response.body#/job_id" } });
    accepted["202"]["links"] = json!({
        "job": link("getJob"), "events": link("jobEvents"), "report": link("jobReport"), "cancel": link("cancelJob"),
    });
    with_body(operation("createJob", "score", "Score in the background", accepted, &[408, 429, 500, 503]))
}

fn list_jobs() -> Value {
    operation("listJobs", "score", "All jobs, oldest first", good(200, "The jobs.", "Jobs"), &[])
}

fn get_job() -> Value {
    let answers = good(200, "Where the job stands; its result once it is done.", "Job");
    operation("getJob", "score", "Ask how a job stands", answers, &[404])
}

fn delete_job() -> Value {
    let answers = good(200, "Where the job stands now.", "Job");
    operation(
        "cancelJob",
        "score",
        "End a job; it can still be asked for, and one that is over stays as it is",
        answers,
        &[404],
    )
}

fn events() -> Value {
    let text = "Events `progress`, then `done`, `failed` or `cancelled`; data is a Job as JSON, with the scores of frames \
                and the measured settings since the last event. Send an event's id as Last-Event-ID to go on after it.";
    let stream = json!({ "200": { "description": text, "content": { "text/event-stream": {} } } });
    let mut operation = operation("jobEvents", "score", "Follow a job", stream, &[404]);
    operation["parameters"] = json!([{
        "name": "Last-Event-ID", "in": "header", "required": false,
        "description": "The id of the last event that the client has: scores and settings, as `1200.3`.",
        "schema": { "type": "string" },
    }]);
    operation
}

fn report() -> Value {
    let mut answers = good(200, "The whole report.", "Report");
    for kind in ["text/csv", "application/xml", "text/html"] {
        answers["200"]["content"][kind] = json!({ "schema": { "type": "string" } });
    }
    let mut operation =
        operation("jobReport", "score", "Get a finished job's report", answers, &[404, 409, 500]);
    operation["parameters"] = json!([{
        "name": "format", "in": "query",
        "description": "`html` is one self-contained page.",
        "schema": { "type": "string", "enum": ["json", "csv", "xml", "html"], "default": "json" },
    }]);
    operation
}

fn mcp() -> Value {
    let message = json!({ "type": "object", "description": "A JSON-RPC 2.0 message." });
    let answers = json!({
        "200": { "description": "The answer, as JSON or as events.", "content": {
            "application/json": { "schema": message }, "text/event-stream": { "schema": { "type": "string" } } } },
        "202": { "description": "A notification was taken." },
    });
    let mut operation = operation("mcp", "mcp", "One JSON-RPC message", answers, &[404, 406, 408, 415, 500]);
    operation["requestBody"] =
        json!({ "required": true, "content": { "application/json": { "schema": message } } });
    for status in ["400", "404", "406", "415", "500"] {
        operation["responses"][status] = json!({
            "description": "Refused; a JSON-RPC error or an error of this API.",
            "content": { "application/json": { "schema": { "type": "object" } } },
        });
    }
    operation
}

fn health() -> Value {
    let answers = good(200, "The process is alive.", "Health");
    let mut operation = operation("healthz", "operation", "Liveness", answers, &[]);
    open(&mut operation);
    operation
}

fn ready() -> Value {
    let mut answers = good(200, "New work is taken.", "Ready");
    answers["503"] = good(503, "No new work is taken.", "NotReady")["503"].clone();
    let mut operation = operation("readyz", "operation", "Readiness", answers, &[]);
    open(&mut operation);
    operation
}

/// Needs no token.
fn open(operation: &mut Value) {
    operation["security"] = json!([]);
    if let Some(responses) = operation["responses"].as_object_mut() {
        responses.remove("401");
    }
}

fn metrics() -> Value {
    let answers = plain("Counters in Prometheus' text format.", "text/plain");
    operation("metrics", "operation", "Counters", answers, &[])
}

fn description() -> Value {
    let answers = json!({ "200": { "description": "This document.", "content": {
        "application/json": { "schema": { "type": "object", "required": ["openapi"] } } } } });
    operation("openapi", "operation", "This description", answers, &[])
}

pub(super) fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties })
}

fn schemas() -> Value {
    let id = json!({ "$ref": "#/components/schemas/RequestId" });
    let text = json!({ "type": "string" });
    let status = json!({ "enum": ["queued", "running", "done", "failed", "cancelled"] });
    let word = |word: &str| json!({ "const": word });
    let mut all = json!({
        "RequestId": { "type": "string", "pattern": "^[0-9a-f]{8}$", "description": "Random, one per request." },
        "Error": object(
            &["error", "request_id"],
            json!({ "error": text, "error_class": error_class(), "request_id": id }),
        ),
        "Health": object(&["status", "request_id"], json!({ "status": word("healthy"), "request_id": id })),
        "Ready": object(&["status", "request_id"], json!({ "status": word("ready"), "request_id": id })),
        "NotReady": object(
            &["status", "reason", "request_id"],
            json!({ "status": word("not_ready"), "reason": text, "request_id": id }),
        ),
        "Accepted": object(
            &["job_id", "status", "request_id"],
            json!({ "job_id": text, "status": status, "request_id": id }),
        ),
        "Progress": progress(),
        "Job": job(&status, &id),
        "Jobs": object(
            &["jobs", "request_id"],
            json!({ "jobs": { "type": "array", "items": { "$ref": "#/components/schemas/Job" } }, "request_id": id }),
        ),
        "ScoreRequest": with_nulls(field::schema(Names::Rest.fields())),
        "Report": report_schema(&id),
    });
    if let Some(all) = all.as_object_mut() {
        all.extend(openapi_page::schemas(&id));
    }
    all
}

/// Whose fault a refusal is.
fn error_class() -> Value {
    let known =
        ["request", "not_comparable", "video", "failed", "timed_out", "cancelled", "busy", "not_found"];
    json!({ "enum": known, "description": "The class of the refusal." })
}

fn progress() -> Value {
    let number = json!({ "type": ["number", "null"] });
    object(
        &["done"],
        json!({
            "done": { "type": "integer" }, "total": { "type": ["integer", "null"] }, "per_second": number, "eta_s": number,
            "message": { "type": "string" },
        }),
    )
}

fn job(status: &Value, id: &Value) -> Value {
    let number = json!({ "type": ["number", "null"] });
    object(
        &["job_id", "status", "progress"],
        json!({
            "job_id": { "type": "string" },
            "status": status,
            "progress": { "$ref": "#/components/schemas/Progress" },
            "tool": { "type": "string" },
            "age_s": number, "ran_s": number, "expires_in_s": number,
            "error": { "type": "string", "description": "Why it failed." },
            "error_class": error_class(),
            "result": { "type": "object", "description": "The report, at the detail that was asked for." },
            "request_id": id,
        }),
    )
}

/// libvmaf's layout; a summary or another format has other fields, so only what all have is required.
/// A null counts as absent, so it may stand for every argument that may be left out.
fn with_nulls(mut schema: Map<String, Value>) -> Value {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, argument) in properties.into_iter().flatten() {
        if !is_required(name) {
            argument["type"] = json!([argument["type"].take(), "null"]);
            if let Some(allowed) = argument.get_mut("enum").and_then(Value::as_array_mut) {
                allowed.push(Value::Null);
            }
        }
    }
    Value::Object(schema)
}

fn report_schema(id: &Value) -> Value {
    let scores = json!({ "type": "object", "additionalProperties": { "type": ["number", "null"] } });
    let frame =
        object(&["frameNum", "metrics"], json!({ "frameNum": { "type": "integer" }, "metrics": scores }));
    object(
        &["request_id"],
        json!({
            "version": { "type": "string" },
            "fps": { "type": ["number", "null"] },
            "frames": { "type": "array", "items": frame },
            "pooled_metrics": { "type": "object", "additionalProperties": scores },
            "aggregate_metrics": scores,
            "frame_count": { "type": "integer" },
            "backend_requested": { "type": "string" },
            "backend_used": { "type": "string" },
            "provenance": { "type": "object" },
            "request_id": id,
        }),
    )
}
