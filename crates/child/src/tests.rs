//! Children that hang, crash, shout, breed and do not listen.

use super::*;
use std::io::Read;
use std::sync::Arc;

fn shell(script: &str, limit: Duration) -> ChildCommand {
    let args = ["-c", script].map(OsString::from).to_vec();
    ChildCommand { program: PathBuf::from("/bin/sh"), args, limit, ..ChildCommand::default() }
}

fn run_shell(script: &str) -> Result<Finished, RunError> {
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
    let code = run_shell("kill -SEGV $$").unwrap().code;
    assert_eq!(code, -11);
    assert_eq!(describe_end(code), "was killed by signal 11");
    assert_eq!(describe_end(3), "ended with exit code 3");
}

#[test]
fn endless_output_is_drained_and_cut() {
    let finished = run_shell("head -c 5000000 /dev/zero; echo end").unwrap();
    assert_eq!(finished.stdout.len(), drain::TAIL_BYTES);
    assert!(finished.stdout.ends_with("end\n"));
}

#[test]
fn one_that_hangs_and_ignores_signals_ends_at_the_limit() {
    let started = Instant::now();
    let command = shell("trap '' TERM INT HUP; while :; do sleep 0.1; done", Duration::from_millis(200));
    assert!(matches!(run(&command, || false, || {}), Err(RunError::TimedOut)));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn grandchildren_end_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 60 & echo $! > {}; wait", file.display());
    let bred = || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'));
    let run = run(&shell(&script, Duration::from_secs(20)), bred, || {});
    assert!(matches!(run, Err(RunError::Cancelled)));
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

/// Runs itself once more with secrets in its environment, where its own children must not find them.
#[test]
fn only_listed_variables_are_inherited() {
    let secrets = ["VMAFX_MCP_HTTP_TOKEN", "AWS_SECRET_ACCESS_KEY", "VISUS_TEST_SECRET"];
    if std::env::var_os(secrets[2]).is_some() {
        let seen = run_shell("env").unwrap().stdout;
        assert!(secrets.iter().all(|name| !seen.contains(name)), "{seen}");
        assert!(seen.contains("VISUS_TEST_MARK=kept") && seen.contains("PATH="), "{seen}");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let again = Command::new(this)
        .args(["--exact", "tests::only_listed_variables_are_inherited"])
        .envs(secrets.map(|name| (name, "x")))
        .envs([(FURTHER_ENVIRONMENT, "VISUS_TEST_MARK, ,a=b"), ("VISUS_TEST_MARK", "kept")])
        .output();
    let again = again.unwrap();
    assert!(
        again.status.success() && String::from_utf8_lossy(&again.stdout).contains("1 passed"),
        "{again:?}"
    );
}

#[test]
fn what_is_not_there_cannot_start() {
    let command = ChildCommand { program: "/nonexistent/vmaf".into(), ..shell("", Duration::from_secs(1)) };
    assert!(matches!(run(&command, || false, || {}), Err(RunError::Start(_))));
}

fn stream(script: &str, silence: Duration) -> Stream {
    Stream::start(&shell(script, silence), || false).unwrap()
}

#[test]
fn a_stream_ends_at_its_total_however_much_it_says() {
    let command = shell("while :; do echo a; done", Duration::from_secs(20));
    let command = ChildCommand { total: Some(Duration::from_millis(300)), ..command };
    let mut child = Stream::start(&command, || false).unwrap();
    let error = io::copy(&mut child, &mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
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
    let pid = child.stderr().text();
    drop(child);
    assert!(ends_soon(&pid));
}

#[test]
fn a_cancelled_read_ends_at_once_and_the_child_with_it() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fired = Arc::new(AtomicBool::new(false));
    let look = Arc::clone(&fired);
    let command = shell("echo $$ >&2; sleep 60 & wait", Duration::from_secs(50));
    let mut child = Stream::start(&command, move || look.load(Ordering::Relaxed)).unwrap();
    let stderr = child.stderr();
    while stderr.is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    fired.store(true, Ordering::Relaxed);
    let error = child.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    drop(child);
    assert!(ends_soon(&stderr.text()));
}
