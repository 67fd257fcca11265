//! The search with real encoders: what it finds is what a sweep finds, and it is not computed twice.

#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

mod common;

use common::{Place, fits, judge, noisy, silent, soft};
use visus_tune::encoders::{self, Choices};
use visus_tune::samples::SamplePlan;
use visus_tune::{Bench, Curve, FindSettings, Goal, Judge, Pooling, Source, TuneError, Window, find};

fn settings(encoder: &str, target: f64) -> FindSettings {
    FindSettings {
        adapter: encoders::by_name(encoder).unwrap(),
        choices: Choices::default(),
        goals: vec![Goal::model(Pooling::Mean, target)],
        steps: 1,
        tolerance: 0.5,
        samples: SamplePlan::default(),
        min_savings: None,
        max_size: None,
        output: None,
    }
}

/// Every setting in a range is measured; the coarsest that meets the target is the truth.
fn equals_a_sweep(encoder: &str, filters: &str, target: f64, range: std::ops::RangeInclusive<i32>) {
    let place = Place::new();
    let path = place.clip("source.mkv", filters);
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let judge = judge(&source);
    let settings = settings(encoder, target);
    let answer = find(&lab, &source, &judge, &settings, &silent).unwrap();
    fits("search", &answer);
    let (recipe, available) = lab.recipe(settings.adapter, &source, &settings.choices, None).unwrap();
    let bench = Bench { source: &source, recipe, available, judge: &judge, label: encoder.to_owned() };
    let curve = Curve::new(&lab, bench, vec![Window::WHOLE], Pooling::Mean);
    let scores: Vec<(i32, f64)> =
        range.clone().map(|crf| (crf, curve.sample(crf, &silent).unwrap().vmaf_score)).collect();
    let truth = scores.iter().rev().find(|(_, score)| *score >= target).copied();
    let truth = truth.unwrap_or_else(|| panic!("{target} should lie in {scores:?}"));
    assert_eq!(answer.quality, Some(truth.0.into()), "{encoder}: {scores:?}, {answer:?}");
    assert_eq!(answer.achieved, Some(truth.1), "the same encode has the same score");
    assert!(answer.ok && answer.samples.len() <= 8);
    let away = (truth.1 - target).abs();
    assert!(away <= 0.5 || answer.why.is_some(), "{away} from the target needs a reason");
}

#[test]
fn x264_finds_what_a_sweep_finds() {
    equals_a_sweep("libx264", &noisy(0.8), 90.0, 20..=34);
}

#[test]
fn x265_finds_what_a_sweep_finds() {
    equals_a_sweep("libx265", &soft(0.4), 93.0, 14..=32);
}

#[test]
fn svt_av1_finds_what_a_sweep_finds() {
    equals_a_sweep("libsvtav1", &noisy(0.4), 94.0, 26..=40);
}

#[test]
fn vp9_finds_what_a_sweep_finds() {
    equals_a_sweep("libvpx-vp9", &noisy(0.4), 94.0, 28..=40);
}

#[test]
fn aom_finds_what_a_sweep_finds() {
    equals_a_sweep("libaom-av1", &noisy(0.3), 94.0, 28..=40);
}

/// Several limits in quarters of a setting: what is found holds all of them, and no coarser quarter does.
#[test]
fn several_goals_in_fractions_find_what_a_sweep_finds() {
    let place = Place::new();
    let path = place.clip("source.mkv", &noisy(0.4));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let goals: Vec<Goal> =
        ["mean=90", "p5=86", "psnr=30", "ssimulacra2=20"].iter().map(|text| text.parse().unwrap()).collect();
    let judge = Judge::for_goals("vmaf_v0.6.1", &goals, &source.format, source.rate).unwrap();
    let settings = FindSettings { goals: goals.clone(), steps: 4, ..settings("libx264", 0.0) };
    let answer = find(&lab, &source, &judge, &settings, &silent).unwrap();
    fits("search", &answer);
    assert!(answer.ok && answer.samples.len() <= 8, "{answer:?}");
    assert_eq!(answer.goals.len(), 4);
    assert!(answer.goals.iter().all(|goal| goal.met), "{:?}", answer.goals);
    let (recipe, available) = lab.recipe(settings.adapter, &source, &settings.choices, None).unwrap();
    let bench = Bench { source: &source, recipe, available, judge: &judge, label: "sweep".to_owned() };
    let knob = settings.adapter.knob.in_steps(4);
    let found = knob.position(answer.quality.unwrap());
    let curve = Curve { goals, knob, ..Curve::new(&lab, bench, vec![Window::WHOLE], Pooling::Mean) };
    // The sweep: everything from a little finer to much coarser.
    let margins: Vec<(u32, f64)> = (found.saturating_sub(3)..found + 12)
        .map(|position| (position, curve.sample(knob.value(position), &silent).unwrap().margin))
        .collect();
    let truth = margins.iter().rev().find(|(_, margin)| *margin >= 0.0).copied().unwrap();
    assert_eq!(found, truth.0, "{margins:?}");
}

