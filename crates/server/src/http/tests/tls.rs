//! TLS, with a client that checks the certificate. The key in `tls/` is for these tests and protects nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::super::settings::{TLS_CERT, TLS_KEY};
use super::*;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/tests/tls").join(name)
}

fn secured(certificate: &Path, key: &Path) -> Setup {
    let mut setup = Setup::default();
    setup.variables.push((TLS_CERT, certificate.to_string_lossy().into_owned()));
    setup.variables.push((TLS_KEY, key.to_string_lossy().into_owned()));
    setup
}

fn client(versions: &[&'static rustls::SupportedProtocolVersion]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("cert.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(visus_remote::tls::provider().unwrap()))
        .with_protocol_versions(versions)
        .unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn requests_over_tls() {
    let served = secured(&file("cert.pem"), &file("key.pem")).start();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(client(&[version]), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(served.address).unwrap());
        stream.write_all(&request("GET /healthz HTTP/1.1\r\nconnection: close\r\n", b"")).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("healthy"), "{text}");
    }
}

#[test]
fn plain_http_on_a_tls_port_ends_the_connection() {
    let served = secured(&file("cert.pem"), &file("key.pem")).start();
    let mut client = served.connect();
    client.send(&request("GET /healthz HTTP/1.1", b""));
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP"));
}

#[test]
fn unusable_files_are_told_at_the_start() {
    use super::super::settings::TlsFiles;
    use super::super::tls::acceptor;
    let refused = |certificate: PathBuf, key: PathBuf| {
        acceptor(&TlsFiles { certificate, key }).map(drop).unwrap_err().to_string()
    };
    assert!(refused(file("absent.pem"), file("key.pem")).contains("absent.pem"));
    assert!(refused(file("cert.pem"), file("absent.pem")).contains("absent.pem"));
    assert!(refused(file("key.pem"), file("key.pem")).contains("no usable certificate"));
    assert!(refused(file("cert.pem"), file("cert.pem")).contains("no usable private key"));
}
