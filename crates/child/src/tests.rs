//! Children that hang, crash, shout, breed and do not listen.

use super::*;

fn shell(script: &str, limit: Duration) -> Errand {
    let args = ["-c", script].map(OsString::from).to_vec();
    Errand { program: PathBuf::from("/bin/sh"), args, limit, launcher: None }
}

fn run_shell(script: &str) -> Result<Finished, Broken> {
    run(&shell(script, Duration::from_secs(20)), || false, || {})
}

fn alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

/// A killed process takes a moment to go.
fn ends_soon(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(1);
    while alive(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    !alive(pid)
}

#[test]
fn code_and_output_come_back() {
    let finished = run_shell("echo out; echo err >&2; exit 7").unwrap();
    assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.as_str()), (7, "out\n", "err\n"));
}

#[test]
fn a_signal_is_a_negative_code() {
    assert_eq!(run_shell("kill -SEGV $$").unwrap().code, -11);
}

#[test]
fn endless_output_is_drained_and_cut() {
    let finished = run_shell("head -c 5000000 /dev/zero; echo end").unwrap();
    assert_eq!(finished.stdout.len(), TAIL);
    assert!(finished.stdout.ends_with("end\n"));
}

#[test]
fn one_that_hangs_and_ignores_signals_ends_at_the_limit() {
    let started = Instant::now();
    let errand = shell("trap '' TERM INT HUP; while :; do sleep 0.1; done", Duration::from_millis(200));
    assert!(matches!(run(&errand, || false, || {}), Err(Broken::TimedOut)));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn grandchildren_end_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 60 & echo $! > {}; wait", file.display());
    let bred = || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'));
    let run = run(&shell(&script, Duration::from_secs(20)), bred, || {});
    assert!(matches!(run, Err(Broken::Cancelled)));
    let pid = std::fs::read_to_string(&file).unwrap();
    assert!(ends_soon(&pid));
}

#[test]
fn one_left_behind_by_a_child_that_exits_holds_nobody_up() {
    let started = Instant::now();
    let finished = run_shell("sleep 60 & echo $!").unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(ends_soon(&finished.stdout));
}

#[test]
fn secrets_are_not_inherited() {
    let finished = run_shell("env").unwrap();
    assert!(!finished.stdout.contains("VMAFX_MCP_HTTP_TOKEN"));
}

#[test]
fn what_is_not_there_cannot_start() {
    let errand = Errand { program: "/nonexistent/vmaf".into(), ..shell("", Duration::from_secs(1)) };
    assert!(matches!(run(&errand, || false, || {}), Err(Broken::Start(_))));
}
