//! In place of TLS in a build without it: it is refused when the server starts.

use super::settings::{StartError, TlsFiles};
use super::socket::Socket;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub enum TlsAcceptor {}

impl TlsAcceptor {
    pub async fn accept(&self, _socket: Socket) -> std::io::Result<Socket> {
        match *self {}
    }
}

pub fn acceptor(_files: &TlsFiles) -> Result<TlsAcceptor, StartError> {
    let reason = "this build has none (the cargo feature `tls` is off); put a TLS proxy in front";
    Err(StartError::Tls(reason.to_owned()))
}
