//! Reports stay small, strict and true.

use std::time::Duration;

use serde_json::{Value, json};
use visus_engine::{BackendUsed, DeviceId, Fallback, Outcome, Plan, Scores};
use visus_metrics::Level;
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

const ID: &str = "0123456789abcdef0123456789abcdef";

fn scored(frames: u64, score: impl Fn(u64) -> f64) -> (ScoreFacts, Outcome) {
    let format = Format::new(1920, 1080, Chroma::C420, 10).unwrap();
    let column = |(at, name): (usize, &&str)| {
        let value = |index: u64| {
            if *name == "vmaf" { score(index) } else { 0.1234567 + (at as u64 + index) as f64 / 1e7 }
        };
        ((*name).to_owned(), (0..frames).map(|index| Some(value(index))).collect())
    };
    let scores = Scores::from_columns(NAMES.iter().enumerate().map(column).collect(), Vec::new());
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
    let file = "/srv/some/folder/with/a/name/of/usual/length/clip_1920x1080_10bit.y4m";
    let input = || InputFacts::new(file, format, Some((24000, 1001)));
    let mut facts = ScoreFacts::new(EngineKind::Native, "0.1.0", &outcome, [input(), input()]);
    facts.provenance.cpu_level = Some("avx512".to_owned());
    facts.provenance.models = vec![ModelFacts {
        name: "vmaf".to_owned(),
        label: "vmaf_v0.6.1".to_owned(),
        sha256: Some("0".repeat(64)),
        features: None,
        highest: Some(100.0),
    }];
    (facts, outcome)
}

fn legacy<'a>((facts, outcome): &'a (ScoreFacts, Outcome)) -> ScoreReport<'a> {
    ScoreReport::new(facts, outcome).with_precision(Precision::Legacy).of_job(ID)
}

#[test]
fn ten_thousand_frames_fit_into_six_kilobytes() {
    let scored = scored(10_000, |index| 93.123456 + (index % 700) as f64 / 123.4);
    let answer = json(&legacy(&scored).summary()).to_string();
    // A client gets it twice, as data and as text, and a link.
    let text = Value::String(answer.clone()).to_string();
    let total = answer.len() + text.len() + 400;
    assert!(total < 6000, "{} + {} bytes\n{answer}", answer.len(), text.len());
}

#[test]
fn the_worst_is_found() {
    let scored =
        scored(1000, |index| if (500..524).contains(&index) { 40.0 + index as f64 / 1000.0 } else { 95.0 });
    let answer = json(&legacy(&scored).summary());
    assert_eq!(answer["worst_frames"][0], json!({ "frame": 500, "score": 40.5 }));
    assert_eq!(answer["worst_second"], json!({ "from_frame": 500, "to_frame": 523, "mean": 40.5 }));
    assert_eq!(answer["pooled_metrics"]["vmaf"]["min_frame"], 500);
    assert_eq!(answer["pooled_metrics"]["integer_adm2"].as_object().unwrap().len(), 2);
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(verdict.contains("dips to 40.5 in its worst second, frames 500 to 523"), "{verdict}");
    let lowest = answer["curve"]["lowest"].as_array().unwrap();
    assert!(lowest.iter().any(|point| point.as_f64() == Some(40.5)) && lowest.len() <= 100);
    assert_eq!(answer["report"], json!(format!("visus://jobs/{ID}")));
}

#[test]
fn full_reports_have_libvmafs_layout() {
    let scored = scored(120, |_| 93.123_456_789);
    let answer = json(&legacy(&scored).full());
    assert_eq!(answer["frames"].as_array().unwrap().len(), 120);
    assert_eq!(answer["frames"][7]["frameNum"], 7);
    assert_eq!(answer["frames"][7]["metrics"]["vmaf"], json!(93.123457));
    assert_eq!(answer["pooled_metrics"]["vmaf"]["mean"], json!(93.123457));
    assert_eq!(answer["backend_requested"], "auto");
    assert_eq!(answer["provenance"]["engine"], "native");
    assert_eq!(answer["provenance"]["reference"]["width"], 1920);
    assert_eq!(answer["provenance"]["reference"]["frame_rate"], "24000/1001");
    let exact = ScoreReport::new(&scored.0, &scored.1).json();
    assert_eq!(exact["frames"][7]["metrics"]["vmaf"], json!(93.123_456_789));
    assert_eq!(exact.get("job_id"), None);
}

#[test]
fn what_json_cannot_hold_is_null() {
    let scored = scored(3, |index| if index == 1 { f64::NAN } else { 50.0 });
    assert_eq!(json(&legacy(&scored).full())["frames"][1]["metrics"]["vmaf"], Value::Null);
    assert!(json(&legacy(&scored).summary())["verdict"].is_string());
}

#[test]
fn frames_as_lists_leave_features_out() {
    let scored = scored(4, |index| 90.0 + index as f64);
    let answer = json(&legacy(&scored).summary_with_frames());
    assert_eq!(answer["detail"], "frames");
    assert_eq!(
        answer["series"],
        json!({ "first_frame": 0, "step": 1, "scores": { "vmaf": [90.0, 91.0, 92.0, 93.0] } })
    );
}

