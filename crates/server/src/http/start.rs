//! From the command line to a running server, and back to an exit.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::settings::{
    BIND, Flags, HOSTS, Limits, NO_AUTH, PORT, Settings, StartError, TLS_CERT, TLS_KEY, TOKEN,
};
use super::signals::Signals;
use super::{HttpServer, descriptors, log, otel};
use crate::Server;
use crate::config::{self, Config, Environment, Threading};

/// How long threads that are stuck in the system may hold up the exit.
const LEFTOVERS: Duration = Duration::from_millis(500);

/// Serves until SIGTERM or SIGINT. Everything that is wrong with flags or environment is told before the port opens.
pub fn serve(flags: &Flags, core: &config::Flags) -> Result<(), StartError> {
    run(flags, core, &config::environment, announce)
}

/// Serves one person on this machine: a token of its own, and nothing of what the environment says about servers for
/// others. `ready` gets the address to open.
pub fn serve_page(flags: &Flags, core: &config::Flags, ready: impl FnOnce(&str)) -> Result<(), StartError> {
    let flags = Flags { page: true, port: flags.port.clone().or(Some("0".to_owned())), ..flags.clone() };
    let environment = |name: &str| match name {
        PORT | BIND | TOKEN | NO_AUTH | TLS_CERT | TLS_KEY | HOSTS => None,
        name => config::environment(name),
    };
    run(&flags, core, &environment, |server, scheme, token| {
        if let Some(address) = server.address() {
            ready(&format!("{scheme}://{address}/#token={}", token.unwrap_or_default()));
        }
    })
}

fn run(
    flags: &Flags,
    core: &config::Flags,
    environment: Environment<'_>,
    ready: impl FnOnce(&HttpServer, &str, Option<&str>),
) -> Result<(), StartError> {
    let word = flags.log_level.clone().map(OsString::from).or_else(|| environment(log::LOG_LEVEL));
    let level = log::level(&word.unwrap_or_default().to_string_lossy())?;
    // Sends what is left when it goes, after the runtime.
    let traces = otel::start()?;
    log::start(level, &traces);
    let mut settings = Settings::new(flags, environment)?;
    let core = config::Flags { http: true, ..core.clone() };
    let config = Config::read(&core, environment).map_err(StartError::Config)?;
    settings.limits = Limits::new(descriptors::raise(), config.limits.memory);
    config.apply();
    let runtime = runtime(environment)?;
    let result = runtime.block_on(answer(settings, config, ready));
    runtime.shutdown_timeout(LEFTOVERS);
    result
}

fn other(error: impl std::fmt::Display) -> StartError {
    StartError::Other(error.to_string())
}

fn runtime(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Runtime, StartError> {
    let mut builder = match config::threading(environment).map_err(StartError::Config)? {
        Threading::Single => Builder::new_current_thread(),
        Threading::Multi => Builder::new_multi_thread(),
    };
    builder.enable_all().build().map_err(other)
}

async fn answer(
    settings: Settings,
    config: Config,
    ready: impl FnOnce(&HttpServer, &str, Option<&str>),
) -> Result<(), StartError> {
    let mut signals = Signals::new()?;
    let made_up = settings.access.made_up().map(str::to_owned);
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let server = HttpServer::bind(settings, Server::new(config)).await?;
    ready(&server, scheme, made_up.as_deref());
    server.run(async || signals.next().await).await;
    Ok(())
}

/// Where to find the server, whatever the log level; and the token, this once.
fn announce(server: &HttpServer, scheme: &str, made_up: Option<&str>) {
    if let Some(address) = server.address() {
        let text = format!(
            "listening on {scheme}://{address}: MCP at /mcp, REST at /v1, described at /openapi.json"
        );
        say(
            &json!({ "timestamp": log::now(), "level": "info", "message": text, "address": address.to_string() }),
        );
    }
    if let Some(token) = made_up {
        let text = format!(
            "{TOKEN} is not set: clients of this run need the token in this line, which is shown once"
        );
        say(&json!({ "timestamp": log::now(), "level": "warning", "message": text, "token": token }));
    }
}

fn say(line: &Value) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