#[test]
fn other_metrics_are_targets_too() {
    let place = Place::new();
    let path = place.clip("source.mkv", &soft(0.4));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    for text in ["ssimulacra2=60", "xpsnr=34", "psnr.min=33", "cambi<24"] {
        let goals = vec![text.parse::<Goal>().unwrap()];
        let judge = Judge::for_goals("vmaf_v0.6.1", &goals, &source.format, source.rate).unwrap();
        let settings = FindSettings { goals: goals.clone(), ..settings("libx264", 0.0) };
        let answer = find(&lab, &source, &judge, &settings, &silent).unwrap();
        fits("search", &answer);
        assert!(answer.ok && answer.goals[0].met, "{text}: {answer:?}");
        assert!(!answer.model.contains("vmaf"), "{text}: the model is not measured");
        assert_eq!(answer.achieved, Some(answer.goals[0].achieved));
    }
}

#[test]
fn the_second_time_nothing_is_computed() {
    let place = Place::new();
    let path = place.clip("source.mkv", &noisy(1.0));
    let ask = || {
        let lab = place.lab();
        let source = place.source(&lab, &path);
        find(&lab, &source, &judge(&source), &settings("libx264", 92.0), &silent).unwrap()
    };
    let (first, second) = (ask(), ask());
    assert!(!first.from_cache && second.from_cache);
    assert_eq!((first.quality, first.achieved), (second.quality, second.achieved));
    // The clip under another name is the same content; another clip is not.
    let copy = place.path("copy.mkv");
    std::fs::copy(&path, &copy).unwrap();
    let lab = place.lab();
    let source = place.source(&lab, &copy);
    assert!(
        find(&lab, &source, &judge(&source), &settings("libx264", 92.0), &silent)
            .unwrap()
            .samples
            .iter()
            .all(|s| s.cached)
    );
    let other = place.clip("other.mkv", &noisy(0.8));
    let source = place.source(&lab, &other);
    assert!(!find(&lab, &source, &judge(&source), &settings("libx264", 92.0), &silent).unwrap().from_cache);
}

#[test]
fn samples_are_verified_on_the_whole_and_corrected() {
    let place = Place::new();
    // The second half, where no sample of so few lies first, is much harder than the first.
    let filters = format!("{}[a];{}[b];[a][b]concat", soft(3.0), noisy(3.0));
    let path = place.clip("source.mkv", &filters);
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let sampled = FindSettings {
        samples: SamplePlan { count: Some(1), seconds: 0.4 },
        output: Some(place.path("out.mp4")),
        ..settings("libx264", 90.0)
    };
    let answer = find(&lab, &source, &judge(&source), &sampled, &silent).unwrap();
    assert!(!answer.whole_source && answer.windows.len() == 1, "{:?}", answer.windows);
    assert_eq!(answer.windows[0].1, 10);
    let (achieved, last) = (answer.achieved.unwrap(), answer.attempts.last().unwrap());
    assert!((achieved - 90.0).abs() <= 0.5 || answer.why.is_some(), "{answer:?}");
    assert!(answer.predicted.is_some() && last.bytes > 0);
    // What was delivered is what was measured.
    let facts = visus_tune::mp4::facts(&place.path("out.mp4")).unwrap();
    assert_eq!((facts.frames, Some(facts.video_bytes)), (150, answer.bytes));
    assert!(facts.codecs.starts_with("avc1."), "{}", facts.codecs);
    let left = std::fs::read_dir(place.folder.path()).unwrap().count();
    assert_eq!(left, 3, "source, cache and output, nothing else");
}

