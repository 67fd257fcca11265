//! Logs as one JSON object per line: `timestamp, level, message, request_id` and whatever else an event carries.

use std::fmt;
use std::io::Write;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::otel;
use super::settings::StartError;

pub const LOG_LEVEL: &str = "VMAFX_LOG_LEVEL";

/// The level that a word asks for; an empty one means info.
pub fn level(word: &str) -> Result<LevelFilter, StartError> {
    match word.trim().to_ascii_lowercase().as_str() {
        "" | "info" => Ok(LevelFilter::INFO),
        "trace" => Ok(LevelFilter::TRACE),
        "debug" => Ok(LevelFilter::DEBUG),
        "warn" | "warning" => Ok(LevelFilter::WARN),
        "error" | "critical" => Ok(LevelFilter::ERROR),
        "off" => Ok(LevelFilter::OFF),
        _ => Err(StartError::Other(format!(
            "invalid {LOG_LEVEL} '{word}': known are trace, debug, info, warning, error and off"
        ))),
    }
}

/// Sends events to standard error, and spans to a collector if there is one. A second call changes nothing.
pub fn start(level: LevelFilter, traces: &otel::Traces) {
    let lines = Lines(|line: &str| {
        // A log that nobody can read is no reason to stop.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    });
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(level));
    let _ = subscriber.with(otel::layer(traces).with_filter(LevelFilter::INFO)).try_init();
}

/// Turns events into lines and hands them on.
pub(crate) struct Lines<F>(pub F);

/// The fields of a span, kept with it.
struct Fields(Map<String, Value>);

impl<S, F> Layer<S> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    F: Fn(&str) + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Map::new();
        attributes.record(&mut Collect(&mut fields));
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Fields(fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(&mut Collect(&mut fields.0));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut own = Map::new();
        event.record(&mut Collect(&mut own));
        let mut line = Map::new();
        line.insert("timestamp".to_owned(), json!(now()));
        line.insert("level".to_owned(), json!(name(*event.metadata().level())));
        line.insert("message".to_owned(), own.remove("message").unwrap_or_default());
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<Fields>() {
                line.extend(fields.0.clone());
            }
        }
        line.extend(own);
        line.insert("target".to_owned(), json!(event.metadata().target()));
        (self.0)(&format!("{}\n", Value::Object(line)));
    }
}

pub fn now() -> String {
    let mut text = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

fn name(level: Level) -> &'static str {
    match level {
        Level::TRACE => "trace",
        Level::DEBUG => "debug",
        Level::INFO => "info",
        Level::WARN => "warning",
        Level::ERROR => "error",
    }
}

/// The longest text of one field: lines are read by people and collectors, and clients decide what stands in them.
const LONGEST: usize = 2000;

fn bounded(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

struct Collect<'a>(&'a mut Map<String, Value>);

impl Collect<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Collect<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, json!(bounded(&format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, json!(bounded(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_line_is_one_object_with_the_requests_id() {
        let lines = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&lines);
        let layer = Lines(move |line: &str| sink.lock().unwrap().push_str(line));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("request", request_id = "0123abcd");
            span.in_scope(|| tracing::warn!(status = 404_u64, path = "p".repeat(60_000), "not\nthere"));
        });
        let text = lines.lock().unwrap().clone();
        assert_eq!(text.matches('\n').count(), 1);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "warning");
        assert_eq!(line["message"], "not\nthere");
        assert_eq!(line["request_id"], "0123abcd");
        assert_eq!(line["status"], 404);
        assert_eq!(line["path"].as_str().unwrap().chars().count(), LONGEST + 1);
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn levels() {
        assert_eq!(level("WARNING").unwrap(), LevelFilter::WARN);
        assert_eq!(level("").unwrap(), LevelFilter::INFO);
        assert!(level("loud").unwrap_err().to_string().contains("loud"));
    }
}
