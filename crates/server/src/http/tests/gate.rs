//! Names, size, token, routes and methods.

use super::*;

#[test]
fn probes_need_no_token_and_all_else_does() {
    let served = Setup::default().start();
    let health = served.ask("GET /healthz HTTP/1.1", b"");
    assert_eq!((health.status, health.checked()["status"].clone()), (200, "healthy".into()));
    let ready = served.ask("GET /readyz HTTP/1.1", b"");
    assert_eq!((ready.status, ready.checked()["status"].clone()), (200, "ready".into()));
    for path in ["/metrics", "/openapi.json", "/v1/score", "/v1/jobs/x", "/mcp", "/", "/nowhere", "/healthz/"]
    {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let reply = served.ask(&format!("{method} {path} HTTP/1.1"), b"");
            reply.error(401);
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
}

#[test]
fn wrong_tokens() {
    let served = Setup::default().start();
    for token in [
        "Bearer",
        "Bearer ",
        "Bearer correct",
        "Basic Y29ycmVjdA==",
        SECRET,
        "Bearer correct horse battery staplE",
    ] {
        served.ask(&format!("GET /metrics HTTP/1.1\r\nauthorization: {token}\r\n"), b"").error(401);
    }
    assert_eq!(served.get("/metrics").status, 200);
    assert_eq!(Setup::open().start().ask("GET /metrics HTTP/1.1", b"").status, 200);
}

#[test]
fn unknown_routes_and_methods() {
    let served = Setup::default().start();
    for path in ["/", "/nowhere", "/healthz/", "/v1", "/v1/score/", "//healthz", "/%2e%2e/etc/passwd"] {
        served.get(path).error(404);
    }
    for (method, path, allow) in [
        ("POST", "/healthz", "GET,HEAD"),
        ("DELETE", "/readyz", "GET,HEAD"),
        ("POST", "/metrics", "GET,HEAD"),
        ("GET", "/v1/score", "POST"),
        ("OPTIONS", "/v1/score", "POST"),
        ("BREW", "/v1/score", "POST"),
    ] {
        let reply = served.ask(&format!("{method} {path} HTTP/1.1\r\n{AUTH}"), b"");
        reply.error(405);
        assert_eq!(reply.header("allow"), Some(allow), "{method} {path}");
    }
    let mut client = served.connect();
    client.send(&request("HEAD /healthz HTTP/1.1", b""));
    assert_eq!(client.line().as_deref(), Some("HTTP/1.1 200 OK"));
}

#[test]
fn foreign_names_are_refused_on_every_route() {
    let served = Setup::default().start();
    let ask = |path: &str, headers: &str| {
        let mut client = served.connect();
        client.send(format!("GET {path} HTTP/1.1\r\n{AUTH}{headers}\r\n").as_bytes());
        client.reply().unwrap()
    };
    for path in ["/healthz", "/readyz", "/metrics", "/mcp", "/nowhere"] {
        ask(path, "host: evil.example\r\n").error(403);
        ask(path, "host: localhost\r\norigin: http://evil.example\r\n").error(403);
        ask(path, "host: localhost\r\norigin: null\r\n").error(403);
        ask(path, "").error(400);
    }
    assert_eq!(ask("/healthz", "host: 127.0.0.1:99\r\norigin: http://localhost:3000\r\n").status, 200);
    let named = Setup::default().changed(|settings| {
        settings.names =
            super::super::origin::Names::new(settings.address.ip(), ["scores.example"].into_iter());
    });
    let named = named.start();
    let mut client = named.connect();
    client.send(b"GET /healthz HTTP/1.1\r\nhost: scores.example\r\n\r\n");
    assert_eq!(client.reply().unwrap().status, 200);
}

#[test]
fn an_announced_body_is_too_large_before_the_token_is_looked_at() {
    let served = Setup::default().start();
    let announced = |path: &str, length: u64, auth: &str| {
        let mut client = served.connect();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{auth}content-length: {length}\r\n\r\n");
        client.send(head.as_bytes());
        client.reply().unwrap()
    };
    for path in ["/v1/score", "/mcp", "/nowhere", "/healthz"] {
        announced(path, (4 << 20) + 1, "").error(413);
        announced(path, u64::MAX / 2, "").error(413);
    }
    announced("/v1/score", 4 << 20, "").error(401);
    announced("/v1/score", (4 << 20) + 1, AUTH).error(413);
}

#[test]
fn ids_differ() {
    let served = Setup::default().start();
    let mut client = served.connect();
    let mut ids = std::collections::HashSet::new();
    for _ in 0..50 {
        client.send(&request("GET /healthz HTTP/1.1", b""));
        ids.insert(client.reply().unwrap().json()["request_id"].to_string());
    }
    assert!(ids.len() > 45);
}
