//! Makes an answer small enough for an agent: whatever its content, it stays below a number of bytes.
//!
//! Answers are made to fit by what they say. This is for those that do not: hundreds of rows, long texts, many metrics. They
//! are shortened step by step, deep lists before those at the top, until they fit, and say so in `shortened`.

use serde_json::{Map, Value, json};

use super::Answer;

/// The size of an answer over MCP, as JSON text, unless more was asked for.
pub const DEFAULT_BYTES: usize = 4000;

/// How much is left of an answer.
struct Caps {
    /// Entries of lists at the top, and of lists below it.
    top: usize,
    nested: usize,
    /// Numbers of a list, which take little room and mean nothing in part.
    numbers: usize,
    /// Fields of objects below the top.
    keys: usize,
    /// Characters of a text.
    text: usize,
}

const STEPS: [Caps; 7] = [
    Caps { top: 60, nested: 8, numbers: 60, keys: 40, text: 600 },
    Caps { top: 40, nested: 4, numbers: 60, keys: 24, text: 300 },
    Caps { top: 24, nested: 2, numbers: 60, keys: 16, text: 200 },
    Caps { top: 14, nested: 1, numbers: 0, keys: 14, text: 160 },
    Caps { top: 8, nested: 0, numbers: 0, keys: 10, text: 120 },
    Caps { top: 3, nested: 0, numbers: 0, keys: 8, text: 100 },
    Caps { top: 1, nested: 0, numbers: 0, keys: 4, text: 60 },
];

/// The answer, shortened if it is longer than `limit`; `rest` says where the whole of it is.
pub fn fit(answer: Answer, limit: usize, rest: &str) -> Answer {
    if size(&answer) <= limit {
        return answer;
    }
    let note = format!("shortened to fit; {rest}");
    for caps in STEPS {
        let mut shorter = shrunk_map(&answer, &caps, 0);
        shorter.insert("shortened".to_owned(), json!(note));
        if size(&shorter) <= limit {
            return shorter;
        }
    }
    plain_fields(&answer, note, limit)
}

/// The last resort: numbers, flags and short texts of the top, as many as fit.
fn plain_fields(answer: &Answer, note: String, limit: usize) -> Answer {
    let mut fields = Map::from_iter([("shortened".to_owned(), json!(note))]);
    for (name, value) in answer {
        if value.is_array() || value.is_object() {
            continue;
        }
        fields.insert(name.clone(), shrunk(value, &STEPS[STEPS.len() - 1], 1));
        if size(&fields) > limit {
            fields.remove(name);
        }
    }
    fields
}

fn size(answer: &Answer) -> usize {
    serde_json::to_string(answer).map_or(usize::MAX, |text| text.len())
}

fn shrunk(value: &Value, caps: &Caps, depth: usize) -> Value {
    match value {
        Value::String(text) if text.chars().count() > caps.text => {
            json!(text.chars().take(caps.text.saturating_sub(1)).chain(['…']).collect::<String>())
        }
        Value::Array(list) => {
            let most = match depth {
                _ if list.iter().all(|entry| entry.is_number() || entry.is_null()) => {
                    if list.len() > caps.numbers { 0 } else { caps.numbers }
                }
                0 | 1 => caps.top,
                _ => caps.nested,
            };
            list.iter().take(most).map(|entry| shrunk(entry, caps, depth + 1)).collect()
        }
        Value::Object(map) => Value::Object(shrunk_map(map, caps, depth)),
        other => other.clone(),
    }
}

/// Reports list features before the models that are computed from them; of too many, the models' scores are kept.
fn shrunk_map(map: &Answer, caps: &Caps, depth: usize) -> Answer {
    let most = if depth == 0 { usize::MAX } else { caps.keys };
    let is_model = |name: &str| name.to_ascii_lowercase().starts_with("vmaf") && !name.contains("feature");
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    if entries.len() > most {
        entries.sort_by_key(|(name, _)| !is_model(name));
    }
    entries
        .into_iter()
        .take(most)
        .map(|(name, value)| (name.clone(), shrunk(value, caps, depth + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(value: Value) -> Value {
        let Value::Object(answer) = value else { panic!("an object") };
        let fitted = fit(answer, DEFAULT_BYTES, "see the rest");
        assert!(size(&fitted) <= DEFAULT_BYTES);
        Value::Object(fitted)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let answer = json!({ "rows": [{ "samples": [{ "crf": 1 }] }], "text": "short" });
        assert_eq!(fitted(answer.clone()), answer);
    }

    #[test]
    fn deep_lists_go_before_those_at_the_top() {
        let row = json!({ "codec": "libx264", "samples": vec![json!({ "crf": 20, "score": 93.25 }); 20] });
        let answer = fitted(json!({ "rows": vec![row; 14], "curve": { "lowest": vec![93.5; 60] } }));
        assert_eq!(answer["rows"].as_array().unwrap().len(), 14);
        assert!(answer["rows"][0]["samples"].as_array().unwrap().len() < 20);
        assert_eq!(answer["curve"]["lowest"].as_array().unwrap().len(), 60);
        assert_eq!(answer["shortened"], "shortened to fit; see the rest");
    }

    #[test]
    fn scores_of_models_are_kept_before_features() {
        let mut pooled: Map<String, Value> = (0..90)
            .map(|at| (format!("integer_feature_{at}"), json!({ "mean": 0.123_456, "min": 0.1 })))
            .collect();
        pooled.insert("vmaf".to_owned(), json!({ "mean": 93.25 }));
        let answer = fitted(json!({ "verdict": "good", "pooled_metrics": pooled }));
        assert_eq!(answer["pooled_metrics"]["vmaf"]["mean"], 93.25);
        assert!(answer["pooled_metrics"].as_object().is_some_and(|left| left.len() < 91));
    }

    #[test]
    fn whatever_comes_fits() {
        let wide: Map<String, Value> =
            (0..500).map(|key| (format!("key{key}"), json!("x".repeat(900)))).collect();
        for value in [
            json!({ "text": "ü".repeat(1 << 20) }),
            json!({ "list": vec!["x".repeat(300); 4000] }),
            json!({ "numbers": vec![0.123; 100_000] }),
            json!({ "metrics": wide }),
            Value::Object(wide.clone()),
        ] {
            assert!(fitted(value)["shortened"].is_string());
        }
    }
}
