//! Busy slots, hanging work, clients that leave, and the end of the server.

use std::time::Instant;

use super::*;
use crate::ToolError;
use crate::jobs::{Context, JobHandle, Owner};

/// Work that goes on until somebody ends it.
fn endless(context: &Context) -> Result<crate::report::Output, ToolError> {
    while !context.cancel.is_fired() {
        context.progress(1, Some(10), "waiting");
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(ToolError::Cancelled)
}

/// Work that is deaf: it ends by itself after a while.
fn deaf(duration: Duration) -> impl FnOnce(&Context) -> Result<crate::report::Output, ToolError> {
    move |_| {
        std::thread::sleep(duration);
        crate::report::Output::of(&serde_json::json!({ "slept": true }))
    }
}

fn endless_job(served: &Served) -> JobHandle {
    served.core.jobs().submit(&Owner::new("http"), "test", Box::new(endless)).unwrap()
}

fn small() -> Setup {
    let mut setup = Setup::default();
    setup.variables.push(("VMAF_MCP_MAX_CONCURRENT", "2".to_owned()));
    setup.variables.push(("VISUS_MAX_QUEUE", "1".to_owned()));
    setup
}

/// Waits until something holds.
#[track_caller]
pub fn soon(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what} takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn probes_answer_while_all_slots_are_busy_and_blocking_threads_hang() {
    let served = small().start();
    let mut held: Vec<JobHandle> = (0..2).map(|_| endless_job(&served)).collect();
    soon("the jobs' start", || served.core.jobs().counts().queued == 0);
    held.push(endless_job(&served));
    let mut waiting = served.connect();
    waiting.send(&request(&format!("GET /v1/jobs/{}/events HTTP/1.1\r\n{AUTH}", held[0].id()), b""));
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let started = Instant::now();
        assert_eq!(served.ask("GET /healthz HTTP/1.1", b"").status, 200);
        slowest = slowest.max(started.elapsed());
    }
    assert!(slowest < super::PROMPT, "{slowest:?}");
    let text = String::from_utf8(served.get("/metrics").body).unwrap();
    assert!(text.contains("visus_jobs_running 2\n") && text.contains("visus_queue_depth 1\n"), "{text}");
}

/// A `vmaf` that never answers `--help`, asked for its backends while all slots are busy.
#[test]
#[cfg(unix)]
fn probes_answer_while_the_binary_hangs() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("vmaf");
    std::fs::write(&binary, "#!/bin/sh\nexec sleep 2\n").unwrap();
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut setup = small();
    setup.variables.push(("VMAF_BIN", binary.to_string_lossy().into_owned()));
    let served = setup.start();
    let _held: Vec<JobHandle> = (0..2).map(|_| endless_job(&served)).collect();
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_backends"}}"#;
    let accept = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let mut asking: Vec<Client> = (0..8).map(|_| served.connect()).collect();
    for client in &mut asking {
        client.send(&request(&format!("POST /mcp HTTP/1.1\r\n{AUTH}{accept}"), message.as_bytes()));
    }
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    for path in ["/healthz", "/readyz", "/v1/jobs", "/metrics"] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    assert!(started.elapsed() < super::PROMPT, "{:?}", started.elapsed());
    for client in &mut asking {
        assert_eq!(client.reply().unwrap().json()["result"]["structuredContent"]["cpu"], true);
    }
    std::fs::remove_file(&binary).unwrap();
    let gone = served.get("/readyz");
    assert_eq!((gone.status, gone.checked()["status"].clone()), (503, "not_ready".into()));
}

