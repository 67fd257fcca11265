//! The web page and what it asks for: files, history, curves, pictures, comparisons.

use serde_json::json;

use super::score::Clips;
use super::*;
use crate::http::settings::PageSettings;

/// A server with the page, whose history is in a folder.
fn with_page(history: &std::path::Path) -> impl FnOnce(Setup) -> Setup {
    let history = Some(history.to_owned());
    move |setup| setup.changed(move |settings| settings.page = Some(PageSettings { history }))
}

fn job(clips: &Clips) -> String {
    let body = json!({ "reference": clips.path("ref.y4m"), "distorted": clips.path("dis.y4m") });
    let accepted = clips.served.post("/v1/jobs", &body.to_string()).checked();
    accepted["job_id"].as_str().unwrap().to_owned()
}

fn settled(clips: &Clips, id: &str) -> Value {
    loop {
        let found = clips.served.get(&format!("/v1/history/{id}")).checked();
        if !matches!(found["entry"]["status"].as_str(), Some("queued" | "running")) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_needs_no_token_and_is_there_on_request_only() {
    let state = tempfile::tempdir().unwrap();
    let clips = Clips::changed(4, with_page(state.path()));
    for path in ["/", "/ui/main.js", "/ui/style.css"] {
        let reply = clips.served.ask(&format!("GET {path} HTTP/1.1"), b"");
        assert_eq!(reply.status, 200, "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("script-src 'self'") && !policy.contains("inline"), "{policy}");
    }
    assert_eq!(clips.served.ask("GET /ui/../Cargo.toml HTTP/1.1", b"").status, 404);
    assert_eq!(clips.served.ask("GET /v1/history HTTP/1.1", b"").status, 401);
    assert_eq!(clips.served.ask("GET / HTTP/1.1\r\norigin: http://evil.example\r\n", b"").status, 403);
    let plain = Clips::new(4);
    assert_eq!(plain.served.ask("GET / HTTP/1.1", b"").status, 401);
    assert_eq!(plain.served.get("/").status, 404);
    assert!(plain.served.get("/v1/history").error(404).contains("--ui"));
}

#[test]
fn only_allowed_folders_are_listed() {
    let clips = Clips::new(2);
    std::fs::write(clips.path("notes.txt"), "x").unwrap();
    let folder = clips.path("");
    let listed = clips.served.get(&format!("/v1/files?path={}", folder.display())).checked();
    let names: Vec<&str> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dis.y4m", "ref.y4m"]);
    assert_eq!(listed["parent"], Value::Null, "there is no way out of a root");
    let roots = clips.served.get("/v1/files").checked();
    assert!(roots["entries"].as_array().unwrap().iter().any(|entry| entry["kind"] == "folder"));
    for foreign in ["/etc", "/", "/tmp/../etc", "file:///etc"] {
        assert_eq!(clips.served.get(&format!("/v1/files?path={foreign}")).status, 400, "{foreign}");
    }
    let file = clips.path("ref.y4m");
    assert!(clips.served.get(&format!("/v1/files?path={}", file.display())).error(400).contains("no folder"));
}

#[cfg(unix)]
#[test]
fn links_out_of_a_folder_are_not_followed() {
    let clips = Clips::new(2);
    std::os::unix::fs::symlink("/etc", clips.path("out")).unwrap();
    let listed = clips.served.get(&format!("/v1/files?path={}", clips.path("").display())).checked();
    assert!(!listed.to_string().contains("out"), "{listed}");
    assert_eq!(clips.served.get(&format!("/v1/files?path={}", clips.path("out").display())).status, 400);
}

#[test]
fn results_survive_a_restart() {
    let state = tempfile::tempdir().unwrap();
    let clips = Clips::changed(12, with_page(state.path()));
    let id = job(&clips);
    let found = settled(&clips, &id);
    assert_eq!(found["entry"]["status"], "done", "{found}");
    assert_eq!(found["entry"]["frames"], 12);
    assert!(found["result"]["summary"]["pooled_metrics"]["vmaf"]["mean"].is_number());
    let again = Clips::changed(12, with_page(state.path()));
    let listed = again.served.get("/v1/history").checked();
    assert_eq!(listed["entries"][0]["id"], json!(id));
    let curve = again.served.get(&format!("/v1/history/{id}/curve"));
    assert_eq!((curve.status, curve.body.len()), (200, 48));
    let first = f32::from_le_bytes(curve.body[..4].try_into().unwrap());
    let report = again.served.get(&format!("/v1/history/{id}/report")).json();
    let expected = report["frames"][0]["metrics"]["vmaf"].as_f64().unwrap();
    assert!((f64::from(first) - expected).abs() < 1e-4, "{first} {expected}");
    let csv = again.served.get(&format!("/v1/history/{id}/report?format=csv"));
    assert_eq!(String::from_utf8_lossy(&csv.body).lines().count(), 13);
    let page = again.served.get(&format!("/v1/history/{id}/report?format=html"));
    assert!(page.body.starts_with(b"<!doctype html>") && page.header("content-security-policy").is_some());
    assert!(
        again.served.get(&format!("/v1/history/{id}/report?format=xml")).error(400).contains("json|csv|html")
    );
    let gone = again.served.ask(&format!("DELETE /v1/history/{id} HTTP/1.1\r\n{AUTH}"), b"");
    assert_eq!(gone.checked()["removed"], json!(id));
    again.served.get(&format!("/v1/history/{id}")).error(404);
    again.served.get("/v1/history/..%2F..%2Fetc").error(404);
}

#[test]
fn frames_are_shown_until_the_file_changes() {
    let state = tempfile::tempdir().unwrap();
    let clips = Clips::changed(6, with_page(state.path()));
    let id = job(&clips);
    settled(&clips, &id);
    let ask = |frame: &str, side: &str| clips.served.get(&format!("/v1/history/{id}/frames/{frame}/{side}"));
    let picture = ask("3", "reference");
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/png")));
    assert!(picture.body.starts_with(b"\x89PNG"));
    assert_ne!(picture.body, ask("3", "distorted").body);
    assert_ne!(picture.body, ask("4", "reference").body);
    assert_eq!(picture.body, ask("3", "reference").body);
    ask("6", "reference").error(404);
    ask("x", "reference").error(400);
    ask("1", "left").error(400);
    ask("1", "reference?width=4").error(400);
    std::fs::OpenOptions::new().append(true).open(clips.path("ref.y4m")).unwrap().write_all(b"x").unwrap();
    assert!(ask("3", "reference").error(400).contains("has changed since"));
}

#[test]
fn two_entries_are_compared() {
    let state = tempfile::tempdir().unwrap();
    let clips = Clips::changed(24, with_page(state.path()));
    let ids = [job(&clips), job(&clips)];
    ids.iter().for_each(|id| drop(settled(&clips, id)));
    let diff = clips.served.get(&format!("/v1/diff?a={}&b={}", ids[0], ids[1])).checked();
    assert_eq!(diff["models"][0]["change"], json!(0.0), "{diff}");
    assert_eq!(clips.served.get("/v1/diff?a=1").status, 400);
    clips.served.get(&format!("/v1/diff?a={}&b={}", ids[0], "0".repeat(32))).error(404);
    let curve = |scale: f64| {
        json!([1, 2, 3, 4].map(|step| json!({ "kbps": scale * f64::from(step), "quality": 70 + 5 * step })))
    };
    let body = json!({ "anchor": curve(100.0), "test": curve(50.0) });
    let rate = clips.served.post("/v1/bd-rate", &body.to_string()).checked();
    assert!((rate["bd_rate_percent"].as_f64().unwrap() + 50.0).abs() < 1e-6, "{rate}");
    let few = clips.served.post("/v1/bd-rate", r#"{"anchor":[],"test":[]}"#).checked();
    assert!(few["error"].is_string() && few["bd_rate_percent"].is_null(), "{few}");
    assert!(clips.served.post("/v1/bd-rate", r#"{"anchor":[1],"test":[]}"#).error(400).contains("anchor"));
    assert!(clips.served.post("/v1/tools/none", "{}").error(404).contains("run_compare"));
    assert!(clips.served.post("/v1/tools/list_models", "{}").checked()["models"].is_array());
}

/// The events of a job from a place on, as the ids and the scores in them.
fn events(clips: &Clips, id: &str, from: &str) -> Vec<(String, Value)> {
    let head = format!("GET /v1/jobs/{id}/events HTTP/1.1\r\n{AUTH}last-event-id: {from}\r\n");
    let reply = clips.served.ask(&head, b"");
    let text = String::from_utf8(reply.body).unwrap();
    let field = |event: &str, name: &str| {
        event
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::to_owned))
            .unwrap_or_default()
    };
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    events.map(|event| (field(event, "id"), serde_json::from_str(&field(event, "data")).unwrap())).collect()
}

#[test]
fn scores_arrive_while_a_job_runs_and_go_on_where_a_client_was() {
    let clips = Clips::new(300);
    let id = job(&clips);
    let all = events(&clips, &id, "0.0");
    let scores: Vec<u64> =
        all.iter().filter_map(|(_, data)| Some(data["scores"]["values"].as_array()?.len() as u64)).collect();
    let ids: Vec<u64> = all.iter().map(|(id, _)| id.split_once('.').unwrap().0.parse().unwrap()).collect();
    let mut sum = 0;
    let mut next = scores.iter();
    for ((_, data), id) in all.iter().zip(&ids) {
        if let Some(from) = data["scores"]["from"].as_u64() {
            assert_eq!(from, sum, "no score comes twice and none is left out");
            sum += next.next().unwrap();
        }
        assert_eq!(*id, sum);
    }
    assert_eq!(all.last().unwrap().1["status"], "done");
    let late = events(&clips, &id, "100.0");
    assert_eq!(late.len(), 1, "a job that is over says so at once");
}
