//! A folder that is swapped for a link while requests are checked and run: what is read is what was checked, and nothing
//! outside is read or written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::served::Served;

/// A film of `frames` grey pictures of a level.
fn film(path: &Path, level: u8, frames: usize) {
    let frame = [b"FRAME\n".as_slice(), &[level; 64 * 64 * 3 / 2]].concat();
    let film = [b"YUV4MPEG2 W64 H64 F25:1 C420\n".as_slice(), &frame.repeat(frames)].concat();
    std::fs::write(path, film).unwrap();
}

/// Swaps `allowed/films` between a folder and a link to a folder outside for as long as `work` runs.
fn swapping(allowed: &Path, outside: &Path, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let [films, kept, link] = ["films", "kept", "link"].map(|name| allowed.join(name));
    std::os::unix::fs::symlink(outside, &link).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::rename(&films, &kept);
                let _ = std::fs::rename(&link, &films);
                let _ = std::fs::rename(&films, &link);
                let _ = std::fs::rename(&kept, &films);
            }
        });
        work();
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn links_that_are_swapped_lead_nowhere() {
    let served = Served::start(8192, &[]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(served.path("films")).unwrap();
    // Seven frames are outside, three are inside: a count tells which was read.
    film(&served.path("films/ref.y4m"), 90, 3);
    film(&served.path("films/dis.y4m"), 80, 3);
    film(&outside.path().join("ref.y4m"), 90, 7);
    film(&outside.path().join("dis.y4m"), 80, 7);
    let path = |name: &str| served.path("films").join(name);
    let calls: [(&str, Value); 3] = [
        ("vmaf_score", json!({ "ref": path("ref.y4m"), "dis": path("dis.y4m") })),
        ("vmaf_per_shot", json!({ "reference": path("ref.y4m"), "width": 64, "height": 64 })),
        (
            "vmaf_score_encoded",
            json!({ "reference_encoded": path("ref.y4m"), "distorted_encoded": path("dis.y4m") }),
        ),
    ];
    swapping(&served.folder, outside.path(), || {
        for round in 0..40 {
            let (tool, arguments) = &calls[round % calls.len()];
            if let Ok(answer) = served.call(tool, arguments.clone()) {
                let text = answer.to_string();
                assert!(
                    !text.contains("\"frames\":7") && !text.contains("\"end_frame\":7"),
                    "{tool}: {text}"
                );
            }
        }
    });
    served.is_well("swapped links");
}

#[test]
fn outputs_go_where_the_operator_said_and_nowhere_else() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().canonicalize().unwrap().join("out");
    std::fs::create_dir(&out).unwrap();
    let served = Served::start(8192, &["--allow-write", out.to_str().unwrap()]);
    film(&served.path("film.y4m"), 90, 3);
    let call = |output: &Path, overwrite: bool| {
        let arguments = json!({ "src": served.path("film.y4m"), "output": output, "overwrite": overwrite });
        served.call("run_tune_per_shot", arguments)
    };
    let refused = call(&served.path("new.mp4"), false).unwrap_err();
    assert!(refused.contains("--allow-write"), "{refused}");
    let refused = call(&served.path("film.y4m"), true).unwrap_err();
    assert!(refused.contains("--allow-write"), "{refused}");
    std::fs::write(out.join("there.mp4"), "old").unwrap();
    let refused = call(&out.join("there.mp4"), false).unwrap_err();
    assert!(refused.contains("overwrite=true"), "{refused}");
    assert_eq!(std::fs::read_to_string(out.join("there.mp4")).unwrap(), "old");
    // A folder of a user's that is called like one of ours stays.
    std::fs::create_dir(out.join(".visus-notes")).unwrap();
    std::fs::write(out.join(".visus-notes/plan.txt"), "x").unwrap();
    let made = call(&out.join("new.mp4"), false);
    assert!(made.is_ok() && out.join("new.mp4").exists(), "{made:?}");
    assert!(out.join(".visus-notes/plan.txt").exists());
    served.is_well("outputs");
}
