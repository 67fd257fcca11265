//! Schemas of answers, derived from their types.
//!
//! The whole schema describes every level. What `tools/list` says of an answer is its top level alone: every conversation
//! pays for that list, and an agent reads the answer itself.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// A JSON Schema whose root is an object.
pub type Schema = Map<String, Value>;

/// The whole schema of a type as it is written, without references.
pub fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Plain types only: some clients warn about `format`, and some refuse a list of types.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            plain_type(map);
            map.values_mut().for_each(plain);
            never_null(map);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        _ => {}
    }
}

fn plain_type(schema: &mut Schema) {
    if !schema.contains_key("type") {
        return;
    }
    schema.remove("format");
    if let Some(Value::Array(kinds)) = schema.get("type") {
        let choices: Value = kinds.iter().map(|kind| json!({ "type": kind })).collect();
        schema.remove("type");
        schema.insert("anyOf".to_owned(), choices);
    }
}

/// A field that is left out where there is no value is never null.
fn never_null(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    for (name, field) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(choices) = field.get("anyOf").and_then(Value::as_array).filter(|_| !is_required(name))
        else {
            continue;
        };
        let kept: Vec<Value> = choices.iter().filter(|choice| choice["type"] != "null").cloned().collect();
        if let ([Value::Object(only)], Some(field)) = (kept.as_slice(), field.as_object_mut()) {
            field.remove("anyOf");
            field.extend(only.clone().into_iter().filter(|(name, _)| name != "description"));
        }
    }
}

/// The schema of a tool whose work is a job. In the background it answers with the job alone.
pub fn with_job_fields(mut schema: Schema, in_background: bool) -> Schema {
    let mut fields = vec![("job_id", "The job.")];
    if in_background {
        fields.extend([("status", "Of a background job."), ("message", "What to do next.")]);
        schema.insert("required".to_owned(), json!(["job_id"]));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, help) in fields {
            properties.entry(name).or_insert_with(|| json!({ "type": "string", "description": help }));
        }
    }
    schema
}

/// What `tools/list` says of an answer: name, type and meaning of these fields at the top. Others may be there.
pub fn top_level(whole: &Schema, names: &[&str]) -> Schema {
    let field = |name: &&str| Some(((*name).to_owned(), brief(whole.get("properties")?.get(name)?)));
    let fields: Schema = names.iter().filter_map(field).collect();
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(fields))])
}

fn brief(field: &Value) -> Value {
    let mut brief = Map::new();
    match (field.get("type"), field.get("anyOf").and_then(Value::as_array)) {
        (Some(kind), _) => drop(brief.insert("type".to_owned(), kind.clone())),
        (None, Some(choices)) => {
            let kinds: Value = choices.iter().map(|choice| json!({ "type": choice["type"] })).collect();
            brief.insert("anyOf".to_owned(), kinds);
        }
        // What may be anything is written as data or as text.
        (None, None) => {
            drop(brief.insert("anyOf".to_owned(), json!([{ "type": "object" }, { "type": "string" }])))
        }
    }
    if let Some(help) = field.get("description") {
        brief.insert("description".to_owned(), help.clone());
    }
    Value::Object(brief)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A type with everything that answers have.
    #[derive(serde::Serialize, JsonSchema)]
    struct Sample {
        /// A count.
        count: u32,
        /// A score.
        score: Option<f64>,
        /// A warning, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
        /// Parts.
        parts: Vec<Part>,
    }

    #[derive(serde::Serialize, JsonSchema)]
    struct Part {
        name: String,
    }

    #[test]
    fn types_are_plain_at_every_level() {
        let whole = Value::Object(of::<Sample>());
        assert_eq!(whole["properties"]["parts"]["items"]["properties"]["name"]["type"], "string");
        assert_eq!(whole["properties"]["score"]["anyOf"], json!([{ "type": "number" }, { "type": "null" }]));
        assert_eq!(whole["properties"]["warning"]["type"], "string");
        assert!(!whole.to_string().contains("format") && !whole.to_string().contains("$ref"), "{whole}");
    }

    #[test]
    fn a_list_names_the_top_level_only() {
        let top = Value::Object(top_level(&of::<Sample>(), &["count", "score", "parts"]));
        assert_eq!(top["properties"]["count"], json!({ "type": "integer", "description": "A count." }));
        assert_eq!(top["properties"]["parts"], json!({ "type": "array", "description": "Parts." }));
        let choice = json!([{ "type": "number" }, { "type": "null" }]);
        assert_eq!(top["properties"]["score"], json!({ "anyOf": choice, "description": "A score." }));
    }

    #[test]
    fn a_job_in_the_background_answers_with_itself() {
        let schema = Value::Object(with_job_fields(of::<Sample>(), true));
        assert_eq!(schema["required"], json!(["job_id"]));
        assert_eq!(schema["properties"]["status"]["type"], "string");
    }
}
