//! `/v1/score` and `/v1/jobs`, with real clips.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Source, write_y4m};

use super::life::soon;
use super::*;

/// A folder with two small clips that may be named, as Y4M and as raw video.
pub struct Clips {
    folder: tempfile::TempDir,
    pub served: Served,
}

impl Clips {
    pub fn new(frames: u64) -> Self {
        Self::with(Format::new(96, 64, Chroma::C420, 8).unwrap(), frames, |setup| setup)
    }

    /// With a server that differs from the plain one.
    pub fn changed(frames: u64, change: impl FnOnce(Setup) -> Setup) -> Self {
        Self::with(Format::new(96, 64, Chroma::C420, 8).unwrap(), frames, change)
    }

    fn with(format: Format, frames: u64, change: impl FnOnce(Setup) -> Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reference = Clip::scene(format, frames, 3);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 30 });
        for (name, clip) in [("ref", &reference), ("dis", &distorted)] {
            let file = std::fs::File::create(folder.path().join(format!("{name}.y4m"))).unwrap();
            write_y4m(file, clip.format(), (25, 1), clip.frames()).unwrap();
        }
        let mut setup = change(Setup::default());
        setup.variables.push(("VMAF_MCP_ALLOW", folder.path().to_string_lossy().into_owned()));
        let served = setup.start();
        Self { folder, served }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn body(&self, more: &[(&str, Value)]) -> String {
        let mut body = json!({ "reference": self.path("ref.y4m"), "distorted": self.path("dis.y4m") });
        for (name, value) in more {
            body[*name] = value.clone();
        }
        body.to_string()
    }

    fn score(&self, more: &[(&str, Value)]) -> Reply {
        self.served.post("/v1/score", &self.body(more))
    }

    #[track_caller]
    fn refused(&self, more: &[(&str, Value)], text: &str) {
        assert_eq!(self.score(more).error(400), text);
    }
}

#[test]
fn a_report() {
    let clips = Clips::new(3);
    let reply = clips.score(&[]);
    assert_eq!(reply.status, 200);
    let report = reply.checked();
    assert_eq!(report["frames"].as_array().unwrap().len(), 3);
    assert_eq!(report["backend_requested"], "auto");
    assert_eq!(report["backend_used"], "cpu");
    assert!(report["pooled_metrics"]["vmaf"]["mean"].is_f64());
    let text = String::from_utf8(clips.served.get("/metrics").body).unwrap();
    assert!(
        text.contains("vmaf_scoring_requests_total{endpoint=\"/v1/score\",status=\"200\"} 1\n"),
        "{text}"
    );
    assert!(text.contains("visus_frames_scored_total 3\n"), "{text}");
}

#[test]
fn long_clips_are_reported_in_full_unless_asked_otherwise() {
    let clips = Clips::new(130);
    assert_eq!(clips.score(&[]).json()["frames"].as_array().unwrap().len(), 130);
    assert!(clips.score(&[("detail", json!("summary"))]).json()["verdict"].is_string());
    let csv = clips.score(&[("output_fmt", json!("csv")), ("frame_cnt", json!(1))]).json();
    assert!(csv["format"] == "csv" && csv["output"].is_string(), "{csv}");
}

#[test]
fn bodies_that_are_no_objects() {
    let clips = Clips::new(1);
    let refused = |body: &str| clips.served.post("/v1/score", body).error(400);
    for body in ["", " ", "{", "{\"a\":1}x", "nope", "{'a':1}", "{\"a\":NaN}", "[1,]", "\u{feff}{}"] {
        let error = refused(body);
        assert!(error.starts_with("invalid JSON: "), "{body}: {error}");
    }
    for (body, kind) in [
        ("null", "null"),
        ("7", "number"),
        ("1.5", "number"),
        ("\"x\"", "string"),
        ("true", "bool"),
        ("[{}]", "array"),
    ] {
        let expected = format!("expected JSON object, got {kind}; request body must be a JSON object");
        assert_eq!(refused(body), expected);
    }
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    assert!(refused(&deep).starts_with("invalid JSON: "));
    let nested =
        format!("{{\"reference\":\"a\",\"distorted\":\"b\",\"a\":{}1{}}}", "[".repeat(60), "]".repeat(60));
    assert!(refused(&nested).contains("deeper than 50"));
    let bytes = clips.served.ask(&format!("POST /v1/score HTTP/1.1\r\n{AUTH}"), b"{\"a\":\"\xff\"}");
    assert!(bytes.error(400).starts_with("invalid JSON: "));
}

