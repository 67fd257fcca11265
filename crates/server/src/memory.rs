//! How much memory there is for the server's work: what the machine, the container and the process's own limits leave.

/// Less than this is no server.
const LEAST: u64 = 256 << 20;

/// The budget unless somebody says otherwise: half of the memory, or three quarters of a container's limit, and never more
/// than half of what the process may map.
pub fn usual() -> u64 {
    let mut bounds = Vec::new();
    bounds.extend(machine().map(|bytes| bytes / 2));
    bounds.extend(container().map(|bytes| bytes / 4 * 3));
    bounds.extend(address_space().map(|bytes| bytes / 2));
    bounds.into_iter().min().unwrap_or(4 << 30).max(LEAST)
}

/// A number of bytes, as `512M`, `4G` or `1.5GiB`.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || "it must be a number of bytes, as 512M or 4G".to_owned();
    let text = text.trim().to_ascii_uppercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale: u64 = match unit.trim().trim_end_matches("IB").trim_end_matches('B') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    match number * scale as f64 {
        bytes if bytes >= LEAST as f64 && bytes < u64::MAX as f64 => Ok(bytes as u64),
        _ => Err(format!("it must be at least {}M", LEAST >> 20)),
    }
}

/// The memory of the machine.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel's")]
fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// The limit of the control group, or of one above it.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel's")]
fn container() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut limits = Vec::new();
    for folder in std::path::Path::new(unified).ancestors() {
        let folder = folder.strip_prefix("/").unwrap_or(folder);
        limits.extend(limit_in(&std::path::Path::new("/sys/fs/cgroup").join(folder).join("memory.max")));
    }
    limits.extend(limit_in(std::path::Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes")));
    limits.into_iter().min()
}

/// `max`, and numbers that stand for it, are no limit.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel's")]
fn limit_in(path: &std::path::Path) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    text.trim().parse().ok().filter(|bytes| *bytes < 1 << 50)
}

#[cfg(unix)]
fn address_space() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    [Resource::As, Resource::Data].into_iter().filter_map(|kind| getrlimit(kind).current).min()
}

#[cfg(not(unix))]
fn address_space() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("512M", 512 << 20),
            ("4G", 4 << 30),
            ("1.5GiB", 3 << 29),
            ("2147483648", 2 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "4X", "-1G", "1M", "1e30G", "4 4G"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(usual() >= LEAST);
    }
}
