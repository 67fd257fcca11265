//! Settings of the HTTP server at start-up: flags first, then the environment, then defaults. An unusable value ends the
//! start with a sentence that names it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::auth::Access;
use super::origin::Names;
use crate::history::History;

pub const PORT: &str = "VMAFX_PORT";
pub const BIND: &str = "VMAFX_MCP_HTTP_BIND";
pub const TOKEN: &str = "VMAFX_MCP_HTTP_TOKEN";
pub const NO_AUTH: &str = "VMAFX_MCP_HTTP_NO_AUTH";
pub const TLS_CERT: &str = "VMAFX_MCP_HTTP_TLS_CERT";
pub const TLS_KEY: &str = "VMAFX_MCP_HTTP_TLS_KEY";
pub const HOSTS: &str = "VMAFX_MCP_HTTP_HOSTS";

const DEFAULT_PORT: u16 = 8080;

/// The shortest token that is taken where others than this machine can try.
pub const MIN_TOKEN: usize = 16;

/// What the command line says; it goes before the environment.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub port: Option<String>,
    pub bind: Option<String>,
    /// Names beside loopback ones that a client may call this server by.
    pub hosts: Vec<String>,
    /// In place of `VMAFX_LOG_LEVEL`.
    pub log_level: Option<String>,
    /// Whether the web page is served.
    pub page: bool,
}

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("invalid {name} '{value}': a port is a whole number from 0 to 65535")]
    Port { name: &'static str, value: String },
    #[error(
        "invalid {name} '{value}': the address to bind is an IP address, as 127.0.0.1, ::1 or 0.0.0.0, or localhost"
    )]
    Bind { name: &'static str, value: String },
    #[error(
        "refusing to listen on {address} without a token: everybody who reaches this address could score files; set {TOKEN}, \
         or bind a loopback address"
    )]
    OpenToTheWorld { address: IpAddr },
    #[error(
        "refusing to listen on {address} with {NO_AUTH}=1: without a token only a loopback address is served; unset {NO_AUTH}, \
         or bind 127.0.0.1"
    )]
    NoAuthForTheWorld { address: IpAddr },
    #[error(
        "refusing to listen on {address} with a token of {length} characters: it must have at least {MIN_TOKEN}; make one with \
         `openssl rand -hex 32`"
    )]
    WeakToken { address: IpAddr, length: usize },
    #[error(
        "{given} is set but {missing} is not: TLS needs both, a certificate chain and its key, as PEM files"
    )]
    HalfTls { given: &'static str, missing: &'static str },
    #[error("TLS: {0}")]
    Tls(String),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("no random numbers from the operating system: {0}")]
    Random(String),
    #[error(transparent)]
    Config(crate::config::ConfigError),
    #[error("{0}")]
    Other(String),
}

/// The PEM files of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Everything the listener needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    pub address: SocketAddr,
    pub access: Access,
    pub tls: Option<TlsFiles>,
    pub names: Names,
    pub limits: Limits,
    /// The web page, where it is served.
    pub page: Option<PageSettings>,
}

/// What the web page needs.
#[derive(Clone, Debug, Default)]
pub struct PageSettings {
    /// The folder of the history; without one it is kept in a temporary folder.
    pub history: Option<PathBuf>,
}

/// Bounds against clients that are slow, many or silent.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time for the first request's head: a connection that asks nothing is not kept.
    pub first_head: std::time::Duration,
    /// Time for a further request's head, and the longest idle time between two requests.
    pub head: std::time::Duration,
    /// Time for a request's whole body.
    pub body: std::time::Duration,
    /// How long a client may take nothing of an answer.
    pub stalled_write: std::time::Duration,
    pub connections: usize,
    /// Of these, from one address.
    pub connections_of_one: usize,
    /// How long running work may go on after a stop signal.
    pub drain: std::time::Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = std::time::Duration::from_secs;
        Self {
            first_head: seconds(5),
            head: seconds(30),
            body: seconds(60),
            stalled_write: seconds(60),
            connections: MOST_CONNECTIONS,
            connections_of_one: MOST_CONNECTIONS / 2,
            drain: seconds(30),
        }
    }
}

