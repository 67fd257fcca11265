//! FFmpeg's libraries in this process against the ffmpeg program: the same frames, and the same refusals.
#![cfg(feature = "libav")]

mod common;

use std::path::{Path, PathBuf};

use common::{Scene, X264, assert_same_scores, left_behind, score, try_ffmpeg};
use visus_engine::Cancel;
use visus_media::{DecodeOptions, Decoder, InProcess, Launch, PairOptions, Probe, Scale, Tools};
use visus_video::{Frame, PlaneView, Pool, ReadError, Source};

fn tools() -> Tools {
    Tools::find(Launch::default(), "these tests").unwrap()
}

fn probe(path: &Path) -> Probe {
    Probe::of(&tools(), path, &Cancel::new()).unwrap()
}

fn from(start: u64) -> DecodeOptions {
    DecodeOptions { start, in_process: true, ..DecodeOptions::default() }
}

fn here(path: &Path, start: u64) -> InProcess {
    InProcess::open(&tools(), &probe(path), &from(start))
        .unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
}

fn there(path: &Path, start: u64) -> Decoder {
    Decoder::open(&tools(), &probe(path), &from(start)).unwrap()
}

fn samples_of(frame: &Frame, plane: usize) -> Vec<u16> {
    match frame.plane(plane) {
        PlaneView::U8(view) => view.rows().flatten().map(|sample| u16::from(*sample)).collect(),
        PlaneView::U16(view) => view.rows().flatten().copied().collect(),
    }
}

fn next(source: &mut dyn Source, pool: &Pool) -> Result<Option<[Vec<u16>; 3]>, ReadError> {
    let mut frame = pool.take().unwrap();
    let more = source.read(&mut frame)?;
    Ok(more.then(|| [0, 1, 2].map(|plane| samples_of(&frame, plane))))
}

/// Every sample of every frame is the same; how many frames there are.
fn compare(path: &Path, start: u64) -> u64 {
    let (mut one, mut other) = (here(path, start), there(path, start));
    let pools = [Pool::hollow(*one.format(), 1), Pool::new(*other.format(), 1)];
    loop {
        let (a, b) = (next(&mut one, &pools[0]).unwrap(), next(&mut other, &pools[1]).unwrap());
        assert!(a == b, "{}: frame {} from {start} on differs", path.display(), one.frames_read());
        if a.is_none() {
            assert_eq!(one.taken_over(), None, "{}", path.display());
            return one.frames_read();
        }
    }
}

/// Clips that this ffmpeg can make, by encoder and pixel format.
fn clips(scene: &Scene) -> Vec<PathBuf> {
    let x264 = ["-c:v", "libx264", "-preset", "fast", "-bf", "3", "-g", "12", "-threads", "2"];
    let x265 =
        ["-c:v", "libx265", "-preset", "superfast", "-x265-params", "log-level=none:open-gop=1:keyint=12"];
    let vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"];
    let all: [(&str, &[&str], &str); 14] = [
        ("format=yuv420p", &x264, "h264.mp4"),
        ("format=yuv420p", &x264, "h264.mkv"),
        ("format=yuv420p", &x264, "h264.ts"),
        ("format=yuvj420p", &x264, "full.mp4"),
        ("format=yuv422p10le", &x264, "h264_422_10.mp4"),
        ("format=yuv444p", &x264, "h264_444.mkv"),
        ("format=gray", &x264, "grey.mkv"),
        ("crop=317:177:1:1:exact=1,format=yuv444p", &x264, "odd.mkv"),
        ("format=yuv420p10le", &x265, "hevc.mp4"),
        ("crop=318:178,format=yuv420p", &x265, "hevc_cropped.mkv"),
        ("crop=317:177:0:0:exact=1,format=yuv420p", &vp9, "vp9_odd.webm"),
        ("format=yuv420p", &["-c:v", "libsvtav1", "-preset", "12"], "av1.mkv"),
        ("format=yuv420p10le", &["-c:v", "ffv1"], "ffv1.mkv"),
        ("format=yuv420p", &["-c:v", "mpeg2video", "-bf", "2"], "mpeg2.mpg"),
    ];
    let made = all.into_iter().filter(|(filter, encoder, name)| {
        let input = ["-i", "ref.mkv", "-vf", filter];
        let made = try_ffmpeg(scene.folder.path(), &[&input[..], encoder, &[*name]].concat());
        made.inspect_err(|error| eprintln!("{name} cannot be made here: {error}")).is_ok()
    });
    made.map(|(.., name)| scene.path(name)).collect()
}

#[test]
fn every_frame_is_the_one_of_the_program() {
    let scene = Scene::new("320x180", 25, 40);
    let clips = clips(&scene);
    assert!(clips.len() >= 8, "{clips:?}");
    for clip in clips {
        assert_eq!(compare(&clip, 0), 40, "{}", clip.display());
    }
}

