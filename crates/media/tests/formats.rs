//! Sizes, depths, ranges and colours that differ: what is done, what is said, and that the scores are right.

mod common;

use common::{Scene, X264, assert_same_scores, score, score_by_hand};
use visus_media::{Input, PairOptions, Probed, Scale, Verdict};
use visus_video::{Chroma, PlaneView};

fn options() -> PairOptions {
    PairOptions { scale: Scale::Reference, ..PairOptions::default() }
}

fn has(scored: &common::Scored, code: &str, words: &str) -> bool {
    scored.comparability.reasons.iter().any(|reason| reason.code == code && reason.text.contains(words))
}

#[test]
fn eight_against_ten_bits() {
    let scene = Scene::new("320x180", 25, 24);
    let distorted =
        scene.encode("format=yuv420p10le", &[X264, &["-pix_fmt", "yuv420p10le"]].concat(), "ten.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    assert!(
        has(&scored, "conversion", "reference: 8 to 10 bits: samples times 4"),
        "{:?}",
        scored.comparability
    );
    assert_eq!(scored.comparability.verdict(), Verdict::Yes);
    // ffmpeg, too, multiplies by four.
    let reference = scene.by_hand("ref.mkv", "format=yuv420p10le", "ref.y4m");
    let distorted = scene.by_hand("ten.mp4", "null", "dis.y4m");
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &distorted));
}

