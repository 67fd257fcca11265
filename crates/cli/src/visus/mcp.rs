//! `visus mcp`: the server for agents, on standard input and output.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use visus_server::config::{Config, EngineKind, Flags, Threading, environment, threading};
use visus_server::{Server, mcp};

use super::server_args::{LimitArgs, McpArgs};

/// How long threads that still wait for something may take at the end.
const FAREWELL: Duration = Duration::from_millis(100);

pub fn run(args: &McpArgs) -> Result<()> {
    visus_server::allocator::fix_thresholds();
    let flags = flags(args.engine, &args.allow, &args.limits);
    serve(&Flags { offer: args.offer.offer()?, ..flags })
}

/// What both kinds of server are started with.
pub fn flags(engine: Option<EngineKind>, allow: &[PathBuf], limits: &LimitArgs) -> Flags {
    Flags {
        engine,
        allow: allow.to_vec(),
        launcher: super::launcher(),
        memory: limits.memory.clone(),
        allow_write: limits.allow_write.clone(),
        read_only: limits.read_only,
        ..Flags::default()
    }
}

/// Serves standard input until it ends.
pub fn serve(flags: &Flags) -> Result<()> {
    let runtime = runtime(threading(&environment)?)?;
    let config = Config::read(flags, &environment)?;
    config.apply();
    let server = Server::new(config);
    let served = runtime.block_on(mcp::stdio::serve(server));
    runtime.shutdown_timeout(FAREWELL);
    served.context("standard input and output")
}

/// The runtime that the environment asks for.
pub fn runtime(threading: Threading) -> Result<tokio::runtime::Runtime> {
    let mut builder = match threading {
        Threading::Single => tokio::runtime::Builder::new_current_thread(),
        Threading::Multi => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().build().context("the runtime cannot be started")
}
