//! Resources: models, jobs, and the frames of a report in pages.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use visus_engine::model::BUILTIN;

use super::app;
use crate::jobs::{Owner, Status};
use crate::report::{Detail, Output};
use crate::text::{clean_answer, cleaned};
use crate::tools::{job, models};
use crate::{Server, ToolError};

const JSON: &str = "application/json";

/// What is always there: the built-in models. Jobs come and go; they are found by `list_jobs`, by the links in results
/// and by the templates, so that this list never changes and clients may remember it.
pub fn list() -> Vec<Resource> {
    let model = |model: &visus_engine::model::Builtin| {
        Resource::new(format!("visus://models/{}", model.version), model.version)
            .with_title(format!("Model {}", model.version))
            .with_description(model.about)
            .with_mime_type(JSON)
    };
    BUILTIN.iter().map(model).chain([app::resource()]).collect()
}

pub fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(about).with_mime_type(JSON)
    };
    vec![
        template("visus://models/{name}", "model", "A model", "What a model is made of"),
        template("visus://jobs/{id}", "job", "A job", "A job and, once it is done, its whole report"),
        template(
            "visus://jobs/{id}/frames{?from,count}",
            "frames",
            "Frames of a report",
            "Scores of frames from number 'from' on, at most 'count' (100, up to 1000)",
        ),
    ]
}

/// Reads a resource. Blocks.
pub fn read(server: &Server, owner: &Owner, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    if uri == app::URI {
        return Ok(app::read());
    }
    let value = content(server, owner, uri)?;
    let content = ResourceContents::text(value.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![content]).with_ttl_ms(super::CHANGING))
}

fn content(server: &Server, owner: &Owner, uri: &str) -> Result<Value, ErrorData> {
    let rest = uri.strip_prefix("visus://").ok_or_else(|| not_found(uri))?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["models", name] => models::describe(name, &server.config().model_dirs, server.roots())
            .map(|answer| Value::Object(clean_answer(answer)))
            .map_err(|error| explained(uri, &error)),
        ["jobs", id] => job::get(server, owner, id, Some(Detail::Full))
            .map(|answer| Value::Object(clean_answer(answer)))
            .map_err(|error| explained(uri, &error)),
        ["jobs", id, "frames"] => frames(server, owner, uri, id, query),
        _ => Err(not_found(uri)),
    }
}

fn frames(server: &Server, owner: &Owner, uri: &str, id: &str, query: &str) -> Result<Value, ErrorData> {
    let view = server.jobs().get(owner, id).map_err(|error| explained(uri, &error))?;
    let (mut from, mut count) = (0, None);
    for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
        let number = value.parse::<u64>();
        let wrong = || {
            let text = format!("invalid {}: must be a whole number", cleaned(name));
            ErrorData::invalid_params(text, None)
        };
        match name {
            "from" => from = number.map_err(|_| wrong())?,
            "count" => count = Some(number.map_err(|_| wrong())? as usize),
            _ => {}
        }
    }
    match &view.status {
        Status::Done(output) => match &**output {
            Output::Score(report) => Ok(report.page(id, from, count)),
            Output::Worst(_) | Output::Value(_) => Err(not_found(uri)),
        },
        other => Ok(json!({ "job_id": id, "status": other.name(), "frames": [] })),
    }
}

fn not_found(uri: &str) -> ErrorData {
    let uri = cleaned(uri);
    ErrorData::resource_not_found(format!("resource not found: {uri}"), Some(json!({ "uri": uri })))
}

/// Not found, with the reason.
fn explained(uri: &str, error: &ToolError) -> ErrorData {
    let uri = cleaned(uri);
    ErrorData::resource_not_found(error.to_string(), Some(json!({ "uri": uri })))
}
