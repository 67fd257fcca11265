//! What only the newer era of the protocol has: tasks over our jobs, streams that one listens to, no handshake.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, command, until};
use super::clips::{Clips, endless, with};

/// The metadata that every request of this era carries.
fn about(client: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": client,
    })
}

fn plain(params: Value) -> Value {
    with(params, json!({ "_meta": about(json!({})) }))
}

/// The same, of a client that knows tasks.
fn with_tasks(params: Value) -> Value {
    let client = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    with(params, json!({ "_meta": about(client) }))
}

fn call(arguments: Value) -> Value {
    json!({ "name": "vmaf_score", "arguments": arguments })
}

fn task(client: &mut Client, id: &Value) -> Value {
    client.request("tasks/get", with_tasks(json!({ "taskId": id })))["result"].clone()
}

#[test]
fn a_long_call_becomes_a_task() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    let begun = client.request("tools/call", with_tasks(call(clips.y4m())))["result"].clone();
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert!(begun["ttlMs"].as_u64().unwrap() >= 3_600_000 && begun["pollIntervalMs"].is_u64());
    let id = &begun["taskId"];
    assert!(until(Duration::from_secs(60), || task(&mut client, id)["status"] == "completed"));
    let result = task(&mut client, id)["result"].clone();
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["job_id"], *id);
    assert!(result["structuredContent"]["pooled_metrics"]["vmaf"]["mean"].is_f64());
    let direct = client.request("tools/call", plain(call(clips.y4m())))["result"].clone();
    assert_eq!(direct["resultType"], "complete", "who does not know tasks gets none");
}

#[test]
fn a_task_can_be_cancelled_and_can_fail() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    let begun = client.request("tools/call", with_tasks(call(endless(&clips))))["result"].clone();
    let id = &begun["taskId"];
    assert_eq!(task(&mut client, id)["status"], "working");
    let ack = client.request("tasks/cancel", with_tasks(json!({ "taskId": id })));
    assert_eq!(ack["result"]["resultType"], "complete", "{ack}");
    assert!(until(Duration::from_secs(60), || task(&mut client, id)["status"] == "cancelled"));
    std::fs::write(clips.folder.join("broken.y4m"), "YUV4MPEG2 W64 H64 F25:1\nFRAME\nshort").unwrap();
    let broken = json!({ "ref": clips.path("broken.y4m"), "dis": clips.path("dis.y4m") });
    let begun = client.request("tools/call", with_tasks(call(broken)))["result"].clone();
    if begun["resultType"] == "task" {
        let id = &begun["taskId"];
        assert!(until(Duration::from_secs(60), || task(&mut client, id)["status"] == "completed"));
        assert_eq!(task(&mut client, id)["result"]["isError"], true, "a failed tool has ended");
    } else {
        assert_eq!(begun["isError"], true, "{begun}");
    }
}

#[test]
fn tasks_of_nobody_and_clients_without_tasks() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let unknown = json!({ "taskId": "none", "inputResponses": {} });
        let answer = client.request(method, with_tasks(unknown.clone()));
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        assert_eq!(client.request(method, plain(unknown))["error"]["code"], -32021, "{method}");
    }
}

#[test]
fn the_newer_era_has_no_handshake() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    assert_eq!(client.request("initialize", plain(json!({})))["error"]["code"], -32601);
    assert_eq!(client.request("ping", plain(json!({})))["error"]["code"], -32601);
}

#[test]
fn one_may_listen_and_stop_listening() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let id = client.send("subscriptions/listen", plain(wanted));
    let first = client.message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert!(client.request("tools/list", plain(json!({})))["result"]["tools"].is_array());
    client.notify("notifications/cancelled", plain(json!({ "requestId": id })));
    client.close_input();
    assert!(client.exits_within(Duration::from_secs(60)), "a listener does not keep the server");
}

#[test]
fn nothing_is_suggested_for_a_prompt_that_is_not_there() {
    let clips = Clips::new(3);
    let mut client = Client::start(command(&clips.folder));
    for reference in [
        json!({ "type": "ref/prompt", "name": "no_such_prompt" }),
        json!({ "type": "ref/resource", "uri": "test://template/{id}/data" }),
    ] {
        let ask = json!({ "ref": reference, "argument": { "name": "model", "value": "" } });
        let answer = client.request("completion/complete", plain(ask));
        assert_eq!(answer["result"]["completion"]["values"], json!([]), "{answer}");
    }
}
