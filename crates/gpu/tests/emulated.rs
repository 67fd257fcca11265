//! The kernels and everything around them on an emulated driver (`driver/`): our sources, compiled for the host, behind a
//! `libcuda.so.1` of our own. Numbers must be the CPU's, and every way in which a driver fails must end in a clear error.
//!
//! A C++ compiler is needed: `c++`, or what `CXX` names.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

const CHECK: &str = env!("CARGO_BIN_EXE_visus-gpu-check");

/// The folder with the emulated driver's library.
fn driver() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/driver.cpp");
            let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
            let built = Command::new(compiler)
                .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv"])
                .args(["-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas", "-o"])
                .arg(folder.path().join("libcuda.so.1"))
                .arg(source)
                .status();
            assert!(built.expect("a C++ compiler (Debian: g++)").success(), "the driver does not compile");
            folder
        })
        .path()
}

fn check(arguments: &[&str], folder: &Path, how: &str) -> Output {
    Command::new(CHECK)
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder)
        .env("VISUS_FAKE_CUDA", how)
        .output()
        .unwrap()
}

#[track_caller]
fn assert_fails(arguments: &[&str], how: &str, reason: &str) {
    let output = check(arguments, driver(), how);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(reason), "{how}: {text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn numbers_are_those_of_the_cpu() {
    let output = check(&["compare", "few"], driver(), "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all numbers are equal"), "{text}");
    assert!(text.contains("Emulated GPU"), "{text}");
}

#[test]
fn devices_are_listed() {
    let output = check(&["list"], driver(), "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "cuda:0: Emulated GPU, 4096 MiB, CUDA 12.4, compute capability 9.0\n");
}

#[test]
fn without_a_driver_there_is_a_plain_answer() {
    let empty = tempfile::tempdir().unwrap();
    let output = check(&["list"], empty.path(), "");
    // A machine with a driver of its own finds that one.
    let text = String::from_utf8_lossy(&output.stderr);
    let expected = "visus-gpu-check: CUDA is not available: the NVIDIA driver's library (libcuda.so.1, nvcuda.dll) \
                    is not installed\n";
    assert!(output.status.success() || text == expected, "{text}");
}

#[test]
fn a_driver_without_a_device_says_so() {
    assert_fails(&["list"], "no-device", "CUDA is not available: no CUDA-capable device is detected");
}

#[test]
fn an_old_driver_is_refused_with_both_versions() {
    assert_fails(
        &["list"],
        "old",
        "the NVIDIA driver supports CUDA 11.8, but CUDA 12.0 or later is needed (driver 525 or later)",
    );
}

#[test]
fn an_old_device_is_refused() {
    assert_fails(&["compare", "few"], "old-device", "has compute capability 5.0, but 6.0 or later is needed");
}

#[test]
fn a_device_with_wrong_logarithms_is_refused() {
    assert_fails(
        &["compare", "few"],
        "wrong",
        "the device's results differ from the CPU's: 2048 log2(34002)",
    );
}

#[test]
fn exhausted_memory_is_named() {
    assert_fails(
        &["compare", "few"],
        "memory",
        "the device's memory is exhausted: allocate device memory needs",
    );
}

#[test]
fn a_device_that_another_process_has_for_itself_is_named() {
    assert_fails(&["compare", "few"], "busy", "another process has the device for itself");
}

/// 8 MiB are free: enough for single pairs, or for nothing.
#[test]
fn a_device_that_others_have_filled_is_used_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(&["test", folder.path().to_str().unwrap()], driver(), "crowded");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_fails(&["bench"], "crowded", "bytes on the device, but its share is");
}

#[test]
fn a_device_is_tested_once_for_each_driver() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["test", folder.path().to_str().unwrap()];
    assert_fails(&words, "wrong-sums", "the device's results differ from the CPU's: cambi of test picture 0");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a failure is not remembered");
    let passed = |how: &str| check(&words, driver(), how).status.success();
    assert!(passed(""));
    // From now on nothing is computed, so nothing is found; another driver or kernel would have another line.
    assert!(passed("wrong-sums"));
    let file = folder.path().join("gpu-selftest");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("cuda | Emulated GPU | compute capability 9.0 | CUDA 12.4 |"), "{text}");
    std::fs::write(&file, text.replace("CUDA 12.4", "CUDA 12.3")).unwrap();
    assert!(!passed("wrong-sums"));
}

#[test]
fn a_lost_device_is_named() {
    assert_fails(&["compare", "few"], "lost", "the device was lost (wait for the device)");
}

#[test]
fn a_kernel_that_takes_too_long_is_named() {
    assert_fails(&["compare", "few"], "timeout", "the device did not finish in time (wait for the device)");
}
