//! By which names this server may be called, and from which pages.
//!
//! A web page elsewhere can make a browser send requests here, under a name of its own that resolves to this machine
//! (DNS rebinding). Such a request carries the foreign name in `Host` and the page's in `Origin`; both are refused. An IP
//! address cannot be rebound, so a server that listens on all addresses accepts every one of them as its name.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, Version, header};

/// The names that are not foreign.
#[derive(Clone, Debug)]
pub struct Names {
    address: IpAddr,
    hosts: Vec<String>,
}

/// What is wrong with a request's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// HTTP/1.1 asks for exactly one `Host`.
    NoHost,
    Host,
    Origin,
}

impl Names {
    pub fn new<'a>(address: IpAddr, hosts: impl Iterator<Item = &'a str>) -> Self {
        let hosts = hosts.map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty());
        Self { address, hosts: hosts.collect() }
    }

    /// Looks at `Host`, the target's own authority and `Origin`.
    pub fn check(&self, uri: &Uri, version: Version, headers: &HeaderMap) -> Result<(), Foreign> {
        let mut hosts = headers.get_all(header::HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(_), Some(_)) => return Err(Foreign::NoHost),
            (None, _) if version >= Version::HTTP_11 => return Err(Foreign::NoHost),
            (None, _) => {}
            (Some(host), None) if self.knows_bytes(host.as_bytes()) => {}
            (Some(_), None) => return Err(Foreign::Host),
        }
        if uri.authority().is_some_and(|authority| !self.knows(authority.as_str())) {
            return Err(Foreign::Host);
        }
        let origins = headers.get_all(header::ORIGIN).iter();
        let own = |origin: &[u8]| std::str::from_utf8(origin).is_ok_and(|origin| self.knows_origin(origin));
        if origins.map(|origin| origin.as_bytes()).all(own) { Ok(()) } else { Err(Foreign::Origin) }
    }

    fn knows_bytes(&self, authority: &[u8]) -> bool {
        std::str::from_utf8(authority).is_ok_and(|authority| self.knows(authority))
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| self.knows(authority))
    }

    /// Whether `host` or `host:port` is a name of this server.
    fn knows(&self, authority: &str) -> bool {
        let Some(host) = host_of(authority) else { return false };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match host.parse::<IpAddr>() {
            Ok(ip) => {
                ip.is_loopback() || ip == self.address || self.address.is_unspecified() || self.listed(&host)
            }
            Err(_) => host == "localhost" || self.listed(&host),
        }
    }

    fn listed(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known == host)
    }
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`; nothing if it is none of these.
fn host_of(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return (rest.is_empty() || is_port(rest.strip_prefix(':')?)).then_some(host);
    }
    match authority.split_once(':') {
        None => Some(authority),
        Some((host, port)) => is_port(port).then_some(host),
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(address: &str) -> Names {
        Names::new(address.parse().unwrap(), ["Scores.Example ", ""].into_iter())
    }

    #[test]
    fn own_and_foreign_names() {
        let local = names("127.0.0.1");
        for own in [
            "localhost",
            "LocalHost:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "[::1]:80",
            "[::1]",
            "scores.example:443",
            "localhost.",
        ] {
            assert!(local.knows(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil",
            "10.0.0.1",
            "localhost:http",
            "localhost:8080:1",
            "a@localhost",
            "[::1",
            "::1",
            "localhost:",
        ] {
            assert!(!local.knows(foreign), "{foreign}");
        }
        assert!(names("0.0.0.0").knows("10.0.0.1:8080"));
        assert!(!names("0.0.0.0").knows("evil.example"));
        assert!(names("10.0.0.1").knows("10.0.0.1"));
    }

    #[test]
    fn origins() {
        let local = names("127.0.0.1");
        for own in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "https://scores.example"]
        {
            assert!(local.knows_origin(own), "{own}");
        }
        for foreign in ["null", "", "http://evil.example", "file://", "http://localhost/path", "localhost"] {
            assert!(!local.knows_origin(foreign), "{foreign}");
        }
    }

    #[test]
    fn requests() {
        let check = |uri: &'static str, version, pairs: &[(&'static str, &str)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()));
            let mut map = HeaderMap::new();
            headers.for_each(|(name, value)| {
                map.append(name, value);
            });
            names("127.0.0.1").check(&Uri::from_static(uri), version, &map)
        };
        let (old, new) = (Version::HTTP_10, Version::HTTP_11);
        assert_eq!(check("/", new, &[("host", "localhost")]), Ok(()));
        assert_eq!(check("/", new, &[]), Err(Foreign::NoHost));
        assert_eq!(check("/", old, &[]), Ok(()));
        assert_eq!(check("/", new, &[("host", "localhost"), ("host", "localhost")]), Err(Foreign::NoHost));
        assert_eq!(check("http://evil.example/", new, &[("host", "localhost")]), Err(Foreign::Host));
        assert_eq!(check("/", new, &[("host", "localhost"), ("origin", "null")]), Err(Foreign::Origin));
    }
}
