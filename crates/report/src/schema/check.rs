//! Whether a value is what a schema says.
//!
//! Knows the keywords that our own schemas use, and takes them as complete: a key that no schema describes is a fault too,
//! since outputs are contracts and a key nobody documents is a mistake of ours.

use serde_json::{Map, Value};

/// Where a value is not what its schema says, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct SchemaFault {
    /// The place as a JSON pointer; empty for the whole value.
    pub place: String,
    pub reason: String,
}

pub fn check(schema: &Value, value: &Value) -> Result<(), SchemaFault> {
    Checker { root: schema }.value(schema, value, "")
}

struct Checker<'a> {
    root: &'a Value,
}

fn fault(place: &str, reason: String) -> Result<(), SchemaFault> {
    let place = if place.is_empty() { "the whole value".to_owned() } else { place.to_owned() };
    Err(SchemaFault { place, reason })
}

impl Checker<'_> {
    fn value(&self, schema: &Value, value: &Value, place: &str) -> Result<(), SchemaFault> {
        let Some(keywords) = schema.as_object() else {
            // `true` allows everything.
            return if schema == &Value::Bool(false) {
                fault(place, "nothing may stand here".into())
            } else {
                Ok(())
            };
        };
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|path| self.root.pointer(path));
            let Some(target) = target else { return fault(place, "the schema refers to nothing".into()) };
            return self.value(target, value, place);
        }
        if let Some(choices) =
            keywords.get("anyOf").or_else(|| keywords.get("oneOf")).and_then(Value::as_array)
        {
            return self.any(choices, value, place);
        }
        has_type(keywords, value, place)?;
        has_constant(keywords, value, place)?;
        match value {
            Value::Array(items) => self.array(keywords, items, place),
            Value::Object(entries) => self.object(keywords, entries, place),
            _ => Ok(()),
        }
    }

    /// The fault of the last choice stands for all: it is the most particular one.
    fn any(&self, choices: &[Value], value: &Value, place: &str) -> Result<(), SchemaFault> {
        let mut last = fault(place, "it has no choice".into());
        for choice in choices {
            match self.value(choice, value, place) {
                Ok(()) => return Ok(()),
                // `or null` would hide what is wrong inside.
                Err(_) if choice["type"] == "null" && choices.len() > 1 => {}
                error => last = error,
            }
        }
        last
    }

    fn array(&self, schema: &Map<String, Value>, items: &[Value], place: &str) -> Result<(), SchemaFault> {
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
        let count = items.len() as u64;
        if limit("minItems").is_some_and(|least| count < least)
            || limit("maxItems").is_some_and(|most| count > most)
        {
            return fault(place, format!("it has {count} items, which are too few or too many"));
        }
        for (index, item) in items.iter().enumerate() {
            let described = first.get(index).or_else(|| schema.get("items"));
            if let Some(described) = described {
                self.value(described, item, &format!("{place}/{index}"))?;
            }
        }
        Ok(())
    }

    fn object(
        &self,
        schema: &Map<String, Value>,
        entries: &Map<String, Value>,
        place: &str,
    ) -> Result<(), SchemaFault> {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        if let Some(missing) = required.filter_map(Value::as_str).find(|key| !entries.contains_key(*key)) {
            return fault(place, format!("the key '{missing}' is missing"));
        }
        let (properties, others) = (schema.get("properties"), schema.get("additionalProperties"));
        for (key, value) in entries {
            let described = properties.and_then(|all| all.get(key)).or(others);
            let place = format!("{place}/{key}");
            match described {
                Some(described) => self.value(described, value, &place)?,
                None if properties.is_none() => {}
                None => return fault(&place, "the schema does not describe this key".into()),
            }
        }
        Ok(())
    }
}

fn has_type(schema: &Map<String, Value>, value: &Value, place: &str) -> Result<(), SchemaFault> {
    let fits = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let fits = match schema.get("type") {
        None => true,
        Some(Value::String(name)) => fits(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(fits),
        Some(_) => false,
    };
    if fits { Ok(()) } else { fault(place, format!("it is {}, not {}", kind(value), schema["type"])) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn has_constant(schema: &Map<String, Value>, value: &Value, place: &str) -> Result<(), SchemaFault> {
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        return fault(place, format!("it is {value}, not {constant}"));
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array).filter(|list| !list.contains(value)) {
        return fault(place, format!("it is {value}, none of {}", Value::Array(list.clone())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_are_found_where_they_are() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": ["number", "null"] },
                "b": { "type": "array", "prefixItems": [{ "type": "string" }], "items": { "$ref": "#/$defs/B" }, "maxItems": 3 },
                "c": { "anyOf": [{ "$ref": "#/$defs/B" }, { "type": "null" }] },
                "d": { "type": "object", "additionalProperties": { "type": "integer" } },
                "e": { "enum": ["x", "y"] },
            },
            "required": ["a"],
            "$defs": { "B": { "type": "object", "properties": { "k": { "const": "v" } }, "required": ["k"] } },
        });
        let good =
            json!({ "a": null, "b": ["s", { "k": "v" }], "c": { "k": "v" }, "d": { "n": 1 }, "e": "x" });
        assert_eq!(check(&schema, &good), Ok(()));
        assert_eq!(check(&schema, &json!({ "a": 1.5, "c": null })), Ok(()));
        for (bad, place) in [
            (json!([]), "the whole value"),
            (json!({}), "the whole value"),
            (json!({ "a": "1" }), "/a"),
            (json!({ "a": 1, "b": [1] }), "/b/0"),
            (json!({ "a": 1, "b": ["s", { "k": "w" }] }), "/b/1/k"),
            (json!({ "a": 1, "b": ["s", {}] }), "/b/1"),
            (json!({ "a": 1, "b": ["s", { "k": "v" }, { "k": "v" }, { "k": "v" }] }), "/b"),
            (json!({ "a": 1, "c": { "k": "w" } }), "/c/k"),
            (json!({ "a": 1, "d": { "n": 1.5 } }), "/d/n"),
            (json!({ "a": 1, "e": "z" }), "/e"),
            (json!({ "a": 1, "f": 1 }), "/f"),
        ] {
            assert_eq!(check(&schema, &bad).unwrap_err().place, place, "{bad}");
        }
    }
}
