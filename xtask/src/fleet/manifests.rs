//! What is in `packaging/scale`, as Kubernetes and AWS Batch see it.

use std::process::Command;

use anyhow::{Context, Result};

use crate::steps::{root, succeeds};

/// Holds the manifests against the schemas.
pub fn check() -> Result<()> {
    prepare()?;
    let mut command = Command::new(root().join("target/scale/bin/python"));
    succeeds(command.arg(root().join("tests/scale/manifests.py")).arg(root()))
}

/// Installs packages with schemas and a test server of S3, once.
pub fn prepare() -> Result<()> {
    let (folder, list) = (root().join("target/scale"), root().join("tests/scale/requirements.txt"));
    let stamp = folder.join("packages.txt");
    let wanted = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    if std::fs::read_to_string(&stamp).map_or(true, |held| held != wanted) {
        let mut venv = Command::new("python3");
        succeeds(venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut install = Command::new(folder.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
        succeeds(install.arg("--requirement").arg(&list))?;
        std::fs::write(&stamp, wanted).context("packages.txt")?;
    }
    Ok(())
}
