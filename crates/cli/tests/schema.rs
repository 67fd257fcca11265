//! Every JSON output is what `visus schema` says of it, and the documentation names every key.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{Pair, stderr, stdout, visus};
use serde_json::Value;

impl Pair {
    /// Runs `visus` in the folder.
    fn visus(&self, words: &[&str]) -> String {
        let output = visus().current_dir(self.folder.path()).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// The file is a valid output of this name.
    fn is_valid(&self, name: &str, file: &str) {
        let told = self.visus(&["schema", name, file]);
        assert!(told.contains(&format!("valid {name}")), "{told}");
    }
}

#[test]
fn scores_and_what_is_made_of_them() {
    let pair = Pair::small(8);
    let score = ["score", "ref.y4m", "dis.y4m", "-q", "--model", "vmaf_v0.6.1", "--feature", "psnr"];
    let scored = |more: &[&str]| pair.visus(&[&score[..], more].concat());
    scored(&["--json=whole.json"]);
    scored(&["--to", "5", "--json=part1.json"]);
    scored(&["--from", "5", "--json=part2.json"]);
    pair.visus(&["merge", "part1.json", "part2.json", "-o", "merged.json"]);
    for file in ["whole.json", "part1.json", "part2.json", "merged.json"] {
        pair.is_valid("score", file);
    }
    pair.visus(&["worst", "ref.y4m", "dis.y4m", "-q", "-n", "2", "-o", "worst", "--model", "vmaf_v0.6.1"]);
    pair.is_valid("worst", "worst/worst.json");
    std::fs::write(pair.path("diff.json"), pair.visus(&["diff", "whole.json", "merged.json", "--json"]))
        .unwrap();
    pair.is_valid("diff", "diff.json");
    std::fs::write(pair.path("models.json"), pair.visus(&["models", "--json"])).unwrap();
    pair.is_valid("models", "models.json");
}

#[test]
fn batches_with_and_without_frames() {
    let pair = Pair::small(3);
    std::fs::write(pair.path("list.csv"), "reference,distorted\nref.y4m,dis.y4m\nref.y4m,absent.y4m\n")
        .unwrap();
    for (file, more) in [("plain.ndjson", &[][..]), ("frames.ndjson", &["--per-frame"])] {
        let words = ["batch", "list.csv", "-q", "--model", "vmaf_v0.6.1", "-o", file];
        let output =
            visus().current_dir(pair.folder.path()).args([&words[..], more].concat()).output().unwrap();
        assert!(!output.status.success(), "a row fails");
        assert_eq!(std::fs::read_to_string(pair.path(file)).unwrap().lines().count(), 2);
        pair.is_valid("batch", file);
    }
}

#[test]
fn encoded_videos_add_sections() {
    let pair = Pair::small(12);
    for (from, to) in [("ref.y4m", "ref.mkv"), ("dis.y4m", "dis.mkv")] {
        let encoded = Command::new("ffmpeg")
            .current_dir(pair.folder.path())
            .args(["-v", "error", "-nostdin", "-i", from, "-c:v", "ffv1", to])
            .status()
            .expect("these tests need ffmpeg; install it");
        assert!(encoded.success());
    }
    pair.visus(&["score", "ref.mkv", "dis.mkv", "-q", "--model", "vmaf_v0.6.1", "--json=report.json"]);
    pair.is_valid("score", "report.json");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(pair.path("report.json")).unwrap()).unwrap();
    for section in ["comparability", "pairing", "conversions", "media"] {
        assert!(!report[section].is_null(), "there is no {section}");
    }
}

#[test]
fn what_is_no_output_is_told() {
    let pair = Pair::small(1);
    for (name, text, reason) in [
        ("score", "{}", "is missing"),
        ("score", "[]", "not \"object\""),
        ("score", "{", "is no JSON"),
        ("score", "", "is empty"),
        ("nonsense", "{}", "there is no output 'nonsense'"),
    ] {
        std::fs::write(pair.path("x.json"), text).unwrap();
        let output =
            visus().current_dir(pair.folder.path()).args(["schema", name, "x.json"]).output().unwrap();
        assert!(!output.status.success() && stderr(&output).contains(reason), "{text}: {}", stderr(&output));
    }
}

/// The keys of all objects in a schema.
fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    found.extend(schema["properties"].as_object().into_iter().flat_map(|map| map.keys().cloned()));
    match schema {
        Value::Object(map) => map.values().for_each(|value| keys(value, found)),
        Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn the_documentation_names_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let pair = Pair::small(1);
    for line in pair.visus(&["schema"]).lines() {
        let name = line.split_whitespace().next().unwrap();
        assert!(page.contains(&format!("### `{name}`")), "docs/report-format.md has no output {name}");
        let mut found = BTreeSet::new();
        keys(&serde_json::from_str(&pair.visus(&["schema", name])).unwrap(), &mut found);
        assert!(found.len() > 2, "{name} has keys");
        let missing: Vec<&String> = found.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}; run cargo xtask readme");
    }
}
