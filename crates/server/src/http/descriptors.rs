//! How many descriptors this process may have, raised to what the system allows.

/// More than this are not asked for.
const ENOUGH: u64 = 65_536;

/// Raises the limit on descriptors as far as it goes without rights, and says what it is now.
#[cfg(unix)]
pub fn raise() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let known = getrlimit(Resource::Nofile);
    let wanted = known.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    let current = known.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: known.maximum });
    if raised.is_ok() { wanted } else { current }
}

#[cfg(not(unix))]
pub fn raise() -> u64 {
    ENOUGH
}
