//! `cargo xtask lock`: the lock files of packages from npm and PyPI that checks use, with a hash for every file.
//!
//! What is wanted stands in `package.json` and `requirements.in`; the lock files beside them name everything that comes with it.
//! Installing compares hashes and takes nothing else. No lock file names a registry, so that a mirror does as well.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::steps::{root, succeeds};

/// The tool that resolves Python packages.
const RESOLVER: &str = "pip-tools==7.6.2";

/// Writes all lock files anew.
pub fn run() -> Result<()> {
    let clients = root().join("tests/clients");
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--package-lock-only",
        "--omit-lockfile-registry-resolved",
        "--no-audit",
        "--no-fund",
    ]);
    succeeds(npm.current_dir(&clients))?;
    let folder = root().join("target/lock");
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    succeeds(Command::new(folder.join("bin/pip")).args(["install", "--quiet", RESOLVER]))?;
    for place in [clients, root().join("tests/python"), root().join("tests/scale")] {
        compile(&folder, &place)?;
    }
    Ok(())
}

fn compile(tools: &Path, place: &Path) -> Result<()> {
    let mut command = Command::new(tools.join("bin/pip-compile"));
    command.args([
        "--quiet",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--strip-extras",
        "--allow-unsafe",
    ]);
    command.args([
        "--no-emit-index-url",
        "--no-emit-trusted-host",
        "--no-emit-find-links",
        "--no-emit-options",
    ]);
    command.args(["--output-file", "requirements.txt", "requirements.in"]);
    succeeds(command.current_dir(place))?;
    let path = place.join("requirements.txt");
    let text = std::fs::read_to_string(&path)?;
    Ok(std::fs::write(path, format!("# Made from requirements.in: cargo xtask lock\n{text}"))?)
}

/// What is wrong with the lock files: every package needs a hash, and none may name where it comes from.
pub fn check(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let path = root.join("tests/clients/package-lock.json");
    let text = std::fs::read_to_string(&path).context("tests/clients/package-lock.json")?;
    let lock: serde_json::Value = serde_json::from_str(&text)?;
    for (name, package) in
        lock["packages"].as_object().into_iter().flatten().filter(|(name, _)| !name.is_empty())
    {
        if !package["integrity"].is_string() {
            faults.push(format!("package-lock.json has no hash for {name}"));
        }
        if package.get("resolved").is_some() {
            faults.push(format!(
                "package-lock.json says where {name} comes from; make it with cargo xtask lock"
            ));
        }
    }
    for folder in ["tests/clients", "tests/python", "tests/scale"] {
        let read = |name: &str| {
            std::fs::read_to_string(root.join(folder).join(name)).context(format!("{folder}/{name}"))
        };
        faults.extend(python_faults(folder, &read("requirements.in")?, &read("requirements.txt")?));
    }
    Ok(())
}

fn python_faults(folder: &str, wanted: &str, locked: &str) -> Vec<String> {
    let joined = locked.replace("\\\n", " ");
    let lines: Vec<&str> =
        joined.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).collect();
    let unhashed = lines.iter().filter(|line| !line.contains("--hash=sha256:"));
    let mut faults: Vec<String> =
        unhashed.map(|line| format!("{folder}/requirements.txt has no hash: {line}")).collect();
    // Extras are not in the lock file: what they bring is.
    let plain = |name: &str| match (name.split_once('['), name.split_once(']')) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        _ => name.to_owned(),
    };
    let missing = wanted
        .lines()
        .filter(|name| !name.is_empty() && !lines.iter().any(|line| line.starts_with(&plain(name))));
    faults.extend(
        missing.map(|name| format!("{folder}/requirements.txt does not have {name}; run cargo xtask lock")),
    );
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_without_a_hash_are_found() {
        let locked = "a==1 \\\n    --hash=sha256:00\nb==2\n";
        assert_eq!(python_faults("f", "a==1\n", locked), ["f/requirements.txt has no hash: b==2"]);
        assert_eq!(python_faults("f", "c==3\n", "a==1 --hash=sha256:00\n").len(), 1);
    }
}
