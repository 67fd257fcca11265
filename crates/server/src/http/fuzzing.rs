//! The body of the fuzz target for the gate: any bytes on a connection, through the same routes as in production.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::settings::TOKEN;
use super::spoken::Spoken;
use super::{Flags, Settings, assemble};
use crate::config::{self, Config};

/// The right token; inputs without it must not get through.
pub const SECRET: &str = "fuzz-token-0123456789";
/// The longest answer.
const LONGEST: usize = 1 << 20;
/// A connection that has not ended by then hangs: its client has sent everything and closed its side.
const PATIENCE: Duration = Duration::from_secs(20);

thread_local! {
    static SERVER: RefCell<Option<(Runtime, Router)>> = const { RefCell::new(None) };
}

/// What the server answers to these bytes, as the statuses of all its answers.
pub fn http_gate(bytes: &[u8]) -> String {
    SERVER.with_borrow_mut(|server| {
        let Some((runtime, router)) = server.as_ref() else {
            *server = start();
            return "started".to_owned();
        };
        let answer = runtime.block_on(converse(router.clone(), bytes));
        check(bytes, &answer)
    })
}

fn start() -> Option<(Runtime, Router)> {
    let lookup = |name: &str| (name == TOKEN).then(|| OsString::from(SECRET));
    let settings = Settings::new(&Flags::default(), &lookup).ok()?;
    let flags = config::Flags { http: true, ..config::Flags::default() };
    let mut config = Config::read(&flags, &lookup).ok()?;
    config.roots.clear();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let assembled =
        runtime.block_on(async { assemble(settings, crate::Server::new(config), CancellationToken::new()) });
    let (_, router) = assembled.ok()?;
    Some((runtime, router))
}

async fn converse(router: Router, bytes: &[u8]) -> Vec<u8> {
    let (mut client, server) = duplex(LONGEST);
    let answer = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request.map(Body::new)).await.unwrap_or_default()) }
    });
    let serve = http1::Builder::new()
        .half_close(true)
        .timer(TokioTimer::new())
        .max_header_size(64 << 10)
        .serve_connection(TokioIo::new(Spoken::new(server)), answer);
    let talk = async {
        let _ = client.write_all(bytes).await;
        let _ = client.shutdown().await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        answer
    };
    let both = async { tokio::join!(serve, talk).1 };
    tokio::time::timeout(PATIENCE, both).await.expect("a connection ends when its client has")
}

/// Nothing but the open routes answers without the token, and every answer is bounded.
fn check(bytes: &[u8], answer: &[u8]) -> String {
    assert!(answer.len() < LONGEST, "an answer of {} bytes", answer.len());
    let text = String::from_utf8_lossy(answer);
    let statuses: Vec<&str> =
        text.match_indices("HTTP/1.1 ").filter_map(|(at, _)| text.get(at + 9..at + 12)).collect();
    let knows = bytes.windows(SECRET.len()).any(|piece| piece == SECRET.as_bytes());
    let open = [&b"/healthz"[..], b"/readyz"]
        .iter()
        .any(|path| bytes.windows(path.len()).any(|piece| piece == *path));
    let served = statuses.iter().any(|status| status.starts_with('2'));
    assert!(!served || knows || open, "served without the token: {text}");
    statuses.join(" ")
}
