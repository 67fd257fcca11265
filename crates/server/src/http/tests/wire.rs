//! Clients that are slow, broken, hasty or many.

use std::net::Shutdown;
use std::time::Instant;

use super::*;

/// hyper would answer these with a bare status line.
#[test]
fn what_is_no_http_gets_json_too() {
    let served = Setup::default().start();
    let long = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "a: b\r\n".repeat(500));
    let target = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "y".repeat(70_000));
    for (bytes, status) in [
        ("GARBAGE\r\n\r\n", 400),
        ("GET /healthz\r\n\r\n", 400),
        ("GET /a b c HTTP/1.1\r\n\r\n", 400),
        ("\0\0\0\0\r\n\r\n", 400),
        ("POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n", 400),
        ("POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", 400),
        (
            "POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12",
            400,
        ),
        ("POST /v1/score HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        (&long, 431),
        (&many, 431),
        (&target, 431),
    ] {
        let mut client = served.connect();
        client.send(bytes.as_bytes());
        let reply = client.reply().unwrap_or_else(|| panic!("no answer to {:.60}", bytes));
        reply.error(status);
        assert!(client.closed());
    }
}

#[test]
fn garbage_after_a_good_request_on_the_same_connection() {
    let served = Setup::default().start();
    let mut client = served.connect();
    client.send(&[request("GET /healthz HTTP/1.1", b""), b"GARBAGE\r\n\r\n".to_vec()].concat());
    assert_eq!(client.reply().unwrap().status, 200);
    client.reply().unwrap().error(400);
    assert!(client.closed());
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let served = Setup::default().start();
    let mut client = served.connect();
    let paths = ["/healthz", "/nowhere", "/metrics", "/readyz", "/v1/score"];
    let all: Vec<u8> =
        paths.iter().flat_map(|path| request(&format!("GET {path} HTTP/1.1\r\n{AUTH}"), b"")).collect();
    client.send(&all.repeat(20));
    for _ in 0..20 {
        let statuses: Vec<u16> = paths.iter().map(|_| client.reply().unwrap().status).collect();
        assert_eq!(statuses, [200, 404, 200, 200, 405]);
    }
}

#[test]
fn a_request_that_comes_byte_by_byte() {
    let served = Setup::default().start();
    let mut client = served.connect();
    for byte in request("GET /healthz HTTP/1.1", b"") {
        client.send(&[byte]);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.reply().unwrap().status, 200);
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    let short = |settings: &mut Settings| settings.limits.head = Duration::from_millis(300);
    let served = Setup::default().changed(short).start();
    let mut client = served.connect();
    client.send(b"GET /healthz HTTP/1.1\r\nhost: loc");
    let started = Instant::now();
    while !client.closed() {
        let _ = client.line();
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(served.ask("GET /healthz HTTP/1.1", b"").status, 200);
}

#[test]
fn half_closed_after_the_request_still_gets_the_answer() {
    let served = Setup::default().start();
    for path in ["/healthz", "/metrics", "/nowhere"] {
        let mut client = served.connect();
        client.send(&request(&format!("GET {path} HTTP/1.1\r\n{AUTH}"), b""));
        client.stream.shutdown(Shutdown::Write).unwrap();
        assert!(client.reply().is_some(), "{path}");
        assert!(client.closed());
    }
}

#[test]
fn half_closed_within_the_head_ends_the_connection() {
    let served = Setup::default().start();
    let mut client = served.connect();
    client.send(b"GET /healthz HTTP/1.1\r\nho");
    client.stream.shutdown(Shutdown::Write).unwrap();
    while client.line().is_some() {}
    assert!(client.closed());
}

#[test]
fn ten_thousand_wrong_requests_in_a_row() {
    let served = Setup::default().start();
    let before = descriptors();
    let wrong = [
        request("GET /metrics HTTP/1.1", b""),
        request(&format!("GET /nowhere HTTP/1.1\r\n{AUTH}"), b""),
        request(&format!("PUT /v1/score HTTP/1.1\r\n{AUTH}"), b"{}"),
        request("GET /healthz HTTP/1.1\r\norigin: http://evil.example\r\n", b""),
        request(&format!("POST /v1/score HTTP/1.1\r\n{AUTH}"), b"[1"),
    ];
    let mut client = served.connect();
    for index in 0..9_000 {
        client.send(&wrong[index % wrong.len()]);
        let status = client.reply().unwrap().status;
        assert!((400..500).contains(&status), "{status}");
    }
    for _ in 0..1_000 {
        let mut client = served.connect();
        client.send(b"nonsense\r\n\r\n");
        client.reply().unwrap().error(400);
    }
    assert_eq!(served.ask("GET /healthz HTTP/1.1", b"").status, 200);
    let left = std::iter::repeat_with(|| std::thread::sleep(Duration::from_millis(50))).take(60);
    assert!(
        left.into_iter().any(|()| descriptors() <= before + 20),
        "{} descriptors are left open",
        descriptors()
    );
}

/// Descriptors of this process; other tests open some too.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

#[test]
fn clients_beyond_the_limit_are_turned_away_with_an_answer() {
    let served = Setup::default().changed(|settings| settings.limits.connections = 3).start();
    let mut held: Vec<Client> = (0..3).map(|_| served.connect()).collect();
    for client in &mut held {
        client.send(&request("GET /healthz HTTP/1.1", b""));
        assert_eq!(client.reply().unwrap().status, 200);
        // The next request has begun, and its body is on the way.
        client.send(&request(&format!("POST /v1/score HTTP/1.1\r\ncontent-length: 10\r\n{AUTH}"), b""));
    }
    std::thread::sleep(Duration::from_millis(500));
    let mut late = served.connect();
    let reply = late.reply().unwrap();
    reply.error(503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(served.ask("GET /healthz HTTP/1.1", b"").status, 200);
}
