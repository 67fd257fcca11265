//! Why a request gets no result: the one place that holds the words clients match on.

use std::time::Duration;

use serde_json::Value;

use crate::roots::PathError;

/// A failed request. Its text is part of the interface.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// All keys that are missing; the text names the first.
    #[error("tool '{tool}' missing required argument: '{}'", keys.first().map_or("", |key| key))]
    Missing { tool: &'static str, keys: Vec<String> },
    #[error("invalid {name} {value}: {reason}")]
    Invalid { name: String, value: String, reason: String },
    #[error(transparent)]
    Path(#[from] PathError),
    /// A request that makes no sense, in words of its own.
    #[error("{0}")]
    Refused(String),
    #[error(
        "the server is busy: {running} jobs run and {queued} wait; come back in {} s",
        retry_after.as_secs().max(1)
    )]
    Busy { running: usize, queued: usize, retry_after: Duration },
    #[error("the server is shutting down and takes no new work")]
    Closing,
    #[error(
        "job '{id}' is unknown or its result has expired; results are kept for {} minutes",
        kept.as_secs() / 60
    )]
    NoSuchJob { id: String, kept: Duration },
    #[error("cancelled")]
    Cancelled,
    #[error(
        "subprocess timed out after {:.1}s (set VMAF_MCP_SUBPROCESS_TIMEOUT_S to override)",
        limit.as_secs_f64()
    )]
    TimedOut { limit: Duration },
    /// The work itself failed.
    #[error("{0}")]
    Failed(String),
}

/// What kind of failure it is; doors map it to status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is wrong.
    Request,
    /// What it names is not there.
    NotFound,
    /// Not now.
    Busy,
    /// Somebody ended it.
    Cancelled,
    /// The work failed.
    Work,
}

impl ToolError {
    pub fn fault(&self) -> Fault {
        match self {
            Self::UnknownTool(_)
            | Self::Missing { .. }
            | Self::Invalid { .. }
            | Self::Path(_)
            | Self::Refused(_) => Fault::Request,
            Self::NoSuchJob { .. } => Fault::NotFound,
            Self::Busy { .. } | Self::Closing => Fault::Busy,
            Self::Cancelled => Fault::Cancelled,
            Self::TimedOut { .. } | Self::Failed(_) => Fault::Work,
        }
    }

    /// When to come back, if the server is busy.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => Some(*retry_after),
            Self::Closing => Some(Duration::from_secs(5)),
            _ => None,
        }
    }

    /// A value that is not allowed for an argument; text stands in quotes, numbers do not.
    pub fn invalid(name: &str, value: &Value, reason: impl Into<String>) -> Self {
        Self::Invalid { name: name.to_owned(), value: quoted(value), reason: reason.into() }
    }

    /// The failure of work, with its causes in one line.
    pub fn failed(error: &dyn std::error::Error) -> Self {
        Self::Failed(chain(error))
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// The longest part of a foreign value that is repeated in a message.
const SHOWN: usize = 200;

/// A value from outside as it may stand in a message: short, without control or direction-changing characters.
pub(crate) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", cleaned(text)),
        other => cleaned(&other.to_string()),
    }
}

/// Text from outside, made harmless for a terminal or a model that reads it.
pub(crate) fn cleaned(text: &str) -> String {
    let harmless = |c: &char| !c.is_control() && !is_direction(*c);
    let mut shown: String = text.chars().filter(harmless).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Characters that change the direction of writing, or show nothing.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_the_contract() {
        let missing = ToolError::Missing { tool: "vmaf_score", keys: vec!["ref".into(), "dis".into()] };
        assert_eq!(missing.to_string(), "tool 'vmaf_score' missing required argument: 'ref'");
        let invalid = ToolError::invalid("pixfmt", &json!("421"), "must be one of 420|422|444");
        assert_eq!(invalid.to_string(), "invalid pixfmt '421': must be one of 420|422|444");
        let timed_out = ToolError::TimedOut { limit: Duration::from_secs(600) };
        assert!(timed_out.to_string().starts_with("subprocess timed out after 600.0s (set VMAF_MCP"));
    }

    #[test]
    fn foreign_text_is_made_harmless() {
        assert_eq!(cleaned("a\u{202e}b\x1b[31m\nc"), "ab[31mc");
        assert_eq!(cleaned(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }
}
