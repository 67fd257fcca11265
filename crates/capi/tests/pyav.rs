//! PyAV's own libvmaf filter, with the library of its wheel and with ours in its place: the same logs to the byte.
//!
//! `cargo xtask test` unpacks the wheel. PyAV itself needs Python 3.12; an older one calls the same filter, in the wheel's ffmpeg
//! libraries, through ctypes. Without the wheel or any Python nothing is compared, and the test says so (`VISUS_REQUIRE=pyav`
//! makes that a failure). The clips are made here, in every pixel format that the filter takes; with `VISUS_GOLDEN` all golden
//! clips are compared too, as far as libvmaf's answer is one (`clips::Compared`).

mod api;
mod clips;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clips::{Compared, Pair};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// A Python that can load PyAV from the wheel, or else one that can load its libraries.
fn python(wheel: &Path) -> Option<PathBuf> {
    let named = ["python3", "python3.14", "python3.13", "python3.12"].map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let all: Vec<PathBuf> =
        named.into_iter().chain(versions.map(|version| version.path().join("bin/python3"))).collect();
    let runs = |python: &&PathBuf, code: &str| {
        let output = Command::new(python).args(["-c", code]).env("PYTHONPATH", wheel).output();
        output.is_ok_and(|output| output.status.success())
    };
    let libraries = format!("import ctypes, glob; ctypes.CDLL(glob.glob({:?})[0])", filter_library(wheel));
    let with_pyav = all.iter().find(|python| runs(python, "import av"));
    with_pyav.or_else(|| all.iter().find(|python| runs(python, &libraries))).cloned()
}

/// A pattern for the wheel's libavfilter.
fn filter_library(wheel: &Path) -> String {
    wheel.join("av.libs/libavfilter-*").display().to_string()
}

/// The wheel's files once more, with our library in the place of its own.
fn swapped(wheel: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pyav-swapped");
    let _ = fs::remove_dir_all(&folder);
    let mut replaced = 0;
    copy_tree(wheel, &folder, &mut |from, to| {
        if from.to_string_lossy().contains("av.libs/libvmaf-") {
            replaced += 1;
            fs::copy(api::ours(), to).map(drop)
        } else {
            fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
        }
    });
    assert_eq!(replaced, 1, "the wheel has one libvmaf");
    folder
}

fn copy_tree(from: &Path, to: &Path, place: &mut dyn FnMut(&Path, &Path) -> std::io::Result<()>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target, place);
        } else if entry.path().extension().is_none_or(|ending| ending != "whl") {
            place(&entry.path(), &target).unwrap();
        }
    }
}

/// What the filter is asked for. No threads: with them the order of libvmaf's columns varies.
const OPTIONS: &[(&str, &[(&str, &str)])] = &[
    ("json", &[("feature", "name=psnr|name=float_ssim")]),
    ("xml", &[("model", "version=vmaf_v0.6.1neg\\:name=neg|version=vmaf_v0.6.1\\:name=plain")]),
    ("csv", &[("n_subsample", "2"), ("pool", "harmonic_mean")]),
    ("sub", &[("feature", "name=psnr_hvs")]),
    ("json", &[("model", "version=vmaf_v0.6.1\\:enable_transform=true"), ("feature", "name=ciede")]),
];

/// A model of VIF and motion alone, for pictures that are too small for ADM.
fn model_without_adm(folder: &Path) -> PathBuf {
    let names = ["motion2_score", "vif_scale0_score", "vif_scale1_score", "vif_scale2_score"];
    let model = json!({
        "param_dict": {"C": 4.0, "nu": 0.9, "gamma": 0.04, "norm_type": "clip_0to1", "score_clip": [0.0, 100.0]},
        "model_dict": {
            "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 2\nrho -1.3\nSV\n\
                      -4 1:0.65 2:0.34 3:0.09 4:0.6 \n4 1:0.87 2:0.49 3:0.59 4:0.78 \n",
            "model_type": "LIBSVMNUSVR",
            "norm_type": "linear_rescale",
            "score_clip": [0.0, 100.0],
            "feature_names": names.map(|name| format!("VMAF_integer_feature_{name}")),
            "slopes": [0.012, 0.06, 1.2, 1.5, 1.7],
            "intercepts": [-0.3, -0.003, -0.17, -0.52, -0.75],
            "feature_dict": {"VMAF_integer_feature": ["vif_scale0", "vif_scale1", "vif_scale2", "motion2"]},
        },
    });
    let path = folder.join("vif_motion.json");
    fs::write(&path, model.to_string()).unwrap();
    path
}

