//! Exact texts.

use std::time::Duration;

use visus_engine::{Outcome, Scores};
use visus_metrics::Level;
use visus_video::{Chroma, Format as PictureFormat};

use super::*;

/// Two listed frames of four, one value missing, one infinite, one with a tiny fraction.
fn outcome() -> Outcome {
    let columns = vec![
        ("a".to_owned(), vec![Some(1.5), None, Some(f64::INFINITY)]),
        ("b".to_owned(), vec![Some(1.0000003), Some(9.0), None]),
        ("c".to_owned(), vec![Some(0.25), Some(9.0), Some(0.75)]),
    ];
    let aggregates = vec![("whole".to_owned(), 3.0), ("nothing".to_owned(), f64::NAN.copysign(1.0))];
    Outcome {
        first_frame: 0,
        format: PictureFormat::new(320, 240, Chroma::C420, 8).unwrap(),
        frames: 3,
        subsample: 2,
        shorter: None,
        identical: false,
        scores: Scores::from_columns(columns, aggregates),
        elapsed: Duration::from_millis(1500),
        backend: Level::Scalar.into(),
    }
}

fn text(outcome: &Outcome, format: Format, precision: Precision) -> String {
    let mut out = Vec::new();
    Report { version: "9.9", outcome, precision }.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn json() {
    let want = r#"{
  "version": "9.9",
  "fps": 2.00,
  "frames": [
    {
      "frameNum": 0,
      "metrics": {
        "a": 1.500000,
        "b": 1.0000003000000000,
        "c": 0.250000
      }
    },
    {
      "frameNum": 2,
      "metrics": {
        "a": null,        "c": 0.750000
      }
    }
  ],
  "pooled_metrics": {
    "a": {
      "min": 1.500000,
      "max": null,
      "mean": null,
      "harmonic_mean": 4.000000
    },
    "b": {
    },
    "c": {
      "min": 0.250000,
      "max": 0.750000,
      "mean": 0.500000,
      "harmonic_mean": 0.458333
    }
  },
  "aggregate_metrics": {
    "whole": 3.000000,
    "nothing": null
  }
}
"#;
    assert_eq!(text(&outcome(), Format::Json, Precision::Legacy), want);
}

#[test]
fn xml() {
    let want = r#"<VMAF version="9.9">
  <params qualityWidth="320" qualityHeight="240" />
  <fyi fps="2.00" />
  <frames>
    <frame frameNum="0" a="1.500000" b="1.0000003000000000" c="0.250000" />
    <frame frameNum="2" a="inf" c="0.750000" />
  </frames>
  <pooled_metrics>
    <metric name="a" min="1.500000" max="inf" mean="inf" harmonic_mean="4.000000" />
    <metric name="b" />
    <metric name="c" min="0.250000" max="0.750000" mean="0.500000" harmonic_mean="0.458333" />
  </pooled_metrics>
  <aggregate_metrics whole="3.000000" nothing="nan" />
</VMAF>
"#;
    assert_eq!(text(&outcome(), Format::Xml, Precision::Legacy), want);
}

#[test]
fn csv() {
    let want = "Frame,a,b,c,\n0,1.500000,1.0000003000000000,0.250000,\n2,inf,0.750000,\n";
    assert_eq!(text(&outcome(), Format::Csv, Precision::Legacy), want);
}

#[test]
fn sub() {
    let want = "{0}{1}frame: 0|a: 1.5|b: 1.0000003|c: 0.25|\n{2}{3}frame: 2|a: inf|c: 0.75|\n";
    assert_eq!(text(&outcome(), Format::Sub, Precision::Digits(8)), want);
}

#[test]
fn nothing_at_all() {
    let empty = Outcome { scores: Scores::default(), ..outcome() };
    let json = text(&empty, Format::Json, Precision::Legacy);
    assert!(
        json.ends_with(
            "  \"frames\": [\n  ],\n  \"pooled_metrics\": {\n  },\n  \"aggregate_metrics\": {\n  }\n}\n"
        ),
        "{json}"
    );
    assert_eq!(text(&empty, Format::Csv, Precision::Legacy), "Frame,\n");
    assert_eq!(text(&empty, Format::Sub, Precision::Legacy), "");
    assert!(text(&empty, Format::Xml, Precision::Legacy).ends_with("  <aggregate_metrics />\n</VMAF>\n"));
}
