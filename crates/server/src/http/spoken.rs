//! hyper answers what it cannot read as HTTP by itself, with a bare status line. This wrapper gives these answers what
//! every other one has: a JSON body and a request id.
//!
//! Every answer of ours carries `x-request-id`, so a head without it that ends what hyper writes is hyper's own; hyper
//! closes the connection after it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::answer::RequestId;

/// A stream whose bare refusals are dressed.
#[derive(Debug)]
pub struct Spoken<T> {
    inner: T,
    /// What stands in for hyper's answer and is not written yet.
    pending: Vec<u8>,
}

impl<T> Spoken<T> {
    pub fn new(inner: T) -> Self {
        Self { inner, pending: Vec::new() }
    }
}

impl<T: AsyncWrite + Unpin> Spoken<T> {
    fn poll_pending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let count = ready!(Pin::new(&mut self.inner).poll_write(context, &self.pending))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Spoken<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Spoken<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(context))?;
        match bare_refusal(bytes) {
            None => Pin::new(&mut self.inner).poll_write(context, bytes),
            Some((0, status)) => {
                self.pending = explained(status);
                Poll::Ready(Ok(bytes.len()))
            }
            // Earlier answers go first; hyper comes back with the rest.
            Some((at, _)) => Pin::new(&mut self.inner).poll_write(context, &bytes[..at]),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

const STATUS_LINE: &[u8] = b"HTTP/1.1 4";

/// Where hyper's own refusal begins in what it writes, and its status.
fn bare_refusal(bytes: &[u8]) -> Option<(usize, &str)> {
    if !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let at = bytes.windows(STATUS_LINE.len()).rposition(|window| window == STATUS_LINE)?;
    let head = std::str::from_utf8(&bytes[at..]).ok()?;
    let bare = head.contains("content-length: 0") && !head.contains("x-request-id");
    let status = head.lines().next().unwrap_or_default().trim_start_matches("HTTP/1.1 ");
    bare.then_some((at, status))
}

fn explained(status: &str) -> Vec<u8> {
    let error = match status.get(..3) {
        Some("414") => "request target is too long",
        Some("431") => "request head is too large",
        _ => "malformed HTTP request",
    };
    dressed(status, error, "")
}

/// A whole answer with the last words on a connection.
pub fn dressed(status: &str, error: &str, headers: &str) -> Vec<u8> {
    let id = RequestId::new();
    let id = id.as_str();
    let body = format!("{{\"error\":\"{error}\",\"request_id\":\"{id}\"}}");
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-request-id: {id}\r\n{headers}connection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn only_a_bare_head_at_the_end_is_hypers_own() {
        assert_eq!(bare_refusal(BARE), Some((0, "400 Bad Request")));
        let answer = b"HTTP/1.1 404 Not Found\r\nx-request-id: 1\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(bare_refusal(answer), None);
        let both = [answer.as_slice(), BARE].concat();
        assert_eq!(bare_refusal(&both), Some((answer.len(), "400 Bad Request")));
        assert_eq!(bare_refusal(b"HTTP/1.1 405 x\r\nx-request-id: 1\r\ncontent-length: 0\r\n\r\n"), None);
        assert_eq!(bare_refusal(b""), None);
    }
}
