//! Invariants that the compiler does not check.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::surface::{Sources, has_word};
use crate::{lock, security};

/// Who may depend on whom, among the project's own crates.
const EDGES: &[(&str, &[&str])] = &[
    ("child", &[]),
    ("fuzzing", &[]),
    ("remote", &[]),
    ("video", &[]),
    ("libav", &["video"]),
    ("metrics", &["video"]),
    ("diagnose", &["video"]),
    ("gpu", &["video", "metrics"]),
    ("engine", &["video", "metrics", "gpu"]),
    ("report", &["video", "metrics", "engine"]),
    ("capi", &["video", "metrics", "engine", "report"]),
    ("media", &["child", "video", "diagnose", "engine", "libav"]),
    ("scoring", &["child", "video", "metrics", "diagnose", "engine", "report", "media"]),
    ("tune", &["scoring", "child", "video", "engine", "report", "media"]),
    ("eval", &["child", "video", "metrics", "engine", "report"]),
    ("python", &["scoring", "video", "metrics", "engine", "report", "media", "tune", "eval"]),
    (
        "server",
        &[
            "scoring", "child", "video", "metrics", "diagnose", "engine", "report", "media", "tune", "eval",
            "remote",
        ],
    ),
    (
        "cli",
        &[
            "scoring", "child", "video", "metrics", "diagnose", "engine", "report", "media", "tune", "eval",
            "server", "remote",
        ],
    ),
];

/// A file longer than this wants to be two; tables and kernels are exempt.
const MAX_LINES: usize = 800;

/// Checks everything and lists all faults at once.
pub fn check(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    let files = rust_files(root)?;
    check_edges(root, &Sources::read(root, &files)?, &mut faults)?;
    check_architecture(root, &mut faults)?;
    lock::check(root, &mut faults)?;
    security::check(root, &files, &mut faults)?;
    for path in files {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let shown = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        check_file(&shown, &text, &mut faults);
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{} faults\n  {}", faults.len(), faults.join("\n  "));
}

fn check_edges(root: &Path, sources: &Sources, faults: &mut Vec<String>) -> Result<()> {
    for crate_dir in std::fs::read_dir(root.join("crates"))? {
        let crate_dir = crate_dir?.path();
        let name = crate_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            faults.push(format!("crates/{name} is not in the table of crate edges"));
            continue;
        };
        let manifest = std::fs::read_to_string(crate_dir.join("Cargo.toml"))?;
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let own =
            |line| str::strip_prefix(line, "visus-").and_then(|rest| rest.split(['.', ' ', '=']).next());
        let used: Vec<&str> = dependencies.lines().filter_map(own).collect();
        for used in used.iter().filter(|used| !allowed.contains(used)) {
            faults.push(format!("{name} may not depend on {used}"));
        }
        sources.unused_edges(&name, &used, faults);
        sources.unused_exports(&name, faults);
    }
    Ok(())
}

fn check_architecture(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    for (name, _) in EDGES {
        if !text.contains(&format!("`{name}`")) {
            faults.push(format!("ARCHITECTURE.md does not name `{name}`"));
        }
    }
    Ok(())
}

/// Every Rust file of the project.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates"), root.join("xtask"), root.join("fuzz")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn check_file(path: &Path, text: &str, faults: &mut Vec<String>) {
    let shown = path.display();
    if !text.starts_with("//!") && !text.starts_with("#![") {
        faults.push(format!("{shown} has no page (//!) that says what it owns"));
    }
    let code = without_comments(text);
    if !may_be_unsafe(path) && !part_of(path, "xtask") && has_word(&code, "unsafe") {
        faults.push(format!(
            "{shown} uses unsafe: it may stand in kernel files (avx2, avx512, neon, simd/), gpu/cuda, capi's boundary and libav's objects of C alone"
        ));
    }
    if is_crate_root(path)
        && !text.contains("#![forbid(unsafe_code)]")
        && !text.contains("#![deny(unsafe_code)]")
    {
        faults.push(format!("{shown} neither forbids nor denies unsafe code"));
    }
    for word in [
        ["to", "do!("].concat(),
        ["unimpl", "emented!("].concat(),
        ["FIX", "ME"].concat(),
        ["db", "g!("].concat(),
    ] {
        if code.contains(&word) {
            faults.push(format!("{shown} has a left-over {word}"));
        }
    }
    if !is_test(path) && tests_cut_off(&code).contains(&[".unw", "rap()"].concat()) {
        faults.push(format!("{shown} unwraps outside tests"));
    }
    if text.lines().count() > MAX_LINES && !may_be_long(path) {
        faults.push(format!("{shown} has {} lines, more than {MAX_LINES}", text.lines().count()));
    }
}

fn part_of(path: &Path, name: &str) -> bool {
    path.components().any(|part| part.as_os_str() == name)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_test(path: &Path) -> bool {
    ["tests", "examples", "benches", "fuzz", "fuzzing", "xtask"].iter().any(|name| part_of(path, name))
        || stem(path).ends_with("tests")
}

fn is_crate_root(path: &Path) -> bool {
    path.ends_with("src/lib.rs") || path.ends_with("src/main.rs")
}

fn may_be_unsafe(path: &Path) -> bool {
    let kernels = ["avx2", "avx512", "neon"];
    let named = kernels.contains(&&*stem(path)) || stem(path).starts_with("simd");
    let driver = part_of(path, "gpu") && part_of(path, "cuda");
    // The boundary to C and the memory that C writes into; its tests call the library as C does.
    let boundary = part_of(path, "capi")
        && (part_of(path, "entry") || part_of(path, "tests") || ["entry", "pool"].contains(&&*stem(path)));
    // Frames in memory that belongs to Python.
    let arrays = path.ends_with("crates/python/src/memory.rs");
    // FFmpeg's libraries: an object of C to a file.
    let libraries = path.starts_with("crates/libav/src")
        && ["bindings", "codec", "container", "dictionary", "library", "log", "picture"]
            .contains(&&*stem(path));
    driver
        || arrays
        || libraries
        || boundary
        || part_of(path, "metrics")
            && (named || kernels.iter().chain(&["simd"]).any(|name| part_of(path, name)))
}

fn may_be_long(path: &Path) -> bool {
    may_be_unsafe(path) || part_of(path, "tables") || ["table", "tables", "vectors"].contains(&&*stem(path))
}

/// The text with line comments and documentation removed.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What stands before the unit tests at a file's end.
fn tests_cut_off(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod tests {").next().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check_file(Path::new(path), text, &mut faults);
        faults
    }

    #[test]
    fn this_project_is_tidy() {
        check(&crate::steps::root()).unwrap();
    }

    #[test]
    fn unsafe_stands_in_kernel_files_alone() {
        let text = "//! page\nfn f() { unsafe { g() } }\n";
        assert_eq!(faults("crates/metrics/src/vif/scalar.rs", text).len(), 1);
        assert_eq!(faults("crates/engine/src/avx2.rs", text).len(), 1);
        assert!(faults("crates/metrics/src/vif/avx2.rs", text).is_empty());
        assert!(
            faults("crates/video/src/a.rs", "//! page\n// unsafe in words\nfn unsafe_code() {}\n").is_empty()
        );
    }

    #[test]
    fn pages_and_unwraps() {
        assert_eq!(faults("crates/video/src/a.rs", "fn f() {}\n").len(), 1);
        let unwraps = ["//! page\nfn f() { g().unw", "rap() }\n"].concat();
        assert_eq!(faults("crates/video/src/a.rs", &unwraps).len(), 1);
        assert!(faults("crates/video/tests/a.rs", &unwraps).is_empty());
    }
}
