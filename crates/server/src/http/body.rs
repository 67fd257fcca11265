//! Reading what a client sends: bounded in size and time, whatever it announces.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::answer::Answer;

/// The longest body, in bytes.
pub const LIMIT: usize = 4 << 20;

/// Whether the head already says that the body is too long.
pub fn announces_too_much(headers: &HeaderMap) -> bool {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length > LIMIT as u64)
}

pub fn too_large() -> Answer {
    Answer::error(StatusCode::PAYLOAD_TOO_LARGE, format!("request body exceeds the limit of {LIMIT} bytes"))
}

/// The whole body.
pub async fn read(body: Body, patience: Duration) -> Result<Bytes, Answer> {
    let read = Limited::new(body, LIMIT).collect();
    match tokio::time::timeout(patience, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Answer::bad_request("request body ended early or is malformed")),
        Err(_) => {
            let text = format!("request body did not arrive within {} s", patience.as_secs());
            Err(Answer::error(StatusCode::REQUEST_TIMEOUT, text))
        }
    }
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
