//! The command for people.

use std::process::ExitCode;

fn main() -> ExitCode {
    visus_cli::visus::main()
}
