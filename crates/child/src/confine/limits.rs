//! Resource limits of a child.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::FURTHER_WRITE;
use crate::sandbox::Policy;

/// Descriptors of a child. Decoders and encoders use a few dozen; drivers of graphics devices use many.
const DESCRIPTORS: u64 = 256;
const DESCRIPTORS_WITH_DEVICES: u64 = 4096;
/// Addresses beyond the memory: code, stacks of threads that are hardly used, arenas that are only reserved.
const FURTHER_ADDRESSES: u64 = 8 << 30;

/// Sets all limits. A limit that is lower already stays.
pub(super) fn set(policy: &Policy) -> Result<(), String> {
    let sandbox = &policy.sandbox;
    lower(Resource::Core, 0)?;
    lower(Resource::Nofile, if sandbox.devices { DESCRIPTORS_WITH_DEVICES } else { DESCRIPTORS })?;
    if let Some(bytes) = sandbox.file_bytes.or((!writes(policy)).then_some(0)) {
        lower(Resource::Fsize, bytes)?;
    }
    match sandbox.memory {
        Some(memory) if !sandbox.devices => {
            lower(Resource::Data, memory)?;
            lower(Resource::As, memory.saturating_add(FURTHER_ADDRESSES))
        }
        _ => Ok(()),
    }
}

fn writes(policy: &Policy) -> bool {
    let handle = policy.handles.iter().any(|handle| handle.writable);
    handle || !policy.sandbox.write.is_empty() || std::env::var_os(FURTHER_WRITE).is_some()
}

fn lower(resource: Resource, value: u64) -> Result<(), String> {
    let known = getrlimit(resource);
    let least = |known: Option<u64>| Some(known.map_or(value, |known| known.min(value)));
    let limit = Rlimit { current: least(known.current), maximum: least(known.maximum) };
    setrlimit(resource, limit).map_err(|error| format!("{resource:?} cannot be limited to {value}: {error}"))
}
