//! Where the code of others comes from: licences, known holes and sources of the dependency tree.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

/// The programs, and what each is asked.
const CHECKS: [(&str, &[&str]); 2] = [
    ("deny", &["check", "licenses", "bans", "sources", "advisories"]),
    ("audit", &["--deny", "unsound", "--deny", "yanked"]),
];

/// Runs what is installed. A program that is missing, or a database that cannot be fetched, is said loudly and fails nothing:
/// neither says anything about the tree.
pub fn check(root: &Path) -> Result<()> {
    for (name, words) in CHECKS {
        if !is_installed(name) {
            eprintln!(
                "!!! cargo-{name} is not installed (cargo install --locked cargo-{name}): THIS CHECK IS LEFT OUT"
            );
            continue;
        }
        let output = Command::new("cargo").arg(name).args(words).current_dir(root).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => println!("cargo {name}: nothing found"),
            false if is_unreachable(&text) => {
                eprintln!("!!! cargo {name} cannot fetch its database of advisories: THIS CHECK IS LEFT OUT");
            }
            false => bail!("cargo {name} found\n{}{text}", String::from_utf8_lossy(&output.stdout)),
        }
    }
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
    fn a_missing_network_is_no_finding() {
        assert!(is_unreachable("error: couldn't fetch advisory database: git operation failed"));
        assert!(!is_unreachable("error[vulnerability]: Integer overflow in `x`"));
    }
}