#[test]
fn missing_and_wrong_fields() {
    let clips = Clips::new(1);
    let refused = |body: Value| clips.served.post("/v1/score", &body.to_string()).error(400);
    let both = "missing required fields: ['reference', 'distorted']";
    assert_eq!(refused(json!({})), both);
    assert_eq!(refused(json!({ "reference": null, "distorted": null })), both);
    assert_eq!(refused(json!({ "reference": "a" })), "missing required field: 'distorted'");
    let raw =
        json!({ "reference": "a.yuv", "distorted": "b.yuv", "height": 4, "pixfmt": "420", "bitdepth": 8 });
    assert_eq!(refused(raw), "missing required field: 'width'");
    clips.refused(&[("width", json!(0))], "invalid width 0: must be an integer >= 1");
    clips.refused(&[("width", json!("8"))], "invalid width '8': must be an integer >= 1");
    clips.refused(&[("pixfmt", json!("411"))], "invalid pixfmt '411': must be one of 420|422|444");
    clips.refused(&[("bitdepth", json!(9))], "invalid bitdepth 9: must be one of 8|10|12|16");
    clips.refused(&[("subsample", json!(0))], "invalid subsample 0: must be an integer >= 1");
    clips.refused(&[("reference", json!(7))], "invalid reference 7: must be a string");
    for (name, value) in [
        ("backend", json!("gpu")),
        ("precision", json!("18")),
        ("model", json!("version=nope")),
        ("feature", json!(["nope"])),
        ("feature", json!("psnr")),
        ("threads", json!(-1)),
        ("output_fmt", json!("yaml")),
        ("detail", json!("some")),
        ("no_reference", json!(true)),
    ] {
        clips.score(&[(name, value)]).error(400);
    }
    let cuda = clips.score(&[("backend", json!("cuda"))]).error(400);
    assert!(cuda.starts_with("backend 'cuda' requested but"), "{cuda}");
}

#[test]
fn paths() {
    let clips = Clips::new(1);
    let with = |path: &str| clips.score(&[("reference", json!(path))]).error(400);
    assert_eq!(
        with("/etc/passwd"),
        "path /etc/passwd not under an allowlisted root; set VMAF_MCP_ALLOW to extend."
    );
    assert_eq!(
        with("/nowhere/x"),
        "path /nowhere/x not under an allowlisted root; set VMAF_MCP_ALLOW to extend."
    );
    let http = with("http://example.com/a.y4m");
    assert_eq!(http, "media path scheme 'http://' is not permitted; only local file paths are accepted.");
    assert!(with("a\0b").contains("null bytes"));
    let absent = clips.path("absent.y4m");
    assert!(with(&absent.to_string_lossy()).contains("absent.y4m"));
    let folder = clips.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let empty = with(&folder.to_string_lossy());
    assert!(empty.contains("picture") || empty.contains("regular file"), "{empty}");
    let model = clips.score(&[("model", json!("path=/etc/passwd"))]).error(400);
    assert!(model.contains("not under an allowlisted root"), "{model}");
}

#[test]
fn a_failed_score_tells_no_paths_of_the_server() {
    let clips = Clips::new(2);
    let file = std::fs::OpenOptions::new().write(true).open(clips.path("dis.y4m")).unwrap();
    file.set_len(file.metadata().unwrap().len() - 100).unwrap();
    let error = clips.score(&[]).error(500);
    assert!(!error.contains(&*clips.folder.path().to_string_lossy()), "{error}");
    let text = String::from_utf8(clips.served.get("/metrics").body).unwrap();
    assert!(text.contains("vmaf_scoring_errors_total 1\n"), "{text}");
}