/// More connections than this are not taken, however many descriptors there are.
const MOST_CONNECTIONS: usize = 4096;
/// What a connection takes while it sends the longest head there can be.
const CONNECTION_BYTES: u64 = 64 << 10;
/// Fewer would not be a server.
const FEWEST_CONNECTIONS: usize = 16;

impl Limits {
    /// A quarter of the descriptors is for connections, and a sixteenth of the memory for what they read before it is
    /// known who asks; jobs and children need the rest.
    pub fn new(descriptors: u64, memory: u64) -> Self {
        let most = (descriptors / 4).min(memory / 16 / CONNECTION_BYTES);
        let connections =
            usize::try_from(most).unwrap_or(MOST_CONNECTIONS).clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        Self { connections, connections_of_one: connections / 2, ..Self::default() }
    }
}

impl Settings {
    /// Flags, then the environment, then defaults.
    pub fn new(flags: &Flags, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, StartError> {
        let environment = |name: &str| environment(name).filter(|value| !value.is_empty());
        let address = SocketAddr::new(bind(flags, &environment)?, port(flags, &environment)?);
        let access = access(&environment)?;
        if !address.ip().to_canonical().is_loopback() {
            check_public(address.ip(), &access, environment(TOKEN))?;
        }
        let listed = environment(HOSTS).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        let hosts = flags.hosts.iter().map(String::as_str).chain(listed.split(','));
        let names = Names::new(address.ip(), hosts);
        let page = flags.page.then(|| PageSettings { history: History::usual_folder() });
        Ok(Self { address, access, tls: tls(&environment)?, names, limits: Limits::default(), page })
    }
}

/// What an address that others can reach needs, whatever else is set.
fn check_public(address: IpAddr, access: &Access, token: Option<OsString>) -> Result<(), StartError> {
    if matches!(access, Access::Open) {
        return Err(StartError::NoAuthForTheWorld { address });
    }
    let token = token.ok_or(StartError::OpenToTheWorld { address })?;
    match token.to_string_lossy().trim().chars().count() {
        length if length < MIN_TOKEN => Err(StartError::WeakToken { address, length }),
        _ => Ok(()),
    }
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn port(flags: &Flags, environment: Lookup<'_>) -> Result<u16, StartError> {
    let (name, value) = match (&flags.port, environment(PORT)) {
        (Some(value), _) => ("--port", value.clone()),
        (None, Some(value)) => (PORT, value.to_string_lossy().into_owned()),
        (None, None) => return Ok(DEFAULT_PORT),
    };
    value.trim().parse().map_err(|_| StartError::Port { name, value })
}

fn bind(flags: &Flags, environment: Lookup<'_>) -> Result<IpAddr, StartError> {
    let (name, value) = match (&flags.bind, environment(BIND)) {
        (Some(value), _) => ("--bind", value.clone()),
        (None, Some(value)) => (BIND, value.to_string_lossy().into_owned()),
        (None, None) => return Ok(Ipv4Addr::LOCALHOST.into()),
    };
    if value.eq_ignore_ascii_case("localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let bare = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&value);
    bare.parse().map_err(|_| StartError::Bind { name, value: value.clone() })
}

fn access(environment: Lookup<'_>) -> Result<Access, StartError> {
    if environment(NO_AUTH).is_some_and(|value| value == "1") {
        return Ok(Access::Open);
    }
    match environment(TOKEN) {
        Some(token) => Ok(Access::configured(token.as_encoded_bytes())),
        None => Access::random(),
    }
}

fn tls(environment: Lookup<'_>) -> Result<Option<TlsFiles>, StartError> {
    match (environment(TLS_CERT), environment(TLS_KEY)) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => {
            Ok(Some(TlsFiles { certificate: certificate.into(), key: key.into() }))
        }
        (Some(_), None) => Err(StartError::HalfTls { given: TLS_CERT, missing: TLS_KEY }),
        (None, Some(_)) => Err(StartError::HalfTls { given: TLS_KEY, missing: TLS_CERT }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flags: &Flags, variables: &[(&str, &str)]) -> Result<Settings, String> {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Settings::new(flags, &lookup).map_err(|error| error.to_string())
    }

    fn address(flags: &Flags, variables: &[(&str, &str)]) -> String {
        settings(flags, variables).unwrap().address.to_string()
    }

    #[test]
    fn flags_go_before_the_environment_and_that_before_defaults() {
        let none = Flags::default();
        assert_eq!(address(&none, &[]), "127.0.0.1:8080");
        assert_eq!(address(&none, &[(PORT, "9000"), (BIND, "::1")]), "[::1]:9000");
        let flags = Flags { port: Some("0".into()), bind: Some("localhost".into()), ..Flags::default() };
        assert_eq!(address(&flags, &[(PORT, "x"), (BIND, "y")]), "127.0.0.1:0");
        assert_eq!(address(&none, &[(PORT, ""), (BIND, "")]), "127.0.0.1:8080");
    }

    #[test]
    fn unusable_values_are_named() {
        for value in ["http", "70000", "-1", "80.5", "0x50"] {
            let error = settings(&Flags::default(), &[(PORT, value)]).unwrap_err();
            assert!(error.contains(PORT) && error.contains(value), "{error}");
        }
        let error = settings(&Flags::default(), &[(BIND, "example.com:80")]).unwrap_err();
        assert!(error.contains(BIND) && error.contains("example.com:80"), "{error}");
    }

    #[test]
    fn the_world_needs_a_token() {
        let world = Flags { bind: Some("0.0.0.0".into()), ..Flags::default() };
        assert!(settings(&world, &[]).unwrap_err().contains(TOKEN));
        assert!(settings(&world, &[(NO_AUTH, "1")]).is_err());
        assert!(settings(&world, &[(TOKEN, "")]).is_err());
        let token = "0123456789abcdef";
        assert!(settings(&world, &[(TOKEN, token)]).is_ok());
        let weak = settings(&world, &[(TOKEN, "secret")]).unwrap_err();
        assert!(weak.contains("6 characters") && weak.contains("16"), "{weak}");
        let open = settings(&world, &[(TOKEN, token), (NO_AUTH, "1")]).unwrap_err();
        assert!(open.contains(NO_AUTH) && open.contains("0.0.0.0"), "{open}");
        let mapped = Flags { bind: Some("::ffff:10.0.0.1".into()), ..Flags::default() };
        assert!(settings(&mapped, &[(TOKEN, token), (NO_AUTH, "1")]).is_err());
        let other = Flags { bind: Some("::".into()), ..Flags::default() };
        assert!(settings(&other, &[]).is_err());
    }

    #[test]
    fn connections_end_at_a_share_of_descriptors_and_memory() {
        let connections = |descriptors, memory: u64| Limits::new(descriptors, memory << 20).connections;
        assert_eq!(connections(1024, 16 << 10), 256);
        assert_eq!(connections(20_000, 256), 256);
        assert_eq!(connections(20_000, 16 << 10), MOST_CONNECTIONS);
        assert_eq!(connections(8, 256), FEWEST_CONNECTIONS);
    }

    #[test]
    fn authentication_is_off_only_with_one() {
        let open =
            |value| matches!(settings(&Flags::default(), &[(NO_AUTH, value)]).unwrap().access, Access::Open);
        assert!(open("1"));
        assert!(!["0", "true", "yes", ""].into_iter().any(open));
    }

    #[test]
    fn tls_needs_both_files() {
        let error = settings(&Flags::default(), &[(TLS_CERT, "a.pem")]).unwrap_err();
        assert!(error.starts_with(TLS_CERT) && error.contains(TLS_KEY), "{error}");
        assert!(settings(&Flags::default(), &[(TLS_KEY, "a.pem")]).is_err());
        let both = settings(&Flags::default(), &[(TLS_CERT, "a.pem"), (TLS_KEY, "b.pem")]).unwrap();
        assert_eq!(both.tls, Some(TlsFiles { certificate: "a.pem".into(), key: "b.pem".into() }));
    }
}
