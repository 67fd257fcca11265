//! A client's connection below HTTP: seeing that a client left, giving up on one that takes nothing, and ending in a
//! way that lets the last answer arrive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// How often a connection with unread requests on it is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What a client that closed its side still has to get an answer that is nearly done. It may have closed only its
/// sending half; the two cannot be told apart.
const GRACE: Duration = Duration::from_millis(300);

/// After the last answer, so long and so much is still read and thrown away: closing a socket with unread bytes resets
/// the connection, and the client would lose the answer that tells why.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;

/// The other end, as requests see it.
#[derive(Clone, Debug)]
pub struct Peer(Arc<TcpStream>);

impl Peer {
    /// Waits until the client has closed its side, and a little longer.
    pub async fn left(&self) {
        while !self.0.ready(Interest::READABLE).await.is_ok_and(|ready| ready.is_read_closed()) {
            // Readable and not closed: a further request waits on the connection.
            tokio::time::sleep(LOOK).await;
        }
        tokio::time::sleep(GRACE).await;
    }
}

/// A TCP stream that gives up on a client which takes nothing.
#[derive(Debug)]
pub struct Socket {
    stream: Arc<TcpStream>,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub fn new(stream: TcpStream, patience: Duration) -> Self {
        // Small answers must not wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        Self { stream: Arc::new(stream), patience, stalled: None }
    }

    pub fn peer(&self) -> Peer {
        Peer(Arc::clone(&self.stream))
    }

    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let deadline = Instant::now() + self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.stream.poll_write_ready(context) {
                Poll::Pending => return self.poll_patience(context),
                Poll::Ready(ready) => ready?,
            }
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    self.stalled = None;
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.stream).shutdown(std::net::Shutdown::Write))
    }
}

/// Ends a connection: no more from us, and for a while whatever the client still sends is taken off the wire.
pub async fn close(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let linger = async {
        stream.shutdown().await?;
        let mut scratch = vec![0; 64 << 10];
        let mut taken = 0;
        while taken < LINGER_BYTES {
            match stream.read(&mut scratch).await? {
                0 => break,
                count => taken += count,
            }
        }
        io::Result::Ok(())
    };
    // Whatever goes wrong here, the connection is over.
    let _ = tokio::time::timeout(LINGER, linger).await;
}
