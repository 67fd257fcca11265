//! `visus` as a person uses it.

mod common;

use common::{Pair, stderr, stdout};
use serde_json::Value;
use visus_video::{Chroma, Format};

fn run(pair: &Pair, args: &[&str]) -> std::process::Output {
    common::visus().current_dir(pair.folder.path()).args(args).output().unwrap()
}

#[test]
fn demo_finds_its_flaw() {
    let output = common::visus().args(["demo", "--quiet"]).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    let worst = text.split("at frame ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    assert!((36..42).contains(&worst.parse::<u64>().unwrap()), "{text}");
}

#[test]
fn selftest_passes_at_every_level() {
    let output = common::visus().arg("selftest").output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("scalar"));
    assert!(stdout(&output).contains("figures are equal to libvmaf's, to the last bit."));
}

#[test]
fn a_summary_for_people() {
    let pair = Pair::small(4);
    let output =
        run(&pair, &["score", "ref.y4m", "dis.y4m", "-m", "v0.6.1", "-m", "b_v0.6.3", "-f", "float_motion"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for word in [
        "vmaf_v0.6.1  ",
        "harmonic mean",
        "p1 ",
        "p5 ",
        "p10 ",
        "at frame",
        "confidence interval",
        "motion2",
        "4 frames of 96x64",
    ] {
        assert!(text.contains(word), "{text} should say {word}");
    }
}

#[test]
fn json_says_where_the_numbers_come_from() {
    let pair = Pair::small(3);
    let output = run(&pair, &["score", "ref.y4m", "dis.y4m", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let provenance = &json["provenance"];
    assert_eq!(
        provenance["models"][0]["sha256"],
        "5950d61fa1f861bd45d8149d80539ed9f3376cfc2495b8f0fa8e9f57cb131ee3"
    );
    assert_eq!(provenance["reference"]["width"], 96);
    assert_eq!(json["identical"], false);
    assert_eq!(json["frames"].as_array().unwrap().len(), 3);
    assert!(json["pooled_metrics"]["vmaf_v0.6.1"]["p5"].is_f64());
}

#[test]
fn identical_inputs_are_explained() {
    let pair = Pair::small(2);
    let output = run(&pair, &["score", "ref.y4m", "ref.y4m", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["identical"], true);
    assert!(json["notes"][0].as_str().unwrap().contains("97.4"));
    assert!(stdout(&run(&pair, &["score", "ref.y4m", "ref.y4m"])).contains("identical, sample for sample"));
}

#[test]
fn reports_go_to_files() {
    let pair = Pair::small(2);
    let output = run(
        &pair,
        &[
            "score",
            "ref.y4m",
            "dis.y4m",
            "-q",
            "--json=a.json",
            "--csv=a.csv",
            "--xml=a.xml",
            "--precision=max",
        ],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(std::fs::read_to_string(pair.path("a.csv")).unwrap().starts_with("Frame,integer_adm2,"));
    assert!(std::fs::read_to_string(pair.path("a.xml")).unwrap().starts_with("<VMAF version="));
    let output = run(&pair, &["score", "ref.y4m", "dis.y4m", "--json", "--csv"]);
    assert!(stderr(&output).contains("only one report can go to standard output"));
}

#[test]
fn errors_end_with_a_reason_and_the_code_of_their_class() {
    let pair = Pair::small(2);
    let big = Pair::new(Format::new(128, 64, Chroma::C420, 8).unwrap(), (2, 2));
    let big = big.reference.to_str().unwrap();
    for (args, code, words) in [
        (&["score", "none.y4m", "dis.y4m"][..], 1, "none.y4m"),
        (&["score", "ref.y4m", big], 3, "the reference is 96x64 4:2:0 8-bit, the distorted video 128x64"),
        (&["score", "ref.y4m", big, "--scale", "off"], 3, "scaling is switched off"),
        (&["score", "ref.y4m", "dis.y4m", "-m", "v9"], 2, "no such built-in model 'v9'"),
        (&["score", "ref.y4m", "dis.y4m", "-f", "bogus"], 2, "there is no metric 'bogus'"),
        (&["score", "-", "-"], 2, "standard input"),
        (&["score", "ref.y4m", "dis.y4m", "--csv=no/such/file.csv"], 1, "cannot create no/such/file.csv"),
    ] {
        let output = run(&pair, args);
        assert_eq!(output.status.code(), Some(code), "{args:?} {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{} should say {words}", stderr(&output));
    }
    assert_eq!(run(&pair, &["score", "ref.y4m"]).status.code(), Some(2));
}

#[test]
fn a_file_that_ends_early_is_told() {
    let pair = Pair::new(Format::new(96, 64, Chroma::C420, 8).unwrap(), (4, 2));
    let output = run(&pair, &["score", "ref.y4m", "dis.y4m"]);
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("the distorted video ended after 2 frames, the other one has 4"),
        "{}",
        stderr(&output)
    );
    pair.truncate("ref.y4m", 100);
    let output = run(&pair, &["score", "ref.y4m", "ref.y4m"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--frames 3"), "{}", stderr(&output));
}

#[test]
fn completions_and_man_page_come_from_the_definition() {
    let bash = common::visus().args(["completions", "bash"]).output().unwrap();
    assert!(stdout(&bash).contains("--pix-fmt"));
    let man = common::visus().arg("man").output().unwrap();
    assert!(stdout(&man).contains(".TH visus") && stdout(&man).contains("subsample"));
}

#[test]
fn models_are_listed() {
    let text = stdout(&common::visus().arg("models").output().unwrap());
    assert!(text.contains("vmaf_4k_v0.6.1neg") && text.contains("0-110"));
    let json: Value =
        serde_json::from_str(&stdout(&common::visus().args(["models", "--json"]).output().unwrap())).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 17);
}

/// Of two shots the worst frames of both are shown, also in plain Y4M.
#[test]
fn the_worst_frames_are_spread_over_shots() {
    use visus_video::synthetic::{Clip, Distortion};
    let folder = tempfile::tempdir().unwrap();
    let format = Format::new(192, 128, Chroma::C420, 8).unwrap();
    let shots = [Clip::scene(format, 12, 3), Clip::scene(format, 12, 40)];
    let steps = [50, 60];
    let write = |name: &str, frames: Vec<visus_video::Frame>| {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        visus_video::write_y4m(std::io::BufWriter::new(file), &format, (25, 1), frames).unwrap();
    };
    write("ref.y4m", shots.iter().flat_map(|clip| clip.frames().collect::<Vec<_>>()).collect());
    let damaged =
        shots.iter().zip(steps).map(|(clip, step)| clip.clone().distorted(Distortion::Blocking { step }));
    write("dis.y4m", damaged.flat_map(|clip| clip.frames().collect::<Vec<_>>()).collect());
    let output = common::visus()
        .current_dir(folder.path())
        .args(["worst", "ref.y4m", "dis.y4m", "-n", "4", "-o", "bad", "-q"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let list: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("bad/worst.json")).unwrap())
            .unwrap();
    let mut found: Vec<(u64, u64)> = list["frames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|frame| (frame["shot"].as_u64().unwrap(), frame["frame_index"].as_u64().unwrap() / 12))
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, [(0, 0), (1, 1)], "{list}");
}
