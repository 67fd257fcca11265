//! Comparison, ladder and shots with real encodes.

#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

mod common;

use std::process::Command;

use common::{Place, fits, judge, noisy, silent, soft, tools};
use visus_tune::encoders::{self, Choices};
use visus_tune::hull::Spacing;
use visus_tune::samples::SamplePlan;
use visus_tune::shots::{self, DetectSettings, Kind, PredictSettings, ShotSettings};
use visus_tune::{
    CompareSettings, LadderSettings, OutputFile, Pooling, TuneError, charts, compare, ladder, manifest,
};

fn comparison(encoders: &[&str], targets: &[f64]) -> CompareSettings {
    CompareSettings {
        encoders: encoders.iter().map(|&name| name.to_owned()).collect(),
        targets: targets.to_vec(),
        choices: Choices::default(),
        pooling: Pooling::Mean,
        samples: SamplePlan::default(),
        parallel: true,
    }
}

#[test]
fn encoders_are_compared_and_the_absent_ones_told() {
    let place = Place::new();
    let path = place.clip("source.mkv", &noisy(0.4));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let settings = comparison(&["libx264", "libx265", "h264_amf", "nonsense"], &[94.0]);
    let report = compare(&lab, &source, &judge(&source), &settings, &silent).unwrap();
    fits("compare", &report);
    assert_eq!((report.target_vmaf, report.schema_version), (Some(94.0), None));
    let ok: Vec<bool> = report.rows.iter().map(|row| row.ok).collect();
    assert_eq!(ok, [true, true, false, false]);
    assert!(report.rows[0].bitrate_kbps <= report.rows[1].bitrate_kbps);
    let error = |name: &str| {
        let row = report.rows.iter().find(|row| row.codec == name).unwrap();
        assert_eq!((row.best_crf, row.bitrate_kbps), (-1, None));
        row.error.clone().unwrap()
    };
    assert!(error("h264_amf").contains("the local ffmpeg was built without it"), "{}", error("h264_amf"));
    assert!(error("nonsense").contains("unknown encoder"));
    assert!(report.rows.iter().filter(|row| row.ok).all(|row| !row.encoder_version.is_empty()));
    let delta = report.bd_rate.iter().find(|delta| delta.encoder == "libx265").unwrap();
    assert!(delta.bd_rate_percent.is_some(), "{delta:?}");
    assert!(charts::comparison(&report).svg().contains("libx265"));
    let several =
        compare(&lab, &source, &judge(&source), &comparison(&["libx265", "libx264"], &[94.0, 90.0]), &silent)
            .unwrap();
    let order: Vec<(&str, f64)> =
        several.rows.iter().map(|row| (row.codec.as_str(), row.target_vmaf)).collect();
    assert_eq!(order, [("libx265", 94.0), ("libx265", 90.0), ("libx264", 94.0), ("libx264", 90.0)]);
    assert_eq!((several.schema_version, several.target_vmafs), (Some(2), Some(vec![94.0, 90.0])));
    let none = compare(&lab, &source, &judge(&source), &comparison(&["nonsense"], &[94.0]), &silent).unwrap();
    assert!(!none.rows[0].ok && none.bd_rate.is_empty());
}

