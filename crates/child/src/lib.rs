//! A child process that cannot outlive its purpose.
//!
//! It runs in a process group of its own and is killed as a group, reaped, and held to a time limit. It inherits a short
//! list of variables, none of them a secret. Where a launcher is configured, a supervisor stands between: it holds our pipe,
//! and when that closes, for whatever reason, it ends every descendant (see [`supervise`]); and the child is confined to its
//! [`Sandbox`]. Output is drained however much there is, and only its tail is kept.

#![forbid(unsafe_code)]

#[cfg(unix)]
mod confine;
mod drain;
mod environment;
mod opened_file;
mod path;
mod protections;
mod sandbox;
mod stream;
pub mod supervise;
pub mod sweep;

#[cfg(unix)]
use confine::FURTHER_WRITE;
#[cfg(test)]
use environment::FURTHER as FURTHER_ENVIRONMENT;
pub use opened_file::OpenedFile;
pub use path::{is_program, on_path};
pub use protections::Protections;
pub use sandbox::Sandbox;
pub use stream::{StderrTail, Stream};

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drain::Drain;
use sandbox::Policy;

#[cfg(not(unix))]
const FURTHER_WRITE: &str = "VISUS_CHILD_WRITE";

/// What is to be run, and how.
#[derive(Clone, Debug, Default)]
pub struct ChildCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// How long it may run; of a [`Stream`], how long it may be silent.
    pub limit: Duration,
    /// How long a [`Stream`] may run altogether.
    pub total: Option<Duration>,
    /// Our own program, which supervises and confines the child. Without it neither happens.
    pub launcher: Option<PathBuf>,
    pub sandbox: Sandbox,
}

/// How it ended by itself.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The exit code; a signal counts as its negative number.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// How a process with this code ended, as a predicate: "was killed by signal 9", "ended with exit code 3".
pub fn describe_end(code: i32) -> String {
    match code {
        ..0 => format!("was killed by signal {}", code.unsigned_abs()),
        _ => format!("ended with exit code {code}"),
    }
}

/// Why it did not.
#[derive(Debug)]
pub enum RunError {
    Start(io::Error),
    TimedOut,
    Cancelled,
}

/// The longest wait between two looks at a child.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a supervisor may take to clear up, and how long pipes may stay open after the end.
const PATIENCE: Duration = Duration::from_millis(600);

/// Runs a command to its end, or ends it. Whatever happens, afterwards no process of it is left.
/// `cancelled` and `tick` are asked at every look at the child.
pub fn run(
    command: &ChildCommand,
    cancelled: impl Fn() -> bool,
    mut tick: impl FnMut(),
) -> Result<Finished, RunError> {
    let started = Instant::now();
    let mut running = Running::start(command).map_err(RunError::Start)?;
    let mut pause = Duration::from_millis(1);
    let error = loop {
        if running.is_over() {
            break None;
        }
        if cancelled() {
            break Some(RunError::Cancelled);
        }
        if started.elapsed() >= command.limit {
            break Some(RunError::TimedOut);
        }
        tick();
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_EVERY);
    };
    let code = running.end();
    match error {
        Some(error) => Err(error),
        None => Ok(Finished { code, stdout: running.stdout.take(), stderr: running.take_stderr() }),
    }
}

#[derive(Debug)]
struct Running {
    child: Child,
    supervised: bool,
    stdout: Drain,
    stderr: Drain,
    /// Our name and the child's name of each file that it was handed over open.
    handles: Vec<(String, String)>,
    code: Option<i32>,
}

impl Running {
    fn start(command: &ChildCommand) -> io::Result<Self> {
        let mut running = Self::start_streaming(command)?;
        running.stdout = Drain::start(running.child.stdout.take());
        Ok(running)
    }

    /// Standard output stays in `child` for the caller to read.
    fn start_streaming(command: &ChildCommand) -> io::Result<Self> {
        let supervised = command.launcher.is_some();
        let (mut child, handles) = match &command.launcher {
            Some(launcher) => {
                let policy = Policy::new(&command.sandbox);
                let mut child = Command::new(launcher);
                child.arg(supervise::MARKER).args(policy.arguments()).arg(sandbox::END);
                child.arg(&command.program).args(command.args.iter().map(|arg| policy.translated(arg)));
                (child, policy.names())
            }
            None => {
                let mut child = Command::new(&command.program);
                child.args(&command.args);
                (child, Vec::new())
            }
        };
        child.stdout(Stdio::piped()).stderr(Stdio::piped());
        child.stdin(if supervised { Stdio::piped() } else { Stdio::null() });
        environment::reduce(&mut child);
        own_group(&mut child);
        let mut child = spawn(&mut child)?;
        let stderr = Drain::start(child.stderr.take());
        Ok(Self { child, supervised, stdout: Drain::default(), stderr, handles, code: None })
    }

    /// What the child wrote to standard error, with our names of its files.
    fn take_stderr(&mut self) -> String {
        with_our_names(self.stderr.take(), &self.handles)
    }

    /// Whether it has exited by itself. It is not reaped yet, so that its group can still be named.
    fn is_over(&mut self) -> bool {
        has_exited(&mut self.child)
    }

    /// Ends everything that is left and reaps. Returns the exit code.
    fn end(&mut self) -> i32 {
        if let Some(code) = self.code {
            return code;
        }
        drop(self.child.stdin.take());
        if self.supervised {
            let until = Instant::now() + PATIENCE;
            while !self.is_over() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        kill_group(&mut self.child);
        let code = self.child.wait().map_or(-1, |status| exit_code(status, self.supervised));
        self.code = Some(code);
        code
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// A program that was just written may still be open in a process that another thread is starting; that passes.
fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..10 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
    command.spawn()
}

/// A child's words with our names of the files that it knows by names of its own.
fn with_our_names(text: String, handles: &[(String, String)]) -> String {
    handles.iter().fold(text, |text, (ours, theirs)| sandbox::replace_path(&text, theirs, ours))
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = pid(child) else { return true };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    if let Some(pid) = pid(child) {
        // A group that is gone already is what we want.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// A supervisor reports a signal as a shell does.
#[cfg(unix)]
fn exit_code(status: std::process::ExitStatus, supervised: bool) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) if supervised => 128 - code,
        (Some(code), _) => code,
        (None, Some(signal)) => -signal,
        (None, None) => -1,
    }
}

#[cfg(not(unix))]
fn exit_code(status: std::process::ExitStatus, _supervised: bool) -> i32 {
    status.code().unwrap_or(-1)
}

#[cfg(all(test, unix))]
mod tests;
