//! Dask and Ray through the Python package, with an interpreter that has them: they are large, and brought by nobody but the user.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::clips;
use crate::steps::{is_required, root};

/// The packages, and the examples that use them.
const EXAMPLES: [(&str, &str); 2] =
    [("distributed", "python/examples/dask_pairs.py"), ("ray", "python/examples/ray_pairs.py")];
const PAIRS: usize = 6;
const FRAMES: usize = 3;
/// What the examples must agree with.
const PLAIN: &str = "import sys, visus
for pair in zip(sys.argv[1::2], sys.argv[2::2]):
    print(*pair, visus.score(*pair, threads=1).score)";

/// Runs both examples and compares with scores that are computed one after another. Without an interpreter it says that nothing
/// was run.
pub fn check(python: Option<&Path>) -> Result<()> {
    let Some(python) = python else {
        ensure!(
            !is_required("dask") && !is_required("ray"),
            "--python names no interpreter with Dask and Ray"
        );
        eprintln!(
            "!!! Dask and Ray are run on request: cargo xtask fleet --python ENV/bin/python; NOT CHECKED NOW"
        );
        return Ok(());
    };
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
    for (package, example) in EXAMPLES {
        let is_there =
            Command::new(python).args(["-c", &format!("import {package}")]).output()?.status.success();
        if !is_there {
            ensure!(!is_required(package), "{package} is not installed");
            eprintln!("!!! {package} is not installed: {example} IS NOT CHECKED");
            continue;
        }
        let got = said(&[&root().join(example).to_string_lossy()])?;
        ensure!(got == expected, "{example}:\n{got}\nis not\n{expected}");
        println!("ok: {example}: {PAIRS} pairs");
    }
    Ok(())
}
