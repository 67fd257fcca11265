//! The supervisor: a small process between the server and a child, so that no descendant survives.
//!
//! It is our own program, started with [`MARKER`] as its first argument. Its standard input is a pipe that the server
//! holds. When that closes (the work is cancelled, or the server is gone, however it went), the child's whole group is
//! killed. Descendants that left the group are handed to the supervisor by the kernel when their parents die (Linux), and
//! are killed as well. Signals are told as a shell does, 128 and the number.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument that makes our program a supervisor.
pub const MARKER: &str = "__supervise";

/// A program that cannot be started ends like this, as in a shell.
const CANNOT_START: u8 = 127;

/// Runs `args` (program and arguments) under supervision and exits as it does.
#[cfg(unix)]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    unix::main(args.collect())
}

/// Without process groups there is nothing to supervise with.
#[cfg(not(unix))]
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = args.next() else { return ExitCode::from(CANNOT_START) };
    let status = std::process::Command::new(program).args(args).status();
    let code = status.ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(CANNOT_START), ExitCode::from)
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io::Read;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

    use super::CANNOT_START;

    /// How long descendants are hunted.
    const SWEEP: Duration = Duration::from_millis(500);

    pub fn main(args: Vec<OsString>) -> ExitCode {
        adopt_orphans();
        let Some((program, args)) = args.split_first() else { return ExitCode::from(CANNOT_START) };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).process_group(0);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("{}: {error}", program.to_string_lossy());
                return ExitCode::from(CANNOT_START);
            }
        };
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return ExitCode::from(CANNOT_START);
        };
        // While the lock is held with `true` inside, the child is not reaped, and its number names its group.
        let unreaped = Arc::new(Mutex::new(true));
        watch_lifeline(pid, Arc::clone(&unreaped));
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let status = finish(child, pid, &unreaped);
        sweep();
        ExitCode::from(status.map_or(CANNOT_START, code))
    }

    /// Kills what is left of the group, then reaps its leader.
    fn finish(mut child: Child, pid: Pid, unreaped: &Mutex<bool>) -> Option<ExitStatus> {
        let mut unreaped = unreaped.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = kill_process_group(pid, Signal::KILL);
        *unreaped = false;
        child.wait().ok()
    }

    /// Waits until nobody holds the other end of standard input, then kills.
    fn watch_lifeline(pid: Pid, unreaped: Arc<Mutex<bool>>) {
        std::thread::spawn(move || {
            let mut piece = [0; 64];
            while let Ok(1..) = std::io::stdin().read(&mut piece) {}
            let unreaped = unreaped.lock().unwrap_or_else(PoisonError::into_inner);
            if *unreaped {
                let _ = kill_process_group(pid, Signal::KILL);
            }
        });
    }

    fn code(status: ExitStatus) -> u8 {
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(CANNOT_START)
    }

    #[cfg(target_os = "linux")]
    fn adopt_orphans() {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }

    #[cfg(not(target_os = "linux"))]
    fn adopt_orphans() {}

    /// Kills and reaps every orphan that was handed to us, until none is left.
    fn sweep() {
        let until = Instant::now() + SWEEP;
        let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // An error says that there is no child at all.
        while let Ok(reaped) = waitid(WaitId::All, reap) {
            if reaped.is_none() {
                for pid in orphans() {
                    let _ = kill_process(pid, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            if Instant::now() > until {
                return;
            }
        }
    }

    /// The processes whose parent we are.
    fn orphans() -> Vec<Pid> {
        let me = std::process::id().to_string();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let parent_is_me = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The name in parentheses may hold anything; state and parent follow it.
            let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            rest.split(' ').nth(1) == Some(&me)
        };
        numbers.filter(parent_is_me).filter_map(Pid::from_raw).collect()
    }
}
