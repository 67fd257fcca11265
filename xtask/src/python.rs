//! Python packages that tests compare with, and those that build and test our own, in a virtual environment under `target/`.
//!
//! They are installed once; a file in the environment says which versions it holds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Exact versions, so that figures do not change by themselves.
const PACKAGES: [&str; 9] = [
    "av==18.1.0",
    "maturin==1.16.0",
    "numpy==2.4.6",
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "pandas==3.1.1",
    "pyarrow==26.0.1",
    "pytest==9.2.0",
    "scipy==1.17.1",
];

/// Makes the environment, or finds it made. Fails where it cannot be made.
pub fn prepare(root: &Path) -> Result<()> {
    let folder = root.join("target/python");
    let stamp = folder.join("packages.txt");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|held| held == wanted) {
        return Ok(());
    }
    let python = find_python()?;
    let mut make = Command::new(python);
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    run(make, "python3 -m venv (Debian: apt-get install python3-venv)")?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    install.args(PACKAGES);
    run(install, "pip install (PyPI must be reachable)")?;
    std::fs::write(&stamp, wanted).context("packages.txt")
}

/// A program of the environment.
pub fn tool(root: &Path, name: &str) -> Command {
    Command::new(root.join("target/python/bin").join(name))
}

/// A Python for which these packages are built.
fn find_python() -> Result<&'static str> {
    let known = ["python3", "python3.13", "python3.12", "python3.11"];
    let recent = |name: &&str| {
        let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
        Command::new(name).args(["-c", check]).output().is_ok_and(|output| output.status.success())
    };
    if let Some(python) = known.into_iter().find(|name| recent(name)) {
        return Ok(python);
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "--no-install-recommends", "python3", "python3-venv"]);
    let _ = install.status();
    match known.into_iter().find(|name| recent(name)) {
        Some(python) => Ok(python),
        None => bail!(
            "no Python 3.11 or newer with venv: the comparison with scipy and onnxruntime cannot be made"
        ),
    }
}

fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("{what} does not start"))?;
    if status.success() { Ok(()) } else { bail!("{what} ended with {status}") }
}