fn jobs(pairs: &[Pair], logs: &Path, small_model: &Path) -> Value {
    let small = format!("path={}", small_model.display());
    let small =
        [("model", small.as_str()), ("feature", "name=psnr|name=float_ssim|name=psnr_hvs|name=ciede")];
    let job = |(number, pair): (usize, &Pair)| {
        let (kind, further) = match pair.compared {
            // PSNR-HVS takes at most 12 bits.
            Compared::All if pair.depth <= 12 => OPTIONS[number % OPTIONS.len()],
            Compared::All => OPTIONS[number % 3],
            Compared::NotAdm => OPTIONS[0],
            Compared::WithoutAdm => ("json", &small[..]),
        };
        let mut options = serde_json::Map::new();
        let log = logs.join(format!("{}.{kind}", pair.name));
        options.insert("log_path".to_owned(), json!(log));
        options.insert("log_fmt".to_owned(), json!(kind));
        options.extend(further.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        json!({"name": pair.name, "reference": pair.reference, "distorted": pair.distorted, "options": options})
    };
    Value::Array(pairs.iter().enumerate().map(job).collect())
}

/// Runs the filter with the library of this folder; what it said, and the logs it wrote.
fn run(python: &Path, wheel: &Path, pairs: &[Pair], folder: &Path) -> (String, Vec<(String, String)>) {
    fs::create_dir_all(folder).unwrap();
    let list = folder.join("jobs.json");
    let model = model_without_adm(list.parent().and_then(Path::parent).unwrap());
    fs::write(&list, jobs(pairs, folder, &model).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyav.py");
    let mut command = Command::new(python);
    let output = command.arg(script).arg(&list).arg(wheel).env("PYTHONPATH", wheel).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut logs: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path() != list) {
        let text = fs::read_to_string(entry.path()).unwrap();
        logs.push((entry.file_name().to_string_lossy().into_owned(), text));
    }
    logs.sort();
    (String::from_utf8_lossy(&output.stdout).into_owned(), logs)
}

/// A log without the version and the speed of who wrote it, which it must have; and without ADM and what is predicted from it
/// where libvmaf's is not its C code's.
fn neutral(log: &str, version: &str, compared: Compared) -> String {
    let mut text = String::new();
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        let own = line.contains("\"version\": ") || line.contains("<VMAF version=");
        assert!(!own || line.contains(version), "{line} is not of {version}");
        let from_adm =
            ["\"integer_adm", "\"integer_aim", "\"vmaf\": "].iter().any(|name| line.contains(name));
        let left_out = own
            || line.contains("\"fps\": ")
            || line.contains("<fyi ")
            || (from_adm && compared == Compared::NotAdm);
        if left_out && line.ends_with('{') {
            // Pooled: minimum, maximum and two means.
            lines.by_ref().take(4).for_each(drop);
        }
        text.push_str(if left_out { "" } else { line });
        text.push('\n');
    }
    text
}

#[test]
fn the_filter_writes_the_same_logs_with_either_library() {
    let wheel = root().join("target/peers/libvmaf");
    let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    let Some(python) = python(&wheel) else {
        let text = format!("no Python loads the libraries of PyAV's wheel in {}", wheel.display());
        assert!(!required.split(',').any(|name| name == "pyav"), "{text}, and VISUS_REQUIRE names pyav");
        eprintln!("!!! {text} (cargo xtask test brings it): THE FILTER IS NOT COMPARED");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = clips::generated(folder.path());
    pairs.extend(clips::golden(folder.path()));
    let (said, expected) = run(&python, &wheel, &pairs, &folder.path().join("theirs"));
    let (ours_said, got) = run(&python, &swapped(&wheel), &pairs, &folder.path().join("ours"));
    assert_eq!(ours_said, said);
    let frames =
        said.lines().skip(1).map(|line| line.split(' ').next_back().and_then(|n| n.parse::<u32>().ok()));
    assert!(
        frames.clone().all(|frames| frames.is_some_and(|frames| frames > 0)),
        "not every pair was scored:\n{said}"
    );
    assert_eq!(
        (frames.count(), expected.len(), got.len()),
        (pairs.len(), pairs.len(), pairs.len()),
        "{said}"
    );
    for ((name, expected), (other, got)) in expected.iter().zip(&got) {
        assert_eq!(name, other);
        let pair = pairs.iter().find(|pair| name.rsplit_once('.').is_some_and(|(stem, _)| stem == pair.name));
        let compared = pair.unwrap().compared;
        assert_eq!(neutral(got, "3.2.0-visus-", compared), neutral(expected, "3.2.0", compared), "{name}");
    }
    println!(
        "{} logs, all equal; the filter was run by {}",
        got.len(),
        said.lines().next().unwrap_or_default()
    );
}