#[test]
fn any_frame_can_be_the_first() {
    let scene = Scene::new("320x180", 25, 60);
    let gop = ["-bf", "3", "-g", "12", "-x264-params", "open-gop=1"];
    for (name, rate) in
        [("a.mp4", "25"), ("a.mkv", "25"), ("ntsc.mp4", "30000/1001"), ("ntsc.mkv", "24000/1001")]
    {
        let clip = scene.encode("", &[X264, &gop, &["-r", rate]].concat(), name);
        for start in [1, 12, 13, 47] {
            assert!(compare(&clip, start) > 0, "{name} from {start}");
        }
    }
}

/// Frames that were read until the end, and how it ended.
fn read(mut source: impl Source) -> (u64, Option<String>) {
    let mut frame = Frame::new(*source.format());
    loop {
        match source.read(&mut frame) {
            Ok(true) => {}
            Ok(false) => return (source.frames_read(), None),
            Err(error) => return (source.frames_read(), Some(error.to_string())),
        }
    }
}

/// A part of a file's bytes is turned over, or its end is missing.
fn spoiled(path: &Path, name: &str, spoil: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    spoil(&mut bytes);
    let to = path.with_file_name(name);
    std::fs::write(&to, bytes).unwrap();
    to
}

fn flip(bytes: &mut [u8], place: f64) {
    let from = (bytes.len() as f64 * place) as usize;
    bytes[from..from + 512].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= (at * 7 + 1) as u8);
}

#[test]
fn what_the_program_refuses_is_refused() {
    let scene = Scene::new("320x180", 25, 50);
    let fast = [X264, &["-movflags", "+faststart"]].concat();
    let x265: &[&str] = &["-c:v", "libx265", "-preset", "superfast", "-x265-params", "log-level=none:hash=1"];
    let clips = [
        scene.encode("", &fast, "a.mp4"),
        scene.encode("", X264, "a.mkv"),
        scene.encode("", X264, "a.ts"),
        scene.encode("", &[x265, &["-movflags", "+faststart"]].concat(), "hevc.mp4"),
        scene.encode("", &["-c:v", "ffv1", "-slicecrc", "1"], "ffv1.mkv"),
    ];
    let mut refused = 0;
    for clip in &clips {
        let name = clip.file_name().unwrap().to_string_lossy().into_owned();
        for place in [2, 5, 9] {
            let place = f64::from(place) / 10.0;
            let cut = spoiled(clip, &format!("cut_{name}"), |bytes| {
                bytes.truncate((bytes.len() as f64 * place) as usize)
            });
            let bad = spoiled(clip, &format!("bad_{name}"), |bytes| flip(bytes, place));
            for spoiled in [cut, bad] {
                let Ok(probe) = Probe::of(&tools(), &spoiled, &Cancel::new()) else { continue };
                let Ok(here) = InProcess::open(&tools(), &probe, &from(0)) else { continue };
                let (ours, theirs) = (read(here), read(there(&spoiled, 0)));
                assert_eq!(
                    ours.1.is_some(),
                    theirs.1.is_some(),
                    "{} at {place}: {ours:?}, {theirs:?}",
                    spoiled.display()
                );
                refused += usize::from(ours.1.is_some());
                if let Some(error) = ours.1 {
                    assert!(error.contains("cannot be decoded beyond frame"), "{name}: {error}");
                } else {
                    assert_eq!(ours.0, theirs.0, "{name}");
                }
            }
        }
    }
    assert!(refused > 15, "{refused}");
    assert_eq!(left_behind(scene.folder.path()), Vec::<String>::new());
}

#[test]
fn a_pair_has_the_same_scores_and_pairs() {
    let scene = Scene::new("320x180", 25, 60);
    let late = scene.encode_steady("select=gte(n\\,3),setpts=N/25/TB", X264, "late.mp4");
    let ten = scene.encode("scale=480:270,format=yuv420p10le", X264, "ten.mkv");
    for distorted in [late, ten] {
        let score = |in_process| {
            let options = PairOptions { scale: Scale::Reference, in_process, ..PairOptions::default() };
            score(&scene.path("ref.mkv"), &distorted, &options).unwrap()
        };
        let (one, other) = (score(true), score(false));
        assert_same_scores(&one.outcome, &other.outcome);
        assert_eq!(one.findings.json(), other.findings.json());
    }
}

#[test]
fn a_cancelled_decoder_says_so() {
    let scene = Scene::new("320x180", 25, 20);
    let options = from(0);
    let mut decoder = InProcess::open(&tools(), &probe(&scene.path("ref.mkv")), &options).unwrap();
    let mut frame = Frame::new(*decoder.format());
    assert!(decoder.read(&mut frame).unwrap());
    options.cancel.fire();
    assert!(decoder.read(&mut frame).unwrap_err().to_string().contains("cancelled"));
    assert!(matches!(decoder.read(&mut frame), Err(ReadError::Failed { .. })));
}
