//! Whether an answer is what its schema says. The schemas of `tools/list` describe the top level alone.

use serde_json::Value;

/// Panics at the first field that the schema does not describe, or describes otherwise.
pub fn check(schema: &Value, value: &Value, place: &str) {
    if schema.get("type").is_none() && schema.get("anyOf").is_none() {
        return;
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| has_type(choice, value));
        assert!(fits, "{place}: {value} fits none of {schema}");
        choices
            .iter()
            .filter(|choice| has_type(choice, value))
            .for_each(|choice| check(choice, value, place));
        return;
    }
    assert!(has_type(schema, value), "{place}: {value} is no {}", schema["type"]);
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(&schema["items"], item, &format!("{place}[{index}]"));
    }
    let Some(object) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(object.contains_key(name.as_str().unwrap()), "{place} has no {name}");
    }
    for (name, field) in object {
        if let Some(known) = schema["properties"].get(name) {
            check(known, field, &format!("{place}.{name}"));
        }
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}
