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

/// Writes a Y4M clip of two frames, grey with a pattern in the distorted one.
fn clip(path: &std::path::Path, width: usize, height: usize, step: usize) {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip Cmono\n").into_bytes();
    for frame in 0..2 {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..width * height).map(|n| ((n + frame) * step % 251) as u8));
    }
    std::fs::write(path, bytes).unwrap();
}

fn scored(folder: &std::path::Path, size: [usize; 2], backend: &str) -> Output {
    let [reference, distorted] = ["reference.y4m", "distorted.y4m"].map(|name| folder.join(name));
    clip(&reference, size[0], size[1], 7);
    clip(&distorted, size[0], size[1], 9);
    let paths = [&reference, &distorted].map(|path| path.to_str().unwrap());
    visus(&["score", "--json", "--quiet", "--backend", backend, paths[0], paths[1]], folder)
}

fn report(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Sizes that nothing divides, and one that does not fit a binding of lavapipe's.
#[test]
fn odd_sizes_are_exact_and_8k_is_exact_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for size in [[33, 35], [641, 363]] {
        let output = scored(folder.path(), size, "vulkan");
        if is_left_out(&output) {
            return;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let cpu = scored(folder.path(), size, "cpu");
        let [vulkan, cpu] = [report(&output), report(&cpu)];
        assert!(vulkan["backend_used"].as_str().unwrap().starts_with("vulkan"), "{vulkan}");
        assert!(cpu["frames"].is_array() && vulkan["frames"] == cpu["frames"], "{size:?}");
    }
    let output = scored(folder.path(), [7680, 4320], "vulkan");
    let text = String::from_utf8_lossy(&output.stderr);
    let numbers = "bytes on the device, but its share is";
    assert!(output.status.success() || text.contains(numbers), "{text}");
}

/// `doctor` lists software, too; `auto` does not use it.
#[test]
fn adapters_are_listed_with_name_driver_and_type() {
    let cache = tempfile::tempdir().unwrap();
    let output = visus(&["doctor"], cache.path());
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((_, line)) = text.split_once("vulkan:0 ") else {
        let probed = visus(&["selftest", "--backend", "vulkan"], cache.path());
        assert!(is_left_out(&probed), "{text}");
        return;
    };
    let line = line.lines().next().unwrap_or_default();
    let kinds = ["discrete GPU", "integrated GPU", "virtual GPU", "software", "unknown type"];
    assert!(line.matches(", ").count() >= 2 && kinds.iter().any(|kind| line.contains(kind)), "{line}");
    let is_only_software = line.ends_with("software") && !text.contains("vulkan:1 ");
    let used = report(&scored(cache.path(), [64, 48], "auto"))["backend_used"].clone();
    assert!(!is_only_software || !used.as_str().unwrap().starts_with("vulkan"), "{used}");
}
