//! `GET /v1/files`: what a person can choose from, in the allowed folders and nowhere else.

use std::path::Path;
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde_json::{Value, json};

use super::App;
use super::answer::Answer;
use super::refusal::refusal;
use crate::history::seconds;
use crate::roots::Listed;
use crate::text::cleaned;
use crate::{Server, ToolError, blocking};

/// Endings of files that are listed: video by its usual names. Others can still be named.
const VIDEO: [&str; 30] = [
    "mp4", "m4v", "mov", "mkv", "webm", "avi", "ts", "m2ts", "mts", "mpg", "mpeg", "mxf", "y4m", "yuv",
    "ivf", "obu", "h264", "264", "h265", "265", "hevc", "vvc", "266", "av1", "flv", "wmv", "3gp", "ogv",
    "gif", "nut",
];

#[derive(Debug, serde::Deserialize)]
pub struct Asked {
    path: Option<String>,
}

pub async fn files(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Answer, Answer> {
    let Query(asked) = asked.map_err(|error| Answer::bad_request(error.body_text()))?;
    let server = app.core.clone();
    let listed = blocking(move || match asked.path.filter(|path| !path.is_empty()) {
        None => Ok(roots(&server)),
        Some(path) => folder(&server, &path),
    });
    listed.await.and_then(|listed| listed).map(Answer::ok).map_err(|error| refusal(&error))
}

/// The allowed folders and files themselves.
fn roots(server: &Server) -> Value {
    let entry = |(path, is_folder): (std::path::PathBuf, bool)| {
        let text = path.to_str()?.to_owned();
        let kind = if is_folder { "folder" } else { "file" };
        Some(json!({ "name": shown(&path), "path": text, "kind": kind }))
    };
    let entries: Vec<Value> = server.roots().existing().into_iter().filter_map(entry).collect();
    json!({ "path": null, "parent": null, "entries": entries })
}

fn folder(server: &Server, name: &str) -> Result<Value, ToolError> {
    let (path, listed) = server.roots().list(name)?;
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let parent = path.parent().filter(|_| !server.roots().is_root(&path)).and_then(text);
    let entries: Vec<Value> =
        listed.iter().filter(|entry| is_offered(entry)).filter_map(|entry| line(&path, entry)).collect();
    Ok(json!({ "path": text(&path), "parent": parent, "entries": entries }))
}

fn is_offered(entry: &Listed) -> bool {
    let ending =
        Path::new(&entry.name).extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    entry.is_folder || ending.is_some_and(|ending| VIDEO.contains(&ending.as_str()))
}

/// The path is what a request names; the name is what people read, without characters that lie about it.
fn line(folder: &Path, entry: &Listed) -> Option<Value> {
    let path = folder.join(&entry.name).to_str()?.to_owned();
    let kind = if entry.is_folder { "folder" } else { "file" };
    let bytes = (!entry.is_folder).then_some(entry.bytes);
    Some(json!({
        "name": cleaned(&entry.name), "path": path, "kind": kind, "bytes": bytes, "modified": entry.modified.map(seconds),
    }))
}

fn shown(path: &Path) -> String {
    cleaned(&path.to_string_lossy())
}
