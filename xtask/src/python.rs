//! Python packages that tests compare with, and those that build and test our own, in a virtual environment under `target/`.
//!
//! They are installed once, by the hashes in `tests/python/requirements.txt`; a copy of that file in the environment says what
//! it holds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Makes the environment, or finds it made. Fails where it cannot be made.
pub fn prepare(root: &Path) -> Result<()> {
    let folder = root.join("target/python");
    let stamp = folder.join("packages.txt");
    // Exact versions, so that figures do not change by themselves.
    let list = root.join("tests/python/requirements.txt");
    let wanted = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    if std::fs::read_to_string(&stamp).is_ok_and(|held| held == wanted) {
        return Ok(());
    }
    let python = find_python()?;
    let mut make = Command::new(python);
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    run(make, "python3 -m venv (Debian: apt-get install python3-venv)")?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
    install.arg("--require-hashes").arg("--requirement").arg(&list);
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
