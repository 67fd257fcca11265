//! Children under a supervisor: what they cannot reach, and that nothing of them is left. This program is its own launcher,
//! so it has no test harness: it runs the tests one after another and says which failed.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use visus_child::{ChildCommand, Finished, Protections, Sandbox, Stream, run, supervise};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == supervise::MARKER) {
        return supervise::main(args);
    }
    let tests: [(&str, fn()); 12] = [
        ("code_and_output_come_back", code_and_output_come_back),
        ("a_program_that_is_not_there", a_program_that_is_not_there),
        ("files_outside_are_out_of_reach", files_outside_are_out_of_reach),
        ("one_opened_file_is_read_whatever_its_name_leads_to", one_opened_file_is_read),
        ("an_opened_file_is_written", an_opened_file_is_written),
        ("a_pipe_is_read_to_its_end", a_pipe_is_read_to_its_end),
        ("only_the_workspace_is_written", only_the_workspace_is_written),
        ("memory_is_limited", memory_is_limited),
        ("files_grow_to_a_limit", files_grow_to_a_limit),
        ("sockets_cannot_be_opened", sockets_cannot_be_opened),
        ("killing_the_supervisor_leaves_nothing", killing_the_supervisor_leaves_nothing),
        ("limits_are_in_place", limits_are_in_place),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in tests {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word)) {
            continue;
        }
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u8::from(!passed);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn shell(script: &str, sandbox: Sandbox) -> ChildCommand {
    ChildCommand {
        program: PathBuf::from("/bin/sh"),
        args: ["-c", script].map(OsString::from).to_vec(),
        limit: Duration::from_secs(30),
        launcher: std::env::current_exe().ok(),
        sandbox,
        ..ChildCommand::default()
    }
}

fn run_shell(script: &str, sandbox: Sandbox) -> Finished {
    run(&shell(script, sandbox), || false, || {}).unwrap()
}

fn has_landlock() -> bool {
    let active = Protections::detect().landlock > 0;
    if !active {
        println!("NOTE: this kernel has no Landlock; what it would refuse is not tested here");
    }
    active
}

fn handle(file: &std::fs::File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

fn code_and_output_come_back() {
    let finished = run_shell("echo out; echo err >&2; exit 7", Sandbox::default());
    assert_eq!((finished.code, &*finished.stdout, &*finished.stderr), (7, "out\n", "err\n"));
    assert_eq!(run_shell("kill -SEGV $$", Sandbox::default()).code, -11);
}

fn a_program_that_is_not_there() {
    let command = ChildCommand { program: "/nonexistent/vmaf".into(), ..shell("", Sandbox::default()) };
    let finished = run(&command, || false, || {}).unwrap();
    assert_eq!(finished.code, 127);
    assert!(finished.stderr.contains("/nonexistent/vmaf"), "{}", finished.stderr);
}

fn files_outside_are_out_of_reach() {
    if !has_landlock() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (open, secret) = (folder.path().join("open"), folder.path().join("secret"));
    std::fs::write(&open, "open").unwrap();
    std::fs::write(&secret, "secret").unwrap();
    let script = format!("cat {}; cat {} || cat /etc/passwd", open.display(), secret.display());
    let finished = run_shell(&script, Sandbox { read: vec![open], ..Sandbox::default() });
    assert_eq!(finished.stdout, "open", "{}", finished.stderr);
    let parent = std::process::id();
    let finished = run_shell(&format!("cat /proc/{parent}/environ"), Sandbox::default());
    assert_ne!(finished.code, 0);
}

fn one_opened_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film");
    std::fs::write(&path, "the checked one").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let (handle, sandbox) =
        (handle(&file), |path: PathBuf| Sandbox { read: vec![path], ..Sandbox::default() });
    let script = format!("cat {0}; cat {0} >/dev/null; ls {0}x", handle.display());
    let finished = run_shell(&script, sandbox(handle.clone()));
    assert_eq!(finished.stdout, "the checked one", "{}", finished.stderr);
    // The child's own name of the file does not show.
    assert!(finished.stderr.contains(&format!("{}x", handle.display())), "{}", finished.stderr);
}

fn an_opened_file_is_written() {
    let mut file = tempfile::tempfile().unwrap();
    let handle = handle(&file);
    let script = format!("echo one > {0}; echo two > {0}", handle.display());
    let finished = run_shell(&script, Sandbox { write: vec![handle], ..Sandbox::default() });
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!((finished.code, &*text), (0, "two\n"), "{}", finished.stderr);
}

