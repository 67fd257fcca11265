//! Accepting connections, speaking HTTP/1.1 on them, and stopping gracefully.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tower::ServiceExt;

use super::connections::{Asking, Connections, Seat};
use super::settings::{Limits, StartError};
use super::socket::{self, Peer, Socket};
use super::spoken::{self, Spoken};
use super::tls::TlsAcceptor;

/// Time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The largest head of a request, in bytes. Anybody can send one, so all connections together must not take much.
const HEAD_BYTES: usize = 16 << 10;

/// A pause after a failed accept: mostly a lack of descriptors, which passes.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Opens the port.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { address, source })
}

/// Everything a connection is served with.
#[derive(Clone)]
pub struct Service {
    pub app: Router,
    pub tls: Option<TlsAcceptor>,
    pub limits: Limits,
}

/// Accepts until `stop` is set; connections that are open then finish what they are at and close.
pub async fn accept(
    listener: TcpListener,
    service: Service,
    connections: Connections,
    mut stop: watch::Receiver<bool>,
) {
    let mut spare = spare();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match accepted {
            Ok((stream, peer)) => take(stream, peer.ip(), &service, &connections, &stop),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                drop(spare.take());
                refuse_one(&listener, service.tls.is_none()).await;
                spare = self::spare();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A descriptor that is kept back: without any, a client could not even be told.
fn spare() -> Option<(std::io::PipeReader, std::io::PipeWriter)> {
    std::io::pipe().ok()
}

/// Answers one waiting client with the descriptor that was kept back.
async fn refuse_one(listener: &TcpListener, plain: bool) {
    let Ok(Ok((stream, _))) = tokio::time::timeout(ACCEPT_PAUSE, listener.accept()).await else { return };
    if plain {
        turn_away(stream).await;
    }
}

fn take(
    stream: TcpStream,
    address: IpAddr,
    service: &Service,
    connections: &Connections,
    stop: &watch::Receiver<bool>,
) {
    match connections.seat(address.to_canonical()) {
        Some(seat) => {
            tokio::spawn(connection(stream, service.clone(), stop.clone(), seat));
        }
        None if service.tls.is_none() => {
            tokio::spawn(turn_away(stream));
        }
        None => {}
    }
}

/// An answer for a client too many, without reading what it wants.
async fn turn_away(mut stream: TcpStream) {
    let answer = spoken::dressed("503 Service Unavailable", "too many connections", "retry-after: 1\r\n");
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(&answer)).await;
    socket::close(stream).await;
}

async fn connection(stream: TcpStream, service: Service, stop: watch::Receiver<bool>, seat: Seat) {
    let socket = Socket::new(stream, service.limits.stalled_write);
    let peer = socket.peer();
    match service.tls.clone() {
        None => converse(socket, peer, &service, stop, seat).await,
        Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
            Ok(Ok(stream)) => converse(stream, peer, &service, stop, seat).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake took too long"),
        },
    }
}

/// Serves requests on one connection, one after the other.
async fn converse<T>(stream: T, peer: Peer, service: &Service, mut stop: watch::Receiver<bool>, seat: Seat)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let app = service.app.clone();
    let evicted = seat.evicted();
    let seat = Arc::new(seat);
    let spoke = Arc::new(Notify::new());
    let heard = Arc::clone(&spoke);
    let answer = service_fn(move |request: Request<Incoming>| {
        let asking = seat.asks();
        heard.notify_one();
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer.clone());
        let app = app.clone();
        Box::pin(async move {
            let response = app.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body| Answered { body, _asking: asking }))
        })
    });
    let mut connection = http1::Builder::new()
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(service.limits.head)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(2 * HEAD_BYTES)
        .serve_connection(TokioIo::new(Spoken::new(stream)), answer);
    let (mut stopping, mut silent) = (false, true);
    let first_head = tokio::time::sleep(service.limits.first_head);
    tokio::pin!(first_head);
    let result = loop {
        tokio::select! {
            result = poll_fn(|context| connection.poll_without_shutdown(context)) => break result,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            () = spoke.notified(), if silent => silent = false,
            () = &mut first_head, if silent => return,
            () = evicted.cancelled() => return,
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended");
    }
    socket::close(connection.into_parts().io.into_inner()).await;
}

/// The body of an answer. The connection is silent again when all of it was handed over.
struct Answered {
    body: axum::body::Body,
    _asking: Asking,
}

impl http_body::Body for Answered {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
