//! Encoded videos through the server: the right number, a clear refusal, nothing left behind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, VMAF, command, until};
use super::clips::{Clips, two_shots, with};

/// Runs ffmpeg, which these tests need.
fn ffmpeg(folder: &Path, arguments: &[&str]) {
    let run = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .current_dir(folder)
        .output();
    let output = run.expect("these tests need ffmpeg: install it (Debian: apt-get install ffmpeg)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The clips once more, encoded without loss.
fn encoded(frames: u64) -> (Clips, Value) {
    let clips = Clips::sized(192, 128, frames);
    for name in ["ref", "dis"] {
        ffmpeg(&clips.folder, &["-i", &format!("{name}.y4m"), "-c:v", "ffv1", &format!("{name}.mkv")]);
    }
    let arguments =
        json!({ "reference_encoded": clips.path("ref.mkv"), "distorted_encoded": clips.path("dis.mkv") });
    (clips, arguments)
}

#[test]
fn lossless_files_score_as_their_frames_do() {
    let (clips, arguments) = encoded(12);
    let mut external = command(&clips.folder);
    external.env("VMAF_BIN", VMAF);
    let mut native = Client::open(command(&clips.folder));
    let full = json!({ "detail": "full" });
    let expected = native.data("vmaf_score", with(clips.y4m(), full.clone()));
    for client in [&mut native, &mut Client::open(external)] {
        let report = client.data("vmaf_score_encoded", with(arguments.clone(), full.clone()));
        assert_eq!(report["frames"], expected["frames"]);
        // An executable pools in fewer ways.
        for (name, figure) in report["pooled_metrics"]["vmaf"].as_object().unwrap() {
            assert_eq!(*figure, expected["pooled_metrics"]["vmaf"][name], "{name}");
        }
        assert_eq!(report["reference_encoded"], json!(clips.path("ref.mkv")));
        assert_eq!(report["provenance"]["distorted"]["file"], json!(clips.path("dis.mkv")));
        assert_eq!(report["comparability"]["comparable"], "yes", "{report}");
        assert!(!report.to_string().contains("/proc/"), "{report}");
    }
}

#[test]
fn faults_that_the_score_does_not_show_are_warned_of() {
    let (clips, arguments) = encoded(26);
    let grey = ["-i", "ref.mkv", "-vf", "hue=s=0:enable='between(n,8,15)'", "-c:v", "ffv1", "grey.mkv"];
    ffmpeg(&clips.folder, &grey);
    let mut client = Client::open(command(&clips.folder));
    let faulty = with(arguments, json!({ "distorted_encoded": clips.path("grey.mkv") }));
    let answer = client.data("vmaf_score_encoded", faulty);
    assert!(answer.to_string().contains("frames 8 to 15: chroma is missing"), "{answer}");
}

#[test]
fn what_cannot_be_scored_is_refused_by_name() {
    let (clips, arguments) = encoded(3);
    std::fs::write(clips.folder.join("text.mp4"), "this is no video").unwrap();
    ffmpeg(&clips.folder, &["-f", "lavfi", "-i", "anullsrc", "-t", "0.1", "-c:a", "pcm_s16le", "sound.mkv"]);
    let mut client = Client::open(command(&clips.folder));
    let mut refused = |more: Value| client.failure("vmaf_score_encoded", with(arguments.clone(), more));
    let no_stream = refused(json!({ "distorted_encoded": clips.path("sound.mkv") }));
    assert!(
        no_stream.contains(&format!("no video stream found in {}", clips.path("sound.mkv"))),
        "{no_stream}"
    );
    let text = clips.path("text.mp4");
    let both = refused(json!({ "reference_encoded": text, "distorted_encoded": clips.path("sound.mkv") }));
    assert!(both.contains(&text) && both.contains(&clips.path("sound.mkv")), "both are named: {both}");
    let outside = refused(json!({ "reference_encoded": "/etc/hostname" }));
    assert_eq!(outside, "path /etc/hostname not under an allowlisted root; set VMAF_MCP_ALLOW to extend.");
    let url = refused(json!({ "reference_encoded": "http://example.org/a.mp4" }));
    assert!(url.starts_with("media path scheme 'http://' is not permitted"), "{url}");
}

#[test]
fn without_ffmpeg_the_server_says_what_to_install() {
    let (clips, arguments) = encoded(1);
    let mut command = command(&clips.folder);
    command.env("PATH", "/nonexistent");
    let failure = Client::open(command).failure("vmaf_score_encoded", arguments);
    assert!(
        failure.starts_with("ffprobe not on PATH; install ffmpeg to use vmaf_score_encoded"),
        "{failure}"
    );
}

#[test]
fn the_worst_frames_are_shown_and_described() {
    let (clips, arguments) = encoded(30);
    let mut client = Client::open(command(&clips.folder));
    for given in [clips.y4m(), clips.raw(), arguments] {
        let result = client.call("describe_worst_frames", with(given, json!({ "n": 2 })));
        let answer = &result["structuredContent"];
        let frames = answer["frames"].as_array().unwrap_or_else(|| panic!("{result}"));
        assert_eq!((frames.len(), &answer["model_id"]), (2, &Value::Null));
        assert!(frames[0]["vmaf"].as_f64() <= frames[1]["vmaf"].as_f64());
        for frame in frames {
            let png = std::fs::read(frame["png"].as_str().unwrap()).expect("the picture is there");
            assert!(
                png.starts_with(b"\x89PNG") && frame["description"].as_str().unwrap().len() > 10,
                "{frame}"
            );
        }
        let images: Vec<&Value> =
            result["content"].as_array().unwrap().iter().filter(|item| item["type"] == "image").collect();
        assert_eq!((images.len(), &images[0]["mimeType"]), (2, &json!("image/png")));
        let later = client.call("get_job", json!({ "job_id": answer["job_id"] }));
        assert_eq!(
            later["content"].as_array().unwrap().iter().filter(|item| item["type"] == "image").count(),
            2
        );
    }
    let folder =
        client.data("describe_worst_frames", clips.y4m())["frames"][0]["png"].as_str().unwrap().to_owned();
    client.close_input();
    assert!(client.exits_within(Duration::from_secs(10)));
    // What a process that is gone could not remove, its watcher removes soon after.
    for _ in 0..200 {
        if !Path::new(&folder).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{folder} is left behind");
}

#[test]
fn the_worst_frames_of_raw_video_are_spread_over_its_shots() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    let answer = client.data("describe_worst_frames", with(two_shots(&clips), json!({ "n": 4 })));
    let frames = answer["frames"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let place =
        |frame: &Value| (frame["shot"].as_u64().unwrap(), frame["frame_index"].as_u64().unwrap() / 12);
    let mut found: Vec<_> = frames.iter().map(place).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, [(0, 0), (1, 1)], "{answer}");
}

#[test]
fn pictures_go_with_a_server_that_is_killed() {
    let clips = Clips::new(2);
    let mut client = Client::open(command(&clips.folder));
    let answer = client.data("describe_worst_frames", clips.y4m());
    let picture = Path::new(answer["frames"][0]["png"].as_str().unwrap()).to_owned();
    let place = picture.parent().and_then(Path::parent).unwrap().to_owned();
    assert!(picture.exists());
    client.child.kill().unwrap();
    assert!(until(Duration::from_secs(10), || !place.exists()), "{}", place.display());
}

/// The ffmpeg processes that a server has under it, its supervisors' children included.
fn decoders(server: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        if words.contains(&format!("/proc/{server}/fd/")) {
            found.push(words);
        }
    }
    found
}

#[test]
fn no_decoder_survives_whatever_ends_the_call() {
    let (clips, arguments) = encoded(2);
    ffmpeg(
        &clips.folder,
        &[
            "-f",
            "lavfi",
            "-i",
            "testsrc2=s=640x360:d=600",
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "long.mp4",
        ],
    );
    let long =
        json!({ "reference_encoded": clips.path("long.mp4"), "distorted_encoded": clips.path("long.mp4") });
    let arguments = with(arguments, long);
    for how in ["cancel", "eof", "term", "kill"] {
        let mut client = Client::open(command(&clips.folder));
        let server = client.child.id();
        let id = client.send("tools/call", json!({ "name": "vmaf_score_encoded", "arguments": arguments }));
        assert!(until(Duration::from_secs(60), || decoders(server).len() >= 2), "{how}: decoders start");
        match how {
            "cancel" => client.notify("notifications/cancelled", json!({ "requestId": id })),
            "eof" => client.close_input(),
            signal => {
                let signal = format!("-{}", signal.to_uppercase());
                Command::new("kill").args([&signal, &server.to_string()]).status().unwrap();
            }
        }
        assert!(
            until(Duration::from_secs(10), || decoders(server).is_empty()),
            "{how}: {:?}",
            decoders(server)
        );
    }
}
