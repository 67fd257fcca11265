//! PyAV's own libvmaf filter, with the library of its wheel and with ours in its place: the same logs to the byte.
//!
//! `cargo xtask test` unpacks the wheel; it needs a Python from 3.12 on. Without either nothing is compared, and the test says so
//! (`VISUS_REQUIRE=pyav` makes that a failure). The clips are made here, in every pixel format that the filter takes; with
//! `VISUS_GOLDEN` the golden clips are compared too, but for those where libvmaf's SIMD code differs from its C code.

mod api;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, write_y4m};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// A Python that can load the wheel: one on the path, or one of pyenv's.
fn python(wheel: &Path) -> Option<PathBuf> {
    let named = ["python3", "python3.14", "python3.13", "python3.12"].map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let loads = |python: &PathBuf| {
        let import = Command::new(python).args(["-c", "import av"]).env("PYTHONPATH", wheel).output();
        import.is_ok_and(|output| output.status.success())
    };
    named.into_iter().chain(versions.map(|version| version.path().join("bin/python3"))).find(loads)
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

/// A pair to be scored.
struct Pair {
    name: String,
    reference: PathBuf,
    distorted: PathBuf,
}

/// Pairs in the formats that the filter takes, even and odd sizes.
fn generated(folder: &Path) -> Vec<Pair> {
    let formats = [
        (576, 324, Chroma::C420, 8),
        (640, 360, Chroma::C420, 10),
        (544, 306, Chroma::C422, 8),
        (560, 316, Chroma::C422, 10),
        (576, 324, Chroma::C444, 8),
        (640, 360, Chroma::C444, 10),
        (576, 323, Chroma::C420, 12),
        (577, 325, Chroma::C420, 8),
    ];
    let pair = |(width, height, chroma, depth): (usize, usize, Chroma, u8)| {
        let format = Format::new(width, height, chroma, depth).unwrap();
        let reference = Clip::scene(format, 4, u64::from(depth) + width as u64);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 30 });
        let name = format!("{width}x{height}-{}-{depth}", chroma.to_string().replace(':', ""));
        let write = |side: &str, clip: &Clip| {
            let path = folder.join(format!("{name}-{side}.y4m"));
            write_y4m(fs::File::create(&path).unwrap(), &format, (25, 1), clip.frames()).unwrap();
            path
        };
        Pair { reference: write("ref", &reference), distorted: write("dis", &distorted), name }
    };
    formats.into_iter().map(pair).collect()
}

/// The golden pairs that are Y4M and the same on all of libvmaf's own paths.
fn golden(folder: &Path) -> Vec<Pair> {
    let Some(golden) = std::env::var_os("VISUS_GOLDEN").map(PathBuf::from) else { return Vec::new() };
    let manifest: Value = serde_json::from_slice(&fs::read(golden.join("manifest.json")).unwrap()).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    let text = |case: &Value, key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let differs = |pair: &str| {
        let marks = ["expected_avx2", "expected_avx512", "nondeterministic_avx2", "nondeterministic_avx512"];
        let of_pair = cases.iter().filter(|case| text(case, "pair") == pair);
        of_pair.into_iter().any(|case| marks.iter().any(|mark| case.get(mark).is_some()))
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for case in cases.iter().filter(|case| text(case, "container") == "y4m") {
        let name = text(case, "pair");
        if pairs.iter().any(|pair| pair.name == name) || differs(&name) {
            continue;
        }
        let [reference, distorted] =
            ["ref", "dis"].map(|side| unpacked(&golden.join(text(case, side)), folder));
        pairs.push(Pair { name, reference, distorted });
    }
    assert!(pairs.len() > 20, "only {} golden pairs", pairs.len());
    pairs
}

fn unpacked(file: &Path, folder: &Path) -> PathBuf {
    use std::io::Read;
    let bytes = fs::read(file).unwrap();
    let name = file.file_name().unwrap().to_string_lossy().trim_end_matches(".zst").to_owned();
    let path = folder.join(name);
    if path.exists() {
        return path;
    }
    let mut out = Vec::new();
    match file.extension().is_some_and(|ending| ending == "zst") {
        true => {
            drop(ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap().read_to_end(&mut out).unwrap())
        }
        false => out = bytes,
    }
    fs::write(&path, out).unwrap();
    path
}

/// What the filter is asked for: the formats of the log, models, features and threads.
const OPTIONS: &[(&str, &[(&str, &str)])] = &[
    ("json", &[("feature", "name=psnr|name=float_ssim"), ("n_threads", "2")]),
    ("xml", &[("model", "version=vmaf_v0.6.1neg\\:name=neg|version=vmaf_4k_v0.6.1\\:name=uhd")]),
    ("csv", &[("n_subsample", "2"), ("pool", "harmonic_mean")]),
    ("sub", &[("feature", "name=psnr_hvs")]),
];

fn jobs(pairs: &[Pair], logs: &Path) -> Value {
    let job = |(number, pair): (usize, &Pair)| {
        let (kind, further) = OPTIONS[number % OPTIONS.len()];
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
    fs::write(&list, jobs(pairs, folder).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyav.py");
    let mut command = Command::new(python);
    let output = command.arg(script).arg(&list).env("PYTHONPATH", wheel).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut logs: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path() != list) {
        let text = fs::read_to_string(entry.path()).unwrap();
        logs.push((entry.file_name().to_string_lossy().into_owned(), text));
    }
    logs.sort();
    (String::from_utf8_lossy(&output.stdout).into_owned(), logs)
}

/// A log without the version and the speed of who wrote it, which it must have.
fn neutral(log: &str, version: &str) -> String {
    let mut text = String::new();
    for line in log.lines() {
        let own = line.contains("\"version\": ") || line.contains("<VMAF version=");
        assert!(!own || line.contains(version), "{line} is not of {version}");
        if !own && !line.contains("\"fps\": ") && !line.contains("<fyi ") {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_filter_writes_the_same_logs_with_either_library() {
    let wheel = root().join("target/peers/libvmaf");
    let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    let Some(python) = python(&wheel) else {
        assert!(!required.split(',').any(|name| name == "pyav"), "no Python loads {}", wheel.display());
        eprintln!(
            "!!! no Python from 3.12 on loads PyAV from {}: ITS FILTER IS NOT COMPARED",
            wheel.display()
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut pairs = generated(folder.path());
    pairs.extend(golden(folder.path()));
    let (said, expected) = run(&python, &wheel, &pairs, &folder.path().join("theirs"));
    let (ours_said, got) = run(&python, &swapped(&wheel), &pairs, &folder.path().join("ours"));
    assert_eq!(ours_said, said);
    let scored = said.lines().filter(|line| line.ends_with(|c: char| c.is_ascii_digit() && c != '0')).count();
    assert!(scored * 10 >= pairs.len() * 9, "the filter scored {scored} of {} pairs:\n{said}", pairs.len());
    assert_eq!(expected.len(), got.len());
    for ((name, expected), (other, got)) in expected.iter().zip(&got) {
        assert_eq!(name, other);
        assert_eq!(neutral(got, "3.2.0-visus-"), neutral(expected, "3.2.0"), "{name}");
    }
    println!("{} logs, all equal", got.len());
}
