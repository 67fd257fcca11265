//! The HTTP door: REST at `/v1`, MCP at `/mcp`, health, metrics and the description of it all.
//!
//! A request passes the gate (id, names, size, token), then its route. Every answer is JSON with the request's id, whoever
//! refused. A client that leaves drops its route's future, and with it the work it asked for.

mod answer;
mod auth;
mod body;
mod gate;
mod health;
mod listen;
mod log;
mod meters;
mod origin;
mod routes;
mod settings;
mod signals;
mod socket;
mod spoken;
mod tls;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use auth::Access;
use meters::Meters;
pub use settings::{Flags, Settings, StartError};

/// What the routes share.
#[derive(Debug)]
pub(crate) struct App {
    pub meters: Meters,
    pub draining: AtomicBool,
    pub limits: settings::Limits,
}

/// A server with its port open, not yet answering.
pub struct Server {
    listener: TcpListener,
    service: listen::Service,
    app: Arc<App>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Server {
    /// Checks everything that can be wrong and opens the port.
    pub async fn bind(settings: Settings) -> Result<Self, StartError> {
        let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
        let listener = listen::bind(settings.address).await?;
        let limits = settings.limits;
        let app = Arc::new(App { meters: Meters::default(), draining: AtomicBool::new(false), limits });
        let gate = gate::Gate { access: settings.access, names: settings.names };
        let service = listen::Service { app: routes::router(Arc::clone(&app), gate), tls, limits };
        Ok(Self { listener, service, app })
    }

    /// Where it listens; with port 0 the system chose the port.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Answers until `stop`, then lets what runs go on for a while and ends the rest.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let limits = self.service.limits;
        let (stopping, watcher) = watch::channel(false);
        let connections = listen::Connections::new(limits.connections);
        let accept = listen::accept(self.listener, self.service, connections.clone(), watcher);
        let accept = tokio::spawn(accept);
        stop.await;
        self.app.draining.store(true, Ordering::Release);
        let _ = stopping.send(true);
        let _ = accept.await;
        let _ = tokio::time::timeout(limits.drain, connections.none()).await;
    }
}