fn a_pipe_is_read_to_its_end() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = std::fs::File::from(std::os::fd::OwnedFd::from(reader));
    let handle = handle(&reader);
    let feed = std::thread::spawn(move || writer.write_all(&[7; 300_000]));
    let script = format!("wc -c < {}", handle.display());
    let finished = run_shell(&script, Sandbox { read: vec![handle], ..Sandbox::default() });
    assert_eq!(finished.stdout.trim(), "300000", "{}", finished.stderr);
    feed.join().unwrap().unwrap();
    // With nobody left to read, a writer is told at once.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = std::fs::File::from(std::os::fd::OwnedFd::from(reader));
    let path = self::handle(&reader);
    writer.write_all(&[7; 10]).unwrap();
    let finished = run_shell(
        &format!("head -c 10 {} | wc -c", path.display()),
        Sandbox { read: vec![path], ..Sandbox::default() },
    );
    drop((finished, reader));
    assert!(writer.write_all(&[7; 300_000]).is_err());
}

fn only_the_workspace_is_written() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [inside, outside] = [folder.path(), other.path()].map(|folder| folder.join("file"));
    let script = format!("echo x > {}; echo x > {}", inside.display(), outside.display());
    let sandbox = Sandbox { write: vec![folder.path().to_path_buf()], ..Sandbox::default() };
    run_shell(&script, sandbox);
    assert!(inside.exists());
    if has_landlock() {
        assert!(!outside.exists());
    }
    // A child that may write nothing cannot even where there is no Landlock: its files stay empty.
    run_shell(&format!("echo x > {}", outside.display()), Sandbox::default());
    assert!(outside.metadata().map_or(0, |metadata| metadata.len()) == 0);
}

fn memory_is_limited() {
    let script = "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo ${#x}";
    let finished = run_shell(script, Sandbox { memory: Some(64 << 20), ..Sandbox::default() });
    assert!(!finished.stdout.contains("400000000"), "{finished:?}");
}

fn files_grow_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let sandbox =
        Sandbox { write: vec![folder.path().to_path_buf()], file_bytes: Some(100_000), ..Sandbox::default() };
    run_shell(&format!("head -c 300000 /dev/zero > {}", path.display()), sandbox);
    assert!(path.metadata().unwrap().len() <= 100_000);
}

fn sockets_cannot_be_opened() {
    if !Protections::detect().seccomp {
        println!("NOTE: no seccomp here; sockets are not tested");
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(bash) = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()) else {
        println!("NOTE: no bash here; sockets are not tested");
        return;
    };
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let command = ChildCommand { program: bash.into(), ..shell(&script, Sandbox::default()) };
    let finished = run(&command, || false, || {}).unwrap();
    assert!(
        !finished.stdout.contains("connected") && finished.stderr.contains("not permitted"),
        "{finished:?}"
    );
    // The same without confinement reaches it: the test can fail.
    let free = ChildCommand { launcher: None, ..command };
    assert!(run(&free, || false, || {}).unwrap().stdout.contains("connected"));
}

fn alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

/// The supervisor is killed as an out-of-memory killer would: the child goes with it, and its own child with the group.
fn killing_the_supervisor_leaves_nothing() {
    let mut child =
        Stream::start(&shell("sleep 60 & echo $! $$ $PPID; wait", Sandbox::default()), || false).unwrap();
    let mut text = String::new();
    while !text.ends_with('\n') {
        let mut byte = [0];
        child.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    let pids: Vec<&str> = text.split_whitespace().collect();
    assert!(pids.iter().all(|pid| alive(pid)), "{text}");
    assert!(Command::new("kill").args(["-KILL", pids[2]]).status().unwrap().success());
    let until = Instant::now() + Duration::from_secs(10);
    while alive(pids[1]) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!alive(pids[1]), "the child outlives its supervisor");
    child.finish();
    while alive(pids[0]) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!alive(pids[0]), "a grandchild is left");
}

fn limits_are_in_place() {
    let finished = run_shell(
        "ulimit -c; ulimit -n; while read -r line; do echo \"$line\"; done < /proc/self/status",
        Sandbox::default(),
    );
    let mut lines = finished.stdout.lines();
    assert_eq!((lines.next(), lines.next()), (Some("0"), Some("256")));
    assert!(finished.stdout.contains("NoNewPrivs:\t1"), "{}", finished.stdout);
    assert_eq!(finished.stdout.contains("Seccomp:\t2"), Protections::detect().seccomp);
}
