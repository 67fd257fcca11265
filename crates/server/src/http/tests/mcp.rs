//! MCP over HTTP.

use serde_json::json;

use super::life::soon;
use super::score::long;
use super::*;

const ACCEPT: &str = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

fn call(served: &Served, message: &Value) -> Reply {
    let head = format!("POST /mcp HTTP/1.1\r\n{AUTH}{ACCEPT}");
    served.ask(&head, message.to_string().as_bytes())
}

#[test]
fn tools_are_listed_in_both_eras() {
    let served = Setup::default().start();
    let old = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let reply = call(&served, &old);
    assert_eq!(reply.status, 200);
    assert!(reply.header("x-request-id").is_some());
    assert_eq!(reply.json()["result"]["serverInfo"]["name"], "visus");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(call(&served, &list).json()["result"]["tools"][0]["name"], "vmaf_score");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let new = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": { "_meta": meta } });
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{AUTH}{ACCEPT}mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n"
    );
    let reply = served.ask(&head, new.to_string().as_bytes());
    assert_eq!(reply.json()["result"]["tools"][0]["name"], "vmaf_score", "{}", reply.json());
}

#[test]
fn refusals_are_json_rpc_with_the_requests_id() {
    let served = Setup::default().start();
    let head = format!("POST /mcp HTTP/1.1\r\n{AUTH}{ACCEPT}");
    for (head, body, status, code) in [
        (&head, "{", 400, -32700),
        (&head, "", 400, -32700),
        (&head, "[]", 400, -32600),
        (&head, "7", 400, -32600),
        (
            &format!("POST /mcp HTTP/1.1\r\n{AUTH}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            406,
            -32600,
        ),
    ] {
        let reply = served.ask(head, body.as_bytes());
        assert_eq!(reply.status, status, "{body}");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], code, "{body}");
        assert_eq!(error["data"]["request_id"].as_str(), reply.header("x-request-id"));
    }
    let get = served.get("/mcp");
    get.error(405);
    assert_eq!(get.header("allow"), Some("POST"));
    served.ask(&format!("POST /mcp HTTP/1.1\r\n{ACCEPT}"), b"{}").error(401);
}

#[test]
fn a_client_that_leaves_takes_its_call_along() {
    let clips = long();
    let jobs = clips.served.core.jobs().clone();
    let arguments = json!({ "ref": clips.path("ref.y4m"), "dis": clips.path("dis.y4m") });
    let mut arguments = arguments;
    super::score::slow().into_iter().for_each(|(name, value)| arguments[name] = value);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "vmaf_score", "arguments": arguments } });
    let mut client = clips.served.connect();
    let head = format!("POST /mcp HTTP/1.1\r\n{AUTH}{ACCEPT}mcp-protocol-version: 2025-06-18\r\n");
    client.send(&request(&head, message.to_string().as_bytes()));
    soon("the work's start", || jobs.counts().running == 1);
    drop(client);
    let started = std::time::Instant::now();
    soon("the work's end", || jobs.counts().running == 0);
    assert!(started.elapsed() < super::PROMPT, "{:?}", started.elapsed());
    assert_eq!(clips.served.newest_job(), "cancelled");
}

#[test]
fn jobs_of_one_door_are_seen_through_the_other() {
    let clips = super::score::Clips::new(2);
    let arguments = json!({ "ref": clips.path("ref.y4m"), "dis": clips.path("dis.y4m"), "background": true });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "vmaf_score", "arguments": arguments } });
    let reply = call(&clips.served, &message).json();
    let id = reply["result"]["structuredContent"]["job_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned();
    soon("the job", || clips.served.get(&format!("/v1/jobs/{id}")).json()["status"] == "done");
}
