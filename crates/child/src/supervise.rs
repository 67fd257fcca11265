//! The supervisor: a small process between the server and a child, so that no descendant survives.
//!
//! It is our own program, started with [`MARKER`] as its first argument. Its standard input is a pipe that the server
//! holds. When that closes (the work is cancelled, or the server is gone, however it went), the child is killed, and with
//! it its descendants: on Linux the kernel hands them to the supervisor when their parents die, elsewhere they share a
//! process group. Should the supervisor itself be killed, the kernel kills the child (Linux), and the server the rest of
//! the group. A signal is reported as a shell does, 128 and the number.
//!
//! The child's program is started through [`crate::confine`], which restricts the process first.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument that makes our program a supervisor.
pub const MARKER: &str = "__supervise";

/// A program that cannot be started ends like this, as in a shell.
pub(crate) const CANNOT_START: u8 = 127;

/// Runs `args` (program and arguments) under supervision and exits as it does.
#[cfg(unix)]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    match () {
        () if crate::sweep::is_asked(&args) => crate::sweep::main(&args),
        () if crate::confine::is_asked(&args) => crate::confine::main(args),
        () => unix::main(args),
    }
}

/// Without process groups there is nothing to supervise with.
#[cfg(not(unix))]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    if crate::sweep::is_asked(&args) {
        return crate::sweep::main(&args);
    }
    let mut args = args.into_iter();
    if crate::sandbox::Policy::parse(&mut args).is_none() {
        return ExitCode::from(CANNOT_START);
    }
    let Some(program) = args.next() else { return ExitCode::from(CANNOT_START) };
    let status = std::process::Command::new(program).args(args).status();
    let code = status.ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(CANNOT_START), ExitCode::from)
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

    use super::CANNOT_START;
    use crate::sandbox::{END, FIRST_HANDLE, Policy};

    /// How long descendants are hunted.
    const SWEEP: Duration = Duration::from_millis(500);

    pub fn main(args: Vec<OsString>) -> ExitCode {
        adopt_orphans();
        let mut args = args.into_iter();
        let Some(policy) = Policy::parse(&mut args) else { return ExitCode::from(CANNOT_START) };
        let child = match start(&policy, args) {
            Ok(child) => child,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(CANNOT_START);
            }
        };
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return ExitCode::from(CANNOT_START);
        };
        // While the lock is held with `true` inside, the child is not reaped, and its number is its own.
        let unreaped = Arc::new(Mutex::new(true));
        watch_lifeline(pid, Arc::clone(&unreaped));
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let status = finish(child, pid, &unreaped);
        sweep();
        ExitCode::from(status.map_or(CANNOT_START, code))
    }

    /// Starts the step that restricts itself and becomes the program. Handles are open while it starts, and ours are closed
    /// afterwards: a pipe's writer must see that its reader is gone.
    fn start(policy: &Policy, program: impl Iterator<Item = OsString>) -> io::Result<Child> {
        let handles = open_handles(policy)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(super::MARKER).arg(crate::confine::MARKER).arg(std::process::id().to_string());
        command.args(policy.arguments()).arg(END).args(program).stdin(Stdio::null());
        separate(&mut command);
        let child = command.spawn();
        drop(handles);
        child
    }

    /// On Linux all descendants are found without a group, and the server can kill ours when we are gone.
    #[cfg(target_os = "linux")]
    fn separate(_command: &mut Command) {}

    #[cfg(not(target_os = "linux"))]
    fn separate(command: &mut Command) {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }

    /// Opens each file anew, under the number that the child expects. This process has one thread so far: nothing else can
    /// be started meanwhile and inherit them.
    fn open_handles(policy: &Policy) -> io::Result<Vec<OwnedFd>> {
        let mut handles = Vec::new();
        for (number, handle) in (FIRST_HANDLE..).zip(&policy.handles) {
            let file = File::options().read(true).write(handle.writable).open(&handle.path)?;
            let moved = rustix::io::fcntl_dupfd_cloexec(&file, number)?;
            if moved.as_raw_fd() != number {
                return Err(io::Error::other(format!("descriptor {number} is taken")));
            }
            rustix::io::fcntl_setfd(&moved, rustix::io::FdFlags::empty())?;
            handles.push(moved);
        }
        Ok(handles)
    }

    /// Kills what is left of its group, then reaps the child.
    fn finish(mut child: Child, pid: Pid, unreaped: &Mutex<bool>) -> Option<ExitStatus> {
        let mut unreaped = unreaped.lock().unwrap_or_else(PoisonError::into_inner);
        kill(pid);
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
                kill(pid);
            }
        });
    }

    /// What is gone already is what we want.
    fn kill(pid: Pid) {
        let _ = kill_process(pid, Signal::KILL);
        if !cfg!(target_os = "linux") {
            let _ = kill_process_group(pid, Signal::KILL);
        }
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
