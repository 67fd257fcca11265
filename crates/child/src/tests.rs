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

/// Runs itself once more with a secret in its environment, where its own children must not find it.
#[test]
fn secrets_are_not_inherited() {
    if std::env::var_os(SECRETS[0]).is_some() {
        assert!(!run_shell("env").unwrap().stdout.contains(SECRETS[0]));
        return;
    }
    let this = std::env::current_exe().unwrap();
    let again = Command::new(this)
        .args(["--exact", "tests::secrets_are_not_inherited"])
        .env(SECRETS[0], "x")
        .output();
    let again = again.unwrap();
    assert!(
        again.status.success() && String::from_utf8_lossy(&again.stdout).contains("1 passed"),
        "{again:?}"
    );
}

#[test]
fn what_is_not_there_cannot_start() {
    let errand = Errand { program: "/nonexistent/vmaf".into(), ..shell("", Duration::from_secs(1)) };
    assert!(matches!(run(&errand, || false, || {}), Err(Broken::Start(_))));
}

fn stream(script: &str, silence: Duration) -> Stream {
    Stream::start(&shell(script, silence), || false).unwrap()
}

#[test]
fn output_is_read_while_it_is_made() {
    let mut child = stream("head -c 3000000 /dev/zero; echo oops >&2; exit 3", Duration::from_secs(20));
    let mut bytes = Vec::new();
    child.read_to_end(&mut bytes).unwrap();
    let finished = child.finish();
    assert_eq!((bytes.len(), finished.code, finished.stderr.as_str()), (3_000_000, 3, "oops\n"));
}

#[test]
fn a_silent_child_ends_at_the_limit() {
    let mut child = stream("echo a; echo $$ >&2; sleep 60", Duration::from_millis(300));
    let mut bytes = Vec::new();
    let error = child.read_to_end(&mut bytes).unwrap_err();
    assert_eq!((bytes.as_slice(), error.kind()), (&b"a\n"[..], io::ErrorKind::TimedOut));
    let pid = child.words().text();
    drop(child);
    assert!(ends_soon(&pid));
}

#[test]
fn a_cancelled_read_ends_at_once_and_the_child_with_it() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fired = Arc::new(AtomicBool::new(false));
    let look = Arc::clone(&fired);
    let errand = shell("echo $$ >&2; sleep 60 & wait", Duration::from_secs(50));
    let mut child = Stream::start(&errand, move || look.load(Ordering::Relaxed)).unwrap();
    let words = child.words();
    while words.is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    fired.store(true, Ordering::Relaxed);
    let error = child.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    drop(child);
    assert!(ends_soon(&words.text()));
}
