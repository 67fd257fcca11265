//! TLS from two PEM files.
//!
//! rustls with graviola's cryptography, as `visus-remote` provides it. It runs on x86-64 and 64-bit ARM processors of the last ten
//! years; on others start-up says so, and a proxy in front can do TLS instead.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
pub use tokio_rustls::TlsAcceptor;

use super::settings::{StartError, TlsFiles};

/// Reads both files; every fault in them is told now, not at the first connection.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, StartError> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unusable(&files.key, "private key", &error.to_string()))?;
    let provider = visus_remote::tls::provider()
        .map_err(|reason| StartError::Tls(format!("{reason}; put a TLS proxy in front")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::Tls(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config =
        config.map_err(|error| unusable(&files.certificate, "certificate", &error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let all = all.map_err(|error| unusable(path, "certificate", &error.to_string()))?;
    if all.is_empty() {
        return Err(unusable(path, "certificate", "the file holds none"));
    }
    Ok(all)
}

fn unusable(path: &Path, what: &str, reason: &str) -> StartError {
    StartError::Tls(format!("no usable {what} in {}: {reason}", path.display()))
}