#[test]
fn limits_and_unreachable_targets_are_answers() {
    let place = Place::new();
    let path = place.clip("source.mkv", &noisy(0.6));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let judge = judge(&source);
    let ask = |settings: &FindSettings| find(&lab, &source, &judge, settings, &silent).unwrap();
    let unreachable = ask(&settings("libx264", 100.5));
    assert!(!unreachable.ok && unreachable.quality.is_none());
    let why = unreachable.why.unwrap();
    assert!(
        why.contains("out of reach (this model gives at most 100)") && why.contains("best measured"),
        "{why}"
    );
    let small = ask(&FindSettings {
        max_size: Some(1000),
        output: Some(place.path("no.mp4")),
        ..settings("libx264", 90.0)
    });
    assert!(
        !small.ok && small.why.as_ref().unwrap().contains("more than the 1000 allowed"),
        "{:?}",
        small.why
    );
    assert!(!place.path("no.mp4").exists());
    let saving = ask(&FindSettings { min_savings: Some(99.9), ..settings("libx264", 90.0) });
    assert!(
        !saving.ok && saving.why.as_ref().unwrap().contains("less than the 99.9 % asked for"),
        "{:?}",
        saving.why
    );
    let strict =
        ask(&FindSettings { goals: vec![Goal::model(Pooling::P5, 90.0)], ..settings("libx264", 90.0) });
    let mean = ask(&settings("libx264", 90.0));
    assert!(strict.quality <= mean.quality, "{:?} {:?}", strict.quality, mean.quality);
}

#[test]
fn bad_input_gets_a_clear_answer() {
    let place = Place::new();
    let lab = place.lab();
    let open = |path: &std::path::Path| Source::open(path, None, &lab.tools, &lab.cache, &lab.cancel);
    let text = place.path("text.mp4");
    std::fs::write(&text, "this is no video").unwrap();
    let raw = place.path("a.yuv");
    std::fs::write(&raw, vec![0; 100]).unwrap();
    for (path, words) in [
        (place.path("none.mp4"), "No such file"),
        (text, "cannot be read as video"),
        (raw, "raw video needs its width, height, pixel format and frame rate"),
        (place.folder.path().to_owned(), "not a regular file"),
    ] {
        let error = open(&path).unwrap_err().chain();
        assert!(error.contains(words), "{error} should say {words}");
    }
    assert!(matches!(encoders::by_name("libx999"), Err(TuneError::UnknownEncoder { .. })));
    let odd = place.clip("odd.mkv", "testsrc2=s=400x300:r=25:d=0.4,format=yuv444p,crop=321:181");
    let source = open(&odd).unwrap();
    let error =
        find(&lab, &source, &judge(&source), &settings("libx264", 90.0), &silent).unwrap_err().chain();
    assert!(error.contains("libx264") && error.contains("not divisible by 2"), "{error}");
}

#[test]
fn a_fired_switch_ends_it() {
    let place = Place::new();
    let path = place.clip("source.mkv", &noisy(2.0));
    let lab = place.lab();
    let source = place.source(&lab, &path);
    let cancel = lab.cancel.clone();
    let sink = move |_| cancel.fire();
    let result = find(&lab, &source, &judge(&source), &settings("libx265", 95.0), &sink);
    assert!(matches!(result, Err(TuneError::Cancelled)), "{result:?}");
    assert!(
        !visus_tune::cache::Cache::open(&place.path("cache"), 1 << 30)
            .unwrap()
            .workspaces()
            .join("0.mp4")
            .exists()
    );
}

/// A window of every kind of file holds the same frames: the sizes of lossless encodes tell.
#[test]
fn windows_are_exact_to_the_frame() {
    let place = Place::new();
    let first = place.clip("a.mkv", "testsrc2=s=64x48:r=24000/1001:d=3,noise=alls=40:allf=t,format=yuv420p");
    let copy = |name: &str, args: &[&str]| {
        let path = place.path(name);
        let made = std::process::Command::new(common::tools().media.ffmpeg)
            .args(["-v", "error", "-y", "-i"])
            .arg(&first)
            .args(args)
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success(), "{name}");
        path
    };
    let lossless = ["-c:v", "libx264", "-crf", "0", "-g", "20"];
    let files = [
        first.clone(),
        copy("a.y4m", &[]),
        copy("a.mp4", &lossless),
        copy("a.ts", &lossless),
        copy("a.yuv", &["-f", "rawvideo"]),
    ];
    let lab = place.lab();
    let adapter = encoders::by_name("libx264").unwrap();
    let mut sizes = Vec::new();
    for path in &files {
        let raw = visus_tune::looks_raw(path).then(|| visus_tune::RawShape {
            width: 64,
            height: 48,
            pix_fmt: "yuv420p".to_owned(),
            rate: (24000, 1001),
        });
        let source = Source::open(path, raw, &lab.tools, &lab.cache, &lab.cancel).unwrap();
        let judge = judge(&source);
        let (recipe, available) = lab.recipe(adapter, &source, &Choices::default(), None).unwrap();
        let bench = Bench { source: &source, recipe, available, judge: &judge, label: "x".to_owned() };
        let bytes =
            |start: u64| lab.encode(&bench, Window::new(start, 5), 0, &silent).unwrap().facts.video_bytes;
        sizes.push([0, 1, 17, 43].map(bytes));
    }
    assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
}