#[test]
fn chunked_bodies() {
    let clips = Clips::new(1);
    let chunked = |chunks: &[&[u8]]| {
        let mut client = clips.served.connect();
        let head =
            format!("POST /v1/score HTTP/1.1\r\nhost: localhost\r\n{AUTH}transfer-encoding: chunked\r\n\r\n");
        client.send(head.as_bytes());
        for chunk in chunks {
            let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
            // The server may close before all is sent.
            if client.stream.write_all(&framed).is_err() {
                break;
            }
        }
        let _ = client.stream.write_all(b"0\r\n\r\n");
        client.reply().unwrap()
    };
    let body = clips.body(&[]);
    let bytes: Vec<&[u8]> = body.as_bytes().chunks(7).collect();
    assert_eq!(chunked(&bytes).status, 200);
    let mebibyte = vec![b' '; 1 << 20];
    chunked(&[&mebibyte[..]; 5]).error(413);
    chunked(&[&mebibyte[..]; 20]).error(413);
    let exact = [&mebibyte[..], &mebibyte, &mebibyte, &mebibyte[..(1 << 20) - 2], b"{}"];
    assert!(chunked(&exact).error(400).starts_with("missing required fields"));
    chunked(&[b"{"]).error(400);
    let mut client = clips.served.connect();
    let head = format!(
        "POST /v1/score HTTP/1.1\r\nhost: localhost\r\n{AUTH}transfer-encoding: chunked\r\n\r\nnothex\r\n"
    );
    client.send(head.as_bytes());
    client.reply().unwrap().error(400);
}

