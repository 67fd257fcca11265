//! The description of what the web page uses: files, the history, pictures, comparisons and tools.

use serde_json::{Map, Value, json};

use super::openapi::{good, id_parameter, json_content, object, operation};

/// The routes.
pub fn paths() -> Map<String, Value> {
    let all = json!({
        "/v1/files": { "get": files() },
        "/v1/history": { "get": list_history() },
        "/v1/history/{id}": { "parameters": [id_parameter()], "get": get_history(), "delete": delete_history() },
        "/v1/history/{id}/curve": { "parameters": [id_parameter()], "get": curve() },
        "/v1/history/{id}/report": { "parameters": [id_parameter()], "get": history_report() },
        "/v1/history/{id}/frames/{frame}/{side}": { "parameters": frame_parameters(), "get": picture() },
        "/v1/diff": { "get": diff() },
        "/v1/bd-rate": { "post": bd_rate() },
        "/v1/tools/{tool}": { "parameters": [tool_parameter()], "post": call_tool() },
    });
    all.as_object().cloned().unwrap_or_default()
}

fn files() -> Value {
    let mut operation = operation(
        "listFiles",
        "score",
        "What lies in the allowed folders",
        good(200, "A folder.", "Folder"),
        &[503],
    );
    operation["parameters"] = json!([{
        "name": "path", "in": "query", "description": "A folder; without it, the allowed folders themselves.",
        "schema": { "type": "string" },
    }]);
    operation
}

fn list_history() -> Value {
    operation(
        "listHistory",
        "history",
        "All entries, newest first",
        good(200, "The entries.", "History"),
        &[404],
    )
}

fn get_history() -> Value {
    let answers = good(200, "An entry, and its result once it is done.", "HistoryEntry");
    operation("getHistory", "history", "One entry", answers, &[404, 503])
}

fn delete_history() -> Value {
    let answers = good(200, "It is gone.", "Removed");
    operation("deleteHistory", "history", "Remove an entry; a running job ends", answers, &[404])
}

