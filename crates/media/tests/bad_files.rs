//! Files that are no video, or not a whole one; names that look like something else; nothing is left behind.

mod common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Scene, X264, left_behind, score};
use visus_media::{Input, PairOptions, Scale, Verdict, open_pair};

fn options() -> PairOptions {
    PairOptions { scale: Scale::Reference, ..PairOptions::default() }
}

fn cut(path: &Path, name: &str, keep: f64) -> PathBuf {
    let bytes = std::fs::read(path).unwrap();
    let to = path.with_file_name(name);
    std::fs::write(&to, &bytes[..(bytes.len() as f64 * keep) as usize]).unwrap();
    to
}

#[test]
fn each_kind_of_bad_file_gets_its_own_words() {
    let scene = Scene::new("320x180", 25, 50);
    let good = scene.path("ref.mkv");
    let whole = scene.encode("", &[X264, &["-movflags", "+faststart"]].concat(), "whole.mp4");
    let tail = scene.encode("", X264, "tail.mp4");
    let mkv = scene.encode("", X264, "whole.mkv");
    let put = |name: &str, bytes: &[u8]| {
        std::fs::write(scene.path(name), bytes).unwrap();
        scene.path(name)
    };
    let mut bytes = std::fs::read(&whole).unwrap();
    let middle = bytes.len() / 2;
    // Wide enough to hit the lengths of several units: damage within one slice is nothing that a decoder can see.
    let wide = bytes.len() / 4;
    bytes[middle..middle + wide].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= (at * 7 + 1) as u8);
    common::ffmpeg(scene.folder.path(), &["-f", "lavfi", "-i", "sine=d=1", "sound.m4a"]);
    common::ffmpeg(scene.folder.path(), &["-f", "lavfi", "-i", "sine=d=1", "sound.wav"]);
    common::ffmpeg(scene.folder.path(), &["-i", "ref.mkv", "-c:v", "libx264", "-frames:v", "0", "none.mkv"]);
    let cases = [
        (scene.path("absent.mp4"), "cannot open"),
        (scene.folder.path().to_path_buf(), "directory"),
        (put("empty.mp4", b""), "is empty"),
        (put("words.mp4", b"This is a letter, not a film.\n".repeat(50).as_slice()), "is not a video"),
        (put("words.txt", b"This is a letter, not a film.\n".repeat(50).as_slice()), "is not a video"),
        (put("list.m3u8", b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"), "is not a video"),
        (put("list.ffconcat", b"ffconcat version 1.0\nfile whole.mp4\n"), "is not a video"),
        (scene.path("sound.m4a"), "no video stream found"),
        (scene.path("sound.wav"), "no video stream found"),
        (scene.path("none.mkv"), "frame"),
        (cut(&tail, "headless.mp4", 0.7), "is not a video"),
        (cut(&whole, "cut.mp4", 0.7), "cannot be decoded beyond frame"),
        (cut(&mkv, "cut.mkv", 0.7), "cannot be decoded beyond frame"),
        (put("damaged.mp4", &bytes), "cannot be decoded beyond frame"),
    ];
    for (path, words) in &cases {
        let started = Instant::now();
        for (reference, distorted) in [(&good, path), (path, &good)] {
            let error = score(reference, distorted, &options()).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{} is taken for good", path.display()));
            assert!(error.contains(words), "{}: {error} should say {words}", path.display());
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{}", path.display());
    }
    let both = score(&cases[2].0, &cases[3].0, &options()).err().unwrap().to_string();
    assert!(both.contains("empty.mp4") && both.contains("words.mp4"), "{both}");
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
}

/// Flips bytes of a file from a place on.
fn damaged(path: &Path, name: &str, place: f64, bytes: usize) -> PathBuf {
    let mut all = std::fs::read(path).unwrap();
    let from = (all.len() as f64 * place) as usize;
    all[from..from + bytes].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= (at * 7 + 1) as u8);
    let to = path.with_file_name(name);
    std::fs::write(&to, all).unwrap();
    to
}

/// Bursts of damage at many places: an error or a verdict that is not yes. Where a stream carries checksums, each of them; in
/// H.264 nothing checks the data, and a burst may by chance decode to a picture that is hardly worse.
#[test]
fn damage_in_the_middle_is_told() {
    let scene = Scene::new("320x180", 25, 50);
    let x265: &[&str] = &["-c:v", "libx265", "-preset", "superfast", "-x265-params", "log-level=none:hash=1"];
    scene.encode("", &[X264, &["-movflags", "+faststart"]].concat(), "a.mp4");
    scene.encode("", X264, "a.mkv");
    scene.encode("", X264, "a.ts");
    scene.encode("", &[x265, &["-movflags", "+faststart"]].concat(), "hevc.mp4");
    scene.encode("", &["-c:v", "ffv1", "-slicecrc", "1"], "ffv1.mkv");
    let mut silent = Vec::new();
    for name in ["a.mp4", "a.mkv", "a.ts", "hevc.mp4", "ffv1.mkv"] {
        for place in 1..10 {
            let bad = damaged(&scene.path(name), &format!("bad_{name}"), f64::from(place) / 10.0, 512);
            match score(&scene.path("ref.mkv"), &bad, &options()) {
                Err(error) => assert!(error.to_string().contains("cannot be decoded"), "{name}: {error}"),
                Ok(scored) if scored.comparability.verdict() == Verdict::Yes => silent.push((name, place)),
                Ok(_) => {}
            }
        }
    }
    for (name, most) in [("a.mp4", 2), ("a.mkv", 2), ("a.ts", 2), ("hevc.mp4", 0), ("ffv1.mkv", 0)] {
        let count = silent.iter().filter(|(file, _)| *file == name).count();
        assert!(count <= most, "{silent:?}");
    }
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_cut_anywhere_is_told() {
    let scene = Scene::new("320x180", 25, 50);
    scene.encode("", &[X264, &["-movflags", "+faststart"]].concat(), "a.mp4");
    scene.encode("", X264, "tail.mp4");
    scene.encode("", X264, "a.mkv");
    scene.encode("", X264, "a.ts");
    let mut silent = Vec::new();
    for name in ["a.mp4", "tail.mp4", "a.mkv", "a.ts"] {
        for keep in [0.002, 0.02, 0.1, 0.25, 0.5, 0.8, 0.95] {
            let part = cut(&scene.path(name), &format!("cut_{name}"), keep);
            match score(&scene.path("ref.mkv"), &part, &options()) {
                Err(error) => assert!(error.to_string().contains(&format!("cut_{name}")), "{name}: {error}"),
                Ok(scored) if scored.comparability.verdict() == Verdict::Yes => silent.push((name, keep)),
                Ok(_) => {}
            }
        }
    }
    assert_eq!(silent, []);
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
}

#[test]
fn damage_can_be_forgiven_and_is_told() {
    let scene = Scene::new("320x180", 25, 50);
    let whole = scene.encode("", &[X264, &["-movflags", "+faststart"]].concat(), "whole.mp4");
    let part = cut(&whole, "cut.mp4", 0.7);
    let scored = score(&scene.path("ref.mkv"), &part, &PairOptions { forgive: true, ..options() }).unwrap();
    assert!((10..50).contains(&scored.outcome.frames), "{}", scored.outcome.frames);
    assert!(scored.comparability.reasons.iter().any(|reason| reason.code == "damage"));
}

#[test]
fn names_hold_any_character() {
    let scene = Scene::new("320x180", 25, 12);
    for name in [
        "-y.mkv",
        "a b'c\"d.mkv",
        "http:x.mkv",
        "100%d%03d.mkv",
        "concat:a|b.mkv",
        "ü,[0:v]=;\\.mkv",
        "\n.mkv",
    ] {
        let path = scene.path(name);
        std::fs::copy(scene.path("ref.mkv"), &path).unwrap();
        let scored = score(&path, &path, &options()).unwrap_or_else(|error| panic!("{name:?}: {error}"));
        assert!(scored.outcome.identical && scored.outcome.frames == 12, "{name:?}");
    }
}

#[test]
fn a_pair_that_is_let_go_leaves_no_process() {
    let scene = Scene::new("320x180", 25, 250);
    let path = scene.path("ref.mkv");
    let inputs = || [Input::detect(&path, None), Input::detect(&path, None)];
    drop(open_pair(inputs(), &options()).unwrap());
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
    let mut pair = open_pair(inputs(), &options()).unwrap();
    let mut frame = visus_video::Frame::new(*pair.reference.format());
    assert!(pair.reference.read(&mut frame).unwrap());
    pair.control.finish();
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
    // What is still held ends without a hang, and not as if the video were over.
    let last = loop {
        match pair.distorted.read(&mut frame) {
            Ok(true) => {}
            end => break end,
        }
    };
    assert!(last.unwrap_err().to_string().contains("reading was stopped"));
}

#[test]
fn a_cancelled_pair_does_not_open() {
    let scene = Scene::new("320x180", 25, 12);
    let path = scene.path("ref.mkv");
    let options = options();
    options.cancel.fire();
    let inputs = [Input::detect(&path, None), Input::detect(&path, None)];
    assert!(open_pair(inputs, &options).unwrap_err().to_string().contains("cancelled"));
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_refused_before_anything_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.mp4");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let inputs = [Input::Encoded(pipe.clone()), Input::Encoded(pipe)];
    // Who waits gets to hear of the limit instead.
    let error = open_pair(inputs, &options()).unwrap_err().to_string();
    assert!(error.contains("regular file"), "{error}");
}
