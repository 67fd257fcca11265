//! What the library says on standard error, under libvmaf's prefix and at its levels.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// `VMAF_LOG_LEVEL_ERROR`
const ERROR: c_int = 1;
/// `VMAF_LOG_LEVEL_WARNING`
const WARNING: c_int = 2;

/// The level is the process's, as in libvmaf: the context that was made last decides.
static LEVEL: AtomicI32 = AtomicI32::new(0);

pub fn set_level(level: c_int) {
    LEVEL.store(level, Ordering::Relaxed);
}

pub fn error(text: &str) {
    say(ERROR, "ERROR", text);
}

pub fn warning(text: &str) {
    say(WARNING, "WARNING", text);
}

/// An error with all its causes.
pub fn cause(error_value: &dyn std::error::Error) {
    let mut text = error_value.to_string();
    let mut source = error_value.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    error(&text);
}

fn say(level: c_int, name: &str, text: &str) {
    use std::io::Write;
    if LEVEL.load(Ordering::Relaxed) >= level {
        // Nobody to tell if standard error is closed.
        let _ = writeln!(std::io::stderr(), "libvmaf {name} {text}");
    }
}
