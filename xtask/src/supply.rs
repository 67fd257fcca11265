//! Where the code of others comes from: licences, known holes and sources of the dependency tree.
//!
//! Licences and sources are checked here against `deny.toml`, with nothing but cargo. cargo-deny and cargo-audit, where they
//! are installed and can fetch their database, check the same and known holes; what could not be checked is said loudly.

mod licences;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::steps::is_required;

/// The programs, and what each is asked.
const CHECKS: [(&str, &[&str]); 2] = [
    ("deny", &["check", "licenses", "bans", "sources", "advisories"]),
    ("audit", &["--deny", "unsound", "--deny", "yanked"]),
];

/// Runs all checks.
pub fn check(root: &Path) -> Result<()> {
    let allowed = licences::allowed(&std::fs::read_to_string(root.join("deny.toml")).context("deny.toml")?);
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let packages = packages(root, manifest)?;
        let faults: Vec<String> = packages.iter().filter_map(|package| fault(package, &allowed)).collect();
        ensure!(faults.is_empty(), "{manifest}:\n{}", faults.join("\n"));
        println!("{manifest}: licences and sources of {} packages are allowed", packages.len());
    }
    with_programs(root)
}

/// All packages of a lock file, on every platform.
fn packages(root: &Path, manifest: &str) -> Result<Vec<Value>> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--all-features",
        "--manifest-path",
        manifest,
    ]);
    let output = command.current_dir(root).output().context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout)?;
    match metadata["packages"].take() {
        Value::Array(packages) if !packages.is_empty() => Ok(packages),
        _ => bail!("cargo metadata lists no packages"),
    }
}

/// What is wrong with a package of somebody else's.
fn fault(package: &Value, allowed: &[String]) -> Option<String> {
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let source = package["source"].as_str()?;
    if source != REGISTRY {
        return Some(format!("{name} comes from {source}"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    let fits = licences::is_allowed(licence, allowed);
    (!fits).then(|| format!("{name} has the licence '{licence}', which deny.toml does not allow"))
}

/// Runs what is installed. A program that is missing, or a database that cannot be fetched, is said loudly and fails nothing:
/// neither says anything about the tree. Where `VISUS_REQUIRE` names advisories, it fails.
fn with_programs(root: &Path) -> Result<()> {
    for (name, words) in CHECKS {
        if !is_installed(name) {
            left_out(&format!(
                "cargo-{name} is not installed (cargo install --locked cargo-{name}): KNOWN HOLES ARE NOT LOOKED UP WITH IT"
            ))?;
            continue;
        }
        let output = Command::new("cargo").arg(name).args(words).current_dir(root).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => println!("cargo {name}: nothing found"),
            false if is_unreachable(&text) => {
                left_out(&format!(
                    "cargo {name} cannot fetch its database of advisories: THIS CHECK IS LEFT OUT"
                ))?;
            }
            false => bail!("cargo {name} found\n{}{text}", String::from_utf8_lossy(&output.stdout)),
        }
    }
    Ok(())
}

fn left_out(text: &str) -> Result<()> {
    ensure!(!is_required("advisories"), "{text}, and VISUS_REQUIRE names advisories");
    eprintln!("!!! {text}");
    Ok(())
}

fn is_installed(name: &str) -> bool {
    Command::new("cargo").args([name, "--version"]).output().is_ok_and(|output| output.status.success())
}

/// Whether the words are about the network and not about the tree.
fn is_unreachable(text: &str) -> bool {
    let words = [
        "failed to fetch",
        "couldn't fetch",
        "error fetching",
        "dns error",
        "Could not resolve",
        "timed out",
    ];
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_sources_and_licences_are_found() {
        let package = |source: &str, licence: &str| serde_json::json!({ "name": "a", "version": "1.0.0", "source": source, "license": licence });
        let allowed = ["MIT".to_owned()];
        let index = "registry+https://github.com/rust-lang/crates.io-index";
        assert_eq!(fault(&package(index, "MIT OR GPL-3.0"), &allowed), None);
        assert!(fault(&package(index, "GPL-3.0"), &allowed).unwrap().contains("GPL-3.0"));
        assert!(
            fault(&package("git+https://example.com/a", "MIT"), &allowed).unwrap().contains("example.com")
        );
        assert_eq!(
            fault(&serde_json::json!({ "name": "own", "version": "1.0.0", "source": null }), &allowed),
            None
        );
    }

    #[test]
    fn a_missing_network_is_no_finding() {
        assert!(is_unreachable("error: couldn't fetch advisory database: git operation failed"));
        assert!(!is_unreachable("error[vulnerability]: Integer overflow in `x`"));
    }
}
