//! Reading what a client sends: bounded in size and time, whatever it announces.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::answer::Answer;
use super::intake::{Arriving, Intake};
use crate::incoming::{self, LONGEST as LIMIT};

/// Whether the head already says that the body is too long.
pub fn announces_too_much(headers: &HeaderMap) -> bool {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > LIMIT as u64)
}

pub fn too_large() -> Answer {
    Answer::error(StatusCode::PAYLOAD_TOO_LARGE, format!("request body exceeds the limit of {LIMIT} bytes"))
}

/// The whole body, within the room that there is for all of them.
pub async fn read(body: Body, patience: Duration, intake: &Intake) -> Result<Bytes, Answer> {
    let arriving = intake.begin();
    let given_way = arriving.given_way();
    let read = async {
        tokio::select! {
            bytes = collect(body, arriving) => bytes,
            () = given_way.cancelled() => Err(no_room()),
        }
    };
    let bytes = tokio::time::timeout(patience, read).await.unwrap_or_else(|_| {
        let text = format!("request body did not arrive within {} s", patience.as_secs());
        Err(Answer::error(StatusCode::REQUEST_TIMEOUT, text))
    })?;
    incoming::check_values(&bytes).map_err(|text| Answer::bad_request(text).classed("request"))?;
    Ok(bytes)
}

async fn collect(body: Body, mut arriving: Arriving) -> Result<Bytes, Answer> {
    let mut body = Limited::new(body, LIMIT);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_large(),
            false => Answer::bad_request("request body ended early or is malformed"),
        })?;
        if frame.data_ref().is_some_and(|piece| !arriving.add(piece)) {
            return Err(no_room());
        }
    }
    Ok(arriving.complete())
}

fn no_room() -> Answer {
    let text = "the server is busy: request bodies take all the memory there is for them; try again later";
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, text)
        .classed("busy")
        .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

/// The body as a JSON object.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, Answer> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Answer::bad_request(format!("invalid JSON: {error}")))?;
    let kind = match value {
        Value::Object(map) => return Ok(map),
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(Answer::bad_request(format!("expected JSON object, got {kind}; request body must be a JSON object")))
}
