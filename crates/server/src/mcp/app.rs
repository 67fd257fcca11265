//! The MCP App: the curve of a score and its worst frames, in hosts that show documents of servers.
//!
//! The document is made of the same modules as the web page. Tools name it in their metadata; a host that knows the
//! extension reads it, shows it in a sandbox of its own and hands it the tool's result.

use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

/// The document's address and type.
pub const URI: &str = "ui://visus/score";
const KIND: &str = "text/html;profile=mcp-app";

/// Tools whose results the document shows.
const SHOWN: [&str; 2] = ["vmaf_score", "describe_worst_frames"];

/// What `tools/list` says of a tool besides its description.
pub fn meta(tool: &str) -> Option<MetaObject> {
    SHOWN.contains(&tool).then(|| object(json!({ "ui": { "resourceUri": URI } })))
}

fn object(value: serde_json::Value) -> MetaObject {
    MetaObject(value.as_object().cloned().unwrap_or_default())
}

pub fn resource() -> Resource {
    Resource::new(URI, "score-view")
        .with_title("Score view")
        .with_description("The score over time, and the worst frames to click")
        .with_mime_type(KIND)
}

/// The document. It loads nothing, so it asks for no permission and no source.
pub fn read() -> ReadResourceResult {
    let content = ResourceContents::text(crate::web::app(), URI).with_mime_type(KIND);
    let content = content.with_meta(object(json!({ "ui": { "prefersBorder": false } })));
    ReadResourceResult::new(vec![content]).with_ttl_ms(super::FIXED)
}
