//! How the failures of the core look over HTTP.

use axum::http::{HeaderValue, StatusCode, header};

use super::answer::Answer;
use crate::roots::PathError;
use crate::{Fault, ToolError};

/// The status and text of a failure.
pub fn refusal(error: &ToolError) -> Answer {
    let answer = Answer::error(status(error), text(error)).classed(error.class());
    match error.retry_after() {
        Some(wait) => {
            // A whole number of seconds, never a promise too early.
            let seconds = u64::from(wait.subsec_nanos() > 0) + wait.as_secs();
            answer.with(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
        }
        None => answer,
    }
}

fn status(error: &ToolError) -> StatusCode {
    match (error.fault(), error) {
        (_, ToolError::Closing | ToolError::Path(PathError::Exhausted)) => StatusCode::SERVICE_UNAVAILABLE,
        (Fault::Request, _) => StatusCode::BAD_REQUEST,
        (Fault::NotFound, _) => StatusCode::NOT_FOUND,
        (Fault::Busy, _) => StatusCode::TOO_MANY_REQUESTS,
        (Fault::Cancelled, _) => StatusCode::CONFLICT,
        (Fault::Work, _) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What a client reads.
pub fn text(error: &ToolError) -> String {
    match error {
        ToolError::Missing { keys, .. } => missing(keys),
        _ if error.fault() == Fault::Work => without_own_paths(&error.to_string()),
        _ => error.to_string(),
    }
}

fn missing(keys: &[String]) -> String {
    match keys {
        [key] => format!("missing required field: '{key}'"),
        keys => {
            let list: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
            format!("missing required fields: [{}]", list.join(", "))
        }
    }
}

/// The text with absolute paths cut down to file names: where things lie on the server is nobody's business.
fn without_own_paths(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "'\"`:,;()[]<>=".contains(c);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        match word.strip_prefix('/').and_then(|_| word.rsplit_once('/')) {
            Some((_, name)) if !name.is_empty() => out.push_str(&[name, &piece[word.len()..]].concat()),
            _ => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields() {
        assert_eq!(missing(&["width".into()]), "missing required field: 'width'");
        let two = ["reference".into(), "distorted".into()];
        assert_eq!(missing(&two), "missing required fields: ['reference', 'distorted']");
    }

    #[test]
    fn paths_of_the_server_are_cut() {
        let text = "vmaf exited 1: cannot open '/var/tmp/x 1/out.json': /a/b/c.yuv: no such file (1/2)";
        assert_eq!(
            without_own_paths(text),
            "vmaf exited 1: cannot open 'x 1/out.json': c.yuv: no such file (1/2)"
        );
        assert_eq!(without_own_paths("a / b"), "a / b");
    }

    #[test]
    fn statuses() {
        let busy =
            ToolError::Busy { running: 1, queued: 1, retry_after: std::time::Duration::from_millis(1500) };
        assert_eq!(refusal(&busy).status(), 429);
        assert_eq!(refusal(&ToolError::Closing).status(), 503);
        assert_eq!(refusal(&ToolError::Refused(String::new())).status(), 400);
        assert_eq!(refusal(&ToolError::Failed(String::new())).status(), 500);
    }
}
