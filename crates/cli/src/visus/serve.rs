//! `visus serve`: the HTTP front end, with MCP on it.

use anyhow::Result;
use visus_server::{config, http};

use super::mcp;
use super::server_args::ServeArgs;

pub fn run(args: ServeArgs) -> Result<()> {
    visus_server::allocator::fix_thresholds();
    let flags =
        http::Flags { port: args.port, bind: args.bind, hosts: args.hosts, log_level: None, page: args.ui };
    let core = mcp::flags(args.engine, &args.allow, &args.limits);
    let core = config::Flags { http: true, offer: args.offer.offer()?, ..core };
    Ok(http::serve(&flags, &core)?)
}
