//! Whether an answer is what its schema says.

use serde_json::Value;

/// Panics at the first field that the schema does not describe, or describes otherwise.
pub fn check(schema: &Value, value: &Value, place: &str) {
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
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match known {
            Some(known) => check(known, field, &format!("{place}.{name}")),
            None => assert!(schema.get("properties").is_none(), "{place}.{name} is not in the schema"),
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
