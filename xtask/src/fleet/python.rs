//! Dask and Ray through the Python package, which `cargo xtask wheel` has installed beside them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::clips;
use crate::steps::root;

const EXAMPLES: [&str; 2] = ["python/examples/dask_pairs.py", "python/examples/ray_pairs.py"];
const PAIRS: usize = 6;
const FRAMES: usize = 3;
/// What the examples must agree with.
const PLAIN: &str = "import sys, visus
for pair in zip(sys.argv[1::2], sys.argv[2::2]):
    print(*pair, visus.score(*pair, threads=1).score)";

/// Runs both examples and compares with scores that are computed one after another.
pub fn check(python: &Path) -> Result<()> {
    let has_package = Command::new(python).args(["-c", "import visus"]).output();
    ensure!(
        has_package.is_ok_and(|output| output.status.success()),
        "{} has no Python package of ours: cargo xtask wheel installs it",
        python.display()
    );
    let folder = tempfile::tempdir()?;
    let list = std::fs::read_to_string(clips::write(folder.path(), PAIRS, FRAMES)?)?;
    let files: Vec<&str> = list.lines().skip(1).flat_map(|row| row.split(',')).collect();
    let said = |args: &[&str]| -> Result<String> {
        let output = Command::new(python).args(args).args(&files).output().context("python")?;
        ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let expected = said(&["-c", PLAIN])?;
    ensure!(expected.lines().count() == PAIRS, "{expected}");
    for example in EXAMPLES {
        let got = said(&[&root().join(example).to_string_lossy()])?;
        ensure!(got == expected, "{example}:\n{got}\nis not\n{expected}");
        println!("ok: {example}: {PAIRS} pairs");
    }
    Ok(())
}
