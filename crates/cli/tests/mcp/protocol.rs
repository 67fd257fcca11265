//! The protocol itself: framing, both eras, lists, prompts, completions.

use serde_json::{Value, json};

use super::client::{Client, VMAF_MCP, command, default_command};
use super::clips::Clips;

#[test]
fn lines_that_are_no_messages_are_answered() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    for (line, code, id) in [
        ("{", -32700, Value::Null),
        ("garbage", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        ("1", -32600, Value::Null),
        (r#"{"id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"nme":"x"}}"#, -32602, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"bogus/method"}"#, -32601, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10,"method":"tools/list","params":{"cursor":"x"}}"#, -32602, json!(10)),
    ] {
        client.write(line);
        let message = client.message().unwrap();
        assert_eq!((&message["error"]["code"], &message["id"]), (&json!(code), &id), "{line}: {message}");
    }
    client.write("");
    assert!(client.request("ping", json!({}))["result"].is_object(), "still alive");
    client.write(&"x".repeat(5 << 20));
    assert_eq!(client.message().unwrap()["error"]["code"], -32600);
    assert!(client.request("ping", json!({}))["result"].is_object(), "still alive");
}

#[test]
fn notifications_before_the_opening_do_no_harm() {
    let clips = Clips::new(1);
    let mut client = Client::start(command(&clips.folder));
    client.notify("notifications/cancelled", json!({ "requestId": 1 }));
    let hello = json!({
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    assert_eq!(client.request("initialize", hello)["result"]["protocolVersion"], "2024-11-05");
}

#[test]
fn the_stateless_era_needs_no_opening() {
    let clips = Clips::new(2);
    let mut client = Client::start(command(&clips.folder));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{found}");
    let list = client.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 22, "{list}");
    assert!(list["result"]["ttlMs"].is_u64() && list["result"]["cacheScope"].is_string(), "{list}");
    let call = json!({ "_meta": meta, "name": "vmaf_score", "arguments": clips.y4m() });
    let score = client.request("tools/call", call);
    assert_eq!(score["result"]["isError"], json!(false), "{score}");
    assert_eq!(score["result"]["resultType"], "complete");
}

#[test]
fn every_tool_is_described() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    let list = client.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "vmaf_score",
        "vmaf_score_encoded",
        "describe_worst_frames",
        "list_models",
        "describe_model",
        "list_backends",
        "probe_backend",
        "vmaf_version",
        "list_extractors",
        "run_benchmark",
        "vmaf_bench",
        "run_search",
        "run_compare",
        "run_ladder",
        "run_tune_per_shot",
        "vmaf_per_shot",
        "eval_model_on_split",
        "compare_models",
        "migrate_thresholds",
        "get_job",
        "list_jobs",
        "cancel_job",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        let name = &tool["name"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
        assert!(tool["title"].is_string() && tool["description"].as_str().unwrap().len() > 40, "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name} {schema}");
            check_schema(&tool[schema], &format!("{name} {schema}"));
        }
    }
}

#[test]
fn the_list_is_small_and_what_is_not_offered_is_unknown() {
    let clips = Clips::new(1);
    let size = |client: &mut Client| client.request("tools/list", json!({})).to_string().len();
    let all = size(&mut Client::open(command(&clips.folder)));
    let mut client = Client::open(default_command(&clips.folder));
    let usual = size(&mut client);
    assert!(usual < all && all <= 24_000, "{usual} and {all} bytes");
    assert_eq!(client.failure("run_benchmark", json!({})), "unknown tool: run_benchmark");
    let mut few = default_command(&clips.folder);
    few.args(["--tools", "vmaf_score,get_job"]);
    let mut few = Client::open(few);
    let tools = few.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["vmaf_score", "get_job"]);
    assert_eq!(few.failure("list_models", json!({})), "unknown tool: list_models");
    let mut wrong = default_command(&clips.folder);
    let output = wrong.args(["--tools", "vmaf_scor"]).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean 'vmaf_score'?"));
}

/// Plain types, and words for every field.
fn check_schema(schema: &Value, place: &str) {
    assert!(!schema["type"].is_array() && schema.get("format").is_none(), "{place}");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{place} has no words");
        check_schema(field, &place);
    }
}

#[test]
fn resources_prompts_and_completions() {
    let clips = Clips::new(3);
    let mut client = Client::open(command(&clips.folder));
    let list = client.request("resources/list", json!({}));
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    assert!(uris.contains(&"visus://models/vmaf_v0.6.1"));
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 3);
    let read = |client: &mut Client, uri: &str| client.request("resources/read", json!({ "uri": uri }));
    let model = read(&mut client, "visus://models/vmaf_v0.6.1");
    let model: Value =
        serde_json::from_str(model["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(model["feature_names"].as_array().unwrap().len(), 6);
    for uri in ["visus://models/none", "visus://jobs/none", "visus://x", "file:///etc/passwd"] {
        assert_eq!(read(&mut client, uri)["error"]["code"], -32002, "{uri}");
    }
    let id = client.data("vmaf_score", clips.y4m())["job_id"].as_str().unwrap().to_owned();
    let page = read(&mut client, &format!("visus://jobs/{id}/frames?from=1&count=1"));
    let page: Value = serde_json::from_str(page["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&page["frames"][0]["frameNum"], &page["count"]), (&json!(1), &json!(1)));
    assert_eq!(page["next"], json!(format!("visus://jobs/{id}/frames?from=2&count=1")));
    let report = read(&mut client, &format!("visus://jobs/{id}"));
    assert!(report["result"]["contents"][0]["text"].as_str().unwrap().contains("frameNum"));

    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 3);
    let ask = json!({ "name": "judge_encode", "arguments": { "reference": "a.y4m", "distorted": "b.y4m" } });
    let prompt = client.request("prompts/get", ask);
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("a.y4m") && text.contains("b.y4m") && !text.contains('{'), "{text}");
    assert_eq!(client.request("prompts/get", json!({ "name": "judge_encode" }))["error"]["code"], -32602);
    assert_eq!(client.request("prompts/get", json!({ "name": "none" }))["error"]["code"], -32602);

    let complete = |client: &mut Client, argument: &str, value: &str| {
        let ask = json!({
            "ref": { "type": "ref/prompt", "name": "judge_encode" },
            "argument": { "name": argument, "value": value },
        });
        client.request("completion/complete", ask)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete(&mut client, "model", "version=vmaf_b"), json!(["version=vmaf_b_v0.6.3"]));
    assert_eq!(complete(&mut client, "backend", "cu"), json!(["cuda"]));
    assert_eq!(complete(&mut client, "feature", "psnr_h"), json!(["psnr_hvs"]));
}

#[test]
fn the_peers_name_and_environment_work() {
    let clips = Clips::new(2);
    let mut command = std::process::Command::new(VMAF_MCP);
    command
        .args(["--transport", "stdio", "--unknown"])
        .env_remove("VMAF_BIN")
        .env("VMAF_MCP_ALLOW", &clips.folder);
    let mut client = Client::open(command);
    let report = client.data("vmaf_score", clips.raw());
    assert!(report["pooled_metrics"]["vmaf"]["mean"].is_f64());
    assert_eq!(report["frames"].as_array().unwrap().len(), 2, "here the whole report is the default");
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 22);
    for (word, starts) in [("uvloop", false), ("asyncio", true), ("trio", true)] {
        let mut command = std::process::Command::new(VMAF_MCP);
        command.env("VMAF_MCP_ASYNC", word).stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.status.success(), starts, "{word}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).contains("asyncio, 0, false, no"), !starts);
    }
}
