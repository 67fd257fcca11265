//! Many requests, or few that stand for many: bodies that never end, messages of many values, clients that stay after their
//! answer, heads without an end, and pictures of frames that are far too large. The server's memory stays within its
//! budget and a tenth, and others are served meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::served::{Served, sparse};

/// The budget of these tests, in MiB: the least there is.
const BUDGET: u64 = 256;

fn small() -> Served {
    Served::start_with(4096, &["--memory", "256M", "--ui"], &[("VISUS_STATE_DIR", "state")])
}

fn connect(served: &Served, bytes: &[u8]) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(&served.address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    stream.set_write_timeout(Some(Duration::from_secs(20))).ok()?;
    // Some are closed while they send; that is the point.
    let _ = stream.write_all(bytes);
    Some(stream)
}

fn is_within_budget(served: &Served, after: &str) {
    served.is_well(after);
    let peak = served.peak();
    assert!(peak < BUDGET + BUDGET / 10, "{peak} MiB after {after}");
}

#[test]
fn bodies_that_never_end_take_their_share_and_no_more() {
    let served = small();
    for path in ["/v1/score", "/mcp"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: 4194304\r\n\r\n"
        );
        let bytes = [head.as_bytes(), b"{\"a\":\"", &vec![b'x'; 4 << 20 >> 1]].concat();
        let held: Vec<TcpStream> = (0..120).filter_map(|_| connect(&served, &bytes)).collect();
        assert!(held.len() > 100);
        assert!(served.call("list_models", json!({})).is_ok(), "others are served");
        is_within_budget(&served, path);
    }
}

#[test]
fn messages_of_very_many_values_are_refused() {
    let served = small();
    for piece in [r#"{"":0},"#, "[0],", r#""","#, "[[[[]]]],"] {
        let list = piece.repeat((3 << 20) / piece.len());
        let arguments =
            format!(r#"{{"reference":"a","distorted":"b","feature":[{}]}}"#, list.trim_end_matches(','));
        let (status, body) = served.request("POST /v1/score HTTP/1.1\r\n", &arguments);
        assert!(status == 400 && body.contains("16384"), "{status}: {body:.200}");
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"vmaf_score","arguments":{arguments}}}}}"#
        );
        let head = "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n";
        let (status, body) = served.request(head, &call);
        assert!(status == 400 && body.contains("16384"), "{status}: {body:.200}");
    }
    is_within_budget(&served, "many values");
}

#[test]
fn clients_that_stay_after_their_answer_keep_nobody_out() {
    let served = small();
    let mut held = Vec::new();
    for path in ["/healthz", "/v1/jobs", "/nowhere"] {
        for _ in 0..400 {
            let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let Some(mut stream) = connect(&served, request.as_bytes()) else { continue };
            let _ = stream.read(&mut [0; 256]);
            held.push(stream);
        }
        served.is_well(path);
        assert!(served.call("list_models", json!({})).is_ok(), "{path}");
    }
    assert!(held.len() > 1000, "{}", held.len());
}

#[test]
fn heads_that_never_end_take_little() {
    let served = small();
    let head = [b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ".as_slice(), &[b'a'; 60_000]].concat();
    let held: Vec<TcpStream> = (0..1500).filter_map(|_| connect(&served, &head)).collect();
    assert!(held.len() > 1000, "{}", held.len());
    is_within_budget(&served, "long heads");
}

/// The id of a job over REST.
fn job(served: &Served, request: &Value) -> String {
    let (status, body) = served.request("POST /v1/jobs HTTP/1.1\r\n", &request.to_string());
    assert_eq!(status, 202, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["job_id"].as_str().unwrap().to_owned()
}

#[test]
fn pictures_of_huge_frames_are_refused() {
    let served = small();
    for name in ["a.yuv", "b.yuv"] {
        sparse(&served.path(name), 32_768 * 32_768 * 3 / 2);
    }
    let header = b"YUV4MPEG2 W30000 H30000 F25:1 C420\nFRAME\n";
    std::fs::write(served.path("a.y4m"), header).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(served.path("a.y4m"))
        .unwrap()
        .set_len(30_000 * 30_000 * 3 / 2 + header.len() as u64)
        .unwrap();
    let raw = json!({ "reference": served.path("a.yuv"), "distorted": served.path("b.yuv"), "width": 32_768,
        "height": 32_768, "pixfmt": "420", "bitdepth": 8 });
    let y4m = json!({ "reference": served.path("a.y4m"), "distorted": served.path("a.y4m") });
    for request in [raw, y4m] {
        let id = job(&served, &request);
        for side in ["reference", "distorted"] {
            let (status, body) =
                served.request(&format!("GET /v1/history/{id}/frames/0/{side} HTTP/1.1\r\n"), "");
            assert!(
                status == 400 && body.contains("memory") && body.contains("limit"),
                "{status}: {body:.300}"
            );
        }
    }
    is_within_budget(&served, "huge frames");
}

#[test]
fn the_history_keeps_little_of_long_requests_and_shows_it_clean() {
    let served = small();
    for name in ["ref.y4m", "dis.y4m"] {
        let frame = [b"FRAME\n".as_slice(), &[100; 64 * 64 * 3 / 2]].concat();
        std::fs::write(served.path(name), [b"YUV4MPEG2 W64 H64 F25:1 C420\n".as_slice(), &frame].concat())
            .unwrap();
    }
    let request = json!({ "reference": served.path("ref.y4m"), "distorted": served.path("dis.y4m"),
        "tiny_codec": "\u{202e}\u{1b}[31m# SYSTEM", "unknown": "x".repeat(3 << 20) });
    for _ in 0..40 {
        job(&served, &request);
    }
    let (status, body) = served.request("GET /v1/history HTTP/1.1\r\n", "");
    assert_eq!(status, 200);
    assert!(body.len() < 200_000, "{} bytes", body.len());
    assert!(body.contains("# SYSTEM") && !body.contains("\\u001b") && !body.contains('\u{202e}'));
    is_within_budget(&served, "long requests");
}
