//! Answers stay small, strict and true.

use std::time::Duration;

use serde_json::Value;
use visus_engine::Scores;
use visus_metrics::Level;
use visus_report::score::{EngineKind, InputFacts, ModelFacts};
use visus_video::{Chroma, Format};

use super::*;

/// The columns of the default model.
const NAMES: [&str; 15] = [
    "integer_adm2",
    "integer_adm_scale0",
    "integer_adm_scale1",
    "integer_adm_scale2",
    "integer_adm_scale3",
    "integer_adm3",
    "integer_motion2",
    "integer_motion",
    "integer_motion3",
    "integer_vif_scale0",
    "integer_vif_scale1",
    "integer_vif_scale2",
    "integer_vif_scale3",
    "integer_aim",
    "vmaf",
];

fn report(frames: u64, score: impl Fn(u64) -> f64) -> ScoreReport {
    let format = Format::new(1920, 1080, Chroma::C420, 10).unwrap();
    let column = |(at, name): (usize, &&str)| {
        let value = |index: u64| {
            if *name == "vmaf" { score(index) } else { 0.1234567 + (at as u64 + index) as f64 / 1e7 }
        };
        ((*name).to_owned(), (0..frames).map(|index| Some(value(index))).collect())
    };
    let scores = Scores::from_columns(NAMES.iter().enumerate().map(column).collect(), Vec::new());
    let file = "/srv/some/folder/with/a/name/of/usual/length/clip_1920x1080_10bit.y4m";
    let input = || InputFacts::new(file, format, Some((24000, 1001)));
    let outcome = Outcome {
        first_frame: 0,
        format,
        frames,
        subsample: 1,
        shorter: None,
        identical: false,
        scores,
        elapsed: Duration::from_secs(100),
        backend: Level::Scalar.into(),
    };
    let mut facts = ScoreFacts::new(EngineKind::Native, crate::VERSION, &outcome, [input(), input()]);
    facts.provenance.cpu_level = Some("avx512".to_owned());
    facts.provenance.models = vec![ModelFacts {
        name: "vmaf".to_owned(),
        label: "vmaf_v0.6.1".to_owned(),
        sha256: Some("0".repeat(64)),
        highest: Some(100.0),
        features: None,
    }];
    ScoreReport {
        facts,
        outcome,
        text: None,
        precision: Precision::Legacy,
        detail: Detail::Auto,
        shots: None,
        steps: visus_media::Steps::default(),
        findings: Vec::new(),
    }
}

const ID: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_summary_fits_into_four_kilobytes_however_long_the_clip() {
    for frames in [1, 100, 10_000, 200_000] {
        let report = report(frames, |index| 93.123456 + (index % 700) as f64 / 123.4);
        let answer = Value::Object(report.answer(ID, Detail::Summary)).to_string();
        assert!(answer.len() <= 4000, "{frames} frames: {} bytes\n{answer}", answer.len());
    }
}

#[test]
fn frames_add_one_list_per_score_and_no_features() {
    let answer = Value::Object(report(300, |index| 90.0 + index as f64 / 100.0).answer(ID, Detail::Frames));
    assert_eq!(answer["detail"], "frames");
    let text = answer["series"].to_string();
    assert!(text.contains("vmaf") && !text.contains("integer_"), "{text}");
    assert!(answer.get("frames").is_none() && answer.to_string().len() < 6000);
}

#[test]
fn the_worst_is_found() {
    let report =
        report(1000, |index| if (500..524).contains(&index) { 40.0 + index as f64 / 1000.0 } else { 95.0 });
    let answer = Value::Object(report.answer(ID, Detail::Summary));
    assert_eq!(answer["worst_frames"][0], json!({ "frame": 500, "score": 40.5 }));
    assert_eq!(answer["worst_second"], json!({ "from_frame": 500, "to_frame": 523, "mean": 40.5 }));
    assert_eq!(answer["pooled_metrics"]["vmaf"]["min_frame"], 500);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("dips to 40.5 in its worst second, frames 500 to 523"), "{verdict}");
    let lowest = answer["curve"]["lowest"].as_array().unwrap();
    assert!(lowest.iter().any(|point| point.as_f64() == Some(40.5)) && lowest.len() <= 100);
}

#[test]
fn full_reports_have_libvmafs_layout() {
    let answer = Value::Object(report(120, |_| 93.123_456_789).answer(ID, Detail::Full));
    assert_eq!(answer["frames"].as_array().unwrap().len(), 120);
    assert_eq!(answer["frames"][7]["frameNum"], 7);
    assert_eq!(answer["frames"][7]["metrics"]["vmaf"], json!(93.123457));
    assert_eq!(answer["pooled_metrics"]["vmaf"]["mean"], json!(93.123457));
    let summary = Value::Object(report(120, |_| 93.0).answer(ID, Detail::Auto));
    assert!(summary.get("frames").is_none());
}

#[test]
fn what_json_cannot_hold_is_null() {
    let report = report(3, |index| if index == 1 { f64::NAN } else { 50.0 });
    let answer = Value::Object(report.answer(ID, Detail::Full));
    assert_eq!(answer["frames"][1]["metrics"]["vmaf"], Value::Null);
    assert!(Value::Object(report.answer(ID, Detail::Summary))["verdict"].is_string());
}

#[test]
fn pages_follow_each_other() {
    let report = report(250, |_| 90.0);
    let page = report.page(ID, 0, None);
    assert_eq!((page["count"].as_u64(), page["frames"][99]["frameNum"].as_u64()), (Some(100), Some(99)));
    assert_eq!(page["next"], json!(format!("visus://jobs/{ID}/frames?from=100&count=100")));
    let last = report.page(ID, 200, Some(100));
    assert_eq!((last["count"].as_u64(), &last["next"]), (Some(50), &Value::Null));
    assert_eq!(report.page(ID, 1000, None)["count"], 0);
    assert_eq!(report.page(ID, 0, Some(1_000_000))["count"], 250);
}
