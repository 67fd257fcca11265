//! `vmaf` at the edges: messages, exit codes, and what libvmaf's tool gets wrong.

mod common;

use common::{Pair, stderr};
use std::io::Write;
use std::process::{Output, Stdio};
use visus_video::{Chroma, Format};

fn format(width: usize, height: usize, chroma: Chroma, depth: u8) -> Format {
    Format::new(width, height, chroma, depth).unwrap()
}

#[track_caller]
fn assert_fails(output: &Output, code: i32, words: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "{text:?} should say {word:?}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

#[track_caller]
fn assert_works(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

fn frames_in(path: &std::path::Path) -> usize {
    std::fs::read_to_string(path).unwrap().matches("frameNum").count()
}

#[test]
fn usage_errors_are_1() {
    let pair = Pair::small(1);
    assert_fails(
        &common::vmaf().output().unwrap(),
        1,
        &["Reference .y4m or .yuv (-r/--reference) is required", "Usage: "],
    );
    assert_fails(&pair.vmaf(&["-b", "14"]), 1, &["should be a valid bitdepth (8/10/12/16)"]);
    assert_fails(&pair.vmaf(&["-w", "96"]), 1, &["The following options are required for .yuv input:"]);
    assert_fails(&pair.vmaf(&["-m", "name=x"]), 1, &["neither version= nor path="]);
}

#[test]
fn help_and_version() {
    let help = common::vmaf().arg("--help").output().unwrap();
    assert_works(&help);
    let text = common::stdout(&help);
    for flag in ["--precision", "--backend", "--aom_ctc"] {
        assert!(text.contains(flag), "{flag}");
    }
    // Servers take these for backends that are compiled in.
    for flag in ["--no_cuda", "--no_sycl", "--no_vulkan", "--no_hip", "--no_metal"] {
        assert!(!text.contains(flag), "{flag}");
    }
    let version = common::vmaf().arg("-v").output().unwrap();
    assert_works(&version);
    assert!(stderr(&version).starts_with("visus-"));
}

#[test]
fn missing_and_foreign_files() {
    let pair = Pair::small(1);
    std::fs::write(pair.path("text.y4m"), "not a video").unwrap();
    std::fs::write(pair.path("empty.y4m"), "").unwrap();
    std::fs::write(pair.path("header.y4m"), "YUV4MPEG2 W96 H64 F25:1 Ip C420\n").unwrap();
    let with = |file: &str| pair.vmaf(&["-d", file]);
    assert_fails(&with("none.y4m"), 255, &["could not open file: none.y4m"]);
    let words = [
        "Incomplete magic for YUV4MPEG file.",
        "Unknown file type.",
        "problem with distorted file: text.y4m",
    ];
    assert_fails(&with("text.y4m"), 255, &words);
    assert_fails(&with("empty.y4m"), 255, &["problem with distorted file: empty.y4m"]);
    assert_fails(&pair.vmaf(&["-r", "header.y4m", "-d", "header.y4m"]), 234, &["problem flushing context"]);
    assert!(!pair.path("out.json").exists());
}

#[test]
fn headers_that_libvmaf_refuses() {
    let pair = Pair::small(1);
    for (header, words) in [
        ("YUV4MPEG2 W96 H64 Ip C420\n", "Error parsing YUV4MPEG2 header."),
        (
            "YUV4MPEG2 W96 H64 F25:1 It C420\n",
            "Input video is interlaced; Theora only handles progressive scan.",
        ),
        ("YUV4MPEG2 W96 H64 F25:1 Ip C411\n", "Unknown chroma sampling type: 411"),
        ("YUV4MPEG2 W0 H0 F25:1 Ip C420\n", "0x0"),
        ("YUV4MPEG2 W99999999 H64 F25:1 Ip C420\n", "99999999"),
    ] {
        std::fs::write(pair.path("odd.y4m"), header).unwrap();
        assert_fails(&pair.vmaf(&["-r", "odd.y4m"]), 255, &[words, "problem with reference file: odd.y4m"]);
    }
}

#[test]
fn incompatible_videos_are_counted() {
    let pair = Pair::small(1);
    let other = Pair::new(format(96, 66, Chroma::C444, 10), (1, 1));
    let output = pair.vmaf(&["-d", other.reference.to_str().unwrap()]);
    let words = [
        "dimensions do not match: 96x64, 96x66",
        "pixel formats do not match: 0, 3",
        "bitdepths do not match: 8, 10",
        "videos are incompatible, 3 problems.",
    ];
    assert_fails(&output, 255, &words);
    assert_fails(
        &pair.vmaf(&["-d", other.reference.to_str().unwrap(), "--aom_ctc", "v6.0"]),
        255,
        &words[2..3],
    );
}

#[test]
fn the_shorter_video_ends_the_run() {
    let pair = Pair::new(format(96, 64, Chroma::C420, 8), (3, 5));
    let output = pair.vmaf(&[]);
    assert_works(&output);
    assert_eq!(stderr(&output), "\n\"ref.y4m\" ended before \"dis.y4m\".\n");
    assert_eq!(frames_in(&pair.path("out.json")), 3);
}

#[test]
fn truncated_videos_say_what_is_left() {
    for side in ["ref.y4m", "dis.y4m"] {
        let pair = Pair::small(3);
        pair.truncate(side, 10);
        let words = [
            "Error reading YUV frame data.",
            side,
            "2 whole frames",
            "problem flushing context",
            "--frame_cnt 2",
        ];
        assert_fails(&pair.vmaf(&[]), 234, &words);
        assert!(!pair.path("out.json").exists());
        assert_works(&pair.vmaf(&["--frame_cnt", "2"]));
        assert_eq!(frames_in(&pair.path("out.json")), 2);
    }
}

#[test]
fn skipping_everything_is_an_error() {
    let pair = Pair::small(3);
    assert_fails(&pair.vmaf(&["--frame_skip_ref", "9"]), 234, &["problem flushing context"]);
}

#[test]
fn formats_that_libvmafs_reader_breaks_on() {
    for picture in [
        format(97, 65, Chroma::C420, 8),
        format(97, 65, Chroma::C420, 10),
        format(96, 64, Chroma::C422, 8),
        format(96, 64, Chroma::C400, 8),
        format(96, 64, Chroma::C420, 16),
        format(97, 65, Chroma::C444, 14),
    ] {
        let pair = Pair::new(picture, (2, 2));
        let output = pair.vmaf(&[]);
        assert_works(&output);
        assert_eq!(frames_in(&pair.path("out.json")), 2, "{picture}");
    }
}

#[test]
fn too_small_pictures_name_the_limit() {
    for (width, height, metric) in [(8, 8, "adm"), (64, 32, "adm"), (4, 4, "vif")] {
        let pair = Pair::new(format(width, height, Chroma::C420, 8), (1, 1));
        let words = [metric, "cannot score", "at least", "problem flushing context"];
        assert_fails(&pair.vmaf(&["-n", "--feature", metric]), 234, &words);
    }
}

/// libvmaf takes each option by itself at first, and finds out with the first pictures that they make no sense together.
#[test]
fn options_that_do_not_go_together_are_refused_late() {
    let pair = Pair::new(format(192, 108, Chroma::C420, 8), (1, 1));
    for (feature, reason) in [
        ("adm=adm_ref_display_height=540", "must be at least 3240"),
        ("float_vif=vif_prescale_method=best", "vif_prescale_method=best is refused"),
        ("cambi=eotf=srgb", "there is no EOTF 'srgb'"),
    ] {
        let words = [reason, "problem reading pictures", "problem flushing context"];
        assert_fails(&pair.vmaf(&["-n", "--feature", feature]), 234, &words);
    }
    let words = ["adm_csf_mode=9 is refused", "problem loading feature extractor: adm"];
    assert_fails(&pair.vmaf(&["-n", "--feature", "adm=adm_csf_mode=9"]), 255, &words);
}

#[test]
fn unwritable_output_is_a_failure() {
    let pair = Pair::small(1);
    assert_fails(
        &pair.vmaf(&["-o", "no/such/folder.json"]),
        255,
        &["could not open file: no/such/folder.json"],
    );
    #[cfg(target_os = "linux")]
    assert_fails(&pair.vmaf(&["-o", "/dev/full"]), 255, &["could not write file: /dev/full"]);
}

#[test]
fn models_and_features_that_do_not_exist() {
    let pair = Pair::small(1);
    std::fs::write(pair.path("broken.json"), "{\"model_dict\": {}}").unwrap();
    let model = [
        "no such built-in model: \"x\"",
        "no such built-in model collection: \"x\"",
        "problem loading model: x",
    ];
    assert_fails(&pair.vmaf(&["-m", "version=x"]), 255, &model);
    assert_fails(
        &pair.vmaf(&["-m", "path=none.json"]),
        255,
        &["could not read model from path: \"none.json\""],
    );
    assert_fails(
        &pair.vmaf(&["-m", "path=broken.json"]),
        255,
        &["'model_type' is missing", "problem loading model: broken.json"],
    );
    assert_fails(&pair.vmaf(&["--feature", "bogus"]), 255, &["problem loading feature extractor: bogus"]);
    for options in ["vif=vif_enhn_gain_limit=0.5", "vif=debug=1", "adm=adm_csf_mode=x"] {
        assert_fails(&pair.vmaf(&["--feature", options]), 255, &["problem loading feature extractor: "]);
    }
    let overload = "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=0.5";
    let words = ["problem loading feature extractors from model: vmaf_v0.6.1"];
    assert_fails(&pair.vmaf(&["-m", overload]), 255, &words);
}

/// What libvmaf's tool accepts and ignores, ours accepts and ignores: real callers depend on it.
#[test]
fn what_libvmaf_passes_over_has_no_effect() {
    let pair = Pair::small(2);
    let csv = |name: &str, more: &[&str]| {
        let output = pair.vmaf(&[&["--csv", "-o", name], more].concat());
        assert_works(&output);
        (std::fs::read_to_string(pair.path(name)).unwrap(), stderr(&output))
    };
    let (plain, _) = csv("plain.csv", &[]);
    for (more, words) in [
        (&["-m", "version=vmaf_v0.6.1:cambi.enc_width=96:cambi.enc_height=64:cambi.enc_bitdepth=8"][..], ""),
        (&["-m", "version=vmaf_v0.6.1:bogus.x=1"], ""),
        (&["-m", "version=vmaf_v0.6.1:vif.bogus=1"], ""),
        (&["--bogus"], "unrecognized option '--bogus'"),
        (&["-z"], "invalid option -- 'z'"),
        (&["a.word"], "a.word"),
        (&["--cpumask", "-1", "--gpumask", "-1"], ""),
        (&["--feature", "null"], ""),
        (&["--frame_cnt", "0"], ""),
    ] {
        let (same, stderr) = csv("same.csv", more);
        assert_eq!(same, plain, "{more:?}");
        assert!(stderr.contains(words), "{more:?}: {stderr}");
    }
    let (vif, _) = csv("vif.csv", &["-n", "--feature", "vif=vif_enhn_gain_limit=1.5"]);
    let (lenient, _) = csv("lenient.csv", &["-n", "--feature", "vif=bogus=1:vif_enhn_gain_limit=1.5xyz"]);
    assert_eq!(vif, lenient);
    let (psnr, _) = csv("psnr.csv", &["-n", "--feature", "psnr"]);
    let (twice, _) = csv("twice.csv", &["-n", "--feature", "psnr", "--feature", "psnr=enable_mse=true"]);
    assert_eq!(psnr, twice);
    let (prefixed, _) = csv("prefixed.csv", &["--subs", "1", "--no_pred"]);
    assert!(prefixed.starts_with("Frame,"), "{prefixed}");
}

#[test]
fn a_model_from_a_file_is_the_built_in_one() {
    let pair = Pair::small(2);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/vmaf_v0.6.1.json");
    assert_works(&pair.vmaf(&["-m", &format!("path={path}:name=file"), "-m", "version=vmaf_v0.6.1"]));
    let text = std::fs::read_to_string(pair.path("out.json")).unwrap();
    let score = |key: &str| {
        text.lines()
            .find(|line| line.contains(key))
            .unwrap()
            .split(": ")
            .nth(1)
            .unwrap()
            .trim_end_matches(',')
            .to_owned()
    };
    assert_eq!(score("\"file\""), score("\"vmaf\""));
}

#[test]
fn more_than_128_keys_are_fine() {
    let pair = Pair::small(2);
    let mut args = Vec::new();
    let features: Vec<String> =
        (0..12).map(|i| format!("float_vif=debug=true:vif_sigma_nsq={}", 1.0 + f64::from(i) / 8.0)).collect();
    for feature in &features {
        args.extend(["--feature", feature]);
    }
    assert_works(&pair.vmaf(&args));
    assert!(
        std::fs::read_to_string(pair.path("out.json")).unwrap().matches("\"harmonic_mean\"").count() > 128
    );
}

#[test]
fn the_reference_from_standard_input() {
    let pair = Pair::small(2);
    let mut child = common::vmaf()
        .current_dir(pair.folder.path())
        .args(["-r", "-", "-d", "dis.y4m", "-o", "piped.json", "--json"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&std::fs::read(&pair.reference).unwrap()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_works(&pair.vmaf(&[]));
    let text = |name: &str| {
        let text = std::fs::read_to_string(pair.path(name)).unwrap();
        text.lines().filter(|line| !line.contains("fps")).collect::<String>()
    };
    assert_eq!(text("piped.json"), text("out.json"));
}

#[test]
fn raw_video_gives_the_scores_of_the_same_y4m() {
    let pair = Pair::small(2);
    for name in ["ref", "dis"] {
        let bytes = std::fs::read(pair.path(&format!("{name}.y4m"))).unwrap();
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let frame = 6 + 96 * 64 * 3 / 2;
        let raw: Vec<u8> = bytes[header..].chunks(frame).flat_map(|frame| &frame[6..]).copied().collect();
        std::fs::write(pair.path(&format!("{name}.yuv")), raw).unwrap();
    }
    assert_works(&pair.vmaf(&["-o", "a.csv", "--csv"]));
    let raw = [
        "-r", "ref.yuv", "-d", "dis.yuv", "-w", "96", "-h", "64", "-p", "420", "-b", "8", "-o", "b.csv",
        "--csv",
    ];
    assert_works(&pair.vmaf(&raw));
    assert_eq!(std::fs::read(pair.path("a.csv")).unwrap(), std::fs::read(pair.path("b.csv")).unwrap());
}

#[test]
fn nothing_to_predict_is_an_empty_report() {
    let pair = Pair::small(2);
    assert_works(&pair.vmaf(&["-n"]));
    assert!(std::fs::read_to_string(pair.path("out.json")).unwrap().contains("\"frames\": [\n  ],"));
}