#[test]
fn pages_follow_each_other() {
    let scored = scored(250, |_| 90.0);
    let page = |from, count| json(&legacy(&scored).page(from, count));
    let first = page(0, None);
    assert_eq!((first["count"].as_u64(), first["frames"][99]["frameNum"].as_u64()), (Some(100), Some(99)));
    assert_eq!(first["next"], json!(format!("visus://jobs/{ID}/frames?from=100&count=100")));
    let last = page(200, Some(100));
    assert_eq!((last["count"].as_u64(), &last["next"]), (Some(50), &Value::Null));
    assert_eq!(page(1000, None)["count"], 0);
    assert_eq!(page(0, Some(1_000_000))["count"], 250);
}

#[test]
fn sections_stand_at_the_top_level() {
    let (mut facts, outcome) = scored(2, |_| 90.0);
    let named = [("pairing", json!({ "summary": "x" })), ("further", json!(1))];
    facts.sections = named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let report = ScoreReport::new(&facts, &outcome).json();
    assert_eq!((&report["pairing"]["summary"], &report["further"]), (&json!("x"), &json!(1)));
    assert_eq!(report.get("media"), None);
}

/// Panics where a value is not what the schema of an output says.
fn fits(name: &str, value: &Value) {
    let output = crate::schema::OUTPUTS.iter().find(|output| output.name == name).unwrap();
    if let Err(fault) = output.check(value) {
        panic!("{name}: {fault}\n{value:#}");
    }
}

#[test]
fn everything_that_is_written_fits_its_schema() {
    let (mut facts, mut outcome) = scored(6, |index| if index == 2 { f64::NAN } else { 90.0 });
    let check = |facts: &ScoreFacts, outcome: &Outcome| {
        let report = ScoreReport::new(facts, outcome);
        fits("score", &report.json());
        for report in [report, report.of_job(ID).with_precision(Precision::Legacy)] {
            fits("score", &json(&report.without_frames()));
            fits("summary", &json(&report.summary()));
            fits("summary", &json(&report.summary_with_frames()));
            fits("frames", &json(&report.page(0, Some(2))));
        }
        let task = json!({
            "engine": "1", "reference": { "path": "a", "bytes": 1, "changed_ns": 2 },
            "distorted": { "path": "b", "bytes": null, "changed_ns": null }, "models": [], "features": ["psnr"],
            "size": null, "pix_fmt": null, "subsample": 1, "frames": null, "per_frame": true, "media": "",
        });
        let row = || crate::batch::BatchRow {
            number: 1,
            reference: "a".into(),
            distorted: "b".into(),
            task: &task,
        };
        fits("batch", &json(&crate::batch::BatchLine::scored(row(), report.full())));
        fits("batch", &json(&crate::batch::BatchLine::failed(row(), "no", None)));
        let record = crate::Record::of(report).unwrap();
        fits("diff", &crate::diff::diff(&record, &record, 1).json());
    };
    check(&facts, &outcome);
    (outcome.identical, outcome.shorter) = (true, Some(visus_engine::Side::Reference));
    facts.mismatched_model_warning = Some("too large".into());
    facts.notes.push("why".into());
    facts.provenance.device = Some("gpu".into());
    facts.provenance.reference.sha256 = Some("0".into());
    check(&facts, &outcome);
    facts.external_pooled =
        Some(json!({ "vmaf": { "min": 1.0, "max": 2.0, "mean": 1.5, "harmonic_mean": 1.4 } }));
    check(&facts, &outcome);
}

#[test]
fn a_key_without_a_description_is_noticed() {
    let (facts, outcome) = scored(1, |_| 90.0);
    let mut report = ScoreReport::new(&facts, &outcome).json();
    report["provenance"]["colour_of_the_machine"] = json!("grey");
    let fault = crate::schema::OUTPUTS[0].check(&report).unwrap_err();
    assert_eq!(fault.place, "/provenance/colour_of_the_machine");
}

#[test]
fn a_device_and_its_failure_are_reported() {
    let (_, mut outcome) = scored(2, |_| 50.0);
    let device = DeviceId { api: "cuda".to_owned(), index: 1, name: "Test Device".to_owned() };
    outcome.backend = BackendUsed {
        requested: Some(device.clone()),
        device: Some(device),
        device_metrics: vec!["vif".to_owned()],
        fallback: Some(Fallback { frame: 9, reason: "it was lost".to_owned() }),
        ..BackendUsed::from(Level::Scalar)
    };
    let plan = Plan::new(&[], &["vif".parse().unwrap()], true).unwrap();
    let input = || InputFacts::new("clip.y4m", outcome.format, None);
    let facts = ScoreFacts::native("0.1.0", &plan, &outcome, [input(), input()]);
    assert_eq!((facts.backend_requested.as_str(), facts.backend_used.as_str()), ("cuda", "cuda"));
    assert_eq!(facts.provenance.device.as_deref(), Some("cuda:1 (Test Device)"));
    assert_eq!(facts.provenance.cpu_level.as_deref(), Some("scalar"));
    assert_eq!(
        facts.notes,
        ["device cuda:1 (Test Device) failed, the CPU scored from frame 9 on: it was lost"]
    );
}
