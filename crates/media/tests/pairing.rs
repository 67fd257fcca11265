//! Pairing by content on clips with a known defect: what is found, and that scores are those of the pair aligned by hand.

mod common;

use common::{FRAME_TIMES, Scene, X264, assert_same_scores, score, score_by_hand};
use visus_media::{PairOptions, Run, Scale, Sync, Verdict};

fn options() -> PairOptions {
    PairOptions { scale: Scale::Reference, ..PairOptions::default() }
}

#[test]
fn offsets_of_1_to_25_frames() {
    let scene = Scene::new("320x180", 25, 64);
    for offset in 1..=25 {
        let late =
            scene.encode_steady(&format!("trim=start_frame={offset},setpts=PTS-STARTPTS"), X264, "late.mp4");
        let scored = score(&scene.path("ref.mkv"), &late, &options()).unwrap();
        assert_eq!(scored.findings.offset(), offset, "{:?}", scored.findings.start);
        assert!(scored.findings.start.unwrap().confidence > 0.5, "{:?}", scored.findings.start);
        assert_eq!(scored.comparability.verdict(), Verdict::Yes, "{:?}", scored.comparability);
        assert_eq!((scored.outcome.frames, scored.findings.missing.frames), (64 - offset as u64, 0));
        if offset % 8 == 1 {
            let reference = scene.by_hand("ref.mkv", &format!("trim=start_frame={offset}"), "ref.y4m");
            let distorted = scene.by_hand("late.mp4", "null", "dis.y4m");
            assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
            // The other way round the distorted video begins earlier.
            let scored = score(&late, &scene.path("ref.mkv"), &options()).unwrap();
            assert_eq!(scored.findings.offset(), -offset);
        }
    }
}

