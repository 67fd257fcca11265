//! libvmaf's command line, on our engine.

use std::process::ExitCode;

fn main() -> ExitCode {
    visus_cli::vmaf::main(std::env::args_os())
}