#[test]
fn a_job_is_seen_followed_and_ended() {
    let served = small().start();
    let handle = endless_job(&served).detached();
    let path = format!("/v1/jobs/{}", handle.id());
    soon("the job's start", || served.get(&path).json()["status"] == "running");
    let list = served.get("/v1/jobs");
    assert_eq!(list.checked()["jobs"][0]["job_id"], handle.id());
    served.get(&format!("{path}/report")).error(409);
    let mut follower = served.connect();
    follower.send(&request(&format!("GET {path}/events HTTP/1.1\r\n{AUTH}"), b""));
    let head = follower.head().unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert!(head.header("x-request-id").is_some());
    let ended = served.ask(&format!("DELETE {path} HTTP/1.1\r\n{AUTH}"), b"");
    assert_eq!(ended.status, 200);
    ended.checked();
    let events = String::from_utf8(follower.chunks()).unwrap();
    assert!(events.starts_with("event: progress\nid: "), "{events}");
    assert!(events.contains("\ndata: {\"job_id\":"), "{events}");
    assert!(events.contains("event: cancelled\n"), "{events}");
    assert_eq!(served.get(&path).checked()["status"], "cancelled");
}

#[test]
fn results_that_are_no_scores() {
    let served = small().start();
    let work = Box::new(deaf(Duration::ZERO));
    let handle = served.core.jobs().submit(&Owner::new("http"), "test", work).unwrap().detached();
    let path = format!("/v1/jobs/{}", handle.id());
    soon("the job's end", || served.get(&path).json()["status"] == "done");
    assert_eq!(served.get(&path).checked()["result"]["slept"], true);
    assert_eq!(served.get(&format!("{path}/report")).checked()["slept"], true);
    served.get(&format!("{path}/report?format=csv")).error(400);
    served.get(&format!("{path}/report?format=html")).error(400);
    let odd = served.get(&format!("{path}/report?format=pdf")).error(400);
    assert_eq!(odd, "invalid format 'pdf': must be one of json|csv|xml|html");
}

#[test]
fn unknown_jobs_and_those_of_others() {
    let served = small().start();
    let other = served.core.jobs().submit(&Owner::new("someone"), "test", Box::new(endless)).unwrap();
    for id in ["x", "00000000000000000000000000000000", other.id(), "%ff", "a%2fb"] {
        for (method, tail) in [("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/report")] {
            let reply = served.ask(&format!("{method} /v1/jobs/{id}{tail} HTTP/1.1\r\n{AUTH}"), b"");
            let status = if id == "%ff" { 400 } else { 404 };
            reply.error(status);
        }
    }
}

#[test]
fn stopping_waits_for_what_runs_and_then_ends_it() {
    let mut served = small().changed(|settings| settings.limits.drain = Duration::from_millis(400)).start();
    let jobs = served.core.jobs().clone();
    let short = jobs.submit(&Owner::new("http"), "test", Box::new(deaf(Duration::from_millis(200)))).unwrap();
    let long = endless_job(&served);
    let mut idle = served.connect();
    idle.send(&request("GET /readyz HTTP/1.1", b""));
    assert_eq!(idle.reply().unwrap().status, 200);
    let started = Instant::now();
    served.stop();
    served.join();
    assert!(started.elapsed() >= Duration::from_millis(400));
    assert!(matches!(short.status(), crate::jobs::Status::Done(_)));
    assert!(matches!(long.status(), crate::jobs::Status::Cancelled));
    assert!(TcpStream::connect(served.address).is_err());
}

#[test]
fn stopping_with_nothing_to_do_is_quick_and_finishes_answers() {
    let mut served = small().start();
    let mut client = served.connect();
    client.send(b"GET /healthz HTTP/1.1\r\nhost: local");
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    served.stop();
    std::thread::sleep(Duration::from_millis(100));
    client.send(b"host\r\n\r\n");
    let reply = client.reply();
    drop(client);
    served.join();
    assert!(started.elapsed() < super::PROMPT);
    assert!(reply.is_none_or(|reply| reply.status == 200));
}

#[test]
fn while_stopping_nothing_new_is_taken() {
    let mut served = small().start();
    let running = endless_job(&served);
    let path = format!("GET /v1/jobs/{}/events HTTP/1.1\r\n{AUTH}", running.id());
    let mut follower = served.connect();
    follower.send(&request(&path, b""));
    follower.head().unwrap();
    served.stop();
    soon("the port's closing", || TcpStream::connect(served.address).is_err());
    drop(running);
    let events = String::from_utf8(follower.chunks()).unwrap();
    assert!(events.contains("event: cancelled\n"), "{events}");
    served.join();
}
