//! What people and CI run: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask peers`, `cargo xtask goldens`.
#![forbid(unsafe_code)]

mod agents;
mod capi;
mod fleet;
mod formats;
mod fuzz;
mod gpu;
mod hip;
mod image;
mod libav;
mod lock;
mod peers;
mod python;
mod readme;
mod security;
mod soak;
mod steps;
mod supply;
mod surface;
mod tidy;
mod wheel;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test      everything: format, lints, tidy, all tests, demo and self-test of the release build
cargo xtask check     what needs nothing installed: format, lints, tidy and the unit tests
cargo xtask tidy      what the compiler does not check: crate edges, where unsafe stands, module pages
cargo xtask bench …   speed and memory of the release build; the words behind it go to `visus bench`; --gate compares with docs/bench-figures.json
cargo xtask peers …   only conformance, scores and other clients, against the release build or a binary that is named
cargo xtask agents …  what written-down tasks cost an agent: calls, bytes, errors; --write puts the table into docs/agents.md
cargo xtask readme    writes the tables in docs/ that are made from the binary; with --check it only compares
cargo xtask python    the Python packages that tests compare with (scipy, onnxruntime, …), under target/python
cargo xtask wheel …   builds the Python package and runs its tests; the words behind it go to pytest
cargo xtask capi …    builds libvmaf.so.3 and libvmaf.a and installs them with headers and libvmaf.pc: --prefix DIR
cargo xtask gpu       compiles the CUDA kernels to PTX; with --check it only compares
cargo xtask hip       compiles the CUDA sources for AMD GPUs with hipRTC (Debian: libamdhip64-5); a check, nothing is kept
cargo xtask soak …    mixed and hostile traffic against one server, and what is left of it: --minutes N
cargo xtask fleet …   a plan on Slurm with its workers killed, against one batch: --pairs N --kill-every S
cargo xtask fuzz …    every fuzz target for a minute, or --seconds N, with a corpus that grows
cargo xtask image     builds the container image, starts it with a read-only root and asks it for a score
cargo xtask lock      writes the lock files of npm and PyPI packages that checks use
cargo xtask deny      licences, advisories and sources of dependencies (cargo-deny, cargo-audit)
cargo xtask goldens   only the golden figures (VISUS_GOLDEN names their folder)";

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "test" => steps::test(),
        "check" => steps::check(),
        "tidy" => tidy::check(&steps::root()),
        "bench" => steps::bench(),
        "agents" => agents::run(),
        "peers" => peers::check_named(),
        "readme" => readme::run(std::env::args().any(|word| word == "--check")),
        "python" => python::prepare(&steps::root()),
        "gpu" => gpu::run(std::env::args().any(|word| word == "--check")),
        "hip" => hip::run(),
        "capi" => capi::run(),
        "wheel" => wheel::test_alone(),
        "goldens" => steps::goldens(),
        "soak" => soak::run(),
        "fleet" => fleet::run(),
        "fuzz" => fuzz::run(),
        "image" => image::run_named(),
        "lock" => lock::run(),
        "deny" => supply::check(&steps::root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
