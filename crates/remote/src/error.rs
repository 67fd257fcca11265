//! What goes wrong on the way to a store or a queue.

/// An error of a store, a queue, or the way there.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address itself is wrong; trying again is of no use.
    #[error("{0}")]
    Address(String),
    /// The store or the queue refused, was not reached, or gave up.
    #[error("{what}: {reason}")]
    Failed { what: String, reason: String },
    /// An object is no longer what it was when it was first looked at.
    #[error("{0} has changed while it was read")]
    Changed(String),
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
}

impl RemoteError {
    #[cfg(any(feature = "nats", feature = "object-store"))]
    pub(crate) fn failed(what: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Failed { what: what.into(), reason: reason.to_string() }
    }

    #[cfg(feature = "object-store")]
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        |source| Self::Io { what, source }
    }
}

#[cfg(feature = "tls")]
impl From<crate::tls::NoCryptography> for RemoteError {
    fn from(reason: crate::tls::NoCryptography) -> Self {
        Self::Address(format!("{reason}; use an endpoint without TLS"))
    }
}

impl From<RemoteError> for std::io::Error {
    fn from(error: RemoteError) -> Self {
        Self::other(error)
    }
}
