//! The service, without a network.

use std::fs::File;
use std::time::Duration;

use tower_service::Service;

use super::*;
use crate::config::{Config, Flags};

struct Place {
    _dir: tempfile::TempDir,
    server: Server,
    service: McpService,
    arguments: Value,
}

/// A server, and arguments of a score that takes long.
fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    for name in ["ref.yuv", "dis.yuv"] {
        File::create(folder.join(name)).unwrap().set_len(640 * 360 * 3 / 2 * 20_000).unwrap();
    }
    let arguments = json!({
        "ref": folder.join("ref.yuv"), "dis": folder.join("dis.yuv"),
        "width": 640, "height": 360, "pixfmt": "420", "bitdepth": 8,
    });
    let flags = Flags { allow: vec![folder], ..Flags::default() };
    let server = Server::new(Config::read(&flags, &|_| None).unwrap());
    let options = Options { allowed_hosts: vec!["localhost".to_owned()], ..Options::default() };
    let service = service(server.clone(), options);
    Place { _dir: dir, server, service, arguments }
}

fn post(body: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::post("http://localhost/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    request.extensions_mut().insert(Owner::new("alice"));
    request
}

async fn ask(service: &McpService, request: Request<Full<Bytes>>) -> (StatusCode, HeaderMap, Value) {
    let Ok(response) = service.clone().call(request).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let json = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.trim_start_matches("data: ")).ok())
        .next_back();
    (parts.status, parts.headers, json.unwrap_or(Value::String(text)))
}

fn rpc(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn hello() -> String {
    let client = json!({ "name": "t", "version": "1" });
    rpc(1, "initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }))
}

async fn wait_for(server: &Server, status: &str) -> bool {
    for _ in 0..600 {
        let jobs = server.jobs().list(&Owner::new("alice"));
        if jobs.last().is_some_and(|job| job.status.name() == status) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_are_served_without_sessions() {
    let place = place();
    let (status, headers, answer) = ask(&place.service, post(&hello(), &[])).await;
    assert_eq!(
        (status, &answer["result"]["protocolVersion"]),
        (StatusCode::OK, &json!("2025-06-18")),
        "{answer}"
    );
    assert!(headers.contains_key(SESSION));
    let list = rpc(2, "tools/list", json!({}));
    let (status, headers, answer) =
        ask(&place.service, post(&list, &[("mcp-protocol-version", "2025-06-18")])).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(answer["result"]["tools"][0]["name"], "vmaf_score");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let era = |method| [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let discover = rpc(3, "server/discover", json!({ "_meta": meta }));
    let (status, _, answer) = ask(&place.service, post(&discover, &era("server/discover"))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let list = rpc(4, "tools/list", json!({ "_meta": meta }));
    let (status, _, answer) = ask(&place.service, post(&list, &era("tools/list"))).await;
    assert_eq!((status, &answer["result"]["resultType"]), (StatusCode::OK, &json!("complete")), "{answer}");
    let (status, _, _) = ask(&place.service, post(&list, &era("tools/call"))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "headers must agree with the body");
}

#[tokio::test]
async fn what_is_no_message_gets_a_json_rpc_error() {
    let place = place();
    for (body, code) in [("{", -32700), ("", -32700), ("[]", -32600), ("7", -32600), ("{\"id\":1}", -32600)] {
        let (status, headers, answer) = ask(&place.service, post(body, &[])).await;
        assert_eq!((status, &answer["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(code)), "{body}");
        assert_eq!(
            (&headers["content-type"], &answer["id"]),
            (&HeaderValue::from_static("application/json"), &Value::Null)
        );
    }
    let (status, _, _) = ask(&place.service, post(&" ".repeat(MAX_BODY + 1), &[])).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let mut get = post("", &[]);
    *get.method_mut() = Method::GET;
    let (status, headers, _) = ask(&place.service, get).await;
    assert_eq!(
        (status, &headers["allow"]),
        (StatusCode::METHOD_NOT_ALLOWED, &HeaderValue::from_static("POST"))
    );
    let mut foreign = post(&rpc(1, "ping", json!({})), &[]);
    foreign.headers_mut().insert("host", HeaderValue::from_static("evil.example"));
    assert_eq!(ask(&place.service, foreign).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_connection_ends_the_work() {
    let place = place();
    for token in [None, Some("p")] {
        let mut params = json!({ "name": "vmaf_score", "arguments": place.arguments });
        if let Some(token) = token {
            params["_meta"] = json!({ "progressToken": token });
        }
        let service = place.service.clone();
        let asking =
            tokio::spawn(async move { ask(&service, post(&rpc(5, "tools/call", params), &[])).await });
        assert!(wait_for(&place.server, "running").await);
        tokio::time::sleep(Duration::from_millis(if token.is_some() { 700 } else { 0 })).await;
        asking.abort();
        assert!(wait_for(&place.server, "cancelled").await, "{token:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_cancels_the_first() {
    let place = place();
    let (_, headers, _) = ask(&place.service, post(&hello(), &[])).await;
    let session = headers[SESSION].to_str().unwrap().to_owned();
    let call = rpc(9, "tools/call", json!({ "name": "vmaf_score", "arguments": place.arguments }));
    let (service, mine) = (place.service.clone(), session.clone());
    let asking = tokio::spawn(async move { ask(&service, post(&call, &[(SESSION, &mine)])).await });
    assert!(wait_for(&place.server, "running").await);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    ask(&place.service, post(&cancel.to_string(), &[(SESSION, "another")])).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(wait_for(&place.server, "running").await, "another client's cancellation means nothing");
    let (status, _, _) = ask(&place.service, post(&cancel.to_string(), &[(SESSION, &session)])).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert!(wait_for(&place.server, "cancelled").await);
    asking.await.unwrap();
    assert!(place.service.calls.lock().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_belong_to_their_owner() {
    let place = place();
    let mut arguments = place.arguments.clone();
    arguments["background"] = json!(true);
    let call = rpc(1, "tools/call", json!({ "name": "vmaf_score", "arguments": arguments }));
    let (_, _, answer) = ask(&place.service, post(&call, &[])).await;
    let id = answer["result"]["structuredContent"]["job_id"].as_str().unwrap().to_owned();
    let get = rpc(2, "tools/call", json!({ "name": "get_job", "arguments": { "job_id": id } }));
    let (_, _, mine) = ask(&place.service, post(&get, &[])).await;
    assert_eq!(mine["result"]["isError"], json!(false));
    let mut foreign = post(&get, &[]);
    foreign.extensions_mut().insert(Owner::new("bob"));
    let (_, _, theirs) = ask(&place.service, foreign).await;
    assert_eq!(theirs["result"]["isError"], json!(true));
    place.server.jobs().cancel_all();
    assert!(place.server.jobs().idle(Duration::from_secs(5)).await);
}
