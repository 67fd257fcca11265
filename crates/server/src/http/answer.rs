//! What an answer is made of: a status, a JSON object, sometimes headers. The request's id is added in one place, by
//! [`finish`], to whatever leaves.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value};

use super::large;

/// The header that carries the id of a request.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Eight hexadecimal digits, random, one per request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    pub fn new() -> Self {
        let mut bytes = [0; 4];
        // Without random numbers from the system ids are still told apart by time, and nothing secret hangs on them.
        if getrandom::fill(&mut bytes).is_err() {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            bytes = now.map_or(0, |now| now.subsec_nanos()).to_be_bytes();
        }
        Self(format!("{:08x}", u32::from_be_bytes(bytes)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("00000000"))
    }
}

/// A JSON object on its way out; `finish` writes it.
#[derive(Clone, Debug)]
pub struct Answer {
    status: StatusCode,
    body: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    pub fn new(status: StatusCode, body: Map<String, Value>) -> Self {
        Self { status, body, headers: Vec::new() }
    }

    pub fn ok(body: Value) -> Self {
        Self::of(StatusCode::OK, body)
    }

    /// An answer of an object; anything else is wrapped as `result`.
    pub fn of(status: StatusCode, body: Value) -> Self {
        match body {
            Value::Object(map) => Self::new(status, map),
            other => Self::new(status, Map::from_iter([("result".to_owned(), other)])),
        }
    }

    pub fn error(status: StatusCode, message: impl AsRef<str>) -> Self {
        let message = crate::text::message(message.as_ref());
        Self::new(status, Map::from_iter([("error".to_owned(), Value::String(message))]))
    }

    /// The same with the class of the refusal.
    pub fn classed(mut self, class: &'static str) -> Self {
        self.body.insert("error_class".to_owned(), Value::String(class.to_owned()));
        self
    }

    pub fn bad_request(message: impl AsRef<str>) -> Self {
        Self::error(StatusCode::BAD_REQUEST, message)
    }

    pub fn not_found(message: impl AsRef<str>) -> Self {
        Self::error(StatusCode::NOT_FOUND, message)
    }

    pub fn with(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        for (name, value) in &self.headers {
            response.headers_mut().append(name.clone(), value.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// A JSON answer of a result that takes `bytes` of memory.
pub async fn written(
    status: StatusCode,
    id: RequestId,
    bytes: usize,
    make: impl FnOnce() -> Map<String, Value> + Send + 'static,
) -> Response<Body> {
    match large::text(bytes, move || Some(with_id(make(), &id).into_bytes())).await {
        Ok(Some(text)) => {
            let mut response = text.into_response();
            *response.status_mut() = status;
            response.headers_mut().insert(header::CONTENT_TYPE, JSON);
            response
        }
        Ok(None) => Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be written")
            .into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn with_id(mut body: Map<String, Value>, id: &RequestId) -> String {
    body.insert("request_id".to_owned(), Value::String(id.0.clone()));
    Value::Object(body).to_string()
}

/// Puts the request's id into the header and, where the answer is ours, into the body. A refusal that something below
/// us wrote without JSON becomes JSON.
pub fn finish(mut response: Response<Body>, id: &RequestId) -> Response<Body> {
    response.headers_mut().insert(REQUEST_ID, id.header());
    let answer = response.extensions_mut().remove::<Answer>();
    let answer = match answer {
        Some(answer) => answer,
        None if is_bare_refusal(&response) => Answer::error(response.status(), reason(response.status())),
        None => return response,
    };
    let text = with_id(answer.body, id);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, JSON);
    *response.body_mut() = Body::from(text);
    response
}

fn is_bare_refusal(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let refused = response.status().is_client_error() || response.status().is_server_error();
    refused && !kind.is_some_and(|kind| kind.starts_with(b"application/json"))
}

pub fn reason(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("refused").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_eight_hexadecimal_digits() {
        let ids: std::collections::HashSet<String> = (0..100).map(|_| RequestId::new().0).collect();
        assert!(ids.len() > 95);
        assert!(ids.iter().all(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }

    #[test]
    fn what_is_no_object_is_wrapped() {
        assert_eq!(Answer::ok(json!([1])).body, *json!({"result": [1]}).as_object().unwrap());
    }
}
