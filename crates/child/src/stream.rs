//! A child whose standard output is read while it runs.
//!
//! The pipe is the only buffer between the two: a child that is faster than its reader waits. A child that says nothing for
//! longer than the command's limit is ended, and so is one whose reader is cancelled or goes away.

use std::fmt;
use std::io::{self, Read};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use crate::drain::Tail;
use crate::{ChildCommand, Finished, LOOK_EVERY, RunError, Running};

/// How long a child may take to exit after it has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A picture of 1080p goes through in three pieces; more is not granted to unprivileged users.
const PIPE_BYTES: usize = 1 << 20;

/// What a child has written to standard error so far; its end if that is much.
#[derive(Clone, Debug)]
pub struct StderrTail {
    tail: Tail,
    handles: Vec<(String, String)>,
}

impl StderrTail {
    pub fn text(&self) -> String {
        crate::with_our_names(self.tail.text(), &self.handles)
    }

    pub fn is_empty(&self) -> bool {
        self.tail.is_empty()
    }
}

/// A running child and its output. Dropping it ends the child with all its descendants.
pub struct Stream {
    running: Running,
    pipe: Option<ChildStdout>,
    silence: Duration,
    /// When the child has run for as long as it may, and how long that is.
    deadline: Option<(Instant, Duration)>,
    cancelled: Box<dyn Fn() -> bool + Send>,
}

impl Stream {
    /// Starts the command. Its `limit` is how long the child may be silent while somebody waits for it, its `total` how long
    /// it may run altogether. `cancelled` is asked at least every 20 ms while a read waits.
    pub fn start(
        command: &ChildCommand,
        cancelled: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, RunError> {
        let deadline = command.total.and_then(|total| Some((Instant::now().checked_add(total)?, total)));
        let mut running = Running::start_streaming(command).map_err(RunError::Start)?;
        let pipe = running.child.stdout.take();
        if let Some(pipe) = &pipe {
            widen(pipe);
        }
        Ok(Self { running, pipe, silence: command.limit, deadline, cancelled: Box::new(cancelled) })
    }

    /// Standard error, as it grows.
    pub fn stderr(&self) -> StderrTail {
        StderrTail { tail: self.running.stderr.tail(), handles: self.running.handles.clone() }
    }

    /// Waits for the child to exit, which after the end of its output is a matter of moments; one that stays is killed.
    pub fn finish(&mut self) -> Finished {
        self.pipe = None;
        let until = Instant::now() + LAST_WORDS;
        while !self.running.is_over() && Instant::now() < until && !(self.cancelled)() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let code = self.running.end();
        Finished { code, stdout: String::new(), stderr: self.running.take_stderr() }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        wait(pipe, self.silence, self.deadline, &self.cancelled)?;
        pipe.read(into)
    }
}

/// Waits until there is something to read, or its end.
fn wait(
    pipe: &ChildStdout,
    silence: Duration,
    deadline: Option<(Instant, Duration)>,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<()> {
    let since = Instant::now();
    if let Some((_, total)) = deadline.filter(|(deadline, _)| since >= *deadline) {
        let words = format!("it ran for more than the {:.1} s that are allowed", total.as_secs_f64());
        return Err(io::Error::new(io::ErrorKind::TimedOut, words));
    }
    while !readable(pipe, LOOK_EVERY)? {
        if cancelled() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cancelled"));
        }
        if since.elapsed() >= silence {
            let words = format!("nothing came for {:.1} s", silence.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, words));
        }
    }
    Ok(())
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("pid", &self.running.child.id()).finish_non_exhaustive()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A child that is stuck in a write sees its pipe close first.
        self.pipe = None;
        self.running.end();
    }
}

#[cfg(unix)]
fn readable(pipe: &ChildStdout, wait: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Without poll, a read waits for as long as the child is silent.
#[cfg(not(unix))]
fn readable(_pipe: &ChildStdout, _wait: Duration) -> io::Result<bool> {
    Ok(true)
}

/// A larger pipe means fewer changes between the two processes; a refusal changes nothing but that.
#[cfg(target_os = "linux")]
fn widen(pipe: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_pipe: &ChildStdout) {
    let _ = PIPE_BYTES;
}
