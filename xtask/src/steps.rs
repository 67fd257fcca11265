//! The steps of a full check, in the order in which they fail fastest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::{capi, fleet, fuzz, gpu, hip, image, libav, peers, python, readme, soak, supply, tidy, wheel};

/// The project's folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Tests are built with everything that is compiled in on demand, so that nothing is compiled twice; [`libav`] comes on top.
const FEATURES: &str = "visus/nats,visus/object-store,visus/otel,visus/wgpu";
/// The same for lints, which also see the fixtures of the conformance suite.
const ALL_FEATURES: &str = "visus/conformance-fixtures,visus/nats,visus/object-store,visus/otel,visus/wgpu";

/// The features that tests are built with on this machine.
pub fn features() -> String {
    libav::with_libav(FEATURES)
}

/// Seconds for each fuzz target. In a full check all run at once and share the cores.
const FUZZ_SECONDS: f64 = 60.0;

/// Everything that must hold.
pub fn test() -> Result<()> {
    let started = Instant::now();
    step("libav", libav::bring)?;
    static_checks(&libav::with_libav(ALL_FEATURES))?;
    step("gpu", || gpu::run(true))?;
    step("hip", hip::check)?;
    step("deny", || supply::check(&root()))?;
    say_golden()?;
    bring("ffmpeg", "ffmpeg");
    bring("chromium", "chromium");
    bring("c++", "g++");
    bring_vulkan();
    bring("nats-server", "nats-server");
    step("python", || python::prepare(&root()))?;
    step("scale", fleet::prepare)?;
    step("libvmaf", capi::bring_peer)?;
    cargo(&["test", "--workspace", "--features", &features()])?;
    step("python wheel", wheel::test)?;
    step("fuzz", || fuzz::each_for(FUZZ_SECONDS, usize::MAX))?;
    cargo(&["run", "--release", "--", "demo", "--quiet"])?;
    cargo(&["run", "--release", "--", "selftest"])?;
    step("readme", || readme::run(true))?;
    step("soak", || soak::short(&root().join("target/release/visus")))?;
    peers::check()?;
    fleet::check()?;
    step("image", || image::run(None))?;
    println!("xtask test: all passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// What needs nothing installed: format, lints, tidy, and the unit tests of all crates.
pub fn check() -> Result<()> {
    let started = Instant::now();
    static_checks(&libav::with_libav(ALL_FEATURES))?;
    // The same selection and features as in `test`: with others, dependencies would be compiled again.
    cargo(&["test", "--quiet", "--workspace", "--features", &features(), "--lib"])?;
    println!("xtask check: all passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Format, order, lints.
fn static_checks(features: &str) -> Result<()> {
    if has_component("fmt")? {
        cargo(&["fmt", "--all", "--check"])?;
    }
    step("tidy", || tidy::check(&root()))?;
    if has_component("clippy")? {
        cargo(&["clippy", "--workspace", "--all-targets", "--features", features, "--", "-D", "warnings"])?;
    }
    Ok(())
}

/// Whether `VISUS_REQUIRE` names this: then it must not be left out.
pub fn is_required(name: &str) -> bool {
    let list = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    list.split(',').any(|word| word.trim() == name)
}

/// The golden figures alone.
pub fn goldens() -> Result<()> {
    if std::env::var_os("VISUS_GOLDEN").is_none() {
        bail!("VISUS_GOLDEN does not name the folder of golden figures");
    }
    cargo(&["test", "--package", "visus", "--test", "golden", "--", "--nocapture"])
}

/// `visus bench` of the release build. `--gate` compares with the figures in the repository, `--gate --keep` replaces them.
pub fn bench() -> Result<()> {
    let figures = format!("--gate={}", root().join("docs/bench-figures.json").display());
    let words = std::env::args().skip(2).map(|word| if word == "--gate" { figures.clone() } else { word });
    let words: Vec<String> = words.collect();
    let mut args = vec!["run", "--release", "--", "bench"];
    args.extend(words.iter().map(String::as_str));
    cargo(&args)
}

/// Formatting and lints are parts of the toolchain that may be absent; rustup brings them where it can.
fn has_component(name: &str) -> Result<bool> {
    let present = || {
        Command::new("cargo").args([name, "--version"]).output().is_ok_and(|output| output.status.success())
    };
    if present() {
        return Ok(true);
    }
    let component = if name == "fmt" { "rustfmt" } else { name };
    let _ = Command::new("rustup").args(["component", "add", component]).status();
    let now = present();
    if !now {
        let text = format!("cargo {name} is not installed and rustup could not add it");
        if is_required("lints") {
            bail!("{text}, and VISUS_REQUIRE names lints");
        }
        eprintln!("!!! {text}: THIS CHECK IS LEFT OUT");
    }
    Ok(now)
}

/// Installs a Debian package that a test needs, where that is possible. The test itself says what is missing.
pub fn bring(program: &str, package: &str) {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()) {
        return;
    }
    println!("--- {program} is not there");
    if !install(package) {
        eprintln!("!!! {package} could not be installed; the tests that need {program} will fail and say so");
    }
}

/// A Vulkan driver that computes on the processor. Without one, tests that `VISUS_REQUIRE` does not name are left out.
fn bring_vulkan() {
    let drivers = std::fs::read_dir("/usr/share/vulkan/icd.d").into_iter().flatten().flatten();
    let is_lavapipe = |name: &str| name.starts_with("lvp_icd");
    if drivers.into_iter().any(|entry| is_lavapipe(&entry.file_name().to_string_lossy())) {
        return;
    }
    println!("--- lavapipe is not there");
    if !install("mesa-vulkan-drivers") {
        eprintln!("!!! mesa-vulkan-drivers could not be installed; Vulkan's kernels are NOT tested");
    }
}

/// Installs a Debian package; false where that is not possible.
pub fn install(package: &str) -> bool {
    println!("--- apt-get install {package}");
    let install = ["install", "-y", "--no-install-recommends", package];
    let installed =
        |args: &[&str]| Command::new("apt-get").args(args).status().is_ok_and(|status| status.success());
    installed(&install) || (installed(&["update"]) && installed(&install))
}

fn say_golden() -> Result<()> {
    match std::env::var("VISUS_GOLDEN") {
        Ok(folder) => println!("golden figures: {folder}"),
        Err(_) if is_required("golden") => bail!("VISUS_GOLDEN is not set, and VISUS_REQUIRE names golden"),
        Err(_) => eprintln!(
            "!!! VISUS_GOLDEN is not set: figures of golden clips are NOT compared (the built-in ones of the self-test are)"
        ),
    }
    Ok(())
}

/// Runs a command that has to succeed.
pub fn succeeds(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} does not start"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

pub fn step(name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("--- {name}");
    let started = Instant::now();
    run().with_context(|| name.to_owned())?;
    println!("--- {name}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

pub fn cargo(args: &[&str]) -> Result<()> {
    step(&format!("cargo {}", args.join(" ")), || {
        let status = Command::new(env!("CARGO"))
            .args(args)
            .current_dir(root())
            .status()
            .context("cargo does not start")?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(())
    })
}
