//! Encoded video that a device decodes: the report is the one of ffmpeg's pictures, and whatever the device cannot decode is
//! ffmpeg's again, with the reason in the report.
//!
//! The device is the emulated driver of `visus-gpu`'s tests with a video library beside it, both compiled here.
#![cfg(target_os = "linux")]

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

const VISUS: &str = env!("CARGO_BIN_EXE_visus");

/// Libraries, clips and the memory of what has passed the self-test.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            compile("driver.cpp", &folder.path().join("libcuda.so.1"));
            std::fs::create_dir(folder.path().join("video")).unwrap();
            compile("nvcuvid.cpp", &folder.path().join("video/libnvcuvid.so.1"));
            folder
        })
        .path()
}

fn compile(source: &str, into: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/tests/driver").join(source);
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let built = Command::new(compiler)
        .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv"])
        .args(["-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas", "-o"])
        .arg(into)
        .arg(source)
        .status();
    assert!(built.expect("a C++ compiler (Debian: g++)").success(), "{} does not compile", into.display());
}

/// A clip of twelve frames by these words of ffmpeg.
fn clip(name: &str, words: &[&str]) -> PathBuf {
    let path = folder().join(name);
    let made = Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-frames:v", "12"])
        .args(words)
        .arg(&path)
        .status();
    assert!(made.expect("ffmpeg").success(), "{name}");
    path
}

fn visus(pair: [&Path; 2], backend: &str, (libraries, fault): (&[&str], &str)) -> Output {
    let libraries: Vec<PathBuf> = libraries.iter().map(|name| folder().join(name)).collect();
    Command::new(VISUS)
        .args(["score", "-q", "--json", "--no-detectors", "-t", "2", "--backend", backend])
        .args(pair)
        .env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap())
        .env("VISUS_CACHE_DIR", folder())
        .env("VISUS_FAKE_NVDEC", fault)
        .env("VISUS_DECODERS", DECODERS.get())
        .output()
        .unwrap()
}

thread_local! {
    /// How many decoders share a stream; empty for as many as pay.
    static DECODERS: Cell<&'static str> = const { Cell::new("") };
}

fn report(pair: [&Path; 2], backend: &str, how: (&[&str], &str)) -> Value {
    let output = visus(pair, backend, how);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Everything about the scores and the pairs.
fn essence(report: &Value) -> Value {
    let keys = ["frames", "pooled_metrics", "aggregate_metrics", "pairing", "comparability", "conversions"];
    keys.iter().map(|key| report[*key].clone()).collect()
}

const ALL: &[&str] = &["", "video"];

#[test]
fn pictures_of_the_device_are_those_of_ffmpeg() {
    let x264 = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"];
    let x265 = [
        "-c:v",
        "libx265",
        "-preset",
        "ultrafast",
        "-pix_fmt",
        "yuv420p10le",
        "-x265-params",
        "log-level=error",
    ];
    let vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-pix_fmt", "yuv420p"];
    let crf = |words: &[&'static str], crf: &'static str| [words, &["-crf", crf]].concat();
    for (name, words) in [("h264.mp4", &x264[..]), ("hevc.mkv", &x265[..]), ("vp9.webm", &vp9[..])] {
        let reference = clip(&format!("ref-{name}"), &crf(words, "10"));
        let distorted = clip(&format!("dis-{name}"), &crf(words, "45"));
        let pair = [&*reference, &*distorted];
        let (cpu, cuda) = (report(pair, "cpu", (&[], "")), report(pair, "cuda", (ALL, "")));
        for side in ["reference", "distorted"] {
            assert_eq!(
                cuda["media"][side]["decoded_by"], "nvdec (cuda:0)",
                "{name}: {:?}",
                cuda["media"][side]
            );
        }
        assert_eq!(cpu["media"]["reference"]["decoded_by"], "software");
        assert!(cpu["frames"].as_array().is_some_and(|frames| frames.len() == 12), "{cpu}");
        assert_eq!(essence(&cuda), essence(&cpu), "{name}");
    }
}

/// Streams that begin anew every 33 pictures are shared by several decoders; one decoder, and ffmpeg, give the same pictures.
#[test]
fn several_engines_share_a_stream() {
    let long = ["-frames:v", "100", "-vf", "scale=96:64", "-g", "33", "-bf", "3", "-pix_fmt", "yuv420p"];
    let x264 = ["-c:v", "libx264", "-preset", "veryfast", "-sc_threshold", "0"];
    let x265 = [
        "-c:v",
        "libx265",
        "-preset",
        "ultrafast",
        "-x265-params",
        "log-level=error:open-gop=0:repeat-headers=1:keyint=33:min-keyint=33:scenecut=0",
    ];
    for (name, words) in [("long-h264.mp4", &x264[..]), ("long-hevc.mp4", &x265[..])] {
        let reference = clip(&format!("ref-{name}"), &[words, &long, &["-crf", "10"]].concat());
        let distorted = clip(&format!("dis-{name}"), &[words, &long, &["-crf", "40"]].concat());
        let pair = [&*reference, &*distorted];
        let cpu = essence(&report(pair, "cpu", (&[], "")));
        for decoders in ["1", "3"] {
            DECODERS.set(decoders);
            let cuda = report(pair, "cuda", (ALL, ""));
            assert_eq!(cuda["media"]["distorted"]["decoded_by"], "nvdec (cuda:0)", "{name} {decoders}");
            assert_eq!(essence(&cuda), cpu, "{name} {decoders}");
        }
        DECODERS.set("many");
        let cuda = report(pair, "cuda", (ALL, ""));
        let told = cuda["media"]["distorted"]["not_decoded_on_device"].as_str().unwrap_or_default();
        assert!(told.contains("VISUS_DECODERS is 'many'"), "{told}");
    }
}

#[test]
fn what_the_device_cannot_decode_is_ffmpegs_with_the_reason() {
    let words = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-crf"];
    let reference = clip("ref.mp4", &[&words[..], &["10"]].concat());
    let distorted = clip("dis.mp4", &[&words[..], &["40"]].concat());
    let pair = [&*reference, &*distorted];
    let cpu = report(pair, "cpu", (&[], ""));
    for (libraries, fault, reason) in [
        (&[""][..], "", "libnvcuvid.so.1) is not installed"),
        (ALL, "no-codec", "has no decoder for H.264 of 8 bits"),
        (ALL, "fields", "may have fields"),
        (ALL, "damaged", "a picture is damaged"),
        (ALL, "changes", "changes its format"),
        (ALL, "short", "the container counts 12"),
    ] {
        let cuda = report(pair, "cuda", (libraries, fault));
        let told = cuda["media"]["reference"]["not_decoded_on_device"].as_str().unwrap_or_default();
        assert!(told.contains(reason), "{fault}: {told}");
        assert_eq!(cuda["media"]["reference"]["decoded_by"], "software", "{fault}");
        assert_eq!(essence(&cuda), essence(&cpu), "{fault}");
    }
    let wide = clip("wide.mp4", &[&words[..], &["10", "-pix_fmt", "yuv444p"]].concat());
    let cuda = report([&wide, &distorted], "cuda", (ALL, ""));
    let told = cuda["media"]["reference"]["not_decoded_on_device"].as_str().unwrap_or_default();
    assert!(told.contains("yuv444p"), "{told}");
}
