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
    // By hand, in whole numbers: 219 or 224 steps in place of 255, rounded to the nearest (there are no ties).
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let (size, mut pictures) = common::read_420(&scene.by_hand("full.mp4", "null", "full.y4m"));
    let luma = |sample: i32| (2 * 219 * sample + 255).div_euclid(2 * 255) + 16;
    let chroma = |sample: i32| (2 * 224 * (sample - 128) + 255).div_euclid(2 * 255) + 128;
    for picture in &mut pictures {
        let [y, u, v] = &mut picture.planes;
        y.iter_mut().for_each(|sample| *sample = luma(i32::from(*sample)) as u8);
        u.iter_mut().chain(v).for_each(|sample| *sample = chroma(i32::from(*sample)) as u8);
    }
    common::write_420(&scene.path("limited.y4m"), size, &pictures);
    assert_same_scores(&scored.outcome, &score_by_hand(&reference, &scene.path("limited.y4m")));
    // ffmpeg comes to the same samples by fixed-point arithmetic, within a level.
    let filter = "scale=in_range=full:out_range=limited:flags=accurate_rnd+full_chroma_int,format=yuv420p";
    let (_, by_ffmpeg) = common::read_420(&scene.by_hand("full.mp4", filter, "ffmpeg.y4m"));
    for (ours, theirs) in pictures.iter().zip(&by_ffmpeg) {
        let pairs = ours.planes.iter().flatten().zip(theirs.planes.iter().flatten());
        assert!(pairs.clone().all(|(a, b)| a.abs_diff(*b) <= 1));
    }
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
    assert!(has(&scored, "conversion", "distorted: scaled from 960x540 to 1920x1080 (bicubic, a = -0.6)"));
    assert!(has(&scored, "conversion", "reference: scaled from 1280x720"));
    let scored = score(&scene.path("ref.mkv"), &distorted, &options()).unwrap();
    assert_eq!(scored.outcome.format.width(), 1280);
    let vmaf = scored.outcome.scores.column("vmaf").unwrap();
    assert!(vmaf.iter().all(|(_, score)| score > 60.0), "{:?}", vmaf.iter().collect::<Vec<_>>());
    let error = score(&scene.path("ref.mkv"), &distorted, &PairOptions { scale: Scale::Off, ..options() });
    assert!(error.err().unwrap().to_string().contains("scaling is off"));
}

/// The definition of the documentation, sample by sample in f64: the cubic with a = -0.6 over the 4x4 neighbours, luma in the
/// middle of its cell, chroma on the left luma column and between two luma rows, the last sample repeated beyond the edges.
fn enlarged(plane: &[u8], from: (usize, usize), to: (usize, usize), chroma: bool) -> Vec<u8> {
    let cubic = |x: f64| match x.abs() {
        x if x < 1.0 => 1.4 * x.powi(3) - 2.4 * x.powi(2) + 1.0,
        x if x < 2.0 => -0.6 * x.powi(3) + 3.0 * x.powi(2) - 4.8 * x + 2.4,
        _ => 0.0,
    };
    // Chroma across: sample k lies on luma column 2k, a quarter of its own cell left of the middle.
    let place = |index: usize, ratio: f64, left: f64| (index as f64 + 0.5 - left) * ratio - 0.5 + left;
    let weights = |centre: f64, count: usize| -> Vec<(usize, f64)> {
        let base = centre.floor() as i64;
        let at = |place: i64| place.clamp(0, count as i64 - 1) as usize;
        (base - 1..=base + 2).map(|place| (at(place), cubic(place as f64 - centre))).collect()
    };
    let left = if chroma { 0.25 } else { 0.0 };
    let across: Vec<_> =
        (0..to.0).map(|x| weights(place(x, from.0 as f64 / to.0 as f64, left), from.0)).collect();
    let rows: Vec<Vec<f64>> = plane
        .chunks_exact(from.0)
        .map(|row| across.iter().map(|taps| taps.iter().map(|(x, w)| w * f64::from(row[*x])).sum()).collect())
        .collect();
    let mut all = Vec::with_capacity(to.0 * to.1);
    for y in 0..to.1 {
        let down = weights(place(y, from.1 as f64 / to.1 as f64, 0.0), from.1);
        for x in 0..to.0 {
            let value: f64 = down.iter().map(|(y, weight)| weight * rows[*y][x]).sum();
            all.push((value + 0.5).floor().clamp(0.0, 255.0) as u8);
        }
    }
    all
}