#[test]
fn full_against_limited_range() {
    let scene = Scene::new("320x180", 25, 24);
    let full = "scale=in_range=limited:out_range=full,format=yuvj420p";
    let distorted = scene.encode(full, &[X264, &["-color_range", "pc"]].concat(), "full.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    assert!(has(&scored, "conversion", "distorted: full to limited range"), "{:?}", scored.comparability);
    let mean = |outcome: &visus_engine::Outcome| {
        visus_engine::pool(outcome.scores.column("vmaf").unwrap(), outcome.frames, 1).unwrap().mean
    };
    // ffmpeg rounds in its own way: the scores of its conversion are near, not the same.
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let by_ffmpeg =
        scene.by_hand("full.mp4", "scale=in_range=full:out_range=limited,format=yuv420p", "dis.y4m");
    let (got, near) = (mean(&scored.outcome), mean(&score_by_hand(&reference, &by_ffmpeg)));
    assert!((got - near).abs() < 0.5, "{got} {near}");
    // A wrong mark is noticed by the brightness.
    common::ffmpeg(
        scene.folder.path(),
        &[
            "-i",
            "full.mp4",
            "-c",
            "copy",
            "-bsf:v",
            "h264_metadata=video_full_range_flag=0",
            "-color_range",
            "tv",
            "lie.mp4",
        ],
    );
    let lied = score(&scene.path("ref.mkv"), &scene.path("lie.mp4"), &options()).unwrap();
    assert!(has(&lied, "range", "full range although"), "{:?}", lied.comparability);
}

#[test]
fn sizes_are_brought_to_the_display() {
    let scene = Scene::new("1280x720", 25, 6);
    let distorted = scene.encode("scale=960:540", X264, "small.mp4");
    let scored = score(&scene.path("ref.mkv"), &distorted, &PairOptions::default()).unwrap();
    assert_eq!((scored.outcome.format.width(), scored.outcome.format.height()), (1920, 1080));
    assert!(has(&scored, "conversion", "distorted: scaled from 960x540 to 1920x1080 (bicubic, a = -0.5)"));
    assert!(has(&scored, "conversion", "reference: scaled from 1280x720"));
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    assert_eq!(scored.outcome.format.width(), 1280);
    let vmaf = scored.outcome.scores.column("vmaf").unwrap();
    assert!(vmaf.iter().all(|(_, score)| score > 60.0), "{:?}", vmaf.iter().collect::<Vec<_>>());
    let error = score(&scene.path("ref.mkv"), &distorted, &PairOptions { scale: Scale::Off, ..options() });
    assert!(error.err().unwrap().to_string().contains("scaling is off"));
}

#[test]
fn our_bicubic_is_near_ffmpegs() {
    let scene = Scene::new("640x360", 25, 3);
    let small = scene.encode("scale=320:180", &["-c:v", "ffv1"], "small.mkv");
    let scored = score(&scene.path("ref.mkv"), &small, &options()).unwrap();
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let filter = "scale=640:360:flags=bicubic+accurate_rnd:param0=0:param1=0.5";
    let distorted = scene.by_hand("small.mkv", filter, "dis.y4m");
    let by_ffmpeg = score_by_hand(&reference, &distorted);
    for (index, value) in by_ffmpeg.scores.column("psnr_y").unwrap().iter() {
        let got = scored.outcome.scores.column("psnr_y").unwrap().get(index).unwrap();
        assert!((got - value).abs() < 0.5, "{got} {value}");
    }
}

#[test]
fn rgb_grey_packed_and_other_chroma() {
    let scene = Scene::new("320x180", 25, 8);
    for (name, format, codec, chroma, words) in [
        ("rgb.mkv", "gbrp", "ffv1", Chroma::C420, "RGB to YUV 4:4:4"),
        ("rgb24.avi", "bgr24", "rawvideo", Chroma::C420, "RGB to YUV 4:4:4"),
        ("grey.mkv", "gray", "ffv1", Chroma::C400, "chroma is left out"),
        ("nv12.nut", "nv12", "rawvideo", Chroma::C420, "nv12 is unpacked into planes"),
        ("444.mkv", "yuv444p", "ffv1", Chroma::C420, "4:4:4 to 4:2:0"),
        ("422.mkv", "yuv422p12le", "ffv1", Chroma::C420, "8 to 12 bits"),
        ("alpha.mkv", "yuva420p", "ffv1", Chroma::C420, "the alpha plane is ignored"),
    ] {
        let filter = format!("scale=out_color_matrix=bt601,format={format}");
        let distorted = scene.encode(&filter, &["-c:v", codec], name);
        let scored =
            score(&scene.path("ref.mkv"), &distorted, &options()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(has(&scored, "conversion", words), "{name}: {:?}", scored.comparability);
        assert_eq!(scored.outcome.format.chroma(), chroma, "{name}");
        let psnr = scored.outcome.scores.column("psnr_y").unwrap();
        assert!(psnr.iter().all(|(_, value)| value > 44.0), "{name}: {:?}", psnr.iter().collect::<Vec<_>>());
    }
}

#[test]
fn what_makes_two_videos_incomparable_is_said() {
    let scene = Scene::new("320x180", 25, 30);
    let pq = ["-color_trc", "smpte2084", "-color_primaries", "bt2020", "-colorspace", "bt2020nc"];
    scene.encode("", &[X264, &pq].concat(), "pq.mp4");
    scene.encode("", &[X264, &["-flags", "+ildct+ilme", "-x264-params", "tff=1"]].concat(), "fields.mp4");
    scene.encode("setsar=4/3", X264, "wide.mp4");
    scene.encode("crop=320:168,pad=320:180:0:6:black", X264, "bars.mp4");
    scene.encode("eq=brightness=0.08", X264, "bright.mp4");
    for (reference, distorted, verdict, code) in [
        ("ref.mkv", "pq.mp4", Verdict::No, "hdr"),
        ("pq.mp4", "pq.mp4", Verdict::Warn, "hdr"),
        ("ref.mkv", "fields.mp4", Verdict::Warn, "interlaced"),
        ("ref.mkv", "wide.mp4", Verdict::Warn, "aspect"),
        ("wide.mp4", "wide.mp4", Verdict::Yes, "non_square"),
        ("ref.mkv", "bars.mp4", Verdict::Warn, "black_bars"),
        ("ref.mkv", "bright.mp4", Verdict::Warn, "brightness"),
    ] {
        let scored = score(&scene.path(reference), &scene.path(distorted), &options()).unwrap();
        assert!(has(&scored, code, ""), "{distorted}: {:?}", scored.comparability);
        assert_eq!(scored.comparability.verdict(), verdict, "{distorted}: {:?}", scored.comparability);
    }
}

#[test]
fn a_picture_that_only_one_side_turns_is_turned() {
    let scene = Scene::new("320x180", 25, 20);
    scene.encode("transpose=2", X264, "turned.mp4");
    common::ffmpeg(
        scene.folder.path(),
        &["-i", "turned.mp4", "-c", "copy", "-metadata:s:v", "rotate=270", "marked.mp4"],
    );
    let inputs = ["ref.mkv", "marked.mp4"].map(|name| Input::detect(&scene.path(name), None));
    let probed = Probed::new(inputs, &options()).unwrap();
    let rotation = probed.facts[1].probe.as_ref().unwrap().rotation;
    assert!(rotation == 90 || rotation == 270, "{rotation}");
    assert_eq!(probed.facts[1].format.width(), 320);
    let scored = score(&scene.path("ref.mkv"), &scene.path("marked.mp4"), &options()).unwrap();
    assert!(has(&scored, "rotation", "upright"), "{:?}", scored.comparability);
    assert!(scored.outcome.scores.column("vmaf").unwrap().iter().all(|(_, score)| score > 80.0));
}

#[test]
fn decoded_samples_are_the_streams_own() {
    let scene = Scene::new("321x181", 25, 3);
    let by_hand = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let inputs = [scene.path("ref.mkv"), by_hand.clone()].map(|path| Input::detect(&path, None));
    let mut pair = visus_media::open_pair(inputs, &options()).unwrap();
    let mut frames = [0, 1].map(|_| visus_video::Frame::new(*pair.reference.format()));
    for _ in 0..3 {
        assert!(pair.reference.read(&mut frames[0]).unwrap() && pair.distorted.read(&mut frames[1]).unwrap());
        for plane in 0..3 {
            let (PlaneView::U8(a), PlaneView::U8(b)) = (frames[0].plane(plane), frames[1].plane(plane))
            else {
                panic!("8 bits are one byte")
            };
            assert!(a.rows().eq(b.rows()), "plane {plane}");
        }
    }
    assert!(!pair.reference.read(&mut frames[0]).unwrap());
}
