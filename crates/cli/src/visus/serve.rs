//! `visus serve`: the HTTP door, with MCP on it.

use anyhow::Result;
use visus_server::{config, http};

use super::args::ServeArgs;

pub fn run(args: ServeArgs) -> Result<()> {
    let flags = http::Flags { port: args.port, bind: args.bind, hosts: args.hosts };
    let core = config::Flags { engine: args.engine, allow: args.allow, ..config::Flags::default() };
    Ok(http::serve(&flags, &core)?)
}
