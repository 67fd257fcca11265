//! `visus` on encoded video, as a person uses it. The clips are made with ffmpeg, which must be installed.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{stderr, stdout};
use serde_json::Value;

const X264: [&str; 6] = ["-c:v", "libx264", "-preset", "superfast", "-crf", "24"];

fn ffmpeg(folder: &Path, args: &[&str]) {
    let output = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-nostdin", "-v", "error", "-y"])
        .args(args)
        .output();
    let output = output
        .unwrap_or_else(|error| panic!("ffmpeg does not start ({error}); install it: apt install ffmpeg"));
    assert!(output.status.success(), "ffmpeg {args:?}: {}", stderr(&output));
}

/// A folder with ref.mkv, dis.mp4 (three frames later, one dropped) and other.mp4.
fn clips() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = ["-f", "lavfi", "-i", "mandelbrot=s=320x180:r=25:end_pts=200:maxiter=200"];
    let look = ["-vf", "rotate=n/40:c=gray,format=yuv420p", "-frames:v", "50"];
    ffmpeg(folder.path(), &[&source[..], &look, &["-c:v", "ffv1", "ref.mkv"]].concat());
    // The rate tells how long the last frame is shown; without it, ffmpeg 7.1 hides that one by the file's edit list.
    let damage = ["-i", "ref.mkv", "-vf", "select='gte(n,3)*not(eq(n,30))',setpts=N/25/TB", "-r", "25"];
    ffmpeg(folder.path(), &[&damage[..], &X264, &["dis.mp4"]].concat());
    let other = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-frames:v", "50", "-pix_fmt", "yuv420p"];
    ffmpeg(folder.path(), &[&other[..], &X264, &["other.mp4"]].concat());
    folder
}

fn visus(folder: &Path, args: &[&str]) -> Output {
    common::visus().current_dir(folder).args(args).output().unwrap()
}

#[test]
fn a_pair_out_of_step_is_scored_right_and_explained() {
    let folder = clips();
    let output = visus(folder.path(), &["score", "ref.mkv", "dis.mp4"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for words in [
        "comparable: warn",
        "begins 3 frames later",
        "1 frame dropped (reference 30)",
        "46 frames of 320x180",
    ] {
        assert!(text.contains(words), "{text} should say {words}");
    }
    let output = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["comparability"]["comparable"], "warn");
    assert_eq!(json["pairing"]["offset"], 3);
    assert_eq!(json["pairing"]["dropped"]["runs"][0]["reference"], 30);
    assert_eq!(json["media"]["distorted"]["codec"], "h264");
    assert!(json["pooled_metrics"]["vmaf_v0.6.1"]["min"].as_f64().unwrap() > 60.0);
}

/// The page tells what a person must know to trust the number, and from which files it comes.
#[test]
fn the_page_tells_verdict_pairing_and_files() {
    let folder = clips();
    let output = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "-q", "--html", "page.html"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let bytes = std::fs::metadata(folder.path().join("dis.mp4")).unwrap().len();
    let sum = Command::new("sha256sum").arg(folder.path().join("dis.mp4")).output().unwrap();
    let sum = stdout(&sum).split(' ').next().unwrap().to_owned();
    for words in [
        "The two videos can be compared with care",
        "1 frame of the reference missing in the distorted video",
        "begins 3 frames later",
        "100 % sure",
        &format!("{bytes} bytes"),
        &sum,
    ] {
        assert!(page.contains(words), "the page should say {words}");
    }
    assert_eq!(sum.len(), 64);
}

#[test]
fn what_cannot_be_compared_ends_with_3() {
    let folder = clips();
    let output = visus(folder.path(), &["score", "ref.mkv", "other.mp4"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("do not show the same pictures"));
    let output = visus(folder.path(), &["score", "ref.mkv", "other.mp4", "--force"]);
    assert!(output.status.success() && stdout(&output).contains("comparable: no"), "{}", stderr(&output));
}

#[test]
fn without_ffmpeg_there_is_a_sentence() {
    let folder = clips();
    for (args, code) in [
        (&["score", "ref.mkv", "dis.mp4"][..], 1),
        (&["worst", "ref.mkv", "dis.mp4"], 1),
        (&["gate", "ref.mkv", "dis.mp4", "--min-mean", "1"], 2),
        (&["search", "ref.mkv", "--target", "80"], 1),
    ] {
        let output = common::visus()
            .current_dir(folder.path())
            .env("PATH", folder.path())
            .env_remove("VISUS_FFMPEG")
            .env_remove("VISUS_FFPROBE")
            .args(args)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let words = stderr(&output);
        for part in ["ffprobe not on PATH; install ffmpeg to ", "apt install ffmpeg"] {
            assert!(words.contains(part), "{args:?}: {words}");
        }
    }
}

/// Each thing is said once.
#[test]
fn an_unreadable_side_is_named_once() {
    let folder = clips();
    std::fs::write(folder.path().join("empty.mp4"), "").unwrap();
    let output = visus(folder.path(), &["score", "ref.mkv", "empty.mp4"]);
    assert_eq!(stderr(&output).trim_end(), "visus: the distorted video: empty.mp4 is empty");
}

/// No test machine need have such hardware: one that is not there is named, and `auto` does without.
#[test]
fn hardware_that_is_not_there() {
    let folder = clips();
    let output = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "--hwaccel", "abacus", "-q"]);
    assert_eq!(output.status.code(), Some(1));
    let words = stderr(&output);
    assert!(words.contains("hardware decoder 'abacus'") && words.contains("without --hwaccel"), "{words}");
    let plain = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "--csv=-"]);
    let auto = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "--csv=-", "--hwaccel", "auto"]);
    assert!(auto.status.success(), "{}", stderr(&auto));
    assert_eq!(stdout(&auto), stdout(&plain));
    let named = visus(folder.path(), &["score", "ref.mkv", "dis.mp4", "--json"]);
    let named: Value = serde_json::from_str(&stdout(&named)).unwrap();
    assert_eq!(named["media"]["distorted"]["decoded_by"], "software");
}

