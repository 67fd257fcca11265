//! The tables of `docs/report-format.md`, made from the schemas that the binary itself shows.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub const PAGE: &str = "docs/report-format.md";

const BEGIN: &str = "<!-- keys: made by cargo xtask readme -->\n";
const END: &str = "<!-- end of keys -->";

/// The page with its tables as they should be.
pub fn replaced(text: &str, visus: &Path) -> Result<String> {
    let missing = |line: &str| format!("{PAGE} has no line {:?}", line.trim());
    let (before, rest) = text.split_once(BEGIN).with_context(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).with_context(|| missing(END))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", tables(&outputs(visus)?)))
}

/// One output: its name, who writes it, and its schema.
struct Output {
    name: String,
    about: String,
    schema: Value,
}

fn outputs(visus: &Path) -> Result<Vec<Output>> {
    let list = shown(visus, &[])?;
    let output = |line: &str| -> Result<Output> {
        let (name, about) = line.split_once(' ').with_context(|| format!("no list of outputs: {line}"))?;
        let schema = serde_json::from_str(&shown(visus, &[name])?)?;
        Ok(Output { name: name.to_owned(), about: about.trim().to_owned(), schema })
    };
    list.lines().map(output).collect()
}

fn shown(visus: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new(visus).arg("schema").args(words).output();
    let output = output.with_context(|| format!("{} (cargo build --release makes it)", visus.display()))?;
    if !output.status.success() {
        bail!("visus schema {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A section per output, then one per object that outputs are made of.
fn tables(outputs: &[Output]) -> String {
    let mut text = String::new();
    let mut parts: BTreeMap<&String, &Value> = BTreeMap::new();
    for output in outputs {
        text.push_str(&format!("\n### `{}`\n\n{}\n\n", output.name, output.about));
        match output.schema["properties"].as_object() {
            Some(_) => text.push_str(&table(&output.schema)),
            None => text.push_str(&format!("It is {}.\n", kind(&output.schema))),
        }
        parts.extend(output.schema["$defs"].as_object().into_iter().flatten());
    }
    text.push_str("\n## Objects within them\n");
    for (name, part) in parts {
        text.push_str(&format!("\n### {name}\n\n{}\n\n", description(part)));
        if part["properties"].is_object() {
            text.push_str(&table(part));
        } else {
            text.push_str(&format!("It is {}.\n", kind(part)));
        }
    }
    text.push('\n');
    text
}

fn table(schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = String::from("| key | value | meaning |\n|---|---|---|\n");
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&key.as_str()) { "" } else { ", may be absent" };
        text.push_str(&format!("| `{key}` | {}{optional} | {} |\n", kind(property), description(property)));
    }
    text
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// What a value is, in words.
fn kind(schema: &Value) -> String {
    let Some(keywords) = schema.as_object() else { return "anything".to_owned() };
    if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
        let name = target.rsplit('/').next().unwrap_or(target);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = keywords.get("anyOf").or_else(|| keywords.get("oneOf")).and_then(Value::as_array) {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(constant) = keywords.get("const") {
        return format!("`{constant}`");
    }
    if let Some(list) = keywords.get("enum").and_then(Value::as_array) {
        return list.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    }
    let types = match keywords.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name.as_str()],
        _ => return "anything".to_owned(),
    };
    types.into_iter().map(|name| of_type(name, keywords)).collect::<Vec<_>>().join(" or ")
}

fn of_type(name: &str, schema: &Map<String, Value>) -> String {
    let first = schema.get("prefixItems").and_then(Value::as_array);
    match (name, schema.get("items"), schema.get("additionalProperties"), first) {
        ("array", _, _, Some(items)) => {
            format!("[{}]", items.iter().map(kind).collect::<Vec<_>>().join(", "))
        }
        ("array", Some(items), ..) => format!("list of {}", kind(items)),
        ("object", _, Some(values), _) => format!("object by name: {}", kind(values)),
        ("boolean", ..) => "true or false".to_owned(),
        (other, ..) => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_in_words() {
        for (schema, words) in [
            (json!({ "type": ["number", "null"] }), "number or null"),
            (
                json!({ "type": "array", "items": { "$ref": "#/$defs/FrameRun" } }),
                "list of [FrameRun](#framerun)",
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                "object by name: string",
            ),
            (
                json!({ "type": "array", "prefixItems": [{ "type": "number" }, { "type": "boolean" }] }),
                "[number, true or false]",
            ),
            (json!({ "anyOf": [{ "const": "a" }, { "enum": ["b", 1] }] }), "`\"a\"` or `\"b\"` or `1`"),
            (json!(true), "anything"),
        ] {
            assert_eq!(kind(&schema), words);
        }
    }

    #[test]
    fn outputs_and_their_objects_are_listed_once() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/P", "description": "An a." } }, "required": ["a"],
            "$defs": { "P": { "description": "A part.", "properties": { "b": { "type": "integer", "description": "A b." } } } },
        });
        let output = |name: &str| Output { name: name.into(), about: "Told.".into(), schema: schema.clone() };
        let text = tables(&[output("one"), output("two")]);
        assert_eq!(text.matches("| `a` | [P](#p) | An a. |").count(), 2, "{text}");
        assert_eq!(text.matches("### P\n\nA part.\n\n| key").count(), 1, "{text}");
        assert!(text.contains("| `b` | integer, may be absent | A b. |"), "{text}");
    }
}
