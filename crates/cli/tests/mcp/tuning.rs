//! The tuning tools: encoders compared, ladders, plans per shot.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, command, until};
use super::clips::{Clips, with};

/// A server whose cache lies beside the clips, outside of what clients may name.
fn open(clips: &Clips, cache: &tempfile::TempDir) -> Client {
    let mut command = command(&clips.folder);
    command.env("VISUS_CACHE_DIR", cache.path()).env("VISUS_ALLOW_WRITE", &clips.folder);
    Client::open(command)
}

/// The answer of a call that may take longer than a client waits.
fn in_background(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let begun = client.data(tool, with(arguments, json!({ "background": true })));
    let id = json!({ "job_id": begun["job_id"] });
    assert!(until(Duration::from_secs(300), || {
        let job = client.data("get_job", id.clone());
        job["status"] != "queued" && job["status"] != "running"
    }));
    let job = client.data("get_job", id);
    assert_eq!(job["status"], "done", "{job}");
    job["result"].clone()
}

#[test]
fn encoders_are_compared() {
    let (clips, cache) = (Clips::sized(128, 96, 10), tempfile::tempdir().unwrap());
    let mut client = open(&clips, &cache);
    let arguments =
        json!({ "src": clips.path("ref.y4m"), "target_vmaf": 80, "encoders": "libx264,h264_amf,nonsense" });
    let first = in_background(&mut client, "run_compare", arguments.clone());
    assert_eq!(first["rows"].as_array().unwrap().len(), 3);
    let row = &first["rows"][0];
    assert_eq!((&row["codec"], &row["ok"]), (&json!("libx264"), &json!(true)));
    assert!(row["vmaf_score"].as_f64().unwrap() >= 80.0);
    assert!(row["bisect_samples"].as_array().unwrap().len() <= 8);
    assert_eq!((&first["rows"][1]["ok"], &first["rows"][1]["best_crf"]), (&json!(false), &json!(-1)));
    // The second time it is known, and waited for; the schema is checked on the way.
    let second = client.data("run_compare", with(arguments, json!({ "wrong_name": 1 })));
    assert_eq!((&second["rows_from_cache"], &second["rows"][0]["best_crf"]), (&json!(1), &row["best_crf"]));
    assert!(second["notes"][0].as_str().unwrap().contains("wrong_name"));
    let several = json!({ "src": clips.path("ref.yuv"), "width": 128, "height": 96, "pix_fmt": "yuv420p", "framerate": 25,
        "target_vmafs": "80,75", "encoders": "libx264" });
    let several = in_background(&mut client, "run_compare", several);
    assert_eq!((&several["schema_version"], &several["target_vmafs"]), (&json!(2), &json!([80.0, 75.0])));
}

#[test]
fn ladders_and_plans() {
    let (clips, cache) = (Clips::sized(128, 96, 10), tempfile::tempdir().unwrap());
    let mut client = open(&clips, &cache);
    let src = clips.path("ref.y4m");
    let ladder =
        json!({ "src": src, "resolutions": "128x96,64x48", "target_vmafs": "80,60", "quality_tiers": 2 });
    let found = in_background(&mut client, "run_ladder", ladder.clone());
    assert_eq!(
        (&found["format"], &found["manifest"]["schema"]),
        (&json!("json"), &json!("vmaf-tune-ladder/v1"))
    );
    assert!(!found["manifest"]["renditions"].as_array().unwrap().is_empty());
    let hls = client.data("run_ladder", with(ladder.clone(), json!({ "format": "hls" })));
    let manifest = hls["manifest"].as_str().unwrap();
    assert!(manifest.starts_with("#EXTM3U\n") && manifest.contains("CODECS=\"avc1."), "{manifest}");
    assert_eq!(hls["from_cache"], json!(true));
    let dash = client.data("run_ladder", with(ladder.clone(), json!({ "format": "dash" })));
    assert!(dash["manifest"].as_str().unwrap().contains("<MPD "));
    let whole = client.data("run_ladder", ladder);
    assert_eq!(whole["manifest"]["renditions"], found["manifest"]["renditions"]);

    let shots =
        json!({ "src": src, "target_vmaf": 80, "output": clips.path("joined.mp4"), "format": "shell" });
    let plan = in_background(&mut client, "run_tune_per_shot", shots.clone());
    assert_eq!(
        (&plan["predicate"], &plan["shots"][0]["start_frame"], &plan["shots"][0]["end_frame"]),
        (&json!("bisect"), &json!(0), &json!(10))
    );
    assert_eq!(plan["output"]["frames"], json!(10), "{plan}");
    assert!(plan["text"].as_str().unwrap().starts_with("#!/bin/sh"));
    assert!(clips.folder.join("joined.mp4").is_file());
    let refused = client.failure("run_tune_per_shot", shots.clone());
    assert!(refused.contains("exists; pass overwrite=true"), "{refused}");
    client.data("run_tune_per_shot", with(shots, json!({ "overwrite": true })));

    let guess = json!({ "reference": clips.path("ref.yuv"), "width": 128, "height": 96 });
    let plan = client.data("vmaf_per_shot", with(guess.clone(), json!({ "format": "csv" })));
    let shot = &plan["plan"]["shots"][0];
    assert_eq!(
        (&shot["shot_id"], &shot["start_frame"], &shot["end_frame"], &shot["frames"]),
        (&json!(0), &json!(0), &json!(9), &json!(10))
    );
    assert!((18..=35).contains(&shot["predicted_crf"].as_i64().unwrap()));
    assert!(plan["text"].as_str().unwrap().starts_with("shot_id,"));
}

