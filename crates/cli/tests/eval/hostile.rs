//! Models that mean harm.

use std::path::Path;

use crate::common::{stderr, visus};
use crate::evaluate::eval;
use crate::python::made;

#[test]
fn hostile_models_end_in_words() {
    for (model, words) in [
        ("loop.onnx", "uses operator 'Loop', which is not allowed"),
        ("up.onnx", "'../secret.bin': it must lie in the model's own folder"),
        ("absolute.onnx", "it must lie in the model's own folder"),
        ("link.onnx", "it must lie in the model's own folder"),
        ("garbage.onnx", "is not an ONNX file"),
    ] {
        let output = eval(&[model, "--features", "thirty.parquet", "--split", "all"]);
        assert_eq!(output.status.code(), Some(1), "{model}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{model}: {} should say {words}", stderr(&output));
    }
}

#[test]
fn a_tensor_of_terabytes_is_stopped() {
    for model in ["bomb_ConstantOfShape.onnx", "bomb_Tile.onnx", "bomb_Expand.onnx"] {
        let output = eval(&[model, "--features", "thirty.parquet", "--split", "all"]);
        assert_eq!(output.status.code(), Some(1), "{model}: {}", stderr(&output));
        let text = stderr(&output);
        let told =
            text.contains("more memory than the 4096 MiB that are allowed") || text.contains("failed:");
        assert!(told && !text.contains("panicked"), "{model}: {text}");
    }
}

#[test]
fn endless_work_is_stopped_and_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let args = [
        "slow.onnx",
        "--features",
        "thirty.parquet",
        "--split",
        "all",
        "--time-limit",
        "1",
        "--threads",
        "1",
    ];
    let output = visus()
        .current_dir(&made().folder)
        .env("TMPDIR", place.path())
        .arg("eval")
        .args(args)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("took longer than the 1 s that are allowed"), "{}", stderr(&output));
    assert_eq!(workers(place.path()), 0, "a process is left");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "a file is left");
}

/// Processes that work in a folder.
fn workers(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let works_there = |entry: &std::fs::DirEntry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(folder)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(works_there).count()
}
