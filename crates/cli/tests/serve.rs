//! `visus serve` and `vmaf-mcp --transport http` as processes: start, words on standard error, end.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A server process, killed if a test leaves it.
struct Process {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
    first: Vec<Value>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NAMES: [&str; 9] = [
    "VMAFX_PORT",
    "VMAFX_LOG_LEVEL",
    "VMAFX_MCP_HTTP_BIND",
    "VMAFX_MCP_HTTP_TOKEN",
    "VMAFX_MCP_HTTP_NO_AUTH",
    "VMAFX_MCP_HTTP_TLS_CERT",
    "VMAFX_MCP_HTTP_TLS_KEY",
    "VMAF_MCP_ASYNC",
    "VMAF_BIN",
];

fn command(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    NAMES.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts a server and reads its first lines, as many as `lines`.
fn start(program: &str, arguments: &[&str], variables: &[(&str, &str)], lines: usize) -> Process {
    let mut child = command(program, arguments, variables).spawn().expect("the server starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
    let first: Vec<Value> = (0..lines).map(|_| json_line(&mut stderr)).collect();
    let address = first[0]["address"].as_str().expect("an address").to_owned();
    Process { child, stderr, address, first }
}

fn json_line(stderr: &mut impl BufRead) -> Value {
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

impl Process {
    fn status(&self, path: &str, token: &str) -> u16 {
        let mut stream = TcpStream::connect(&self.address).expect("connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answer");
        answer["HTTP/1.1 ".len()..][..3].parse().expect("status")
    }

    /// Ends it by a signal; its exit code and what else it said.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let code = self.child.wait().expect("the server ends").code();
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("stderr");
        (code, rest)
    }
}

const VISUS: &str = env!("CARGO_BIN_EXE_visus");
const VMAF_MCP: &str = env!("CARGO_BIN_EXE_vmaf-mcp");

#[test]
fn a_token_is_made_up_shown_once_and_needed() {
    let server = start(VISUS, &["serve", "--port", "0"], &[], 2);
    let token = server.first[1]["token"].as_str().expect("a token").to_owned();
    assert_eq!(server.status("/healthz", ""), 200);
    assert_eq!(server.status("/metrics", ""), 401);
    assert_eq!(server.status("/metrics", &token), 200);
    let (code, rest) = server.end("-TERM");
    assert_eq!(code, Some(0));
    assert!(!rest.contains(&token));
    for line in rest.lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert!(line["timestamp"].is_string() && line["level"].is_string() && line["message"].is_string());
    }
    assert!(rest.contains("\"request_id\":\""), "{rest}");
}

#[test]
fn a_configured_token_is_never_shown() {
    let variables =
        [("VMAFX_MCP_HTTP_TOKEN", "hush-hush"), ("VMAFX_LOG_LEVEL", "debug"), ("VMAF_MCP_ASYNC", "0")];
    let server = start(VISUS, &["serve", "--port=0"], &variables, 1);
    assert_eq!(server.status("/metrics", "hush-hush"), 200);
    assert_eq!(server.status("/metrics", "wrong-one"), 401);
    let (code, rest) = server.end("-INT");
    assert_eq!(code, Some(0));
    assert!(!rest.contains("hush-hush") && !rest.contains("wrong-one"), "{rest}");
}

#[test]
fn the_peers_command() {
    let variables = [("VMAFX_MCP_HTTP_NO_AUTH", "1")];
    let server =
        start(VMAF_MCP, &["--transport", "http", "--port", "0", "--log-level", "warning"], &variables, 1);
    assert_eq!(server.status("/metrics", ""), 200);
    assert_eq!(server.end("-TERM"), (Some(0), String::new()));
}

#[test]
fn what_cannot_be_used_is_told_and_nothing_starts() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("address").port().to_string();
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 9] = [
        (&[], &[("VMAFX_PORT", "http")], "VMAFX_PORT 'http'"),
        (&["--port", "70000"], &[], "--port '70000'"),
        (&["--port", &port], &[], "cannot listen on 127.0.0.1:"),
        (&["--bind", "example.com"], &[], "--bind 'example.com'"),
        (&["--bind", "0.0.0.0"], &[], "without a token"),
        (&["--bind", "::"], &[("VMAFX_MCP_HTTP_NO_AUTH", "1")], "without a token"),
        (&[], &[("VMAFX_MCP_HTTP_TLS_CERT", "a.pem")], "VMAFX_MCP_HTTP_TLS_KEY is not"),
        (&[], &[("VMAFX_MCP_HTTP_TLS_CERT", "a.pem"), ("VMAFX_MCP_HTTP_TLS_KEY", "b.pem")], "a.pem"),
        (&[], &[("VMAF_MCP_ASYNC", "uvloop")], "VMAF_MCP_ASYNC='uvloop'"),
    ];
    for (arguments, variables, words) in cases {
        let arguments = [&["serve"], arguments].concat();
        let output = command(VISUS, &arguments, variables).output().expect("visus runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Takes one request as a collector would; its head and body.
#[cfg(feature = "otel")]
fn collected(collector: &std::net::TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = collector.accept().expect("the server calls");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).expect("a line"), 0, "{head}");
    }
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("an answer");
    (head, body)
}

#[cfg(feature = "otel")]
#[test]
fn requests_become_traces_for_a_collector() {
    let collector = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", collector.local_addr().expect("an address"));
    let collector = std::thread::spawn(move || collected(&collector));
    let variables = [("VMAFX_MCP_HTTP_NO_AUTH", "1"), ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let process = start(VISUS, &["serve", "--port", "0"], &variables, 1);
    assert_eq!(process.status("/v1/jobs/none", ""), 404);
    let (code, _) = process.end("-TERM");
    assert_eq!(code, Some(0));
    let (head, body) = collector.join().expect("a collected request");
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("visus") && text.contains("request_id"), "{text}");
}
