//! `visus` on a Vulkan adapter, which may be lavapipe: the self-test, scores, and what is said of adapters that are not there.
//!
//! Without an adapter these tests check nothing and say so, unless `VISUS_REQUIRE` names `vulkan`.
#![cfg(feature = "wgpu")]

use std::process::{Command, Output};

fn visus(args: &[&str], cache: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_visus")).args(args).env("VISUS_CACHE_DIR", cache).output().unwrap()
}

/// Whether the machine has no adapter at all.
fn is_left_out(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !text.contains("there is no vulkan adapter on this machine") {
        return false;
    }
    let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word.trim() == "vulkan"), "{text}");
    eprintln!("!!! there is no Vulkan adapter (Debian: mesa-vulkan-drivers): THIS CHECK IS LEFT OUT");
    true
}

#[test]
fn the_self_test_equals_libvmaf() {
    let cache = tempfile::tempdir().unwrap();
    let output = visus(&["selftest", "--backend", "vulkan"], cache.path());
    if is_left_out(&output) {
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("figures are equal to libvmaf's, to the last bit."), "{text}");
    assert!(std::fs::read_to_string(cache.path().join("gpu-selftest")).unwrap().starts_with("vulkan | "));
}

#[test]
fn an_adapter_that_is_not_there_is_refused_with_the_reason() {
    let cache = tempfile::tempdir().unwrap();
    let output = visus(&["selftest", "--backend", "vulkan:63"], cache.path());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("vulkan adapter"), "{text}");
    assert!(text.contains("backend 'vulkan:63' is not available"), "{text}");
    let output = visus(&["selftest", "--backend", "hip"], cache.path());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("'vulkan' serves AMD GPUs"), "{text}");
}
