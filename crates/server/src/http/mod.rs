//! The HTTP front end: REST at `/v1`, MCP at `/mcp`, health, metrics and the description of it all.
//!
//! A request passes the gate (id, names, size, token), then its route. Every answer is JSON with the request's id, whoever
//! refused. A client that leaves drops its route's future, and with it the work it asked for.

mod answer;
mod auth;
mod body;
mod connections;
mod descriptors;
mod events;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod gate;
mod health;
mod history;
mod intake;
mod jobs;
mod large;
mod listen;
mod log;
mod mcp;
mod meters;
mod openapi;
mod openapi_page;
mod origin;
mod otel;
mod page;
mod pictures;
mod refusal;
mod routes;
mod score;
mod settings;
mod signals;
mod socket;
mod spoken;
mod start;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod tuning;
mod viewer;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Server;
use crate::history::History;
use crate::jobs::Owner;
use crate::mcp::http::{McpService, Options};
pub use auth::Access;
use meters::Meters;
pub use settings::{Flags, MIN_TOKEN, Settings, StartError};
pub use start::{serve, serve_page};

/// What the routes share.
#[derive(Debug)]
pub(crate) struct App {
    pub core: Server,
    /// Everybody with the token is one and the same.
    pub owner: Owner,
    pub mcp: McpService,
    pub meters: Meters,
    pub draining: AtomicBool,
    pub limits: settings::Limits,
    /// What holds child processes back on this machine.
    pub sandbox: Vec<String>,
    /// What people asked for, where there is a page for them.
    pub history: Option<History>,
    /// Room for what clients send.
    pub intake: intake::Intake,
    /// Pictures of frames.
    pub viewer: viewer::Viewer,
}

/// The server with its port open, not yet answering.
pub struct HttpServer {
    listener: TcpListener,
    service: listen::Service,
    app: Arc<App>,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpServer").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Checks everything that can be wrong and opens the port.
    pub async fn bind(settings: Settings, core: Server) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
        let listener = listen::bind(settings.address).await?;
        let limits = settings.limits;
        let shutdown = CancellationToken::new();
        let (app, router) = assemble(settings, core, shutdown.clone())?;
        let service = listen::Service { app: router, tls, limits };
        Ok(Self { listener, service, app, shutdown })
    }

    /// Where it listens; with port 0 the system chose the port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Answers until `stop` tells to end, then lets what runs go on for a while and ends the rest. A second `stop` ends
    /// it at once.
    pub async fn run(self, mut stop: impl AsyncFnMut()) {
        let Self { listener, service, app, shutdown } = self;
        let drain = service.limits.drain;
        let (stopping, watcher) = watch::channel(false);
        let connections =
            connections::Connections::new(service.limits.connections, service.limits.connections_of_one);
        let accept = tokio::spawn(listen::accept(listener, service, connections.clone(), watcher));
        stop().await;
        tracing::info!("stopping: no new work is taken, what runs may finish");
        app.draining.store(true, Ordering::Release);
        app.core.jobs().close();
        let _ = stopping.send(true);
        let _ = accept.await;
        let quiet = async {
            app.core.jobs().idle(drain).await;
            connections.none().await;
        };
        tokio::select! {
            done = tokio::time::timeout(drain, quiet) => if done.is_ok() { return },
            () = stop() => {}
        }
        tracing::warn!("stopping: ending what still runs");
        app.core.jobs().cancel_all();
        shutdown.cancel();
        app.core.jobs().idle(LAST_WORDS).await;
        let _ = tokio::time::timeout(LAST_WORDS, connections.none()).await;
    }
}

/// What the routes share, and the routes behind their gate.
fn assemble(
    settings: Settings,
    core: Server,
    shutdown: CancellationToken,
) -> Result<(Arc<App>, axum::Router), StartError> {
    let history = settings.page.as_ref().map(|page| History::open(page.history.clone())).transpose();
    let history =
        history.map_err(|error| StartError::Other(format!("no folder for the history: {error}")))?;
    let has_page = history.is_some();
    if has_page {
        core.keep_previews();
    }
    let options = Options { shutdown, ..Options::default() };
    let app = Arc::new(App {
        mcp: crate::mcp::http::service(core.clone(), options),
        intake: intake::Intake::new(core.config().limits.body_bytes()),
        viewer: viewer::Viewer::new(core.config().limits.picture_bytes()),
        core,
        owner: Owner::new("http"),
        meters: Meters::default(),
        draining: AtomicBool::new(false),
        limits: settings.limits,
        sandbox: visus_child::Protections::detect().active(),
        history,
    });
    let gate = gate::Gate { access: settings.access, names: settings.names, page: has_page };
    let router = routes::router(Arc::clone(&app), gate);
    Ok((app, router))
}

/// For cancelled work to end and its clients to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(2);
