//! A `vmaf` executable as engine: ours, and stand-ins that misbehave.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, VMAF, command, until};
use super::clips::{Clips, with};

/// The promise is a second; the rest is for machines that do other things as well.
const SECOND: Duration = Duration::from_secs(10);

fn with_binary(clips: &Clips, binary: &Path) -> Command {
    let mut command = command(&clips.folder);
    // Stand-ins leave notes beside themselves, which a real program has no right to.
    command.env("VMAF_BIN", binary).env("VISUS_CHILD_WRITE", &clips.folder);
    command
}

/// A script in place of `vmaf`. It answers `--help`; for a score it runs `body`, with the output's path in `$out`.
fn stand_in(clips: &Clips, body: &str) -> PathBuf {
    let path = clips.folder.join("stand-in");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --help) echo 'usage --no_cuda --precision'; exit 0;; --version) echo fake-1 >&2; exit \
         0;; esac\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n{body}\n"
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Files in the folder for temporary ones.
fn temporary_files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn our_own_vmaf_gives_the_same_scores() {
    let clips = Clips::new(5);
    let mut native = Client::open(command(&clips.folder));
    let mut external = Client::open(with_binary(&clips, Path::new(VMAF)));
    for arguments in [
        with(clips.y4m(), json!({ "detail": "full" })),
        with(clips.raw(), json!({ "detail": "full" })),
        with(
            clips.y4m(),
            json!({ "precision": "max", "subsample": 2, "feature": ["psnr"], "detail": "full" }),
        ),
        with(clips.y4m(), json!({ "detail": "summary", "model": "version=vmaf_v0.6.1neg" })),
    ] {
        let (ours, theirs) =
            (native.data("vmaf_score", arguments.clone()), external.data("vmaf_score", arguments));
        for field in ["frames", "aggregate_metrics", "backend_used", "worst_frames", "frame_count"] {
            assert_eq!(ours.get(field), theirs.get(field), "{field}");
        }
        let mean = |report: &Value| report["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap();
        assert!((mean(&ours) - mean(&theirs)).abs() < 2e-6);
        assert_eq!(theirs["provenance"]["engine"], "external");
        assert_eq!(theirs["provenance"]["version"], ours["provenance"]["version"]);
    }
    let xml = external.data("vmaf_score", with(clips.y4m(), json!({ "output_fmt": "xml" })));
    assert!(xml["output"].as_str().unwrap().starts_with("<VMAF version="));
    let version = external.data("vmaf_version", json!({}));
    assert_eq!(version["binary_path"], VMAF);
    assert!(version["version"].as_str().unwrap().starts_with("visus-"));
    assert_eq!(external.data("list_backends", json!({}))["cuda"], json!(false), "not in this build");
    let probe = external.data("probe_backend", json!({ "backend": "cpu" }));
    assert_eq!(probe["runtime_healthy"], json!(true), "{probe}");
    let bench = external.data("vmaf_bench", json!({ "frames": 2, "resolution": "576x324" }));
    assert_eq!(bench["exit_code"], 0);
}

#[test]
fn a_model_file_is_handed_over_opened() {
    let clips = Clips::new(2);
    let text = visus_engine::model::builtin("vmaf_v0.6.1neg").unwrap().text();
    std::fs::write(clips.folder.join("mine.json"), text.as_bytes()).unwrap();
    let model = format!("path={}:name=mine", clips.path("mine.json"));
    let model = json!({ "model": model, "detail": "full" });
    let mut native = Client::open(command(&clips.folder));
    let mut external = Client::open(with_binary(&clips, Path::new(VMAF)));
    let ours = native.data("vmaf_score", with(clips.y4m(), model.clone()));
    let theirs = external.data("vmaf_score", with(clips.y4m(), model));
    assert!(ours["pooled_metrics"]["mine"]["mean"].is_f64());
    assert_eq!(ours["frames"], theirs["frames"]);
    let hash = |report: &Value| report["provenance"]["models"][0]["sha256"].clone();
    assert!(hash(&ours).is_string());
    assert_eq!(hash(&ours), hash(&theirs));
}

#[test]
fn what_goes_wrong_is_told_and_nothing_stays() {
    let clips = Clips::new(1);
    let temporary = tempfile::tempdir().unwrap();
    for (body, words) in [
        ("echo 'problem reading pictures' >&2; exit 234", "vmaf exited 234: problem reading pictures"),
        ("kill -SEGV $$", "vmaf exited -11: "),
        ("echo garbage > $out", "vmaf output unreadable (disk-full or OOM kill?): "),
        (
            "printf '{\"frames\":[{\"frameNum\":0,' > $out",
            "vmaf output unreadable (disk-full or OOM kill?): ",
        ),
        ("echo '[1]' > $out", "vmaf output is not a JSON object"),
        (":", "vmaf output unreadable (disk-full or OOM kill?): "),
        ("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 3", "vmaf exited 3"),
    ] {
        let binary = stand_in(&clips, body);
        let mut command = with_binary(&clips, &binary);
        command.env("TMPDIR", temporary.path());
        let mut client = Client::open(command);
        let failure = client.failure("vmaf_score", clips.y4m());
        assert!(failure.starts_with(words), "{body}: {failure}");
        assert!(!failure.contains("/proc/"), "{failure}");
        assert_eq!(temporary_files(temporary.path()), 0, "{body}");
    }
}

#[test]
fn a_probe_tells_health_and_backends_are_not_replaced() {
    let clips = Clips::new(1);
    let binary =
        stand_in(&clips, "echo '{\"frames\":[{\"frameNum\":0,\"metrics\":{\"vmaf\":null}}]}' > $out");
    let mut client = Client::open(with_binary(&clips, &binary));
    let backends = client.data("list_backends", json!({}));
    assert_eq!((&backends["cuda"], &backends["hip"]), (&json!(true), &json!(false)));
    let probe = client.data("probe_backend", json!({ "backend": "cuda" }));
    assert_eq!((&probe["compiled_in"], &probe["runtime_healthy"]), (&json!(true), &json!(false)));
    assert_eq!(probe["error"], "vmaf returned exit 0 but score was null");
    let failure = client.failure("vmaf_score", with(clips.y4m(), json!({ "backend": "hip" })));
    assert!(failure.contains("(available: ['cpu', 'cuda'])"), "{failure}");
    assert_eq!(client.data("vmaf_version", json!({}))["version"], "fake-1");
    let mut client = Client::open(with_binary(&clips, Path::new("/nonexistent/vmaf")));
    let version = client.data("vmaf_version", json!({}));
    assert!(version["error"].as_str().unwrap().contains("vmaf binary not found at /nonexistent/vmaf"));
    assert!(client.failure("vmaf_score", clips.y4m()).contains("vmaf binary not found"));
    assert_eq!(client.data("list_backends", json!({}))["cpu"], json!(true));
}

#[test]
fn a_time_limit_holds() {
    let clips = Clips::new(1);
    let binary = stand_in(&clips, "trap '' TERM INT; while :; do sleep 0.05; done");
    let mut command = with_binary(&clips, &binary);
    command.env("VMAF_MCP_SUBPROCESS_TIMEOUT_S", "0.5");
    let mut client = Client::open(command);
    let started = Instant::now();
    let failure = client.failure("vmaf_score", clips.y4m());
    assert_eq!(failure, "subprocess timed out after 0.5s (set VMAF_MCP_SUBPROCESS_TIMEOUT_S to override)");
    assert!(started.elapsed() < SECOND);
}

/// A child that does not listen, its child, and one that left the group.
const BROOD: &str = "trap '' TERM INT HUP; pids=$(dirname $0)/pids; sleep 600 & echo $! > $pids.new; \
                     setsid sh -c \"echo \\$\\$ >> $pids.new; exec sleep 601\" & \
                     while [ $(wc -l < $pids.new) -lt 2 ]; do sleep 0.05; done; echo $$ >> $pids.new; mv $pids.new $pids; while :; do sleep 0.05; done";

fn wait_for_brood(clips: &Clips) -> Vec<String> {
    let file = clips.folder.join("pids");
    assert!(until(Duration::from_secs(20), || file.exists()));
    let pids: Vec<String> = std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    assert!(pids.len() >= 3 && pids.iter().all(|pid| alive(pid)), "{pids:?}");
    pids
}

#[test]
fn no_descendant_survives_whatever_ends_the_call() {
    for how in ["cancel", "eof", "sigterm", "sigkill"] {
        let clips = Clips::new(1);
        let temporary = tempfile::tempdir().unwrap();
        let unique = BROOD.replace("601", &format!("6{}", std::process::id()));
        let binary = stand_in(&clips, &unique);
        let mut command = with_binary(&clips, &binary);
        command.env("TMPDIR", temporary.path());
        let mut client = Client::open(command);
        let id = client.send("tools/call", json!({ "name": "vmaf_score", "arguments": clips.y4m() }));
        let pids = wait_for_brood(&clips);
        match how {
            "cancel" => client.notify("notifications/cancelled", json!({ "requestId": id })),
            "eof" => client.close_input(),
            signal => {
                let signal = if signal == "sigterm" { "-TERM" } else { "-KILL" };
                Command::new("kill").args([signal, &client.child.id().to_string()]).status().unwrap();
            }
        }
        assert!(until(SECOND, || pids.iter().all(|pid| !alive(pid))), "{how}: {pids:?}");
        if how != "cancel" {
            assert!(client.exits_within(2 * SECOND), "{how}");
        }
        assert_eq!(temporary_files(temporary.path()), 0, "{how}");
    }
}

#[test]
fn a_hanging_probe_holds_nobody_up() {
    let clips = Clips::new(1);
    let path = clips.folder.join("hangs");
    std::fs::write(&path, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut client = Client::open(with_binary(&clips, &path));
    let asked: Vec<u64> = (0..20)
        .map(|_| client.send("tools/call", json!({ "name": "list_backends", "arguments": {} })))
        .collect();
    let started = Instant::now();
    client.request("ping", json!({}));
    client.request("tools/list", json!({}));
    // The probes take their five seconds; whoever had to wait for them would too.
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    let mut answers = client.notifications.len();
    while answers < asked.len() {
        let message = client.message().unwrap();
        assert_eq!(
            message["result"]["structuredContent"]["cuda"],
            json!(false),
            "a failed probe is CPU only"
        );
        answers += 1;
    }
    assert!(started.elapsed() < Duration::from_secs(50), "one probe for all: {:?}", started.elapsed());
}