/// What ffprobe reads in a file: width, height and codec of each stream.
fn probed(path: &std::path::Path) -> Vec<String> {
    let output = Command::new(tools().media.ffprobe)
        .args([
            "-v",
            "error",
            "-count_packets",
            "-show_entries",
            "stream=codec_name,width,height,nb_read_packets",
            "-of",
            "csv=p=0",
        ])
        .arg(path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn a_ladder_is_packaged_and_read_back() {
    let place = Place::new();
    let path = place.clip("source.mkv", &soft(2.4));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let judge = judge(&source);
    let settings = |resolutions: &[(u32, u32)]| LadderSettings {
        adapter: encoders::by_name("libx264").unwrap(),
        choices: Choices { gop: Some(25), ..Choices::default() },
        resolutions: resolutions.to_vec(),
        targets: vec![90.0, 60.0],
        tiers: 2,
        spacing: Spacing::LogBitrate,
        pooling: Pooling::Mean,
        samples: SamplePlan { count: Some(0), seconds: 1.0 },
    };
    let error = ladder(&lab, &source, &judge, &settings(&[(512, 288)]), &silent).unwrap_err();
    assert!(
        error.to_string().contains("invalid resolutions '512x288': larger than the source, which is 256x144"),
        "{error}"
    );
    assert!(matches!(
        ladder(&lab, &source, &judge, &settings(&[(127, 72)]), &silent),
        Err(TuneError::Invalid { .. })
    ));
    let settings = settings(&[(256, 144), (128, 72)]);
    let found = ladder(&lab, &source, &judge, &settings, &silent).unwrap();
    fits("ladder", &found);
    assert_eq!(found.renditions.len(), 2, "{found:?}");
    assert!(
        found
            .renditions
            .windows(2)
            .all(|pair| pair[0].bitrate_kbps < pair[1].bitrate_kbps && pair[0].vmaf < pair[1].vmaf)
    );
    assert!(found.renditions[1].vmaf >= 90.0, "the best rendition meets the best target: {found:?}");
    // The small size is judged enlarged: at a fine setting it still lacks detail.
    assert!(found.samples.iter().any(|sample| sample.width == 128));
    assert!(found.renditions.iter().all(|rendition| rendition.codecs.starts_with("avc1.64")));
    assert!(charts::ladder(&found).svg().contains("hull"));
    let folder = place.path("out");
    let package = manifest::package(&lab, &source, &judge, &settings, &found, &folder, &silent).unwrap();
    let expected: Vec<String> = {
        let mut lines: Vec<String> = found
            .renditions
            .iter()
            .map(|rendition| format!("h264,{},{},60", rendition.width, rendition.height))
            .collect();
        lines.sort();
        lines.dedup();
        lines
    };
    for manifest in ["master.m3u8", "manifest.mpd"] {
        assert_eq!(probed(&folder.join(manifest)), expected, "{manifest}");
    }
    for rendition in &package.renditions {
        let file = folder.join(format!("{}.mp4", manifest::stem(rendition)));
        let pieces = visus_tune::mp4::fragments(&file).unwrap().pieces;
        assert_eq!(pieces.len(), 3, "a piece per key frame: {pieces:?}");
        let last = pieces.last().unwrap();
        assert_eq!(last.0 + last.1, file.metadata().unwrap().len());
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), package.files.len());
}

#[test]
fn shots_get_settings_of_their_own_and_are_joined() {
    let place = Place::new();
    let filters = format!("{}[a];{}[b];[a][b]concat", noisy(0.8), soft(0.8));
    let path = place.clip("source.mkv", &filters);
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let found = shots::find(&source, &DetectSettings::default(), &lab.tools, &lab.cancel, &silent).unwrap();
    let boundaries: Vec<(u64, Kind)> =
        found.boundaries.iter().map(|boundary| (boundary.frame, boundary.kind)).collect();
    assert_eq!((boundaries, found.frames), (vec![(20, Kind::Cut)], 40));
    let guess = PredictSettings { target: 90.0, crf_min: 18, crf_max: 35 };
    fits("shots", &shots::predict(&found, &guess));
    for (encoder, codec) in [("libx264", "avc1."), ("libsvtav1", "av01.")] {
        let settings = ShotSettings {
            adapter: encoders::by_name(encoder).unwrap(),
            choices: Choices::default(),
            target: 92.0,
            pooling: Pooling::Mean,
            output: Some(OutputFile::at(&place.path("joined.mp4")).unwrap()),
        };
        let plan = shots::tune(&lab, &source, &judge(&source), &found, &settings, &silent).unwrap();
        fits("shot-plan", &plan);
        assert_eq!(plan.shots.len(), 2);
        assert!(plan.shots.iter().all(|row| row.ok && row.predicted_vmaf.unwrap() >= 92.0), "{plan:?}");
        let joined = plan.output.as_ref().unwrap_or_else(|| panic!("{:?}", plan.output_error));
        assert_eq!(joined.frames, 40);
        // Motion at the joint is all that differs between measuring shots and the whole.
        assert!((joined.predicted_vmaf - joined.achieved_vmaf).abs() < 1.5, "{joined:?}");
        assert!(joined.codecs.starts_with(codec), "{}", joined.codecs);
        assert_eq!(plan.segment_commands.len(), 2);
        assert!(charts::shots(&plan).svg().contains("shot 2"));
    }
}
