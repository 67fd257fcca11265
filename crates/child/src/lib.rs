//! A child process that cannot outlive its purpose.
//!
//! It runs in a process group of its own and is killed as a group, reaped, and held to a time limit. Where a launcher is
//! configured, a supervisor stands between: it holds our pipe, and when that closes, for whatever reason, it ends every
//! descendant (see [`supervise`]). Output is drained however much there is, and only its tail is kept.

#![forbid(unsafe_code)]

mod stream;
pub mod supervise;

pub use stream::{Stream, Words};

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Errand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub limit: Duration,
    pub launcher: Option<PathBuf>,
}

/// How it ended by itself.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The exit code; a signal counts as its negative number.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Why it did not.
#[derive(Debug)]
pub enum Broken {
    Start(io::Error),
    TimedOut,
    Cancelled,
}

/// Variables that children do not inherit.
const SECRETS: [&str; 1] = ["VMAFX_MCP_HTTP_TOKEN"];
/// How much of each output is kept.
const TAIL: usize = 256 << 10;
/// The longest wait between two looks at a child.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a supervisor may take to clear up, and how long pipes may stay open after the end.
const PATIENCE: Duration = Duration::from_millis(600);

/// Runs the errand to its end, or ends it. Whatever happens, afterwards no process of it is left.
/// `cancelled` and `tick` are asked at every look at the child.
pub fn run(
    errand: &Errand,
    cancelled: impl Fn() -> bool,
    mut tick: impl FnMut(),
) -> Result<Finished, Broken> {
    let started = Instant::now();
    let mut running = Running::start(errand).map_err(Broken::Start)?;
    let mut pause = Duration::from_millis(1);
    let broken = loop {
        if running.is_over() {
            break None;
        }
        if cancelled() {
            break Some(Broken::Cancelled);
        }
        if started.elapsed() >= errand.limit {
            break Some(Broken::TimedOut);
        }
        tick();
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_EVERY);
    };
    let code = running.end();
    match broken {
        Some(broken) => Err(broken),
        None => Ok(Finished { code, stdout: running.stdout.take(), stderr: running.stderr.take() }),
    }
}

#[derive(Debug)]
struct Running {
    child: Child,
    supervised: bool,
    stdout: Drain,
    stderr: Drain,
    code: Option<i32>,
}

impl Running {
    fn start(errand: &Errand) -> io::Result<Self> {
        let mut running = Self::start_streaming(errand)?;
        running.stdout = Drain::start(running.child.stdout.take());
        Ok(running)
    }

    /// Standard output stays in `child` for the caller to read.
    fn start_streaming(errand: &Errand) -> io::Result<Self> {
        let mut command = match &errand.launcher {
            Some(launcher) => {
                let mut command = Command::new(launcher);
                command.arg(supervise::MARKER).arg(&errand.program);
                command
            }
            None => Command::new(&errand.program),
        };
        command.args(&errand.args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if errand.launcher.is_some() { Stdio::piped() } else { Stdio::null() });
        for name in SECRETS {
            command.env_remove(name);
        }
        own_group(&mut command);
        let mut child = spawn(&mut command)?;
        let stderr = Drain::start(child.stderr.take());
        let supervised = errand.launcher.is_some();
        Ok(Self {
            child,
            supervised,
            stdout: Drain { tail: Tail::default(), ended: None },
            stderr,
            code: None,
        })
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

/// Reads a pipe to its end on a thread of its own and keeps the tail, which can be looked at all the while.
#[derive(Debug)]
struct Drain {
    tail: Tail,
    ended: Option<Receiver<()>>,
}

type Tail = Arc<Mutex<Vec<u8>>>;

impl Drain {
    fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let tail = Tail::default();
        let Some(mut pipe) = pipe else { return Self { tail, ended: None } };
        let (send, receive) = channel();
        let kept = Arc::clone(&tail);
        let body = move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                let mut tail = kept.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&piece[..count]);
                if tail.len() > 2 * TAIL {
                    let surplus = tail.len() - TAIL;
                    tail.drain(..surplus);
                }
            }
            // Nobody may be listening any more.
            let _ = send.send(());
        };
        let spawned = std::thread::Builder::new().name("drain".to_owned()).spawn(body);
        Self { tail, ended: spawned.is_ok().then_some(receive) }
    }

    /// The tail, as text. A pipe that somebody still holds open is not waited for.
    fn take(&mut self) -> String {
        if let Some(ended) = self.ended.take() {
            let _ = ended.recv_timeout(PATIENCE);
        }
        tail_text(&self.tail)
    }
}

fn tail_text(tail: &Tail) -> String {
    let bytes = tail.lock().unwrap_or_else(PoisonError::into_inner);
    let start = bytes.len().saturating_sub(TAIL);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
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

/// A supervisor tells a signal as a shell does.
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

/// Where a program is that was named without a folder.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path))
}

pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(all(test, unix))]
mod tests;
