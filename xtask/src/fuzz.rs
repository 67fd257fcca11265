//! `cargo xtask fuzz`: every fuzz target for a while, with a corpus that grows under `target/fuzz-corpus`.
//!
//! Targets are tests named `fuzzing::…` that run their bodies through `visus_fuzzing`; the test binaries that `cargo test` builds
//! anyway are enough. Each runs under a limit on its address space, so that an input that asks for much memory ends it.
//! `--libfuzzer` builds `fuzz/` instead, with coverage instrumentation, which a stable compiler can add as well, and hands the
//! same bodies and corpus to libFuzzer.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::steps::{features, root};

/// Addresses that a target may map, in KiB.
const ADDRESSES: u64 = 3 << 20;
/// What one input may allocate under libFuzzer, in MiB.
const LIBFUZZER_MEMORY: u64 = 1024;
const USAGE: &str = "cargo xtask fuzz [--seconds N] [--libfuzzer]";

/// Coverage for libFuzzer; all of it are stable options of the compiler.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing";

/// `cargo xtask fuzz`.
pub fn run() -> Result<()> {
    let (mut seconds, mut libfuzzer) = (60.0, false);
    let mut words = std::env::args().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().context(USAGE)?.parse()?,
            "--libfuzzer" => libfuzzer = true,
            _ => bail!("{word} is not known; usage: {USAGE}"),
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if libfuzzer { with_libfuzzer(seconds) } else { each_for(seconds, cores) }
}

/// Every target for so many seconds, at most so many at once.
pub fn each_for(seconds: f64, at_once: usize) -> Result<()> {
    let targets = targets(&test_binaries()?)?;
    ensure!(targets.len() >= 10, "only {} fuzz targets were found", targets.len());
    let threads = targets.len().min(at_once);
    let waiting = Mutex::new(targets.into_iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
                    let Some(target) = next else { return };
                    if let Err(error) = target.run(seconds) {
                        failures
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .push(format!("{error:#}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

fn corpus() -> PathBuf {
    root().join("target/fuzz-corpus")
}

/// A test that fuzzes, in its binary.
struct Target {
    binary: PathBuf,
    folder: PathBuf,
    test: String,
}

impl Target {
    fn run(&self, seconds: f64) -> Result<()> {
        let args = [&self.test, "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned);
        let mut command = limited(&self.binary, &args);
        command.env("VISUS_FUZZ_SECONDS", seconds.to_string()).env("VISUS_FUZZ_CORPUS", corpus());
        let output = command.current_dir(&self.folder).output().context("sh")?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().filter_map(|line| line.find("fuzz ").map(|at| &line[at..])).for_each(|line| {
            if line.contains(" inputs, ") {
                println!("{line}");
            }
        });
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = words.lines().rev().take(20).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            bail!(
                "{} ended with {}; the last input is in {}/*/running\n{}",
                self.test,
                output.status,
                corpus().display(),
                last.join("\n")
            );
        }
        Ok(())
    }
}

/// A program that cannot map more than its share of addresses.
fn limited(program: &Path, args: &[String]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {ADDRESSES}; exec \"$0\" \"$@\"")]).arg(program).args(args);
    command.stdin(Stdio::null());
    command
}

/// The unit test binaries of all crates, and the folders of these. Selection and features are those of `cargo xtask test`, so
/// that nothing is compiled for this.
fn test_binaries() -> Result<Vec<(PathBuf, PathBuf)>> {
    let features = features();
    let args = ["test", "--no-run", "--workspace", "--features", &features, "--lib", "--message-format=json"];
    let mut command = Command::new(env!("CARGO"));
    let Output { status, stdout, .. } =
        command.args(args).current_dir(root()).stderr(Stdio::inherit()).output().context("cargo")?;
    ensure!(status.success(), "cargo test --no-run: {status}");
    let built = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let binary = message["executable"].as_str()?.into();
        let manifest = Path::new(message["manifest_path"].as_str()?);
        Some((binary, manifest.parent()?.to_path_buf()))
    };
    Ok(String::from_utf8_lossy(&stdout).lines().filter_map(built).collect())
}

/// All tests that fuzz.
fn targets(binaries: &[(PathBuf, PathBuf)]) -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for (binary, folder) in binaries {
        let output = Command::new(binary).args(["--list", "--format=terse"]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
        for test in tests.filter(|test| test.starts_with("fuzzing::")) {
            found.push(Target { binary: binary.clone(), folder: folder.clone(), test: test.to_owned() });
        }
    }
    Ok(found)
}

/// The targets in `fuzz/` under libFuzzer, one after the other.
fn with_libfuzzer(seconds: f64) -> Result<()> {
    let manifest = root().join("fuzz/Cargo.toml");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--locked", "--manifest-path"]).arg(&manifest);
    build.env("RUSTFLAGS", INSTRUMENT);
    let status = build.status().context("cargo")?;
    ensure!(status.success(), "the fuzz targets do not build: {status}");
    for entry in std::fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let name = entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let grown = corpus().join(&name);
        std::fs::create_dir_all(&grown)?;
        let mut args = vec![grown.display().to_string()];
        let committed = root().join("fuzz/corpus").join(&name);
        if committed.is_dir() {
            args.push(committed.display().to_string());
        }
        args.push(format!("-max_total_time={}", seconds.ceil()));
        args.push(format!("-rss_limit_mb={LIBFUZZER_MEMORY}"));
        args.push(format!("-artifact_prefix={}/failure-", grown.display()));
        args.extend(["-print_final_stats=1".to_owned(), "-verbosity=0".to_owned()]);
        let status = limited(&root().join("fuzz/target/release").join(&name), &args).status()?;
        ensure!(status.success(), "{name}: {status}");
        println!("libFuzzer {name}: nothing found");
    }
    Ok(())
}