#[test]
fn the_worst_frames_become_pictures() {
    let folder = clips();
    let output = visus(folder.path(), &["worst", "ref.mkv", "dis.mp4", "-n", "2", "-o", "bad"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("2 pictures and worst.json in bad"), "{}", stdout(&output));
    let list = std::fs::read_to_string(folder.path().join("bad/worst.json")).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    for frame in list["frames"].as_array().unwrap() {
        let png = std::fs::read(folder.path().join("bad").join(frame["png"].as_str().unwrap())).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        assert!(frame["description"].as_str().unwrap().starts_with("Frame "));
    }
}

/// Encodes of one reference, out of step each in its own way: the scores of single runs, from one reading of the reference.
#[cfg(unix)]
#[test]
fn a_batch_pairs_each_encode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = clips();
    let path = folder.path();
    ffmpeg(path, &[&["-i", "ref.mkv", "-vf", "scale=160:90"][..], &X264, &["small.mp4"]].concat());
    ffmpeg(path, &[&["-i", "ref.mkv"][..], &X264, &["whole.mkv"]].concat());
    let list =
        "reference,distorted\nref.mkv,dis.mp4\nref.mkv,other.mp4\nref.mkv,small.mp4\nref.mkv,whole.mkv\n";
    std::fs::write(path.join("list.csv"), list).unwrap();
    // Every call of ffmpeg is noted.
    let real = std::env::var("VISUS_FFMPEG").unwrap_or_else(|_| "ffmpeg".to_owned());
    let script = format!("#!/bin/sh\necho \"$*\" >> '{}/calls'\nexec {real} \"$@\"\n", path.display());
    std::fs::write(path.join("noted"), script).unwrap();
    std::fs::set_permissions(path.join("noted"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = common::visus()
        .current_dir(path)
        .env("VISUS_FFMPEG", path.join("noted"))
        .env("VISUS_CHILD_WRITE", path)
        .args(["batch", "list.csv", "-o", "out.ndjson", "-q", "--per-frame", "-j4", "--scale", "reference"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("1 of 4 encodes could not be scored"), "{}", stderr(&output));
    let text = std::fs::read_to_string(path.join("out.ndjson")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line =
        |name: &str| lines.iter().find(|line| line["distorted"].as_str().unwrap().ends_with(name)).unwrap();
    assert!(line("other.mp4")["error"].as_str().unwrap().contains("do not show the same pictures"));
    assert_eq!(line("dis.mp4")["pairing"]["offset"], 3);
    assert_eq!(line("whole.mkv")["comparability"]["comparable"], "yes");
    for name in ["dis.mp4", "small.mp4", "whole.mkv"] {
        let single = visus(path, &["score", "ref.mkv", name, "--json", "--scale", "reference"]);
        let single: Value = serde_json::from_str(&stdout(&single)).unwrap();
        for section in ["frames", "pooled_metrics", "comparability", "pairing", "conversions"] {
            assert_eq!(line(name)[section], single[section], "{section} of {name}");
        }
    }
    let calls = std::fs::read_to_string(path.join("calls")).unwrap();
    let readings =
        |name: &str| calls.lines().filter(|call| call.contains(name) && !call.contains("scale=")).count();
    // Doubtful pairs are scored once more with their alternatives.
    let is_rescored = |line: &&Value| {
        let text = line["pairing"].to_string();
        let mut scores = text.match_indices("\"alternative_score\":");
        scores.any(|(at, key)| !text[at + key.len()..].starts_with("null"))
    };
    let again = lines.iter().filter(is_rescored).count();
    assert_eq!((readings("ref.mkv"), readings("whole.mkv")), (1 + again, 1), "{calls}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_no_decoder() {
    let folder = clips();
    let name = folder.path().to_string_lossy().into_owned();
    let long = folder.path().join("long.mkv").to_string_lossy().into_owned();
    ffmpeg(folder.path(), &["-stream_loop", "40", "-i", "ref.mkv", "-c", "copy", "long.mkv"]);
    let running = || {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        commands.filter(|bytes| String::from_utf8_lossy(bytes).contains(&name)).count()
    };
    let mut child = common::visus().args(["score", &long, &long, "-q"]).spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while running() < 5 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while running() > 0 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(running(), 0);
}

/// Whatever the parts, with an offset and a drop: the merged report is that of one run, but for the time that it took.
#[test]
fn parts_of_encoded_video_merge() {
    let folder = clips();
    let score = |args: &[&str]| {
        let output = visus(folder.path(), &[&["score", "ref.mkv", "dis.mp4"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    };
    score(&["--json=whole.json"]);
    score(&["--to", "20", "--json=a.json"]);
    score(&["--from", "20", "--to", "33", "--json=b.json"]);
    score(&["--from", "33", "--json=c.json"]);
    let output = visus(folder.path(), &["merge", "c.json", "a.json", "b.json", "-o", "all.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| -> String {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report.as_object_mut().unwrap().remove("fps");
        format!("{report:#}")
    };
    assert_eq!(read("all.json"), read("whole.json"));
}