/// The token comes first when nothing was announced: nobody without it can make the server read much.
#[test]
fn a_long_chunked_body_without_token() {
    let clips = Clips::new(1);
    let mut client = clips.served.connect();
    client.send(b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    for _ in 0..8 {
        if client.stream.write_all(&chunk).is_err() {
            break;
        }
    }
    client.reply().unwrap().error(401);
}

#[test]
fn an_announced_long_body_that_is_sent_anyway_still_gets_its_answer() {
    let clips = Clips::new(1);
    let mut client = clips.served.connect();
    let length = 8 << 20;
    let head =
        format!("POST /v1/score HTTP/1.1\r\nhost: localhost\r\n{AUTH}content-length: {length}\r\n\r\n");
    client.send(head.as_bytes());
    let _ = client.stream.write_all(&vec![b' '; length]);
    client.reply().expect("the answer is not lost").error(413);
}

#[test]
fn slow_and_broken_bodies() {
    let clips = Clips::with(Format::new(96, 64, Chroma::C420, 8).unwrap(), 1, |setup| {
        setup.changed(|settings| settings.limits.body = Duration::from_millis(500))
    });
    let body = clips.body(&[]);
    let head =
        format!("POST /v1/score HTTP/1.1\r\nhost: localhost\r\n{AUTH}content-length: {}\r\n\r\n", body.len());
    let mut slow = clips.served.connect();
    slow.send(head.as_bytes());
    for part in body.as_bytes().chunks(20) {
        slow.send(part);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(slow.reply().unwrap().status, 200);
    let mut stuck = clips.served.connect();
    stuck.send(head.as_bytes());
    stuck.send(b"{");
    stuck.reply().unwrap().error(408);
    let mut half = clips.served.connect();
    half.send(head.as_bytes());
    half.send(b"{");
    half.stream.shutdown(std::net::Shutdown::Write).unwrap();
    half.reply().unwrap().error(400);
}

#[test]
fn half_closed_after_a_small_request_still_gets_the_report() {
    let clips = Clips::new(1);
    let mut client = clips.served.connect();
    client.send(&request(&format!("POST /v1/score HTTP/1.1\r\n{AUTH}"), clips.body(&[]).as_bytes()));
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.reply().unwrap().status, 200);
}

/// Fields that make every frame take its time.
pub fn slow() -> [(&'static str, Value); 2] {
    [
        ("threads", json!(1)),
        ("feature", json!(["ssimulacra2", "cambi", "ciede", "psnr_hvs", "float_ms_ssim"])),
    ]
}

pub fn long() -> Clips {
    Clips::with(Format::new(640, 360, Chroma::C420, 8).unwrap(), 60, |setup| setup)
}

#[test]
fn a_client_that_leaves_takes_its_work_along() {
    let clips = long();
    let jobs = clips.served.core.jobs().clone();
    for pipelined in [false, true] {
        let mut client = clips.served.connect();
        client.send(&request(&format!("POST /v1/score HTTP/1.1\r\n{AUTH}"), clips.body(&slow()).as_bytes()));
        if pipelined {
            client.send(&request("GET /healthz HTTP/1.1", b""));
        }
        soon("the work's start", || jobs.counts().running == 1);
        drop(client);
        let started = Instant::now();
        soon("the work's end", || jobs.counts().running == 0);
        assert!(started.elapsed() < super::PROMPT, "{:?}", started.elapsed());
        assert_eq!(clips.served.newest_job(), "cancelled");
    }
    let text = String::from_utf8(clips.served.get("/metrics").body).unwrap();
    assert!(text.contains("status=\"499\"} 2\n"), "{text}");
}

#[test]
fn background_jobs_outlive_their_client_and_give_every_format() {
    let clips = Clips::new(3);
    for (path, more) in [("/v1/jobs", None), ("/v1/score", Some(("background", json!(true))))] {
        let more: Vec<(&str, Value)> = more.into_iter().collect();
        let reply = clips.served.post(path, &clips.body(&more));
        assert_eq!(reply.status, 202);
        let id = reply.checked()["job_id"].as_str().unwrap().to_owned();
        let place = reply.header("location").unwrap().to_owned();
        assert_eq!(place, format!("/v1/jobs/{id}"));
        soon("the job", || clips.served.get(&place).json()["status"] == "done");
        assert!(clips.served.get(&place).checked()["result"]["pooled_metrics"]["vmaf"].is_object());
        let report = clips.served.get(&format!("{place}/report")).checked();
        assert_eq!(report["frames"].as_array().unwrap().len(), 3);
        let csv = clips.served.get(&format!("{place}/report?format=csv"));
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        assert!(csv.body.starts_with(b"Frame,"), "{}", String::from_utf8_lossy(&csv.body));
        let xml = clips.served.get(&format!("{place}/report?format=xml"));
        assert!(xml.body.starts_with(b"<VMAF version="), "{}", String::from_utf8_lossy(&xml.body));
        let page = clips.served.get(&format!("{place}/report?format=html"));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.header("content-security-policy")
                .is_some_and(|policy| policy.contains("script-src 'sha256-"))
        );
        let text = String::from_utf8_lossy(&page.body);
        assert!(text.starts_with("<!doctype html>") && text.contains("Score over the frames"), "{text}");
        let events = clips.served.get(&format!("{place}/events"));
        assert!(events.body.starts_with(b"event: done\n"));
        let ended = clips.served.ask(&format!("DELETE {place} HTTP/1.1\r\n{AUTH}"), b"");
        assert_eq!(ended.checked()["status"], "done");
    }
}

#[test]
fn a_full_queue_says_when_to_come_back() {
    let clips = Clips::with(Format::new(640, 360, Chroma::C420, 8).unwrap(), 60, |mut setup| {
        setup.variables.push(("VMAF_MCP_MAX_CONCURRENT", "1".to_owned()));
        setup.variables.push(("VISUS_MAX_QUEUE", "1".to_owned()));
        setup
    });
    let jobs = clips.served.core.jobs().clone();
    let body = clips.body(&slow());
    assert_eq!(clips.served.post("/v1/jobs", &body).status, 202);
    soon("the work's start", || jobs.counts().queued == 0);
    assert_eq!(clips.served.post("/v1/jobs", &body).status, 202);
    for path in ["/v1/jobs", "/v1/score"] {
        let reply = clips.served.post(path, &body);
        assert!(reply.error(429).contains("busy"));
        assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    }
}

#[test]
fn two_hundred_callers_none_lost_none_mixed_up() {
    let clips = Clips::new(2);
    std::thread::scope(|scope| {
        for index in 0..200_u64 {
            let clips = &clips;
            scope.spawn(move || {
                let count = 1 + index % 2;
                let more = [("frame_cnt", json!(count)), ("threads", json!(1))];
                let reply = clips.score(&more);
                assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
                assert_eq!(reply.checked()["frame_count"], count);
            });
        }
    });
}
