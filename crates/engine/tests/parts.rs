//! A clip scored in parts is the clip scored at once, bit for bit.

use visus_engine::{
    Cancel, EngineError, FrameRange, JoinError, ModelSpec, Outcome, Part, Plan, Settings, Silent, join, run,
    run_part,
};
use visus_metrics::Level;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Source};

const FRAMES: u64 = 11;

const MODELS: [&str; 5] =
    ["vmaf_v0.6.1", "vmaf_float_v0.6.1", "vmaf_b_v0.6.3", "vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_hfr_3d0h"];

const FEATURES: [&str; 5] = [
    "psnr=enable_apsnr=true",
    "xpsnr",
    "xpsnr=frame_rate=60",
    "motion=motion_five_frame_window=true:motion_moving_average=true:debug=true",
    "float_motion",
];

fn clip(frames: u64) -> Clip {
    Clip::scene(Format::new(224, 160, Chroma::C420, 8).unwrap(), frames, 5)
}

fn sources(frames: (u64, u64)) -> (Box<dyn Source>, Box<dyn Source>) {
    (Box::new(clip(frames.0)), Box::new(clip(frames.1).distorted(Distortion::Blocking { step: 30 })))
}

fn plan(models: &[&str], features: &[&str]) -> Plan {
    let models: Vec<_> = models.iter().map(|model| ModelSpec::version(model).named(model)).collect();
    let features: Vec<_> = features.iter().map(|feature| feature.parse().unwrap()).collect();
    Plan::new(&models, &features, true).unwrap()
}

fn settings() -> Settings {
    Settings { threads: 2, backend: Level::Scalar.into(), ..Settings::default() }
}

fn whole(plan: &Plan, settings: &Settings) -> Outcome {
    let (reference, distorted) = sources((FRAMES, FRAMES));
    run(plan, reference, distorted, settings, &Cancel::new(), &mut Silent).unwrap()
}

fn part(plan: &Plan, settings: &Settings, from: u64, to: Option<u64>) -> Result<Part, EngineError> {
    let (reference, distorted) = sources((FRAMES, FRAMES));
    let settings = Settings { range: FrameRange::Part { from, to }, ..settings.clone() };
    run_part(plan, reference, distorted, &settings, &Cancel::new(), &mut Silent)
}

/// Cuts the clip before each of these frames.
fn parts(plan: &Plan, settings: &Settings, cuts: &[u64]) -> Vec<Part> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().map(Some).chain([None]);
    starts.zip(ends).map(|(from, to)| part(plan, settings, from, to).unwrap()).collect()
}

/// Everything a result says, as text.
fn text(outcome: &Outcome) -> String {
    let mut text = format!("{} {} {:?}\n", outcome.frames, outcome.identical, outcome.shorter);
    for column in outcome.scores.columns() {
        let value = |(index, value): (u64, f64)| format!(" {index}:{:016x}", value.to_bits());
        text.push_str(&format!("{}{}\n", column.name(), column.iter().map(value).collect::<String>()));
    }
    for (name, value) in outcome.scores.aggregates() {
        text.push_str(&format!("{name} {:016x}\n", value.to_bits()));
    }
    text
}

#[test]
fn parts_join_to_the_whole() {
    let plan = plan(&MODELS, &FEATURES);
    let want = text(&whole(&plan, &settings()));
    let cuts: [&[u64]; 7] = [&[1], &[2], &[5], &[10], &[3, 4, 5], &[1, 2, 3, 8, 9, 10], &[6, 7]];
    for cuts in cuts {
        let parts = parts(&plan, &settings(), cuts);
        assert_eq!(text(&join(&plan, &parts).unwrap()), want, "cuts {cuts:?}");
        let ends: Vec<bool> = parts.iter().map(|part| part.ended).collect();
        assert!(ends.iter().rev().skip(1).all(|ended| !ended) && ends[ends.len() - 1], "{ends:?}");
    }
}

#[test]
fn subsampled_parts_join_as_well() {
    let plan = plan(&MODELS[..1], &FEATURES[..2]);
    let settings = Settings { subsample: 3, ..settings() };
    let want = text(&whole(&plan, &settings));
    assert_eq!(text(&join(&plan, &parts(&plan, &settings, &[3, 9])).unwrap()), want);
    let error = part(&plan, &settings, 4, None).unwrap_err();
    assert!(error.to_string().contains("4 is not a multiple of the step 3"), "{error}");
}

#[test]
fn a_part_alone_has_the_scores_of_the_whole() {
    let plan = plan(&MODELS, &FEATURES[3..]);
    let whole = whole(&plan, &settings());
    for (from, to) in [
        (0, Some(1)),
        (0, Some(2)),
        (0, Some(4)),
        (1, Some(2)),
        (3, Some(7)),
        (4, None),
        (9, Some(10)),
        (10, Some(99)),
    ] {
        let part = part(&plan, &settings(), from, to).unwrap();
        let frames = to.unwrap_or(FRAMES).min(FRAMES) - from;
        assert_eq!((part.outcome.first_frame, part.outcome.frames), (from, frames));
        for column in whole.scores.columns() {
            let got = part.outcome.scores.column(column.name()).unwrap();
            for index in 0..frames {
                let want = column.get(from + index).map(f64::to_bits);
                assert_eq!(got.get(index).map(f64::to_bits), want, "{} {from}+{index}", column.name());
            }
            assert_eq!(got.get(frames), None);
        }
    }
}

#[test]
fn the_end_of_the_shorter_input_is_seen_at_the_seam() {
    let plan = plan(&MODELS[..1], &[]);
    let (reference, distorted) = sources((8, 6));
    let settings = Settings { range: FrameRange::Part { from: 4, to: Some(6) }, ..settings() };
    let part = run_part(&plan, reference, distorted, &settings, &Cancel::new(), &mut Silent);
    let part = part.unwrap();
    assert!(part.ended);
    assert_eq!(part.outcome.shorter, Some(visus_engine::Side::Distorted));
}

#[test]
fn what_does_not_fit_is_refused() {
    let plan = plan(&MODELS[..1], &[]);
    let all = parts(&plan, &settings(), &[4, 8]);
    let joined = |parts: &[&Part]| join(&plan, &parts.iter().map(|part| (*part).clone()).collect::<Vec<_>>());
    assert!(matches!(joined(&[]), Err(JoinError::Nothing)));
    assert!(matches!(joined(&[&all[1], &all[2]]), Err(JoinError::NoStart(4))));
    assert!(matches!(joined(&[&all[0], &all[2]]), Err(JoinError::Gap { end: 4, next: 8 })));
    let mut short = all[1].clone();
    short.rows.pop();
    assert!(matches!(joined(&[&all[0], &short]), Err(JoinError::RowCount { from: 4, frames: 4, got: 3 })));
    let mut bent = all[1].clone();
    bent.rows[2][0].push(1.0);
    assert!(matches!(joined(&[&all[0], &bent]), Err(JoinError::RowShape { from: 4, row: 2 })));
    assert!(matches!(part(&plan, &settings(), 5, Some(5)), Err(EngineError::EmptyPart { from: 5, to: 5 })));
    assert!(matches!(part(&plan, &settings(), 50, None), Err(EngineError::NoFrames)));
}
