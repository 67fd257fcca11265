//! Feature extractors, from the engine itself.

use serde_json::{Map, Value, json};
use visus_metrics::{Info, OptionKind, OptionSpec, registry};

/// Every extractor with its options and the scores that it gives.
pub fn list() -> Value {
    let extractors: Vec<Value> = registry::METRICS.iter().map(|info| extractor(info)).collect();
    json!({ "extractors": extractors })
}

fn extractor(info: &'static Info) -> Value {
    let metrics: Vec<String> = registry::build(info, &[])
        .map(|metric| metric.keys().iter().map(|key| key.name.clone()).collect())
        .unwrap_or_default();
    json!({
        "name": info.name,
        "backend": "cpu",
        "help": info.help,
        "options": info.options.iter().map(option).collect::<Vec<_>>(),
        "metrics": metrics,
    })
}

fn option(spec: &OptionSpec) -> Value {
    let (kind, default, range) = match spec.kind {
        OptionKind::Bool { default } => ("bool", default.to_string(), None),
        OptionKind::Int { default, min, max } => ("int", default.to_string(), Some(format!("{min}..{max}"))),
        OptionKind::Double { default, min, max } => {
            ("double", default.to_string(), Some(format!("{min}..{max}")))
        }
        OptionKind::Text { default } => ("text", default.to_owned(), None),
    };
    let mut option = Map::from_iter([
        ("name".to_owned(), json!(spec.name)),
        ("type".to_owned(), json!(kind)),
        ("default".to_owned(), json!(default)),
    ]);
    option.extend(range.map(|range| ("range".to_owned(), json!(range))));
    option.insert("help".to_owned(), json!(spec.help));
    Value::Object(option)
}