fn curve() -> Value {
    let binary = json!({ "200": {
        "description": "A 32-bit float per frame, lowest byte first; NaN where a frame has no score.",
        "content": { "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } },
    } });
    operation("historyCurve", "history", "The score of every frame", binary, &[404, 409])
}

fn history_report() -> Value {
    let mut answers = good(200, "The whole report.", "Report");
    answers["200"]["content"]["application/json"] = json!({ "schema": { "type": "object" } });
    for kind in ["text/csv", "text/html"] {
        answers["200"]["content"][kind] = json!({ "schema": { "type": "string" } });
    }
    let mut operation =
        operation("historyReport", "history", "The report of an entry", answers, &[404, 409, 503]);
    operation["parameters"] = json!([{
        "name": "format", "in": "query", "schema": { "type": "string", "enum": ["json", "csv", "html"], "default": "json" },
    }]);
    operation
}

fn frame_parameters() -> Value {
    json!([
        id_parameter(),
        { "name": "frame", "in": "path", "required": true, "description": "A frame's number in the report.",
          "schema": { "type": "integer", "minimum": 0 } },
        { "name": "side", "in": "path", "required": true, "schema": { "type": "string", "enum": ["reference", "distorted"] } },
    ])
}

fn picture() -> Value {
    let image = json!({ "200": {
        "description": "The frame.", "content": {
            "image/png": { "schema": { "type": "string", "format": "binary" } },
            "image/jpeg": { "schema": { "type": "string", "format": "binary" } },
        },
        "headers": { "X-Visus-Frames-Off": {
            "description": "Of a preview: how many frames later or earlier it is than the one that was asked for.",
            "schema": { "type": "integer" },
        } },
    }, "204": { "description": "There is no preview of this frame." } });
    let mut operation =
        operation("historyFrame", "history", "A frame as a picture", image, &[404, 409, 500, 503]);
    let side = |name: &str| {
        json!({ "name": name, "in": "query", "description": "Scale to this size; both or none.",
                "schema": { "type": "integer", "minimum": 1, "maximum": 8192 } })
    };
    operation["parameters"] = json!([side("width"), side("height"), {
        "name": "preview", "in": "query", "description": "A small picture that was kept while the video was scored, of this frame or one near it.",
        "schema": { "type": "boolean", "default": false },
    }]);
    operation
}

fn diff() -> Value {
    let answers = good(200, "What differs, and whether the change is real.", "Diff");
    let mut operation = operation("diff", "history", "Compare two entries", answers, &[404, 409]);
    let id = |name: &str| json!({ "name": name, "in": "query", "required": true, "schema": { "type": "string", "pattern": "^[0-9a-f]{32}$" } });
    operation["parameters"] = json!([id("a"), id("b")]);
    operation
}

fn bd_rate() -> Value {
    let answers = good(200, "The difference, or why there is none.", "BdRate");
    let mut operation =
        operation("bdRate", "score", "Compare two curves of rate and quality", answers, &[408]);
    operation["requestBody"] = json!({ "required": true, "content": json_content("BdRateRequest") });
    operation
}

fn tool_parameter() -> Value {
    json!({ "name": "tool", "in": "path", "required": true, "schema": { "type": "string", "enum": super::tuning::offered() } })
}

fn call_tool() -> Value {
    let mut answers = good(202, "The job is queued.", "Accepted");
    answers["200"] = json!({ "description": "The answer of a list.", "content": { "application/json": { "schema": { "type": "object" } } } });
    let text = "Call a tuning tool with its arguments over MCP, as a job";
    let mut operation = operation("callTool", "score", text, answers, &[404, 408, 429, 500, 503]);
    operation["requestBody"] = json!({
        "required": true, "content": { "application/json": { "schema": { "type": "object" } } },
    });
    operation
}

/// The schemas of it.
pub fn schemas(id: &Value) -> Map<String, Value> {
    let text = json!({ "type": "string" });
    let maybe_text = json!({ "type": ["string", "null"] });
    let number = json!({ "type": ["number", "null"] });
    let whole = json!({ "type": ["integer", "null"] });
    let file = object(
        &["name", "path", "kind"],
        json!({ "name": text, "path": text, "kind": { "enum": ["folder", "file"] }, "bytes": whole, "modified": whole }),
    );
    let input =
        object(&["name", "path"], json!({ "name": text, "path": text, "bytes": whole, "modified": whole }));
    let entry = object(
        &["id", "tool", "created", "status", "request", "inputs"],
        json!({
            "id": text, "tool": text, "created": { "type": "integer" }, "ended": whole,
            "status": { "enum": ["queued", "running", "done", "failed", "cancelled", "interrupted"] },
            "error": maybe_text, "request": { "type": "object" }, "inputs": { "type": "array", "items": input },
            "metric": maybe_text, "score": number, "frames": whole,
        }),
    );
    let entry_ref = json!({ "$ref": "#/components/schemas/Entry" });
    let point = object(
        &["kbps", "quality"],
        json!({ "kbps": { "type": "number" }, "quality": { "type": "number" } }),
    );
    let points = json!({ "type": "array", "items": point, "maxItems": 1000 });
    let all = json!({
        "Folder": object(
            &["path", "parent", "entries", "request_id"],
            json!({ "path": maybe_text, "parent": maybe_text, "entries": { "type": "array", "items": file }, "request_id": id }),
        ),
        "Entry": entry,
        "History": object(
            &["entries", "request_id"],
            json!({ "entries": { "type": "array", "items": entry_ref }, "request_id": id }),
        ),
        "HistoryEntry": object(
            &["entry", "request_id"],
            json!({ "entry": entry_ref, "result": { "type": "object" }, "request_id": id }),
        ),
        "Removed": object(&["removed", "request_id"], json!({ "removed": text, "request_id": id })),
        "Diff": object(
            &["models", "request_id"],
            json!({ "models": { "type": "array", "items": { "type": "object" } }, "request_id": id }),
        ),
        "BdRateRequest": object(&["anchor", "test"], json!({ "anchor": points, "test": points })),
        "BdRate": object(
            &["error", "request_id"],
            json!({
                "error": maybe_text, "bd_rate_percent": number, "bd_rate_cubic_percent": number, "bd_quality": number,
                "request_id": id,
            }),
        ),
    });
    all.as_object().cloned().unwrap_or_default()
}