#[test]
fn frames_dropped_and_doubled_at_known_places() {
    let scene = Scene::new("320x180", 25, 120);
    // Of what is left, frame 70 is shown twice.
    let filter = "select='not(eq(n,20)+between(n,45,48))',setpts=N/25/TB,split[a][b];[a]trim=end_frame=71[x];\
                  [b]trim=start_frame=70,setpts=PTS-STARTPTS[y];[x][y]concat";
    let distorted = scene.encode(filter, X264, "dis.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    let findings = &scored.findings;
    assert_eq!(findings.offset(), 0);
    let missing =
        [Run { reference: 20, distorted: 20, count: 1 }, Run { reference: 45, distorted: 44, count: 4 }];
    assert_eq!(findings.missing.listed, missing);
    assert_eq!(findings.extra.listed, [Run { reference: 76, distorted: 71, count: 1 }]);
    assert_eq!(scored.comparability.verdict(), Verdict::Warn);
    assert_eq!(findings.checks[2], 0, "{:?}", findings.checks);
    let reference = scene.by_hand("ref.mkv", "select='not(eq(n,20)+between(n,45,48))'", "ref.y4m");
    let distorted = scene.by_hand("dis.mp4", "select='not(eq(n,71))'", "dis.y4m");
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
}

#[test]
fn frame_rates_of_30_25_and_60() {
    let scene = Scene::new("320x180", 30, 90);
    let half = "select='not(mod(n,2))',setpts=N/15/TB";
    // By hand: the frames of the reference that are left, and of the distorted video the first of those that are equal.
    let twice = "select='not(mod(n,2))'";
    for (rate, filter, found, by_hand) in [
        (25, "fps=25", (75, 15, 0), ("fps=25", "null")),
        (60, "fps=60", (90, 0, 90), ("null", twice)),
        (15, half, (45, 44, 0), (half, "null")),
    ] {
        let text = rate.to_string();
        let args = [X264, &["-r", &text]].concat();
        let distorted = scene.encode(filter, &args, "rate.mkv");
        let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
        let findings = &scored.findings;
        assert_eq!(
            (findings.pairs, findings.missing.frames, findings.extra.frames),
            found,
            "{rate}: {}",
            findings.words()
        );
        assert!(scored.comparability.reasons.iter().any(|reason| reason.code == "frame_rate"));
        let reference = scene.by_hand("ref.mkv", by_hand.0, "ref.y4m");
        let distorted = scene.by_hand("rate.mkv", by_hand.1, "dis.y4m");
        assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
    }
    // From 60 to 30, and by hand.
    let fast = scene.encode("fps=60", &["-c:v", "ffv1"], "fast.mkv");
    let slow = scene.encode("", X264, "slow.mkv");
    let scored = score(&fast, &slow, &options()).unwrap();
    let found = (scored.findings.pairs, scored.findings.missing.frames);
    assert_eq!(found, (90, 90), "{} {:?}", scored.findings.words(), scored.findings);
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let distorted = scene.by_hand("slow.mkv", "null", "dis.y4m");
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
}

#[test]
fn b_frames_open_groups_and_uneven_time() {
    let scene = Scene::new("320x180", 25, 80);
    let by_hand = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let open = "keyint=12:min-keyint=12:open-gop=1:bframes=3:b-pyramid=normal";
    let deep = "keyint=24:open-gop=1:bframes=8:b-pyramid=strict:b-adapt=0:scenecut=0";
    let more: [(&str, &[&str]); 6] = [
        ("b.mp4", &["-bf", "4"]),
        ("b.ts", &["-bf", "4"]),
        ("b.avi", &["-bf", "3"]),
        ("open.mp4", &["-x264-params", open]),
        ("deep.mp4", &["-x264-params", deep]),
        ("deep.ts", &["-x264-params", deep]),
    ];
    for (name, args) in more {
        let distorted = scene.encode("", &[X264, args].concat(), name);
        let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
        assert_eq!((scored.findings.offset(), scored.findings.missing.frames), (0, 0), "{name}");
        let distorted = scene.by_hand(name, "null", "dis.y4m");
        assert_same_scores(&scored.outcome, &score_by_hand(&by_hand, &distorted));
    }
    // Frames left out and the rest kept at their times.
    let args = [X264, &[*FRAME_TIMES, "vfr"]].concat();
    let uneven = scene.encode("select='not(eq(mod(n,7),3))'", &args, "vfr.mkv");
    let scored = score(&scene.path("ref.mkv"), &uneven, &options()).unwrap();
    let missing: Vec<u64> = scored.findings.missing.listed.iter().map(|run| run.reference).collect();
    assert_eq!(missing, (0..11).map(|at| 3 + 7 * at).collect::<Vec<u64>>());
    let reference = scene.by_hand("ref.mkv", "select='not(eq(mod(n,7),3))'", "ref.y4m");
    let distorted = scene.by_hand("vfr.mkv", "null", "dis.y4m");
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
}

/// Cut without encoding again: an MP4 hides what lies before the cut by an edit list, others begin with the group of pictures.
#[test]
fn cuts_without_encoding() {
    let scene = Scene::new("320x180", 25, 80);
    for (group, params) in [
        ("closed", "keyint=12:min-keyint=12:bframes=8:scenecut=0"),
        ("open", "keyint=12:min-keyint=12:open-gop=1:bframes=8:scenecut=0"),
    ] {
        let whole = format!("{group}.mp4");
        scene.encode("", &[X264, &["-x264-params", params]].concat(), &whole);
        for kind in ["mp4", "mkv"] {
            let name = format!("{group}_cut.{kind}");
            common::ffmpeg(scene.folder.path(), &["-ss", "1.1", "-i", &whole, "-c", "copy", &name]);
            let scored = score(&scene.path("ref.mkv"), &scene.path(&name), &options()).unwrap();
            let offset = scored.findings.offset();
            assert!((20..=28).contains(&offset), "{name}: {}", scored.findings.words());
            assert_eq!(scored.findings.extra.frames + scored.findings.frozen.frames, 0, "{name}");
            assert_eq!(scored.findings.checks[2], 0, "{name}: {:?}", scored.findings.checks);
            // By hand: the frames that came, against those of the reference that they show.
            let reference = scene.by_hand("ref.mkv", &format!("trim=start_frame={offset}"), "ref.y4m");
            let distorted = scene.by_hand(&name, "null", "dis.y4m");
            assert_eq!(scored.findings.missing.frames, 0, "{name}: {}", scored.findings.words());
            assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
        }
    }
}

/// Time stamps that jitter, and frames left out where nothing much moves, change nothing about which frames belong together.
#[test]
fn variable_frame_rates() {
    let scene = Scene::new("320x180", 25, 80);
    let by_hand = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let jitter = "settb=1/1000,setpts='N*40+mod(N*7,11)*3'";
    for name in ["jitter.mkv", "jitter.mp4"] {
        let args = [X264, &[*FRAME_TIMES, "vfr", "-enc_time_base", "1:1000"]].concat();
        let distorted = scene.encode(jitter, &args, name);
        let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
        assert_eq!((scored.findings.missing.frames, scored.findings.offset()), (0, 0), "{name}");
        let distorted = scene.by_hand(name, "null", "dis.y4m");
        let expected = score_by_hand(&by_hand, &distorted);
        // ffmpeg 7.1 does not know how long the last frame is shown, and an MP4 hides it then.
        assert!((79..=80).contains(&expected.frames), "{name}: {}", expected.frames);
        assert_same_scores(&scored.outcome, &expected);
    }
    // Half the frames from the middle on, told by their times only.
    let args = [X264, &[*FRAME_TIMES, "vfr"]].concat();
    let keep = "lt(n,40)+not(mod(n,2))";
    let distorted = scene.encode(&format!("select='{keep}'"), &args, "thin.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    assert!(scored.comparability.reasons.iter().any(|reason| reason.code == "variable_frame_rate"));
    let missing: Vec<u64> = scored.findings.missing.listed.iter().map(|run| run.reference).collect();
    // The last one has nothing after it to tell that it is missing.
    assert_eq!(missing, (0..19).map(|at| 41 + 2 * at).collect::<Vec<u64>>());
    let reference = scene.by_hand("ref.mkv", &format!("select='{keep}'"), "ref.y4m");
    let distorted = scene.by_hand("thin.mp4", "null", "dis.y4m");
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
}

#[test]
fn a_freeze_is_scored_as_it_is_shown() {
    let scene = Scene::new("320x180", 25, 60);
    // Frames 30 to 34 show frame 29; the length stays.
    let filter = "select='not(between(n,30,34))',fps=25";
    let distorted = scene.encode(filter, X264, "freeze.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    let findings = &scored.findings;
    assert_eq!(
        (findings.pairs, findings.missing.frames, findings.extra.frames),
        (60, 0, 0),
        "{}",
        findings.words()
    );
    assert_eq!(findings.frozen.listed, [Run { reference: 30, distorted: 30, count: 5 }]);
}

#[test]
fn two_different_films_are_refused() {
    let scene = Scene::new("320x180", 25, 60);
    let other = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-vf", "format=yuv420p", "-frames:v", "60"];
    common::ffmpeg(scene.folder.path(), &[&other[..], X264, &["other.mp4"]].concat());
    let scored = score(&scene.path("ref.mkv"), &scene.path("other.mp4"), &options()).unwrap();
    assert_eq!(scored.comparability.verdict(), Verdict::No);
    assert!(scored.comparability.reasons.iter().any(|reason| reason.code == "content"));
}

#[test]
fn still_pictures_are_ambiguous() {
    let scene = Scene::new("320x180", 25, 40);
    let still =
        scene.encode("select='eq(n,5)',loop=loop=39:size=1,setpts=N/25/TB", &["-c:v", "ffv1"], "still.mkv");
    let coded = scene.encode_steady("select='eq(n,5)',loop=loop=39:size=1,setpts=N/25/TB", X264, "still.mp4");
    let shorter =
        scene.encode_steady("select='eq(n,5)',loop=loop=24:size=1,setpts=N/25/TB", X264, "shorter.mp4");
    for distorted in [coded, shorter] {
        let scored = score(&still, &distorted, &options()).unwrap();
        assert_eq!((scored.findings.offset(), scored.findings.extra.frames), (0, 0));
        assert!(scored.comparability.reasons.iter().any(|reason| reason.code == "ambiguous"));
        // A scene that stands still contradicts nothing.
        assert_eq!(scored.findings.checks[2], 0, "{:?}", scored.findings.checks);
    }
}

#[test]
fn a_start_beyond_the_window_is_searched_for() {
    // Two windows of 96 frames have nothing in common here.
    let scene = Scene::new("160x90", 25, 260);
    let late = scene.encode_steady("trim=start_frame=150,setpts=PTS-STARTPTS", X264, "late.mp4");
    let scored = score(&scene.path("ref.mkv"), &late, &options()).unwrap();
    assert_eq!(scored.findings.offset(), 150, "{}", scored.findings.words());
    assert!(scored.findings.searched_far);
    assert_eq!((scored.outcome.frames, scored.findings.missing.frames), (110, 0));
}

#[test]
fn one_offset_only_and_none() {
    let scene = Scene::new("320x180", 25, 60);
    let distorted = scene.encode_steady("select='gte(n,4)*not(eq(n,30))',setpts=N/25/TB", X264, "dis.mp4");
    let path = scene.path("ref.mkv");
    let offset = score(&path, &distorted, &PairOptions { sync: Sync::Offset, ..options() }).unwrap();
    assert_eq!((offset.findings.offset(), offset.findings.missing.frames), (4, 0));
    assert!(offset.findings.checks[2] > 20, "{:?}", offset.findings.checks);
    assert_eq!(offset.comparability.verdict(), Verdict::Warn);
    let off = score(&path, &distorted, &PairOptions { sync: Sync::Off, ..options() }).unwrap();
    assert_eq!((off.findings.offset(), off.outcome.frames), (0, 55));
}

#[test]
fn the_worst_frames_are_read_again() {
    use visus_media::worst::{ShowOptions, scores_of, select, show};
    let scene = Scene::new("320x180", 25, 60);
    let filter = "gblur=sigma=4:enable='between(n,40,42)',select='gte(n,3)'";
    let distorted = scene.encode(filter, X264, "dis.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    let chosen = select(&scores_of(&scored.outcome, "vmaf"), &scored.findings.shots(), &[], 2);
    assert!((37..=39).contains(&chosen[0].index), "{chosen:?}");
    let inputs = [scene.path("ref.mkv"), distorted].map(|path| visus_media::Input::detect(&path, None));
    let mut pair = visus_media::open_pair(inputs, &options()).unwrap();
    let shape =
        visus_media::Shape { format: *pair.reference.format(), range: visus_video::ColourRange::Limited };
    let show_options = ShowOptions { shape, side: 160, score_name: "VMAF".to_owned(), findings: Vec::new() };
    let frames = show(&mut *pair.reference, &mut *pair.distorted, &chosen, &show_options, |_| true).unwrap();
    assert!(frames[0].description.contains("blurred"), "{}", frames[0].description);
    assert!(frames.iter().all(|frame| frame.png.starts_with(b"\x89PNG") && frame.png.len() < 400_000));
}
