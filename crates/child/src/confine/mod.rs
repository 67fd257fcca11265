//! The last step before a child's program: our own program restricts itself and then becomes the child.
//!
//! The supervisor starts it with [`MARKER`], a policy and the program. Limits are inherited by whatever follows. What a
//! kernel does not know is left out, and [`Protections`](crate::Protections) says so; nothing else changes.

#[cfg(target_os = "linux")]
pub(crate) mod files;
mod limits;
#[cfg(target_os = "linux")]
pub(crate) mod syscalls;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::sandbox::Policy;
use crate::supervise::CANNOT_START;

/// The word that stands for a program in a supervisor's arguments; the supervisor's number follows.
pub(crate) const MARKER: &str = "__confine";

/// Names folders that children may write whatever they are run for, separated as in `PATH`. For whoever runs the server.
pub const FURTHER_WRITE: &str = "VISUS_CHILD_WRITE";

/// Whether a supervisor's arguments ask for this step.
pub(crate) fn is_asked(args: &[OsString]) -> bool {
    args.first().is_some_and(|word| word == MARKER)
}

/// Restricts this process, then becomes the program. Returns only if that fails.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    let mut args = args.into_iter().skip(1);
    let parent = args.next().and_then(|number| number.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(policy)) = (parent, Policy::parse(&mut args)) else {
        return ExitCode::from(CANNOT_START);
    };
    let Some(program) = args.next() else { return ExitCode::from(CANNOT_START) };
    if let Err(reason) = restrict(&policy, &program, parent) {
        eprintln!("{}: {reason}", program.to_string_lossy());
        return ExitCode::from(CANNOT_START);
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("{}: {error}", program.to_string_lossy());
    ExitCode::from(CANNOT_START)
}

#[cfg(target_os = "linux")]
fn restrict(policy: &Policy, program: &OsString, parent: i32) -> Result<(), String> {
    die_with(parent)?;
    limits::set(policy)?;
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"))?;
    files::restrict(policy, program.as_ref())?;
    syscalls::restrict(policy.sandbox.devices)
}

/// Without the kernel's means there are limits at least.
#[cfg(not(target_os = "linux"))]
fn restrict(policy: &Policy, _program: &OsString, _parent: i32) -> Result<(), String> {
    limits::set(policy)
}

/// The kernel kills us when the supervisor is gone. Should it be gone already, nobody would.
#[cfg(target_os = "linux")]
fn die_with(parent: i32) -> Result<(), String> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get() == parent => Ok(()),
        _ => Err("its supervisor is gone".to_owned()),
    }
}
