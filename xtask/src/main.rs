//! What people and CI run: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask peers`, `cargo xtask goldens`.
#![forbid(unsafe_code)]

mod capi;
mod formats;
mod gpu;
mod peers;
mod python;
mod readme;
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
cargo xtask bench …   speed and memory of the release build; the words behind it go to `visus bench`
cargo xtask peers …   only conformance, scores and other clients, against the release build or a binary that is named
cargo xtask readme    writes the tables in docs/ that are made from the binary; with --check it only compares
cargo xtask python    the Python packages that tests compare with (scipy, onnxruntime, …), under target/python
cargo xtask wheel …   builds the Python package and runs its tests; the words behind it go to pytest
cargo xtask capi …    builds libvmaf.so.3 and libvmaf.a and installs them with headers and libvmaf.pc: --prefix DIR
cargo xtask gpu       compiles the CUDA kernels to PTX; with --check it only compares
cargo xtask deny      licences, advisories and sources of dependencies (cargo-deny, cargo-audit)
cargo xtask goldens   only the golden figures (VISUS_GOLDEN names their folder)";

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "test" => steps::test(),
        "check" => steps::check(),
        "tidy" => tidy::check(&steps::root()),
        "bench" => steps::bench(),
        "peers" => peers::check_named(),
        "readme" => readme::run(std::env::args().any(|word| word == "--check")),
        "python" => python::prepare(&steps::root()),
        "gpu" => gpu::run(std::env::args().any(|word| word == "--check")),
        "capi" => capi::run(),
        "wheel" => wheel::test_alone(),
        "goldens" => steps::goldens(),
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
