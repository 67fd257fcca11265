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
                // The others need a processor too.
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        work();
        done.store(true, Ordering::Relaxed);
    });
}

/// Ten rows for an evaluation, or twenty.
fn table(path: &Path, rows: u32) {
    let row = |row: u32| {
        let quality = f64::from(row * 37 % 60) / 60.0;
        let vif = [0.90, 0.95, 0.97, 0.98].map(|part| format!("{:.4}", quality * part)).join(",");
        format!("k{row},{quality:.4},{vif},1.5,{:.2}\n", quality * 100.0)
    };
    let head = "key,adm2,vif_scale0,vif_scale1,vif_scale2,vif_scale3,motion2,mos\n".to_owned();
    std::fs::write(path, head + &(10..10 + rows).map(row).collect::<String>()).unwrap();
}

/// A folder with what every tool can read. A `large` one has more of everything, so that counts show which was read.
fn fill(folder: &Path, large: bool) {
    let frames = if large { 7 } else { 3 };
    film(&folder.join("ref.y4m"), 90, frames);
    film(&folder.join("dis.y4m"), 80, frames);
    table(&folder.join("table.csv"), if large { 20 } else { 10 });
    let model = visus_engine::model::builtin("vmaf_v0.6.1").unwrap().text();
    // A model with one more blank has another hash.
    std::fs::write(folder.join("model.json"), if large { format!("{model} ") } else { model.to_string() })
        .unwrap();
}

/// What an answer has only if the large folder was read.
const FROM_OUTSIDE: [&str; 6] =
    ["\"frames\":7", "\"frame_count\":7", "\"end_frame\":6", "[0,7]", "\"n\":20", "frame 6"];

/// A call of every tool that takes a path, and how often it is made: those that encode take their time.
fn calls(served: &Served) -> Vec<(&'static str, Value, usize)> {
    let path = |name: &str| served.path("films").join(name);
    let (reference, distorted) = (path("ref.y4m"), path("dis.y4m"));
    let pair = json!({ "ref": reference, "dis": distorted });
    let with_model = json!({ "ref": reference, "dis": distorted, "model": path("model.json") });
    let table = path("table.csv");
    vec![
        ("vmaf_score", pair.clone(), 12),
        ("vmaf_score", with_model, 12),
        ("vmaf_score_encoded", json!({ "reference_encoded": reference, "distorted_encoded": distorted }), 6),
        ("describe_worst_frames", pair, 6),
        ("describe_model", json!({ "name": path("model.json") }), 20),
        ("vmaf_per_shot", json!({ "reference": reference, "width": 64, "height": 64 }), 10),
        (
            "eval_model_on_split",
            json!({ "model": path("model.json"), "features": table, "split": "all", "bootstrap": 0 }),
            8,
        ),
        (
            "compare_models",
            json!({ "models": [path("model.json")], "features": table, "split": "all", "bootstrap": 0 }),
            6,
        ),
        ("run_compare", json!({ "src": reference, "encoders": "libx264", "target_vmaf": 60 }), 2),
        ("run_ladder", json!({ "src": reference }), 1),
        ("run_tune_per_shot", json!({ "src": reference, "target_vmaf": 60 }), 2),
    ]
}

#[test]
fn links_that_are_swapped_lead_nowhere() {
    let served = Served::start(8192, &[]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(served.path("films")).unwrap();
    fill(&served.path("films"), false);
    fill(outside.path(), true);
    let hash =
        served.call("describe_model", json!({ "name": served.path("films/model.json") })).unwrap()["sha256"]
            .clone();
    let calls = calls(&served);
    swapping(&served.folder, outside.path(), || {
        for (tool, arguments, count) in &calls {
            for _ in 0..*count {
                let Ok(answer) = served.call(tool, arguments.clone()) else { continue };
                let text = answer.to_string();
                assert!(!FROM_OUTSIDE.iter().any(|words| text.contains(words)), "{tool}: {text}");
                assert!(answer["sha256"].is_null() || answer["sha256"] == hash, "{tool}: {text}");
            }
        }
    });
    served.is_well("swapped links");
    // Each of them works where nothing is swapped, so that refusals alone cannot pass.
    for (tool, arguments, _) in calls.iter().filter(|(tool, ..)| !tool.starts_with("run_")) {
        let answer = served.call(tool, arguments.clone());
        assert!(answer.is_ok(), "{tool}: {answer:?}");
    }
}

#[test]
fn outputs_stay_in_a_folder_that_is_swapped_for_a_link() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().canonicalize().unwrap().join("out");
    std::fs::create_dir_all(out.join("films")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let served = Served::start(8192, &["--allow-write", out.to_str().unwrap()]);
    film(&served.path("film.y4m"), 90, 3);
    swapping(&out, outside.path(), || {
        for round in 0..3 {
            let output = out.join(format!("films/{round}.mp4"));
            let _ = served.call(
                "run_tune_per_shot",
                json!({ "src": served.path("film.y4m"), "output": output, "target_vmaf": 60 }),
            );
        }
    });
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "nothing is written outside");
    served.is_well("swapped outputs");
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
