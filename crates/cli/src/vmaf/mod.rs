//! `vmaf`: every flag of libvmaf's tool, its messages and its exit codes.

mod getopt;
mod progress;
mod run;
mod settings;
#[cfg(test)]
mod tests;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use settings::{Asked, Settings};

/// How the command ends; the numbers are those of libvmaf's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Success,
    /// Wrong arguments.
    Usage,
    /// Inputs, models or features cannot be used: C's -1.
    Failure,
    /// Reading or scoring broke off: C's -EINVAL.
    Broken,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Usage => Self::from(1),
            Exit::Failure => Self::from(255),
            Exit::Broken => Self::from(234),
        }
    }
}

/// Runs the command with these arguments, the program's name first.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let program = args.first().cloned().unwrap_or_else(|| "vmaf".to_owned());
    let exit = match Settings::parse(&args) {
        Ok(Asked::Run(settings)) => run::run(&settings),
        Ok(Asked::Help) => {
            println!("{}", usage::text(&program));
            Exit::Success
        }
        Ok(Asked::Version) => {
            eprintln!("{}", crate::VERSION);
            Exit::Success
        }
        Err(reason) => {
            eprintln!("{reason}\n\n{}", usage::text(&program));
            Exit::Usage
        }
    };
    exit.into()
}