#[test]
fn refusals_are_in_the_words_of_the_contract() {
    let (clips, cache) = (Clips::sized(128, 96, 3), tempfile::tempdir().unwrap());
    let mut client = open(&clips, &cache);
    let src = clips.path("ref.y4m");
    for (tool, arguments, words) in [
        ("run_compare", json!({}), "tool 'run_compare' missing required argument: 'src'"),
        ("run_compare", json!({ "src": "/etc/passwd" }), "not under an allowlisted root"),
        ("run_compare", json!({ "src": "http://a/b.mp4" }), "media path scheme 'http://' is not permitted"),
        (
            "run_compare",
            json!({ "src": clips.path("ref.yuv") }),
            "tool 'run_compare' missing required argument: 'width'",
        ),
        ("run_compare", json!({ "src": src, "width": 64 }), "invalid width 64: the source is 128x96"),
        ("run_compare", json!({ "src": src, "target_vmafs": "9o" }), "invalid target_vmafs '9o'"),
        (
            "run_compare",
            json!({ "src": src, "target_vmaf": 200 }),
            "invalid target_vmaf 200: must be a number in range [0, 110]",
        ),
        ("run_compare", json!({ "src": src, "model": "path=/etc/passwd" }), "not under an allowlisted root"),
        (
            "run_ladder",
            json!({ "src": src, "resolutions": "big", "target_vmafs": "90" }),
            "invalid resolutions 'big'",
        ),
        (
            "run_ladder",
            json!({ "src": src, "resolutions": "256x192", "target_vmafs": "90" }),
            "larger than the source, which is 128x96",
        ),
        (
            "run_tune_per_shot",
            json!({ "src": src, "encoder": "nonsense" }),
            "invalid encoder 'nonsense': unknown encoder",
        ),
        ("run_tune_per_shot", json!({ "src": src, "output": "/etc/x.mp4" }), "not under an allowlisted root"),
        (
            "vmaf_per_shot",
            json!({ "reference": src, "width": 1, "height": 1, "crf_min": 40 }),
            "invalid crf_min 40",
        ),
    ] {
        let text = client.failure(tool, arguments);
        assert!(text.contains(words), "{text} should say {words}");
    }
}

#[test]
fn a_cancelled_comparison_ends_with_its_encoders() {
    let (clips, cache) = (Clips::sized(640, 360, 60), tempfile::tempdir().unwrap());
    let mut client = open(&clips, &cache);
    let arguments = json!({ "src": clips.path("ref.y4m"), "encoders": "libaom-av1", "target_vmaf": 95, "background": true });
    let begun = client.data("run_compare", arguments);
    let id = json!({ "job_id": begun["job_id"] });
    assert!(until(Duration::from_secs(60), || {
        client.data("get_job", id.clone())["progress"]["message"]
            .as_str()
            .is_some_and(|words| words.contains("encoding"))
    }));
    client.data("cancel_job", id.clone());
    assert!(until(Duration::from_secs(10), || client.data("get_job", id.clone())["status"] == "cancelled"));
    let folder = clips.folder.to_string_lossy().into_owned();
    let running = || {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .filter(|line| line.contains("ffmpeg") && line.contains(&folder))
            .count()
    };
    assert!(until(Duration::from_secs(10), || running() == 0), "no encoder is left");
}
