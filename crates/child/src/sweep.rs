//! The janitor: a process of ours that removes a folder when its owner is gone, however the owner went.
//!
//! It is started like the supervisor ([`crate::supervise`]) with [`MARKER`] in place of a program, in a group of its own, so
//! that what ends the owner does not end it. Its standard input is a pipe that only the owner holds.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The word that stands for a program in a supervisor's arguments.
pub const MARKER: &str = "__sweep";
/// How long others may go on writing into the folder.
const PATIENCE: Duration = Duration::from_secs(5);

/// A janitor that waits for us. Dropping it lets it do its work, and waits for that.
#[derive(Debug)]
pub struct Janitor(Child);

impl Janitor {
    /// Starts one for a folder.
    pub fn start(launcher: &Path, folder: &Path) -> io::Result<Self> {
        let mut command = Command::new(launcher);
        command.arg(crate::supervise::MARKER).arg(MARKER).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        crate::environment::reduce(&mut command);
        crate::own_group(&mut command);
        crate::spawn(&mut command).map(Self)
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Whether a supervisor's arguments ask for a janitor.
pub(crate) fn is_asked(args: &[OsString]) -> bool {
    args.first().is_some_and(|word| word == OsStr::new(MARKER))
}

/// Waits until nobody holds the other end of standard input, then removes the folder.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    let Some(folder) = args.get(1).map(PathBuf::from) else { return ExitCode::FAILURE };
    let mut piece = [0; 64];
    while let Ok(1..) = io::stdin().read(&mut piece) {}
    let until = Instant::now() + PATIENCE;
    while folder.exists() && Instant::now() < until {
        if std::fs::remove_dir_all(&folder).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    if folder.exists() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
