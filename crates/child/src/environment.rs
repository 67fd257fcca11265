//! The environment of children: a short list of variables, so that no secret of ours is among them.

use std::ffi::OsString;
use std::process::Command;

/// Names of further variables that children inherit, separated by commas. For whoever runs the server.
pub const FURTHER: &str = "VISUS_CHILD_ENV";

/// What programs need to find their libraries, devices and temporary files, and to write numbers and times as usual.
const INHERITED: [&str; 27] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_NUMERIC",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "SYSTEMROOT",
    "WINDIR",
    "PATHEXT",
    "COMSPEC",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "LIBVA_DRIVER_NAME",
    "LIBVA_DRIVERS_PATH",
    "VDPAU_DRIVER",
    "XDG_RUNTIME_DIR",
    "RUST_BACKTRACE",
    // Of our own program, where it is the child.
    "VISUS_CPU",
    FURTHER,
    crate::FURTHER_WRITE,
];

/// Gives a command only the listed variables.
pub(crate) fn reduce(command: &mut Command) {
    command.env_clear().envs(inherited());
}

fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    let further = std::env::var_os(FURTHER).unwrap_or_default().to_string_lossy().into_owned();
    let further: Vec<String> = further.split(',').map(|name| name.trim().to_owned()).collect();
    let named = INHERITED.iter().map(|name| (*name).to_owned()).chain(further);
    // An empty name or one with `=` is no variable, and the system would panic over it.
    let usable = named.filter(|name| !name.is_empty() && !name.contains(['=', '\0']));
    usable.filter_map(|name| Some((OsString::from(&name), std::env::var_os(&name)?)))
}