#[test]
fn an_encode_of_720p_against_1080p() {
    let scene = Scene::new("1920x1080", 25, 6);
    let small = scene.encode("scale=1280:720", X264, "small.mp4");
    let scored = score(&scene.path("ref.mkv"), &small, &PairOptions::default()).unwrap();
    assert_eq!((scored.outcome.format.width(), scored.outcome.format.height()), (1920, 1080));
    assert_eq!(scored.comparability.verdict(), Verdict::Yes, "{:?}", scored.comparability);
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let (from, pictures) = common::read_420(&scene.by_hand("small.mp4", "null", "small.y4m"));
    assert_eq!(from, (1280, 720));
    let half = |(width, height): (usize, usize)| (width / 2, height / 2);
    let to = (1920, 1080);
    let large: Vec<common::Picture> = pictures
        .iter()
        .map(|picture| common::Picture {
            planes: std::array::from_fn(|plane| match plane {
                0 => enlarged(&picture.planes[0], from, to, false),
                _ => enlarged(&picture.planes[plane], half(from), half(to), true),
            }),
        })
        .collect();
    common::write_420(&scene.path("large.y4m"), to, &large);
    let by_hand = score_by_hand(&reference, &scene.path("large.y4m"));
    // Sums in f32 and f64 fall on different sides of a half once in some ten thousand samples.
    for (column, tolerance) in [("vmaf", 0.01), ("psnr_y", 0.0005), ("psnr_cb", 0.0005), ("psnr_cr", 0.0005)]
    {
        for (index, value) in by_hand.scores.column(column).unwrap().iter() {
            let got = scored.outcome.scores.column(column).unwrap().get(index).unwrap();
            assert!((got - value).abs() < tolerance, "{column} of {index}: {got} {value}");
        }
    }
}

#[test]
fn our_bicubic_is_near_ffmpegs() {
    let scene = Scene::new("640x360", 25, 3);
    let small = scene.encode("scale=320:180", &["-c:v", "ffv1"], "small.mkv");
    let scored = score(&scene.path("ref.mkv"), &small, &options()).unwrap();
    let reference = scene.by_hand("ref.mkv", "null", "ref.y4m");
    let filter = "scale=640:360:flags=bicubic+accurate_rnd";
    let distorted = scene.by_hand("small.mkv", filter, "dis.y4m");
    let by_ffmpeg = score_by_hand(&reference, &distorted);
    for (index, value) in by_ffmpeg.scores.column("psnr_y").unwrap().iter() {
        let got = scored.outcome.scores.column("psnr_y").unwrap().get(index).unwrap();
        assert!((got - value).abs() < 0.1, "{got} {value}");
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
    // New versions take the word of the frames, old ones that of the options.
    let marked = "setparams=color_trc=smpte2084:color_primaries=bt2020:colorspace=bt2020nc";
    scene.encode(marked, &[X264, &pq].concat(), "pq.mp4");
    scene.encode("", &[X264, &["-flags", "+ildct+ilme", "-x264-params", "tff=1"]].concat(), "fields.mp4");
    scene.encode("setsar=4/3", X264, "wide.mp4");
    scene.encode("crop=320:168,pad=320:180:0:6:black", X264, "bars.mp4");
    scene.encode("crop=320:136,pad=320:180:0:22:black", X264, "wide_bars.mp4");
    scene.encode("scale=320:136,pad=320:180:0:22:black", X264, "fitted.mp4");
    scene.encode("eq=brightness=0.08", X264, "bright.mp4");
    let av1 = ["-c:v", "libsvtav1", "-preset", "12", "-crf", "30"];
    scene.encode("", &[&av1[..], &["-svtav1-params", "film-grain=20"]].concat(), "grain.mkv");
    for (reference, distorted, verdict, code) in [
        ("ref.mkv", "pq.mp4", Verdict::No, "hdr"),
        ("pq.mp4", "pq.mp4", Verdict::Warn, "hdr"),
        ("ref.mkv", "fields.mp4", Verdict::Warn, "interlaced"),
        ("ref.mkv", "wide.mp4", Verdict::Warn, "aspect"),
        ("wide.mp4", "wide.mp4", Verdict::Yes, "non_square"),
        ("ref.mkv", "bars.mp4", Verdict::Warn, "black_bars"),
        ("ref.mkv", "wide_bars.mp4", Verdict::Warn, "black_bars"),
        ("wide_bars.mp4", "ref.mkv", Verdict::Warn, "black_bars"),
        ("ref.mkv", "fitted.mp4", Verdict::No, "black_bars"),
        ("ref.mkv", "bright.mp4", Verdict::Warn, "brightness"),
        ("ref.mkv", "grain.mkv", Verdict::Warn, "film_grain"),
    ] {
        let scored = score(&scene.path(reference), &scene.path(distorted), &options()).unwrap();
        assert!(has(&scored, code, ""), "{distorted}: {:?}", scored.comparability);
        assert_eq!(scored.comparability.verdict(), verdict, "{distorted}: {:?}", scored.comparability);
    }
}

#[test]
fn an_encode_without_grain_is_not_called_grainy() {
    let scene = Scene::new("320x180", 25, 30);
    let smooth = scene.encode("", &["-c:v", "libsvtav1", "-preset", "12", "-crf", "30"], "smooth.mkv");
    let scored = score(&scene.path("ref.mkv"), &smooth, &options()).unwrap();
    assert!(!has(&scored, "film_grain", ""), "{:?}", scored.comparability);
}

#[test]
fn a_picture_that_only_one_side_turns_is_turned() {
    let scene = Scene::new("320x180", 25, 20);
    scene.encode("transpose=2", X264, "turned.mp4");
    // The new way to say it, and the one of versions before 6.0.
    let new = ["-display_rotation:v:0", "270", "-i", "turned.mp4", "-c", "copy", "marked.mp4"];
    if common::try_ffmpeg(scene.folder.path(), &new).is_err() {
        let old = ["-i", "turned.mp4", "-c", "copy", "-metadata:s:v", "rotate=270", "marked.mp4"];
        common::ffmpeg(scene.folder.path(), &old);
    }
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
