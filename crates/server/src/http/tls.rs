//! TLS from two PEM files.
//!
//! rustls with graviola's cryptography: Rust and inline assembly, so building needs no C compiler. It runs on x86-64 and
//! 64-bit ARM processors of the last ten years; on others start-up says so, and a proxy in front can do TLS instead.

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
    let provider = provider()?;
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

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn provider() -> Result<rustls::crypto::CryptoProvider, StartError> {
    match missing_cpu_feature() {
        None => Ok(rustls_graviola::default_provider()),
        Some(name) => Err(StartError::Tls(format!(
            "this processor lacks {name}, which the built-in cryptography needs; put a TLS proxy in front"
        ))),
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn provider() -> Result<rustls::crypto::CryptoProvider, StartError> {
    Err(StartError::Tls("not available on this kind of processor; put a TLS proxy in front".to_owned()))
}

#[cfg(target_arch = "x86_64")]
fn missing_cpu_feature() -> Option<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let needed = [
        ("AES", has!("aes")),
        ("PCLMULQDQ", has!("pclmulqdq")),
        ("SSSE3", has!("ssse3")),
        ("BMI1", has!("bmi1")),
        ("BMI2", has!("bmi2")),
        ("ADX", has!("adx")),
        ("AVX", has!("avx")),
        ("AVX2", has!("avx2")),
    ];
    needed.into_iter().find_map(|(name, present)| (!present).then_some(name))
}

#[cfg(target_arch = "aarch64")]
fn missing_cpu_feature() -> Option<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    let needed =
        [("NEON", has!("neon")), ("AES", has!("aes")), ("PMULL", has!("pmull")), ("SHA2", has!("sha2"))];
    needed.into_iter().find_map(|(name, present)| (!present).then_some(name))
}
