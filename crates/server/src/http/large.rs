//! Answers that may be large: made on a blocking thread, within the memory budget, and handed to the client in pieces.
//!
//! The room stays reserved until the last piece is taken. Clients that ask for large reports and read nothing use up the
//! budget, and the next are told to come back; they do not use up memory.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use visus_video::budget::{Budget, Reservation};

use super::answer::Answer;
use super::refusal::refusal;
use crate::WHILE_MADE;

/// The largest piece that is handed over at once.
const PIECE: usize = 64 << 10;
/// How long a request for a report waits for others to be done.
const PATIENCE: Duration = Duration::from_secs(5);

/// A finished text and the room that it takes.
#[derive(Debug)]
pub struct Text {
    bytes: Bytes,
    room: Option<Reservation>,
}

/// Makes a text from a result that takes `bytes` of memory. `None` where there is none, or its making broke down.
pub async fn text(
    bytes: usize,
    make: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
) -> Result<Option<Text>, Answer> {
    let work = move || {
        let estimate = (bytes as u64).saturating_mul(WHILE_MADE);
        let room = Budget::process().wait(estimate, "the report", PATIENCE, &|| false).map_err(|error| {
            Answer::error(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
                .with(header::RETRY_AFTER, HeaderValue::from_static("5"))
        })?;
        let Some(text) = make() else { return Ok(None) };
        drop(room);
        // What was made is there; a refusal now would gain nothing.
        let room = Budget::process().reserve(text.len() as u64, "the report").ok();
        Ok(Some(Text { bytes: Bytes::from(text), room }))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or(Ok(None))
}

impl Text {
    /// Bytes that are there already, counted while they are on their way to a client.
    pub fn of(bytes: Bytes) -> Result<Self, Answer> {
        let room = Budget::process().reserve(bytes.len() as u64, "the answer");
        Ok(Self { bytes, room: Some(room.map_err(|error| refusal(&error.into()))?) })
    }
}

impl IntoResponse for Text {
    fn into_response(self) -> axum::response::Response {
        let length = self.bytes.len();
        let pieces = futures_util::stream::unfold(self, |mut text| async move {
            if text.bytes.is_empty() {
                drop(text.room.take());
                return None;
            }
            let piece = text.bytes.split_to(text.bytes.len().min(PIECE));
            Some((Ok::<_, std::convert::Infallible>(piece), text))
        });
        let mut response = Response::new(Body::from_stream(pieces));
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn a_text_arrives_whole_and_in_pieces() {
        let long = "x".repeat(3 * PIECE + 5);
        let expected = long.clone();
        let response =
            text(long.len(), move || Some(long.into_bytes())).await.unwrap().unwrap().into_response();
        assert_eq!(response.headers()[header::CONTENT_LENGTH], expected.len().to_string().as_str());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, expected.as_bytes());
        assert!(text(1, || None).await.unwrap().is_none());
    }
}
