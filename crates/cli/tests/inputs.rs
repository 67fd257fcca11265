//! What is done to videos before they are compared, samples of the frames, and `visus migrate`. The clips are made with ffmpeg,
//! which must be installed.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{stderr, stdout};
use serde_json::Value;

fn ffmpeg(folder: &Path, args: &[&str]) {
    let made = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-nostdin", "-v", "error", "-y"])
        .args(args)
        .output();
    let made = made.expect("ffmpeg is installed");
    assert!(made.status.success(), "ffmpeg {args:?}: {}", stderr(&made));
}

/// A moving picture as ref.mkv, and an encode of it as dis.mp4.
fn clips(frames: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = ["-f", "lavfi", "-i", "mandelbrot=s=192x128:r=25:end_pts=200:maxiter=60"];
    let look = ["-vf", "rotate=n/40:c=gray,format=yuv420p", "-frames:v", frames, "-c:v", "ffv1", "ref.mkv"];
    ffmpeg(folder.path(), &[&source[..], &look].concat());
    let coded =
        ["-i", "ref.mkv", "-c:v", "libx264", "-preset", "superfast", "-crf", "30", "-g", "25", "dis.mp4"];
    ffmpeg(folder.path(), &coded);
    folder
}

fn visus(folder: &Path, args: &[&str]) -> Output {
    common::visus().current_dir(folder).args(args).output().unwrap()
}

