//! Every long tool, and every way in which a client can leave it: no process and no file is left.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, command, until};
use super::clips::{Clips, endless};

/// Marks a server and all that descends from it.
const MARK: &str = "VISUS_TEST_MARK";

/// Processes that carry a mark, by what they were started with.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let carries = |folder: &Path| {
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let words = |folder: std::path::PathBuf| {
        String::from_utf8_lossy(&std::fs::read(folder.join("cmdline")).unwrap_or_default()).replace('\0', " ")
    };
    entries.filter(|folder| carries(folder)).map(words).collect()
}

fn long_film(clips: &Clips) -> String {
    let path = clips.path("long.mp4");
    let source = "testsrc2=s=640x360:d=120,noise=alls=20:allf=t";
    let run = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source])
        .args(["-c:v", "libx264", "-preset", "ultrafast", "-crf", "30", &path])
        .status();
    assert!(run.expect("this test needs ffmpeg: install it (Debian: apt-get install ffmpeg)").success());
    path
}

/// The long tools, with arguments that keep them busy for much longer than a test.
fn long_calls(clips: &Clips) -> Vec<(&'static str, Value)> {
    let film = long_film(clips);
    let raw = endless(clips);
    let bench = json!({ "resolution": "3840x2160", "frames": 48 });
    let ladder = json!({ "src": film, "resolutions": "640x360,320x180", "target_vmafs": "95,90" });
    vec![
        ("vmaf_score", raw.clone()),
        (
            "vmaf_score_encoded",
            json!({ "reference_encoded": film, "distorted_encoded": film, "feature": ["ssimulacra2"] }),
        ),
        ("describe_worst_frames", raw),
        ("run_benchmark", json!({})),
        ("vmaf_bench", bench),
        ("run_compare", json!({ "src": film, "target_vmaf": 90, "encoders": "libx264" })),
        ("run_ladder", ladder),
        ("run_tune_per_shot", json!({ "src": film })),
    ]
}

#[test]
fn nothing_is_left_of_any_tool_however_its_client_leaves() {
    let clips = Clips::new(1);
    let calls = long_calls(&clips);
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        for how in ["cancel", "eof", "TERM", "KILL"] {
            let (temporary, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let mark = format!("{}-{number}-{how}", std::process::id());
            let mut command = command(&clips.folder);
            command
                .env(MARK, &mark)
                .env("VISUS_CHILD_ENV", MARK)
                .env("TMPDIR", temporary.path())
                .env("VISUS_CACHE_DIR", cache.path());
            let mut client = Client::open(command);
            let id = client.send("tools/call", json!({ "name": tool, "arguments": arguments }));
            let running =
                |client: &mut Client| client.data("list_jobs", json!({}))["jobs"][0]["status"] == "running";
            assert!(until(Duration::from_secs(30), || running(&mut client)), "{tool} starts");
            std::thread::sleep(Duration::from_millis(300));
            match how {
                "cancel" => client.notify("notifications/cancelled", json!({ "requestId": id })),
                "eof" => client.close_input(),
                signal => {
                    let kill = ["-s", signal, &client.child.id().to_string()].map(str::to_owned);
                    assert!(Command::new("kill").args(kill).status().unwrap().success());
                }
            }
            let left = if how == "cancel" { 1 } else { 0 };
            // A process that is gone and not waited for shows no environment.
            let alone = || marked(&mark).len() == left;
            assert!(until(Duration::from_secs(10), alone), "{tool}, {how}: {:?}", marked(&mark));
            let files = || {
                std::fs::read_dir(temporary.path())
                    .unwrap()
                    .flatten()
                    .map(|entry| entry.path())
                    .collect::<Vec<_>>()
            };
            assert!(until(Duration::from_secs(10), || files().is_empty()), "{tool}, {how}: {:?}", files());
        }
    }
}

/// A server over HTTP, killed if a test leaves it.
struct Served {
    child: std::process::Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(clips: &Clips, mark: &str, temporary: &Path, cache: &Path) -> Self {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new(super::client::VISUS);
        command.args(["serve", "--port", "0", "--toolset", "all", "--allow"]).arg(&clips.folder);
        command.env_remove("VMAF_BIN").env_remove("VMAFX_PORT").env("VMAFX_MCP_HTTP_NO_AUTH", "1");
        command
            .env(MARK, mark)
            .env("VISUS_CHILD_ENV", MARK)
            .env("TMPDIR", temporary)
            .env("VISUS_CACHE_DIR", cache);
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        // Nobody reads the rest; a full pipe would hold the server up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: first["address"].as_str().unwrap().to_owned() }
    }

    fn send(&self, head: &str, body: &str) -> std::net::TcpStream {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        let head =
            format!("{head}host: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    /// The status of the only job there is.
    fn job(&self) -> String {
        use std::io::Read;
        let mut answer = String::new();
        self.send("GET /v1/jobs HTTP/1.1\r\n", "").read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let jobs: Value = serde_json::from_str(body).unwrap_or_default();
        jobs["jobs"][0]["status"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn a_dropped_connection_takes_any_tool_along() {
    let clips = Clips::new(1);
    for (number, (tool, arguments)) in long_calls(&clips).iter().enumerate() {
        let (temporary, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mark = format!("{}-http-{number}", std::process::id());
        let served = Served::start(&clips, &mark, temporary.path(), cache.path());
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let head = "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n";
        let connection = served.send(head, &message.to_string());
        assert!(
            until(Duration::from_secs(30), || served.job() == "running"),
            "{tool} starts: {}",
            served.job()
        );
        std::thread::sleep(Duration::from_millis(300));
        drop(connection);
        assert!(until(Duration::from_secs(10), || served.job() == "cancelled"), "{tool}: {}", served.job());
        assert!(until(Duration::from_secs(10), || marked(&mark).len() == 1), "{tool}: {:?}", marked(&mark));
        let empty = || std::fs::read_dir(temporary.path()).unwrap().next().is_none();
        assert!(until(Duration::from_secs(10), empty), "{tool}: files are left");
    }
}
