//! `cargo xtask gpu`: makes the PTX of the CUDA sources, or checks that it is that of the sources.
//!
//! PTX is committed, so that nobody needs a compiler to build the project. `kernels/ptx.lock` has the SHA-256 of every
//! source and of every PTX file: whoever changes one without the other is told at once, on every machine. Where PyPI can
//! be reached, `--check` also compiles again and compares, and lets `ptxas` assemble the PTX for every generation of GPUs
//! from Pascal to Hopper. No GPU is needed for any of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps;

/// NVRTC 12.0 writes PTX ISA 8.0, which every driver from 525 on reads.
const PACKAGES: [&str; 2] = ["nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-nvcc-cu12==12.0.140"];
/// Multiply-add is never fused, so that double-precision steps round as on the CPU.
const OPTIONS: [&str; 3] = ["--gpu-architecture=compute_60", "--fmad=false", "--std=c++14"];
/// Pascal, Volta, Turing, Ampere, Ada, Hopper.
const ARCHITECTURES: [&str; 8] = ["sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];
pub const SOURCES: [&str; 7] = ["adm", "cambi", "motion", "picture", "psnr", "speed", "vif"];
pub const HEADER: &str = "common.cuh";
const LOCK: &str = "ptx.lock";

/// Calls NVRTC, which is a library: options, header, source and the file to write.
const COMPILE: &str = r#"
import ctypes, pathlib, sys
library, options, header, source, out = sys.argv[1:]
nvrtc = ctypes.CDLL(library)
text = lambda path: pathlib.Path(path).read_bytes()
program = ctypes.c_void_p()
headers = (ctypes.c_char_p * 1)(text(header))
names = (ctypes.c_char_p * 1)(pathlib.Path(header).name.encode())
name = pathlib.Path(source).name.encode()
if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text(source), name, 1, headers, names):
    sys.exit("NVRTC takes no program")
given = [option.encode() for option in options.split()]
failed = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
def read(size_of, get):
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get(program, buffer)
    return buffer.value
if failed:
    sys.exit(read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode())
pathlib.Path(out).write_bytes(read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
"#;

/// Makes the PTX, or with `check` compares what is there.
pub fn run(check: bool) -> Result<()> {
    let kernels = steps::root().join("crates/gpu/kernels");
    if !check {
        let tools = Tools::install()?;
        for source in SOURCES {
            tools.compile(&kernels, source, &kernels.join(format!("{source}.ptx")))?;
        }
        std::fs::write(kernels.join(LOCK), lock(&kernels)?)?;
    }
    compare_lock(&kernels)?;
    match Tools::install() {
        Ok(tools) => compare_compiled(&tools, &kernels),
        Err(error) => {
            eprintln!(
                "!!! the PTX is that of the sources by its hash alone; compilers are not there: {error:#}"
            );
            Ok(())
        }
    }
}

/// A line for every file that takes part: its hash and its name, and the compiler's options.
fn lock(kernels: &Path) -> Result<String> {
    let mut text = format!("{} {}\n", PACKAGES[0], OPTIONS.join(" "));
    let sources = SOURCES.iter().map(|source| format!("{source}.cu"));
    let compiled = SOURCES.iter().map(|source| format!("{source}.ptx"));
    for name in std::iter::once(HEADER.to_owned()).chain(sources).chain(compiled) {
        let bytes = std::fs::read(kernels.join(&name)).with_context(|| name.clone())?;
        writeln!(text, "{} {name}", sha256(&bytes))?;
    }
    Ok(text)
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn compare_lock(kernels: &Path) -> Result<()> {
    let committed = std::fs::read_to_string(kernels.join(LOCK)).context(LOCK)?;
    let now = lock(kernels)?;
    let differs = |line: &&str| !committed.lines().any(|known| known == *line);
    match now.lines().find(differs) {
        None => Ok(()),
        Some(line) => bail!("the PTX is stale: {LOCK} does not have '{line}'; run cargo xtask gpu"),
    }
}

fn compare_compiled(tools: &Tools, kernels: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    for source in SOURCES {
        let (made, committed) = (folder.path().join("made.ptx"), kernels.join(format!("{source}.ptx")));
        tools.compile(kernels, source, &made)?;
        if std::fs::read(&made)? != std::fs::read(&committed)? {
            bail!("{source}.ptx is not what its source compiles to; run cargo xtask gpu");
        }
        for architecture in ARCHITECTURES {
            tools.assemble(&committed, architecture, &folder.path().join("cubin"))?;
        }
    }
    println!("PTX of {} sources is current and assembles for {}", SOURCES.len(), ARCHITECTURES.join(", "));
    Ok(())
}

/// NVRTC and `ptxas`, in a virtual environment under `target`.
struct Tools {
    python: PathBuf,
    packages: PathBuf,
}

impl Tools {
    fn install() -> Result<Self> {
        let folder = steps::root().join("target/nvrtc");
        let marker = folder.join("installed");
        let wanted = PACKAGES.join("\n");
        if std::fs::read_to_string(&marker).is_ok_and(|text| text == wanted) {
            return Self::find(&folder);
        }
        run_quietly(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps"]).args(PACKAGES);
        run_quietly(&mut pip)?;
        std::fs::write(marker, wanted)?;
        Self::find(&folder)
    }

    /// The packages lie below a folder that is named after Python's version.
    fn find(folder: &Path) -> Result<Self> {
        for version in std::fs::read_dir(folder.join("lib"))? {
            let packages = version?.path().join("site-packages/nvidia");
            if packages.is_dir() {
                return Ok(Self { python: folder.join("bin/python"), packages });
            }
        }
        bail!("{} has no packages", folder.display())
    }

    fn compile(&self, kernels: &Path, source: &str, out: &Path) -> Result<()> {
        let mut python = Command::new(&self.python);
        python.args(["-c", COMPILE]).arg(self.packages.join("cuda_nvrtc/lib/libnvrtc.so.12"));
        python
            .arg(OPTIONS.join(" "))
            .arg(kernels.join(HEADER))
            .arg(kernels.join(format!("{source}.cu")))
            .arg(out);
        run_quietly(&mut python).with_context(|| format!("{source}.cu"))
    }

    fn assemble(&self, ptx: &Path, architecture: &str, out: &Path) -> Result<()> {
        let program = self.packages.join("cuda_nvcc/bin/ptxas");
        make_executable(&program)?;
        let mut ptxas = Command::new(program);
        ptxas.arg(format!("-arch={architecture}")).arg("-o").arg(out).arg(ptx);
        run_quietly(&mut ptxas).with_context(|| format!("{} for {architecture}", ptx.display()))
    }
}

#[cfg(unix)]
fn make_executable(program: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(not(unix))]
fn make_executable(_program: &Path) -> Result<()> {
    Ok(())
}

/// Runs a program that has nothing to say unless it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let output = command.output().with_context(|| format!("{} does not start", program.display()))?;
    if !output.status.success() {
        bail!("{} failed: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