fn report(folder: &Path, args: &[&str]) -> Value {
    let output = visus(folder, &[&["score"], args, &["--json", "-q"]].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn mean(report: &Value) -> f64 {
    report["pooled_metrics"]["vmaf_v0.6.1"]["mean"].as_f64().unwrap()
}

fn frames(report: &Value) -> Vec<f64> {
    let frames = report["frames"].as_array().unwrap();
    frames.iter().map(|frame| frame["metrics"]["vmaf_v0.6.1"].as_f64().unwrap()).collect()
}

/// Cropping here is what cropping beforehand gives, to the last bit.
#[test]
fn a_crop_is_that_of_the_files() {
    let folder = clips("12");
    for (name, from) in [("ref", "ref.mkv"), ("dis", "dis.mp4")] {
        let cut = format!("{name}_cut.mkv");
        ffmpeg(folder.path(), &["-i", from, "-vf", "crop=128:96:32:16:exact=1", "-c:v", "ffv1", &cut]);
        let whole = format!("{name}.y4m");
        ffmpeg(folder.path(), &["-i", from, "-f", "yuv4mpegpipe", &whole]);
    }
    let expected = report(folder.path(), &["ref_cut.mkv", "dis_cut.mkv"]);
    let crop = ["--crop", "128x96+32+16"];
    let encoded = report(folder.path(), &[&["ref.mkv", "dis.mp4"][..], &crop].concat());
    let y4m = report(folder.path(), &[&["ref.y4m", "dis.y4m"][..], &crop].concat());
    let roi = report(folder.path(), &["ref.mkv", "dis.mp4", "--roi", "128x96+32+16"]);
    for found in [&encoded, &y4m, &roi] {
        assert_eq!(frames(found), frames(&expected));
    }
    assert_eq!(roi["roi"], "128x96+32+16");
    for found in [&encoded, &y4m] {
        let done = found["conversions"][0]["conversion"].as_str().unwrap();
        assert_eq!(done, "cropped from 192x128 to 128x96+32+16");
    }
    // One side alone: the other one is the cut file.
    let one = report(folder.path(), &["ref.mkv", "dis_cut.mkv", "--crop", "ref=128x96+32+16"]);
    assert_eq!(frames(&one), frames(&expected));
}

#[test]
fn black_bars_are_found() {
    let folder = clips("12");
    ffmpeg(folder.path(), &["-i", "ref.mkv", "-vf", "pad=192:160:0:16", "-c:v", "ffv1", "bars.mkv"]);
    ffmpeg(folder.path(), &["-i", "bars.mkv", "-f", "yuv4mpegpipe", "bars.y4m"]);
    let expected = frames(&report(folder.path(), &["ref.mkv", "dis.mp4"]));
    for name in ["bars.mkv", "bars.y4m"] {
        let found = report(folder.path(), &[name, "dis.mp4", "--crop", "ref=auto"]);
        assert_eq!(frames(&found), expected, "{name}");
        let text = found["conversions"].to_string();
        assert!(text.contains("cropped from 192x160 to 192x128+0+16"), "{text}");
    }
}

#[test]
fn pictures_alone_and_in_a_row() {
    let folder = clips("6");
    std::fs::create_dir(folder.path().join("frames")).unwrap();
    ffmpeg(folder.path(), &["-i", "ref.mkv", "-pix_fmt", "rgb24", "frames/f%04d.png"]);
    ffmpeg(
        folder.path(),
        &["-i", "dis.mp4", "-pix_fmt", "rgb24", "-c:v", "ffv1", "-pix_fmt", "gbrp", "dis_rgb.mkv"],
    );
    ffmpeg(folder.path(), &["-i", "frames/f%04d.png", "-c:v", "ffv1", "-pix_fmt", "gbrp", "ref_rgb.mkv"]);
    let expected = report(folder.path(), &["ref_rgb.mkv", "dis_rgb.mkv"]);
    for name in ["frames", "frames/f%04d.png"] {
        let found = report(folder.path(), &[name, "dis_rgb.mkv", "--fps", "ref=25"]);
        assert_eq!(frames(&found), frames(&expected), "{name}");
        assert_eq!(found["media"]["reference"]["frames"], 6);
    }
    for (name, words) in [
        ("one.png", &["-frames:v", "1"][..]),
        ("one.tiff", &["-frames:v", "1"]),
        ("one.jpg", &["-frames:v", "1", "-q:v", "2"]),
        ("one.exr", &["-frames:v", "1"]),
        ("one.dpx", &["-frames:v", "1"]),
    ] {
        ffmpeg(folder.path(), &[&["-i", "frames/f0001.png", "-update", "1"][..], words, &[name]].concat());
        let found = report(folder.path(), &["one.png", name]);
        assert_eq!(frames(&found).len(), 1, "{name}");
        assert_eq!(found["comparability"]["comparable"], "yes", "{name}: {}", found["comparability"]);
    }
    let gap = visus(folder.path(), &["score", "frames/g%04d.png", "dis.mp4"]);
    assert_eq!(gap.status.code(), Some(1));
    assert!(stderr(&gap).contains("no picture is called g%04d.png"), "{}", stderr(&gap));
}

#[test]
fn streams_of_one_file_and_standard_input() {
    let folder = clips("8");
    ffmpeg(
        folder.path(),
        &["-i", "ref.mkv", "-i", "dis.mp4", "-map", "0:v", "-map", "1:v", "-c", "copy", "two.mkv"],
    );
    let expected = frames(&report(folder.path(), &["ref.mkv", "dis.mp4"]));
    assert_eq!(frames(&report(folder.path(), &["two.mkv#v:0", "two.mkv#v:1"])), expected);
    let missing = visus(folder.path(), &["score", "two.mkv#v:0", "two.mkv#v:2"]);
    assert!(stderr(&missing).contains("has 2 video streams"), "{}", stderr(&missing));
    let mut child = common::visus()
        .current_dir(folder.path())
        .args(["score", "ref.mkv", "-", "--json", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = std::fs::read(folder.path().join("dis.mp4")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(frames(&found), expected);
}

#[test]
fn declared_offsets_and_rates() {
    let folder = clips("20");
    ffmpeg(
        folder.path(),
        &["-i", "ref.mkv", "-vf", "select='gte(n,4)',setpts=N/25/TB", "-r", "25", "-c:v", "ffv1", "late.mkv"],
    );
    let found = report(folder.path(), &["ref.mkv", "late.mkv", "--offset", "4", "-f", "psnr"]);
    assert!(mean(&found) > 97.0 && found["pairing"]["sync"] == "off", "{}", found["pairing"]);
    let found = report(folder.path(), &["late.mkv", "ref.mkv", "--offset=-0.16s"]);
    assert!(mean(&found) > 97.0, "{}", mean(&found));
    let found = report(folder.path(), &["ref.mkv", "dis.mp4", "--fps", "24000/1001"]);
    assert_eq!(found["media"]["reference"]["frame_rate"], "24000/1001");
    assert!(
        found["conversions"].to_string().contains("declared to have 24000/1001"),
        "{}",
        found["conversions"]
    );
}

#[test]
fn fields_become_frames() {
    let folder = clips("20");
    let weave = ["-i", "ref.mkv", "-vf", "tinterlace=interleave_top,format=yuv420p"];
    let coded = ["-c:v", "libx264", "-crf", "8", "-x264opts", "tff=1", "fields.mkv"];
    let weave = [&weave[..], &coded].concat();
    ffmpeg(folder.path(), &weave);
    let found = report(folder.path(), &["fields.mkv", "fields.mkv", "--deinterlace"]);
    let done = found["conversions"].to_string();
    assert!(done.contains("deinterlaced (ffmpeg's bwdif, a frame for each frame)"), "{done}");
    assert!(
        !found["comparability"].to_string().contains("without deinterlacing"),
        "{}",
        found["comparability"]
    );
    let found =
        report(folder.path(), &["ref.mkv", "fields.mkv", "--deinterlace=dis", "--sync", "off", "--force"]);
    assert!(found["conversions"].to_string().contains("a frame for each field"), "{}", found["conversions"]);
    assert!(frames(&found).len() >= 18);
    let raw =
        visus(folder.path(), &["score", "a.yuv", "b.yuv", "-s", "8x8", "-p", "yuv420p", "--deinterlace"]);
    assert_eq!(raw.status.code(), Some(2), "{}", stderr(&raw));
}

/// HDR pairs have a score with a warning; tone mapping adds one of what an SDR screen would show.
#[test]
fn hdr_is_said_and_tone_mapped() {
    let folder = clips("6");
    for transfer in ["smpte2084", "arib-std-b67"] {
        let tags = [
            "-pix_fmt",
            "yuv420p10le",
            "-color_trc",
            transfer,
            "-color_primaries",
            "bt2020",
            "-colorspace",
            "bt2020nc",
        ];
        ffmpeg(
            folder.path(),
            &[
                &["-i", "ref.mkv"][..],
                &tags,
                &["-c:v", "libx265", "-x265-params", "log-level=error:lossless=1", "hdr_ref.mp4"],
            ]
            .concat(),
        );
        ffmpeg(
            folder.path(),
            &[
                &["-i", "ref.mkv"][..],
                &tags,
                &["-c:v", "libx265", "-crf", "34", "-x265-params", "log-level=error", "hdr_dis.mp4"],
            ]
            .concat(),
        );
        let found = report(folder.path(), &["hdr_ref.mp4", "hdr_dis.mp4", "--tone-map"]);
        assert!(found["comparability"].to_string().contains("VMAF models are trained on SDR"), "{transfer}");
        let side = &found["tone_mapped"]["scores"][0];
        let sdr = side["mean"].as_f64().unwrap();
        assert!(
            (5.0..100.0).contains(&sdr) && (sdr - mean(&found)).abs() > 1e-6,
            "{transfer}: {sdr} {}",
            mean(&found)
        );
        assert!(found["tone_mapped"]["method"].as_str().unwrap().contains("BT.2390"));
        let plain = report(folder.path(), &["hdr_ref.mp4", "hdr_dis.mp4"]);
        assert_eq!(frames(&plain), frames(&found), "the score itself is that of the samples");
        assert!(plain.get("tone_mapped").is_none());
    }
}

/// Scores of a sample are those of the whole, frame by frame, and the interval holds the mean of all.
#[test]
fn a_sample_stands_for_the_whole() {
    let folder = clips("480");
    for (name, from) in [("ref.y4m", "ref.mkv"), ("dis.y4m", "dis.mp4")] {
        ffmpeg(folder.path(), &["-i", from, "-f", "yuv4mpegpipe", name]);
    }
    let whole = report(folder.path(), &["ref.y4m", "dis.y4m"]);
    let (all, truth) = (frames(&whole), mean(&whole));
    for pair in [["ref.y4m", "dis.y4m"], ["ref.mkv", "dis.mp4"]] {
        let found = report(folder.path(), &[pair[0], pair[1], "--within", "1.5"]);
        assert_eq!(found["sampled"], true);
        let scored = found["scores"].as_array().unwrap();
        for entry in scored {
            let frame = entry["frame"].as_u64().unwrap() as usize;
            assert_eq!(entry["score"].as_f64().unwrap(), all[frame], "{pair:?} frame {frame}");
        }
        let interval = |key: &str| found["mean"][key].as_f64().unwrap();
        assert!(interval("low") <= truth && truth <= interval("high"), "{pair:?} {truth}: {}", found["mean"]);
        assert!(scored.len() < 400 || found["ended"] == "whole", "{pair:?}: {}", scored.len());
    }
    let gate = |least: &str| {
        visus(folder.path(), &["gate", "ref.y4m", "dis.y4m", "--min-mean", least, "--within", "0.1"])
    };
    let (easy, hard) = (gate("10"), gate("99.9"));
    assert_eq!((easy.status.code(), hard.status.code()), (Some(0), Some(1)), "{}", stderr(&hard));
    assert!(
        stdout(&easy).contains("of 480 frames") && !stdout(&easy).contains("480 of 480"),
        "{}",
        stdout(&easy)
    );
    let wrong = visus(folder.path(), &["gate", "ref.y4m", "dis.y4m", "--min-min", "3", "--within", "1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn videos_that_are_out_of_step_have_no_sample() {
    let folder = clips("20");
    ffmpeg(folder.path(), &["-i", "dis.mp4", "-frames:v", "12", "-c", "copy", "short.mp4"]);
    let output = visus(folder.path(), &["score", "ref.mkv", "short.mp4", "--within", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("a sample cannot be drawn"), "{}", stderr(&output));
}

#[test]
fn thresholds_of_two_generations() {
    let folder = tempfile::tempdir().unwrap();
    let source = ["-f", "lavfi", "-i", "mandelbrot=s=320x320:r=25:end_pts=200:maxiter=200"];
    let look = ["-vf", "rotate=n/40:c=gray,format=yuv420p", "-frames:v", "5", "-c:v", "ffv1", "ref.mkv"];
    ffmpeg(folder.path(), &[&source[..], &look].concat());
    let mut list = "reference,distorted\n".to_owned();
    for crf in ["20", "26", "31", "36", "41"] {
        let name = format!("crf{crf}.mp4");
        ffmpeg(
            folder.path(),
            &["-i", "ref.mkv", "-c:v", "libx264", "-preset", "superfast", "-crf", crf, &name],
        );
        list.push_str(&format!("ref.mkv,{name}\n"));
    }
    std::fs::write(folder.path().join("pairs.csv"), &list).unwrap();
    let output = visus(folder.path(), &["migrate", "pairs.csv", "-q", "--threshold", "90", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let schema = visus_report::schema::OUTPUTS.iter().find(|output| output.name == "migrate").unwrap();
    schema.check(&found).unwrap();
    assert_eq!(found["from_model"], "vmaf_v0.6.1");
    assert!(found["to_model"].as_str().unwrap().contains("v1.0"), "{}", found["to_model"]);
    assert_eq!(found["encodes"].as_array().unwrap().len(), 5);
    assert!(found["mapping"]["slope"].as_f64().unwrap() > 0.0);
    let threshold = &found["thresholds"][0];
    assert!(
        threshold["low"].as_f64() <= threshold["to"].as_f64()
            && threshold["to"].as_f64() <= threshold["high"].as_f64()
    );
    // A model's scores in one pass are those of a pass of its own.
    let alone = report(folder.path(), &["ref.mkv", "crf31.mp4"]);
    assert_eq!(found["encodes"][2]["from"].as_f64().unwrap(), mean(&alone));
    std::fs::write(folder.path().join("few.csv"), "reference,distorted\nref.mkv,crf20.mp4\n").unwrap();
    let few = visus(folder.path(), &["migrate", "few.csv", "-q"]);
    assert!(stderr(&few).contains("needs at least 4"), "{}", stderr(&few));
}

/// What VMAF does not measure is warned of with its frames: in reports, on standard error, by a gate that passes, and in merged parts.
#[test]
fn a_fault_that_the_score_does_not_show_is_warned_of() {
    let folder = clips("26");
    let grey = ["-i", "ref.mkv", "-vf", "hue=s=0:enable='between(n,8,15)'", "-c:v", "libx264", "-crf", "20"];
    ffmpeg(folder.path(), &[&grey[..], &["grey.mp4"]].concat());
    let whole = report(folder.path(), &["ref.mkv", "grey.mp4"]);
    let warnings = whole["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["kind"], "missing_chroma", "{warnings:?}");
    assert_eq!(warnings[0]["from_frame"], 8, "{warnings:?}");
    assert_eq!(warnings[0]["to_frame"], 15, "{warnings:?}");
    assert_eq!(report(folder.path(), &["ref.mkv", "dis.mp4"])["warnings"], serde_json::json!([]));
    assert_eq!(report(folder.path(), &["ref.mkv", "grey.mp4", "--no-detectors"]).get("warnings"), None);

    let text = "warning: frames 8 to 15: chroma is missing";
    let gate = visus(folder.path(), &["gate", "ref.mkv", "grey.mp4", "--min-mean", "50"]);
    let said = format!("{}{}", stdout(&gate), stderr(&gate));
    assert!(gate.status.success() && said.contains(text), "{said}");

    // The fault lies across the border of the parts.
    for (name, limits) in [("a.json", ["--to", "12"]), ("b.json", ["--from", "12"])] {
        let to = format!("--json={name}");
        let part =
            visus(folder.path(), &[&["score", "ref.mkv", "grey.mp4", "-q"], &limits[..], &[&*to]].concat());
        assert!(part.status.success(), "{}", stderr(&part));
    }
    let merged = visus(folder.path(), &["merge", "a.json", "b.json", "-o", "all.json"]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    let merged: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(merged["warnings"], whole["warnings"]);
}
