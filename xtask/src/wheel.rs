//! The Python package: its wheel, built by maturin, and its tests on that wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python;
use crate::steps::{cargo, features, root};

/// Builds the wheel, installs it into the environment under `target/python` and runs its tests. The command line that they
/// compare with is the one that `cargo test` has built.
pub fn test() -> Result<()> {
    let root = root();
    python::prepare(&root)?;
    let wheel = build(&root)?;
    let mut install = python::tool(&root, "python");
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--force-reinstall",
        "--no-deps",
    ]);
    run(install.arg(&wheel))?;
    let mut types = python::tool(&root, "python");
    types
        .args(["-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir"])
        .arg(target().join("mypy"));
    run(types.arg("visus").current_dir(root.join("python")))?;
    let mut pytest = python::tool(&root, "python");
    // Not the package in this folder: the one that was installed.
    pytest.args(["-P", "-m", "pytest", "--durations=5"]).args(std::env::args().skip(2));
    pytest.current_dir(root.join("python")).env("VISUS_BIN", target().join("debug/visus"));
    run(&mut pytest)
}

/// The same without a test run before it.
pub fn test_alone() -> Result<()> {
    cargo(&["build", "--package", "visus", "--features", &features()])?;
    test()
}

/// Profile and features are those of the tests, so that little but the package itself is compiled again.
fn build(root: &Path) -> Result<PathBuf> {
    let folder = target().join("wheels");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut maturin = python::tool(root, "maturin");
    maturin.args(["build", "--quiet", "--locked", "--profile", "dev", "--features", "workspace-features"]);
    maturin.args(["--compatibility", "linux", "--out"]);
    run(maturin.arg(&folder).current_dir(root.join("python")))?;
    let wheels = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
    match &wheels.filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect::<Vec<_>>()[..]
    {
        [wheel] if wheel.to_string_lossy().contains("cp310-abi3") => Ok(wheel.clone()),
        found => bail!("one wheel for every Python from 3.10 on was expected, but there are {found:?}"),
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} does not start"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}
