//! `cargo xtask hip`, also a step of `cargo xtask test`: compiles the CUDA sources for an AMD GPU with hipRTC, unchanged.
//!
//! A check alone: nothing is kept, and no backend uses it. No machine here has an AMD GPU, so what the compiled kernels
//! compute was never seen; such GPUs are served by Vulkan.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::gpu::{HEADER, SOURCES, run_quietly};
use crate::steps;

/// The library, and Debian's package of it.
const LIBRARY: &str = "libamdhip64.so.5";
const PACKAGE: &str = "libamdhip64-5";

/// RDNA 2. Its wavefronts have 32 lanes, as the kernels assume.
const ARCHITECTURE: &str = "gfx1030";

/// Calls hipRTC, which is a library: its name, architecture, header and source. HIP's shuffles take no mask of lanes.
const COMPILE: &str = r#"
import ctypes, pathlib, sys
library, architecture, header, source = sys.argv[1:]
shuffles = b"""
#define __shfl_xor_sync(mask, value, distance) __shfl_xor(value, distance)
#define __shfl_up_sync(mask, value, distance) __shfl_up(value, distance)
#define __shfl_down_sync(mask, value, distance) __shfl_down(value, distance)
"""
hiprtc = ctypes.CDLL(library)
program = ctypes.c_void_p()
headers = (ctypes.c_char_p * 1)(shuffles + pathlib.Path(header).read_bytes())
names = (ctypes.c_char_p * 1)(pathlib.Path(header).name.encode())
text, name = pathlib.Path(source).read_bytes(), pathlib.Path(source).name.encode()
if hiprtc.hiprtcCreateProgram(ctypes.byref(program), text, name, 1, headers, names):
    sys.exit("hipRTC takes no program")
options = [b"--offload-arch=" + architecture.encode(), b"-ffp-contract=off", b"-std=c++14"]
if hiprtc.hiprtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
    size = ctypes.c_size_t()
    hiprtc.hiprtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    hiprtc.hiprtcGetProgramLog(program, log)
    sys.exit(log.value.decode())
"#;

/// A step of the full check: hipRTC is installed where that is possible.
pub fn check() -> Result<()> {
    let is_brought = || steps::install(PACKAGE) && is_there();
    if is_there() || is_brought() { run() } else { leave_out(steps::is_required("hip")) }
}

/// Says loudly that nothing was checked, or fails if it had to be.
fn leave_out(is_required: bool) -> Result<()> {
    let text = format!("hipRTC ({LIBRARY}) is not there, and {PACKAGE} could not be installed");
    ensure!(!is_required, "{text}, and VISUS_REQUIRE names hip");
    eprintln!("!!! {text}: the CUDA sources are NOT compiled for AMD GPUs");
    Ok(())
}

/// Whether the library can be loaded.
fn is_there() -> bool {
    let load = format!("import ctypes; ctypes.CDLL('{LIBRARY}')");
    Command::new("python3").args(["-c", &load]).output().is_ok_and(|output| output.status.success())
}

pub fn run() -> Result<()> {
    ensure!(is_there(), "hipRTC ({LIBRARY}) is not there: install it (Debian: apt-get install {PACKAGE})");
    let kernels = steps::root().join("crates/gpu/kernels");
    for source in SOURCES {
        let mut python = Command::new("python3");
        python.args(["-c", COMPILE, LIBRARY, ARCHITECTURE]).arg(kernels.join(HEADER));
        python.arg(kernels.join(format!("{source}.cu")));
        run_quietly(&mut python).with_context(|| format!("{source}.cu"))?;
    }
    println!("{} CUDA sources compile for {ARCHITECTURE}; they were not run", SOURCES.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_left_out_unless_it_is_required() {
        assert!(leave_out(false).is_ok());
        let error = leave_out(true).unwrap_err().to_string();
        assert!(error.contains(PACKAGE) && error.ends_with("VISUS_REQUIRE names hip"), "{error}");
    }
}
