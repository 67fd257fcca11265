//! The server for agents, under the name and with the flags of its peer.

use std::process::ExitCode;

fn main() -> ExitCode {
    visus_cli::vmaf_mcp::main(std::env::args_os())
}
