//! Callers that leave take their work along.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, command, until};
use super::clips::{Clips, endless, with};

/// The promise is a second; the rest is for machines that do other things as well.
const SECOND: Duration = Duration::from_secs(10);

fn wait_until_running(client: &mut Client) {
    assert!(until(Duration::from_secs(20), || {
        client.data("list_jobs", json!({}))["jobs"][0]["status"] == "running"
    }));
}

#[test]
fn a_cancelled_call_ends_within_a_second() {
    let clips = Clips::new(1);
    let arguments = endless(&clips);
    let mut client = Client::open(command(&clips.folder));
    for tool in ["vmaf_score", "run_benchmark"] {
        let arguments = if tool == "vmaf_score" { arguments.clone() } else { json!({}) };
        let id = client.send("tools/call", json!({ "name": tool, "arguments": arguments }));
        let job = || json!({});
        let newest =
            |client: &mut Client| client.data("list_jobs", job())["jobs"].as_array().unwrap().last().cloned();
        assert!(until(Duration::from_secs(20), || {
            newest(&mut client).is_some_and(|job| job["tool"] == tool && job["status"] == "running")
        }));
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        assert!(
            until(SECOND, || newest(&mut client).is_some_and(|job| job["status"] == "cancelled")),
            "{tool}"
        );
    }
    assert!(client.notifications.is_empty(), "nobody asked for progress");
}

#[test]
fn a_job_in_the_background_is_cancelled_by_its_tool() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    let begun = client.data("vmaf_score", with(endless(&clips), json!({ "background": true })));
    wait_until_running(&mut client);
    client.data("cancel_job", json!({ "job_id": begun["job_id"] }));
    assert!(until(SECOND, || {
        client.data("get_job", json!({ "job_id": begun["job_id"] }))["status"] == "cancelled"
    }));
}

#[test]
fn the_end_of_the_input_ends_the_work_and_the_process() {
    let clips = Clips::new(1);
    for background in [false, true] {
        let mut client = Client::open(command(&clips.folder));
        let arguments = with(endless(&clips), json!({ "background": background }));
        client.send("tools/call", json!({ "name": "vmaf_score", "arguments": arguments }));
        wait_until_running(&mut client);
        client.close_input();
        assert!(client.exits_within(SECOND));
        assert!(client.child.wait().unwrap().success());
    }
}

#[test]
fn progress_is_told_to_those_who_ask() {
    let clips = Clips::new(1);
    let arguments = with(endless(&clips), json!({ "frame_cnt": 300, "threads": 1 }));
    let mut client = Client::open(command(&clips.folder));
    let call = json!({ "name": "vmaf_score", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let started = Instant::now();
    let id = client.send("tools/call", call);
    let response = client.response(id);
    assert_eq!(response["result"]["isError"], json!(false));
    let told: Vec<f64> = client
        .notifications
        .iter()
        .map(|message| {
            assert_eq!(
                (&message["method"], &message["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!("p"))
            );
            assert_eq!(message["params"]["total"], json!(300.0));
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(!told.is_empty() && told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
    assert!(told.len() as f64 <= 2.0 * started.elapsed().as_secs_f64() + 2.0, "{told:?}");
}

#[test]
fn other_calls_are_answered_while_all_slots_are_busy() {
    let clips = Clips::new(1);
    let mut command = command(&clips.folder);
    command.env("VMAF_MCP_MAX_CONCURRENT", "1").env("VISUS_MAX_QUEUE", "1");
    let mut client = Client::open(command);
    let arguments = with(endless(&clips), json!({ "background": true, "threads": 1 }));
    for _ in 0..2 {
        client.data("vmaf_score", arguments.clone());
    }
    wait_until_running(&mut client);
    let started = Instant::now();
    let failure = client.failure("vmaf_score", arguments);
    assert!(failure.starts_with("the server is busy: 1 jobs run and 1 wait; come back in "), "{failure}");
    client.request("tools/list", json!({}));
    client.request("ping", json!({}));
    client.data("list_backends", json!({}));
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
}

#[test]
fn a_thousand_cancelled_calls_leave_nothing_open() {
    let clips = Clips::new(1);
    let arguments = with(endless(&clips), json!({ "threads": 1 }));
    let mut client = Client::open(command(&clips.folder));
    client.data("vmaf_score", clips.y4m());
    let descriptors = |client: &Client| {
        std::fs::read_dir(format!("/proc/{}/fd", client.child.id())).map_or(0, Iterator::count)
    };
    let before = descriptors(&client);
    for _ in 0..100 {
        let ids: Vec<u64> = (0..10)
            .map(|_| client.send("tools/call", json!({ "name": "vmaf_score", "arguments": arguments })))
            .collect();
        for id in ids {
            client.notify("notifications/cancelled", json!({ "requestId": id }));
        }
    }
    assert!(until(Duration::from_secs(20), || {
        let list = client.data("list_jobs", json!({}));
        list["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|job| job["status"] != "running" && job["status"] != "queued")
    }));
    assert!(until(SECOND, || descriptors(&client) <= before + 2), "{before} {}", descriptors(&client));
}
